"""Forests: collections of trees, stored as their distinct subtrees."""
import math
import os
import zlib
from collections.abc import Iterable

import numpy as np

from . import _trees
from ._calls import Call
from ._native import ffi, lib
from ._structs import Options, array, c_path, c_string, fill, names_of, to_dict
from .errors import check, text_of

LINK = np.dtype([("slot", "u4"), ("child", "u4")])
READING = ("xml_attributes", "xml_text", "ast_fields")


class Forest:
    """Trees, each stored as its distinct subtrees; immutable.

    Forest(trees, classes=..., weights=..., ids=...) takes a list of trees, each of them
      - nested tuples or lists (label, child, ...): a child is a node, a label alone is a leaf,
        None an empty slot; as a label, None is unknown and any hashable object will do;
      - a dict {"label": ..., "children": [...]}, at the root also "class", "weight" and "id";
      - an NLTK Tree, a NetworkX directed tree, an xml.etree Element, an ast.AST;
      - a string in brackets, "(a (b) _ (c))";
      - a tree of another forest.
    Files are read by Forest.read, texts of any format by Forest.parse.
    """

    def __init__(self, trees=(), classes=None, weights=None, ids=None, *, no_sharing=False,
                 xml_attributes=False, xml_text=False, ast_fields=False):
        how = dict(xml_attributes=xml_attributes, xml_text=xml_text, ast_fields=ast_fields)
        made = _from_any(trees, classes, weights, ids, no_sharing, how)
        self._adopt(*made)

    def _adopt(self, pointer, objects=None):
        self._c = pointer
        self._objects = objects or {}
        self._names = None
        self._view = None

    @classmethod
    def _of(cls, pointer, objects=None):
        """Of a phl_forest * that is ours to free."""
        forest = cls.__new__(cls)
        forest._adopt(ffi.gc(pointer, lib.phl_forest_free), objects)
        return forest

    # ---- reading and writing ----

    @classmethod
    def read(cls, *paths, **options):
        """Read files and folders ("-" is standard input), of any format.

        Options are the members of phl_read_options: format="xml", skip_bad=True,
        class_by_folder=True, limit=..., xml_attributes=True, conllu_label="deprel", ...
        """
        if not paths:
            raise TypeError("Forest.read needs a path")
        call = Call()
        how = call.connect(fill(options, Options("read")))
        kept = [c_path(path) for path in paths]
        made = ffi.new("phl_forest **")
        call.check(lib.phl_forest_read, ffi.new("char *[]", kept), len(kept), how.c, made, ffi.NULL)
        return cls._of(made[0])

    @classmethod
    def parse(cls, text, format=None, name="text", **options):
        """Read trees from a text or bytes; `name` stands for the file in errors."""
        if isinstance(text, str):
            text = text.encode("utf-8", "surrogatepass")
        if not isinstance(text, (bytes, bytearray, memoryview)):
            raise TypeError(f"expected a text, found {type(text).__name__}; "
                            "Forest(...) takes lists of trees")
        call = Call()
        how = call.connect(fill({"format": format, **options}, Options("read")))
        made = ffi.new("phl_forest **")
        call.check(lib.phl_forest_read_memory, ffi.from_buffer(text), len(text),
                   c_string(name, "name"), how.c, made, ffi.NULL)
        return cls._of(made[0])

    @classmethod
    def generate_symm(cls, **options):
        """The paper's labelling trees (seed, trees_per_class)."""
        return cls._generate("symm", options)

    @classmethod
    def generate_documents(cls, **options):
        """Families of XML-like documents (seed, classes, trees_per_class, nodes, ...)."""
        return cls._generate("documents", options)

    @classmethod
    def _generate(cls, name, options):
        how = fill(options, Options(name))
        made, error = ffi.new("phl_forest **"), ffi.new("phl_error *")
        check(getattr(lib, f"phl_generate_{name}")(how.c, made, error), error)
        return cls._of(made[0])

    def write(self, path, **options):
        """Write all trees to a file (format by its name, .gz and .zst compress) or, as XML, to a
        folder."""
        call = Call()
        how = call.connect(fill(options, Options("write")))
        call.check(lib.phl_forest_write, self._c, c_path(path), how.c)

    def to_text(self, format="brackets", **options):
        """All trees as one text: brackets, json, elastic, xml (one tree), conllu, ptb."""
        call = Call()
        how = call.connect(fill({"format": format, **options}, Options("write")))
        text, size = ffi.new("char **"), ffi.new("size_t *")
        call.check(lib.phl_forest_write_memory, self._c, how.c, text, size)
        try:
            return bytes(ffi.buffer(text[0], size[0])).decode("utf-8")
        finally:
            lib.phl_free(text[0])

    # ---- as a sequence ----

    def __len__(self):
        return lib.phl_forest_trees(self._c)

    @property
    def shape(self):
        """(number of trees,)"""
        return (len(self),)

    def __iter__(self):
        return (Tree(self, i) for i in range(len(self)))

    def __array__(self, dtype=None, copy=None):
        found = np.empty(len(self), dtype=object)
        for i, tree in enumerate(self):
            found[i] = tree
        return found

    def __getitem__(self, index):
        """A number gives a tree; a slice, a mask or an array of numbers gives a forest, whose
        labels and classes are those that occur in it."""
        if isinstance(index, (int, np.integer)) and not isinstance(index, (bool, np.bool_)):
            number = int(index) + (len(self) if index < 0 else 0)
            if not 0 <= number < len(self):
                raise IndexError(f"there is no tree {index}: the forest has {len(self)}")
            return Tree(self, number)
        return self._copy(self._numbers(index))

    def _numbers(self, index):
        if isinstance(index, slice):
            return np.arange(len(self))[index]
        index = np.asarray(index)
        if index.ndim != 1:
            raise IndexError("expected a number, a slice, a mask or a list of numbers")
        if index.dtype == bool:
            if len(index) != len(self):
                raise IndexError(f"the mask has {len(index)} entries, the forest {len(self)} trees")
            return np.flatnonzero(index)
        if index.size and index.dtype.kind not in "iu":
            raise IndexError(f"expected numbers of trees, found {index.dtype}")
        index = index.astype("i8")
        if index.size and not (-len(self) <= index.min() and index.max() < len(self)):
            raise IndexError(f"there is no tree {index.max()}: the forest has {len(self)}")
        return np.where(index < 0, index + len(self), index)

    def _copy(self, numbers, classes=None, weights=None):
        """Trees with other classes or weights."""
        numbers = np.ascontiguousarray(numbers, dtype=np.uintp)
        kept, names = [], ffi.NULL
        if classes is not None:
            known = {}
            for name in classes:
                if name not in known:
                    known[name] = ffi.NULL if name is None else c_string(_class_text(name), "class")
            kept = known
            names = ffi.new("char *[]", [known[name] for name in classes] or [ffi.NULL])
        if weights is not None:
            weights = _checked_weights(weights, len(numbers))
        made, error = ffi.new("phl_forest **"), ffi.new("phl_error *")
        check(lib.phlpy_copy(self._c, ffi.cast("size_t *", ffi.from_buffer(numbers)), len(numbers),
                             names, ffi.NULL if weights is None
                             else ffi.cast("double *", ffi.from_buffer(weights)), made, error),
              error)
        del kept
        return Forest._of(made[0], self._objects)

    def with_classes(self, classes=None, weights=None):
        """The same trees with other classes (None: without one) or weights."""
        if classes is not None:
            classes = list(classes)
            if len(classes) != len(self):
                raise ValueError(f"found {len(classes)} classes for {len(self)} trees")
        return self._copy(np.arange(len(self)), classes, weights)

    @classmethod
    def concat(cls, forests):
        """One forest of all trees, in order."""
        forests = list(forests)
        objects = {}
        for forest in forests:
            if not isinstance(forest, Forest):
                raise TypeError(f"expected forests, found {type(forest).__name__}")
            objects.update(forest._objects)
        made, error = ffi.new("phl_forest **"), ffi.new("phl_error *")
        listed = ffi.new("phl_forest *[]", [forest._c for forest in forests] or [ffi.NULL])
        check(lib.phl_forest_concat(listed, len(forests), made, error), error)
        return cls._of(made[0], objects)

    def __add__(self, other):
        return Forest.concat([self, other]) if isinstance(other, Forest) else NotImplemented

    # ---- what is in it ----

    @property
    def labels(self):
        """The labels; numbers in arrays are positions in this list."""
        if self._names is None:
            names = (text_of(lib.phl_forest_label_name(self._c, i))
                     for i in range(lib.phl_forest_labels(self._c)))
            self._names = [self._objects.get(name, name) for name in names]
        return self._names

    @property
    def classes(self):
        """The names of the classes that trees have."""
        return [text_of(lib.phl_forest_class_name(self._c, i))
                for i in range(lib.phl_forest_classes(self._c))]

    @property
    def y(self):
        """The class of every tree, an array of names; None where a tree has none."""
        names = np.array(self.classes + [None], dtype=object)
        return names[self.tree_class]

    def _array(self, name, length):
        if self._view is None:
            self._view = ffi.new("phl_forest_arrays *")
            lib.phl_forest_view(self._c, self._view)
        pointer = getattr(self._view, name)
        return array(pointer, length, owner=self._c, dtype=LINK if name == "links" else None)

    @property
    def subtrees(self):
        """Number of distinct subtrees."""
        return lib.phl_forest_subtrees(self._c)

    @property
    def subtree_label(self):
        """[subtrees] label of each distinct subtree, -1 unknown; a view, like all these arrays.
        Children come before their parents."""
        return self._array("label", self.subtrees)

    @property
    def leaf_slot(self):
        """[subtrees] slot of a leaf; 0 for an internal node"""
        return self._array("leaf_slot", self.subtrees)

    @property
    def multiplicity(self):
        """[subtrees] occurrences over all trees"""
        return self._array("multiplicity", self.subtrees)

    @property
    def first_link(self):
        """[subtrees + 1] the links of subtree s are links[first_link[s]:first_link[s + 1]]"""
        return self._array("first_link", self.subtrees + 1)

    @property
    def links(self):
        """[links] of (slot, child), a structured array"""
        return self._array("links", lib.phl_forest_links(self._c))

    @property
    def tree_root(self):
        """[trees] the distinct subtree that is the whole tree"""
        return self._array("tree_root", len(self))

    @property
    def tree_class(self):
        """[trees] number of the class, -1 for none"""
        return self._array("tree_class", len(self))

    @property
    def weights(self):
        """[trees]"""
        found = self._array("tree_weight", len(self))
        return found if self._view.tree_weight != ffi.NULL else np.ones(len(self))

    @property
    def max_slot(self):
        return lib.phl_forest_max_slot(self._c)

    @property
    def sizes(self):
        """[subtrees] nodes of each distinct subtree"""
        found = np.zeros(self.subtrees, dtype="u8")
        lib.phlpy_sizes(self._c, ffi.cast("uint64_t *", ffi.from_buffer(found)))
        return found

    def stats(self):
        """What `phloem stats` prints, as a dict."""
        made, error = ffi.new("phl_stats **"), ffi.new("phl_error *")
        check(lib.phl_stats_compute(self._c, made, error), error)
        try:
            return to_dict(made[0])
        finally:
            lib.phl_stats_free(made[0])

    def fingerprint(self, ordered=False):
        """32 hexadecimal digits over labels, shapes, slots, classes and weights."""
        out, error = ffi.new("char[33]"), ffi.new("phl_error *")
        check(lib.phl_forest_fingerprint(self._c, ordered, out, error), error)
        return ffi.string(out).decode()

    def __eq__(self, other):
        if not isinstance(other, Forest):
            return NotImplemented
        return self is other or (len(self) == len(other)
                                 and self.fingerprint(True) == other.fingerprint(True))

    def __hash__(self):
        return hash(self.fingerprint(True))

    # ---- to other kinds of trees ----

    def to_nested(self):
        """Each tree as nested tuples (label, child, ...); equal subtrees are one object."""
        labels = self.labels + [None]
        number, first, links = self.subtree_label, self.first_link, self.links
        made = []
        for s in range(self.subtrees):
            below = links[first[s]:first[s + 1]]
            children = [None] * (int(below["slot"][-1]) if len(below) else 0)
            for slot, child in below.tolist():
                children[slot - 1] = made[child]
            made.append((labels[number[s]], *children))
        return [made[root] for root in self.tree_root]

    def to_dicts(self):
        """Each tree as {"label": ..., "children": [...]}, with "class", "weight" and "id"."""
        found = []
        for tree in self:
            made = _trees.to_dict(tree.root)
            if tree.class_name is not None:
                made["class"] = tree.class_name
            if tree.weight != 1:
                made["weight"] = tree.weight
            if tree.id is not None:
                made["id"] = tree.id
            found.append(made)
        return found

    def to_nltk(self):
        return [tree.to_nltk() for tree in self]

    def to_networkx(self):
        return [tree.to_networkx() for tree in self]

    def to_etree(self):
        return [tree.to_etree() for tree in self]

    def to_ast(self):
        """Of trees that were made with ast_fields=True."""
        return [tree.to_ast() for tree in self]

    # ---- pickling and printing ----

    def __reduce__(self):
        text = self.to_text("json").encode("utf-8") if len(self) else b""
        shared = lib.phl_forest_is_shared(self._c)
        names = [_trees.label_text(label) for label in self.labels]
        return _restore, (zlib.compress(text, 1), not shared, self._objects, names)

    def __repr__(self):
        classes = len(self.classes)
        of = f", {classes} {'class' if classes == 1 else 'classes'}" if classes else ""
        return (f"<Forest of {len(self):,} trees, {self.subtrees:,} distinct subtrees, "
                f"{len(self.labels):,} labels{of}>")

    def _repr_html_(self):
        from .html import forest_html
        return forest_html(self)


def _restore(packed, no_sharing, objects, names):
    text = zlib.decompress(packed)
    forest = Forest.parse(text, "json", no_sharing=no_sharing) if text else Forest([])
    if forest.labels != names:  # numbered otherwise than by where they first occur
        forest = Forest.concat([Forest([(names[0], *names)], no_sharing=no_sharing), forest])
        numbers = np.arange(1, len(forest), dtype=np.uintp)
        made, error = ffi.new("phl_forest **"), ffi.new("phl_error *")
        check(lib.phl_forest_select(forest._c, ffi.cast("size_t *", ffi.from_buffer(numbers)),
                                    len(numbers), made, error), error)
        forest = Forest._of(made[0])
    forest._objects, forest._names = objects, None
    return forest


class Tree:
    """One tree of a forest: a light view."""

    __slots__ = ("forest", "index")

    def __init__(self, forest, index):
        self.forest, self.index = forest, index

    @property
    def root(self):
        return Node(self.forest, lib.phl_tree_root(self.forest._c, self.index), 1)

    @property
    def class_name(self):
        """The name of its class, or None."""
        c = self.forest._c
        return text_of(lib.phl_forest_class_name(c, lib.phl_tree_class(c, self.index)))

    @property
    def weight(self):
        return lib.phl_tree_weight(self.forest._c, self.index)

    @property
    def id(self):
        return text_of(lib.phl_tree_id(self.forest._c, self.index))

    @property
    def source(self):
        """(file, line) it was read from; None where it is not known."""
        c = self.forest._c
        return (text_of(lib.phl_tree_file(c, self.index)),
                lib.phl_tree_line(c, self.index) or None)

    @property
    def label(self):
        return self.root.label

    @property
    def children(self):
        return self.root.children

    @property
    def size(self):
        """Number of nodes."""
        return int(self.forest.sizes[self.root.subtree])

    def nodes(self):
        """Its nodes in pre-order as arrays: label, parent (-1 at the root), slot, subtree."""
        n = self.size
        parent, slot = np.empty(n, "i8"), np.empty(n, "u4")
        subtree, error = np.empty(n, "u4"), ffi.new("phl_error *")
        check(lib.phlpy_nodes(self.forest._c, self.index, n,
                              ffi.cast("int64_t *", ffi.from_buffer(parent)),
                              ffi.cast("uint32_t *", ffi.from_buffer(slot)),
                              ffi.cast("uint32_t *", ffi.from_buffer(subtree)), error), error)
        return {"label": self.forest.subtree_label[subtree], "parent": parent, "slot": slot,
                "subtree": subtree}

    def __iter__(self):
        """Its nodes in pre-order."""
        return (node for _, _, node in self.root.walk())

    def to_nested(self):
        return self.root.to_nested()

    def to_nltk(self):
        return _trees.to_nltk(self.root)

    def to_networkx(self):
        return _trees.to_graph(self.root)

    def to_etree(self):
        return _trees.to_element(self.root)

    def to_ast(self):
        return _trees.to_ast(self.root)

    def __str__(self):
        return self.forest._copy([self.index], [None], [1.0]).to_text().rstrip("\n")

    def __repr__(self):
        text = str(self)
        return f"<Tree {text if len(text) <= 60 else text[:57] + '...'}>"

    def _repr_html_(self):
        from .html import tree_svg
        return tree_svg(self)

    def __eq__(self, other):
        return isinstance(other, Tree) and self.to_nested() == other.to_nested()

    def __hash__(self):
        return hash(str(self))

    def __reduce__(self):
        return _one_tree, (self.forest._copy([self.index]),)

    def _phloem_node(self):
        return self.root._phloem_node()


def _one_tree(forest):
    return forest[0]


class Node:
    """A node of a tree: a label, and children in slots."""

    __slots__ = ("forest", "subtree", "slot")

    def __init__(self, forest, subtree, slot):
        self.forest, self.subtree, self.slot = forest, subtree, slot

    @property
    def label(self):
        """The label, or None if it is unknown."""
        number = lib.phl_subtree_label(self.forest._c, self.subtree)
        return None if number < 0 else self.forest.labels[number]

    @property
    def children(self):
        """Nodes, with None for empty slots."""
        links = ffi.new("phl_link **")
        count = lib.phl_subtree_links(self.forest._c, self.subtree, links)
        below = links[0]
        found = [None] * (below[count - 1].slot if count else 0)
        for k in range(count):
            slot = below[k].slot
            found[slot - 1] = Node(self.forest, below[k].child, slot)
        return found

    @property
    def is_leaf(self):
        return lib.phl_subtree_leaf_slot(self.forest._c, self.subtree) != 0

    def walk(self):
        """(number of the parent or None, slot, node) in pre-order."""
        stack, number = [(None, self)], 0
        while stack:
            parent, node = stack.pop()
            yield parent, node.slot, node
            stack.extend((number, child) for child in reversed(node.children)
                         if child is not None)
            number += 1

    def to_nested(self):
        return _trees.fold(self, lambda label, children: (label, *children))

    def __repr__(self):
        return f"<Node {self.label!r} with {sum(c is not None for c in self.children)} children>"

    def _phloem_node(self):
        return self.label, self.children


# ---- from lists of trees ----

def _class_text(name):
    if isinstance(name, (str, int, np.integer, np.bool_)):
        return str(name)
    raise TypeError(f"found a class of type {type(name).__name__}, expected a string")


def _checked_weights(weights, n):
    weights = np.ascontiguousarray(weights, dtype="f8")
    if weights.shape != (n,):
        raise ValueError(f"found weights of shape {weights.shape} for {n} trees")
    for i, weight in enumerate(weights):
        if not math.isfinite(weight) or weight <= 0:
            raise ValueError(f"tree {i}: found weight {weight}, expected a number above 0")
    return weights


def as_forest(trees, **how):
    """What functions take for trees: a Forest as it is, or what Forest() takes."""
    return trees if isinstance(trees, Forest) else Forest(trees, **how)


def _from_any(trees, classes, weights, ids, no_sharing, how):
    if isinstance(trees, (str, bytes)):
        raise TypeError("found a string, expected a list of trees; Forest.parse reads texts, "
                        "Forest.read files")
    if isinstance(trees, Forest):
        made = trees._copy(np.arange(len(trees)), _listed(classes, len(trees), "classes"), weights)
        return made._c, made._objects
    if not isinstance(trees, Iterable) or _trees.is_graph(trees) or isinstance(trees, dict) \
            or _trees.is_nltk(type(trees)) or _trees.is_element(type(trees)):
        raise TypeError(f"found {type(trees).__name__}, expected a list of trees")
    trees = list(trees)
    if trees and all(isinstance(tree, str) for tree in trees):
        return _from_brackets(trees, classes, weights, ids, no_sharing)
    if trees and ids is None and not no_sharing and isinstance(trees[0], Tree) and all(
            isinstance(tree, Tree) and tree.forest is trees[0].forest for tree in trees):
        made = trees[0].forest._copy([tree.index for tree in trees],
                                     _listed(classes, len(trees), "classes"), weights)
        return made._c, made._objects
    if not any(how.values()) and not any(isinstance(tree, dict) for tree in trees):
        made = _build_plain(trees, classes, weights, ids, no_sharing)
        if made is not None:
            return made, {}
    reader = _trees.Reader(**how)
    reader.read([Forest.parse(tree, "brackets")[0] if isinstance(tree, str) else tree
                 for tree in trees])
    return _build(reader, classes, weights, ids, no_sharing)


def _build_plain(trees, classes, weights, ids, no_sharing):
    """By the loop in C, which knows strings, tuples, lists and NLTK's trees; None: others, too."""
    if any(isinstance(tree, str) for tree in trees):
        return None
    labelled = next((type(tree) for tree in trees if _trees.is_nltk(type(tree))), None)
    infos, kept = _infos([None] * len(trees), classes, weights, ids)
    plain = ffi.new("bool *")

    def build(builder, error):
        return lib.phlpy_build_plain(builder, _address(trees), _address(labelled), infos, plain,
                                     error)
    made = _finish(build, no_sharing)
    del kept
    return made if plain[0] else None


def _address(thing):
    """Where CPython keeps an object."""
    return ffi.NULL if thing is None else ffi.cast("void *", id(thing))


def _finish(build, no_sharing):
    """The forest that build(builder, error) fills."""
    options = fill({"no_sharing": no_sharing}, Options("builder"))
    builder, error = ffi.new("phl_builder **"), ffi.new("phl_error *")
    made = ffi.new("phl_forest **")
    check(lib.phl_builder_create(options.c, builder, error), error)
    try:
        check(build(builder[0], error), error)
        check(lib.phl_builder_finish(builder[0], made, error), error)
    finally:
        lib.phl_builder_free(builder[0])
    return ffi.gc(made[0], lib.phl_forest_free)


def _listed(values, n, what):
    if values is None:
        return None
    values = list(values)
    if len(values) != n:
        raise ValueError(f"found {len(values)} {what} for {n} trees")
    return values


def _from_brackets(trees, classes, weights, ids, no_sharing):
    """Strings, one tree each."""
    for i, tree in enumerate(trees):
        if "\n" in tree.strip("\r\n") or "\r" in tree.strip("\r\n"):
            raise ValueError(f"tree {i}: found several lines, expected one tree in brackets; "
                             "Forest.parse reads texts")
        if not tree.strip() or tree.lstrip().startswith("#"):
            raise ValueError(f"tree {i}: found {tree[:50]!r}, expected a tree in brackets")
    made = Forest.parse("\n".join(tree.strip("\r\n") for tree in trees), "brackets", name="tree",
                        no_sharing=no_sharing)
    if len(made) != len(trees):
        raise ValueError(f"found {len(made)} trees in {len(trees)} strings")
    if ids is not None:
        reader = _trees.Reader()
        reader.read(list(made))
        classes = made.y if classes is None else classes
        return _build(reader, classes, weights, ids, no_sharing)
    if classes is not None or weights is not None:
        made = made._copy(np.arange(len(made)), _listed(classes, len(made), "classes"), weights)
    return made._c, {}


def _build(reader, classes, weights, ids, no_sharing):
    infos, kept = _infos(reader.extra, classes, weights, ids)
    names, kept_names = _trees.c_names(reader.labels.texts)

    def build(builder, error):
        return lib.phlpy_build(builder, names,
                               ffi.cast("int32_t *", ffi.from_buffer(reader.codes)),
                               ffi.cast("uint32_t *", ffi.from_buffer(reader.counts)),
                               len(reader.codes), infos, reader.trees, error)
    made = _finish(build, no_sharing)
    del kept, kept_names
    return made, reader.labels.objects


def _infos(extra, classes, weights, ids):
    """phl_tree_info of each tree, and what they point to; `extra`: what a tree brings itself."""
    n = len(extra)
    classes, ids = _listed(classes, n, "classes"), _listed(ids, n, "ids")
    weights = None if weights is None else _checked_weights(weights, n)
    if classes is None and weights is None and ids is None and not any(extra):
        return ffi.NULL, None
    infos, kept = ffi.new("phl_tree_info[]", max(n, 1)), {}

    def string(text):
        if text not in kept:
            kept[text] = c_string(text, "class or id")
        return kept[text]

    for i, own in enumerate(extra):
        own_class, own_weight, own_id = own or (None, None, None)
        name = own_class if classes is None else classes[i]
        if name is not None:
            infos[i].class_name = string(_class_text(name))
        if weights is not None:
            infos[i].weight = weights[i]
        elif own_weight is not None:
            infos[i].weight = _checked_weights([own_weight], 1)[0]
        known = own_id if ids is None else ids[i]
        if known is not None:
            infos[i].id = string(str(known))
    return infos, kept


FORMATS = tuple(name for number, name in sorted(names_of(ffi.typeof("phl_format")).items()) if number)
