"""Trees of other kinds, to and from the form that the library builds forests of.

Trees are flattened level by level, all of a forest at once: the roots, then all nodes below them,
and so on.  Of each node there is the number of its label and the number of its slots.  No step
recurses, so depth is no problem, and each level is a few list comprehensions.
"""
import ast
import enum
from array import array

from ._native import ffi, lib

UNKNOWN, EMPTY = lib.PHL_UNKNOWN, lib.PHLPY_EMPTY
CHECK_NODES = 200_000  # nodes, or
CHECK_DEPTH = 1024       # levels, after which cycles are looked for


class Labels(dict):
    """label -> number, in the order they are met.  `texts` are what the library is given."""

    def __init__(self):
        super().__init__()
        self.texts = []   # bytes by number
        self.objects = {}  # text -> label, for labels that are no strings
        self._owner = {}  # text -> label
        self[None] = UNKNOWN

    def __missing__(self, label):
        text = label_text(label)
        if text in self._owner:
            raise ValueError(f"the labels {self._owner[text]!r} and {label!r} are both written "
                             f"{text!r}; give one of them another name")
        try:
            self.texts.append(text.encode("utf-8"))
        except UnicodeEncodeError:
            raise ValueError(f"the label {text[:50]!r} cannot be written as UTF-8") from None
        if "\0" in text:
            raise ValueError(f"the label {text[:50]!r} holds a NUL character")
        self._owner[text] = label
        if type(label) is not str:
            self.objects[text] = label
        number = self[label] = len(self.texts) - 1
        return number


def label_text(label):
    """What a label is called in the library."""
    if isinstance(label, str):
        return str(label.value) if isinstance(label, enum.Enum) else str(label)
    if isinstance(label, (bytes, bytearray)):
        raise TypeError(f"found the label {bytes(label[:50])!r}, which is bytes; decode it first")
    if isinstance(label, float) and label != label:
        raise ValueError("found NaN as a label; None stands for an unknown label")
    try:
        hash(label)
    except TypeError:
        raise TypeError(f"found the label {str(label)[:50]!r} of type {type(label).__name__}, "
                        "expected a string or another hashable object") from None
    return str(label)


def is_nltk(kind):
    return issubclass(kind, list) and hasattr(kind, "label") and hasattr(kind, "set_label")


def is_element(kind):
    return hasattr(kind, "tag") and hasattr(kind, "attrib") and hasattr(kind, "iter")


def is_graph(tree):
    return hasattr(tree, "successors") and hasattr(tree, "in_degree")


class Reader:
    """Flattens the trees of a forest."""

    def __init__(self, xml_attributes=False, xml_text=False, ast_fields=False):
        self.labels = Labels()
        self.codes, self.counts = array("i"), array("I")
        self.trees = 0
        self.extra = []  # (class, weight, id) that a dict brings, or None
        self.xml_attributes, self.xml_text = xml_attributes, xml_text
        self.ast_fields = ast_fields
        self._kinds = {str: "str"}

    def read(self, trees):
        """All trees, once.  An error names the tree."""
        try:
            self._read(trees)
        except (TypeError, ValueError):
            for number, tree in enumerate(trees):
                try:
                    Reader(self.xml_attributes, self.xml_text, self.ast_fields)._read([tree])
                except (TypeError, ValueError) as problem:
                    raise type(problem)(f"tree {number}: {problem}") from None
            raise

    def _read(self, trees):
        self.trees = len(trees)
        self.extra = [tuple(tree.get(key) for key in ("class", "weight", "id"))
                      if isinstance(tree, dict) else None for tree in trees]
        roots = [from_graph(tree) if is_graph(tree) else tree for tree in trees]
        for root in roots:
            if root is None:
                raise ValueError("found None, expected a tree")
        self._flatten(roots)

    def _flatten(self, roots):
        labels, codes, counts = self.labels, self.codes, self.counts
        level, depth, check = roots, 0, CHECK_NODES
        while level:
            nodes = [self._node(node) for node in level]
            try:
                codes.extend([labels[label] if label is not EMPTY else EMPTY
                              for label, _ in nodes])
            except TypeError:
                for label, _ in nodes:  # one that cannot be a key says so itself
                    label_text(label)
                raise
            counts.extend([len(children) for _, children in nodes])
            depth += 1
            if depth >= CHECK_DEPTH and depth & (depth - 1) == 0 or len(codes) > check:
                check = 2 * len(codes)
                if depth >= CHECK_DEPTH or 2 * len(set(map(id, level))) < len(level):
                    self.check_cycles(roots)
            level = [child for _, children in nodes for child in children]

    def _node(self, node):
        """(label, children) of a node."""
        expand = self._kind_of(type(node))
        if expand == "str":
            return node, ()
        return expand(node)

    def _kind_of(self, kind):
        found = self._kinds.get(kind)
        if found is None:
            found = self._kinds[kind] = self._kind(kind)
        return found

    def check_cycles(self, trees):
        """Raise if the objects of a tree lead back to themselves; each object is met once."""
        active, done = set(), set()
        stack = [(tree, False) for tree in trees]
        kept = []  # what is made on the way must not give its id to another
        while stack:
            node, left = stack.pop()
            if isinstance(node, str) or node is None:
                continue
            key = id(node)
            if left:
                active.discard(key)
                done.add(key)
                continue
            if key in active:
                raise ValueError("the objects of the tree form a cycle: some node is below itself")
            if key in done:
                continue
            kept.append(node)
            children = self._node(node)[1]
            active.add(key)
            stack.append((node, True))
            stack.extend((child, False) for child in children)

    def _kind(self, kind):
        if kind is type(None):
            return lambda node: (EMPTY, ())
        if is_nltk(kind):
            return lambda node: (node.label(), node)
        if issubclass(kind, dict):
            return from_dict
        if issubclass(kind, ast.AST):
            return ast_with_fields if self.ast_fields else from_ast
        if issubclass(kind, (tuple, list)) and not hasattr(kind, "_fields"):
            return from_sequence
        if hasattr(kind, "_phloem_node"):
            return lambda node: node._phloem_node()
        if is_element(kind):
            return self._element
        if kind is Named:
            return lambda node: (node.label, node.children)
        return leaf

    def _element(self, node):
        children = []
        if self.xml_attributes:
            children += [f"@{name}" for name in node.attrib]
        if self.xml_text and (node.text or "").strip():
            children.append("#text")
        for child in node:
            if isinstance(child.tag, str):  # comments and instructions have none
                children.append(child)
            if self.xml_text and (child.tail or "").strip():
                children.append("#text")
        return node.tag, children


class Named:
    """A node made here: a label, even if it is a tuple, and children."""

    __slots__ = ("label", "children")

    def __init__(self, label, children):
        self.label, self.children = label, children


def leaf(node):
    if isinstance(node, (set, frozenset, bytearray)) or callable(getattr(node, "keys", None)):
        raise TypeError(f"found {type(node).__name__}, expected a node: a label, (label, child, "
                        "...), {'label': ..., 'children': [...]} or None for an empty slot")
    label_text(node)
    return node, ()


def from_sequence(node):
    if not node:
        raise ValueError(f"found an empty {type(node).__name__}, expected (label, child, ...)")
    label = node[0]
    if isinstance(label, (list, dict)):
        raise TypeError(f"found a {type(label).__name__} in place of a label; "
                        "a node is (label, child, ...)")
    return label, node[1:]


def from_dict(node):
    if "label" not in node:
        raise ValueError("found a dict without 'label', expected {'label': ..., 'children': [...]}")
    children = node.get("children") or ()
    if not isinstance(children, (list, tuple)):
        raise TypeError(f"found 'children' of type {type(children).__name__}, expected a list")
    if isinstance(node["label"], (list, dict)):
        raise TypeError(f"found a {type(node['label']).__name__} as a label")
    return node["label"], children


def from_ast(node):
    return type(node).__name__, list(ast.iter_child_nodes(node))


def ast_with_fields(node):
    """A child for each field, so that the way back is possible: a node, a list, a constant."""
    children = []
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            value = Named("[]", [item if isinstance(item, ast.AST) else constant_label(item)
                                 for item in value])
        elif value is None and not (isinstance(node, ast.Constant) and field == "value"):
            pass  # an empty slot
        elif not isinstance(value, ast.AST):
            value = constant_label(value)
        children.append(value)
    while children and children[-1] is None:
        children.pop()
    return type(node).__name__, children


def constant_label(value):
    return "=" + ("1e999" if value == float("inf") else repr(value)).replace("inf", "1e999") \
        if isinstance(value, (float, complex)) else f"={value!r}"


# ---- NetworkX ----

def from_graph(graph):
    """A directed tree: labels from the attribute `label` of nodes (else the node itself), order of
    children by the attribute `slot` of edges (else as they were added)."""
    roots = [node for node, degree in graph.in_degree() if degree == 0]
    if len(graph) == 0 or len(roots) != 1:
        raise ValueError(f"found a graph with {len(roots)} nodes without a parent, expected a tree, "
                         "which has one")
    made = {node: Named(data.get("label", node), []) for node, data in graph.nodes(data=True)}
    for node in graph:
        children = []
        for child in graph.successors(node):
            if graph.in_degree(child) > 1:
                raise ValueError(f"the node {child!r} has {graph.in_degree(child)} parents, "
                                 "expected a tree")
            children.append((graph.edges[node, child].get("slot"), made[child]))
        made[node].children = in_slots(children)
    root = made[roots[0]]
    reached, stack = 0, [root]  # every node has one parent, so none is met twice
    while stack:
        reached += 1
        stack.extend(child for child in stack.pop().children if child is not None)
    if reached != len(graph):
        raise ValueError("the graph is not connected; expected a tree")
    return root


def in_slots(children):
    """[(slot or None, child)] as a list with None for empty slots."""
    if all(slot is None for slot, _ in children):
        return [child for _, child in children]
    placed = {}
    for slot, child in children:
        if not isinstance(slot, int) or slot < 1 or slot in placed or slot > 10_000_000:
            raise ValueError(f"found slot {slot!r}, expected whole numbers from 1, each once")
        placed[slot] = child
    return [placed.get(slot) for slot in range(1, max(placed) + 1)]


def to_graph(node):
    import networkx
    graph = networkx.DiGraph()
    for number, (parent, slot, at) in enumerate(node.walk()):
        graph.add_node(number, label=at.label)
        if parent is not None:
            graph.add_edge(parent, number, slot=slot)
    return graph


# ---- and back ----

def fold(node, make):
    """Bottom up: make(label, children) for every node; children have None for empty slots."""
    stack, results = [(node, None)], []
    while stack:
        at, count = stack.pop()
        if count is not None:
            children = results[len(results) - count:] if count else []
            del results[len(results) - count:]
            results.append(make(at.label, children))
        elif at is None:
            results.append(None)
        else:
            below = at.children
            stack.append((at, len(below)))
            stack.extend((child, None) for child in reversed(below))
    return results[0]


def to_nltk(node):
    from nltk.tree import Tree

    def make(label, children):
        if any(child is None for child in children):
            raise ValueError("an NLTK tree has no empty slots")
        return Tree(label, children) if children else label
    made = fold(node, make)
    return made if isinstance(made, Tree) else Tree(made, [])


def to_dict(node):
    return fold(node, lambda label, children: {"label": label, "children": children}
                if children else {"label": label})


def to_element(node):
    from xml.etree import ElementTree

    def make(label, children):
        if label is None:
            raise ValueError("an XML element has no unknown label")
        if any(child is None for child in children):
            raise ValueError("an XML element has no empty slots")
        made = ElementTree.Element(str(label))
        for child in children:
            if child.tag.startswith("@"):
                made.set(child.tag[1:], "")
            elif child.tag == "#text":
                made.text = (made.text or "") + " "
            else:
                made.append(child)
        return made
    return fold(node, make)


def to_ast(node):
    """Of a tree that was made with ast_fields."""
    def make(label, children):
        if label == "[]":
            return children
        if isinstance(label, str) and label.startswith("="):
            return Ellipsis if label == "=Ellipsis" else ast.literal_eval(label[1:])
        kind = getattr(ast, str(label), None)
        if not isinstance(kind, type) or not issubclass(kind, ast.AST):
            raise ValueError(f"'{label}' is no node of Python's syntax; "
                             "was the forest made with ast_fields=True?")
        if len(children) > len(kind._fields):
            raise ValueError(f"'{label}' has {len(children)} fields, expected "
                             f"{len(kind._fields)} at most; was the forest made with "
                             "ast_fields=True?")
        children = children + [None] * (len(kind._fields) - len(children))
        return kind(**dict(zip(kind._fields, children)))
    return ast.fix_missing_locations(fold(node, make))


def c_names(texts):
    """char *[] of the labels; what it points to is returned as well."""
    kept = [ffi.new("char[]", text) for text in texts]
    return ffi.new("char *[]", kept or [ffi.NULL]), kept
