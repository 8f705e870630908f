"""What the tasks of a run share: where trees come from, and how results are gathered."""
import os

import numpy as np

from ._calls import Call
from ._native import ffi, lib
from ._structs import Options, array, c_path, fill, names_of, to_dict
from .errors import check
from .forest import Forest, as_forest

# Arrays in what callbacks are given, and their shapes.  Numbers are members of the struct, or: N
# nodes, C states, K classes, M labels, M1 labels and the unseen one.
SHAPES = {
    "tree_score": {"bits": "N", "predictive": "N M1"},
    "decoded_tree": {"marginals": "N C", "best": "N", "pairs": "N C C", "joint": "N"},
    "classified_tree": {"log_posterior": "K", "log_likelihood": "K"},
    "labelled_tree": {"truth": "n", "hidden": "n", "filled": "n", "best": "n", "drawn": "n",
                      "probability": "n_filled M", "unseen": "n_filled"},
    "tree_features": {"feature": "n", "count": "n", "value": "n"},
}


class Result:
    """What a task found; its members are arrays over trees, or lists with an array a tree."""

    def __init__(self, **members):
        self.__dict__.update(members)

    def reshape(self, width):
        """Numbers that came several for each tree: [trees][width]."""
        for name, value in self.__dict__.items():
            if isinstance(value, np.ndarray):
                self.__dict__[name] = value.reshape(-1, width)
            elif isinstance(value, list):
                self.__dict__[name] = [value[i:i + width] for i in range(0, len(value), width)]

    def __repr__(self):
        return f"<Result: {', '.join(self.__dict__)}>"


class Collector:
    """Keeps what a task hands out tree by tree: numbers, and copies of arrays."""

    def __init__(self, struct, run=None):
        self.scalars, self.arrays = [], []
        shapes = SHAPES[struct]
        for name, field in ffi.typeof(f"phl_{struct}").fields:
            if field.type.kind in ("primitive", "enum"):
                self.scalars.append((name, [], field.type))
            elif name in shapes:
                self.arrays.append((name, [], shapes[name].split()))
        self.sizes = {}
        if run is not None:
            labels = lib.phl_run_labels(run._c)
            self.sizes = {"C": lib.phl_run_states(run._c), "K": lib.phl_run_classes(run._c),
                          "M": labels, "M1": labels + 1}
        self.needs_nodes = any("N" in shape for _, _, shape in self.arrays)
        self._block = None

    def take(self, at, found):
        for name, values, _ in self.scalars:
            values.append(getattr(found, name))
        for name, values, shape in self.arrays:
            pointer = getattr(found, name)
            if pointer == ffi.NULL:
                values.append(None)
                continue
            if shape[0] == "N":
                self.sizes["N"] = self._nodes(at)
            values.append(array(pointer, [self.sizes[axis] if axis in self.sizes
                                          else getattr(found, axis) for axis in shape]).copy())

    def _nodes(self, at):
        key = (int(ffi.cast("uintptr_t", at.block)), at.number - at.tree)
        if self._block is None or self._block[0] != key:
            sizes = np.zeros(lib.phl_forest_subtrees(at.block), dtype="u8")
            lib.phlpy_sizes(at.block, ffi.cast("uint64_t *", ffi.from_buffer(sizes)))
            self._block = key, sizes
        return int(self._block[1][lib.phl_tree_root(at.block, at.tree)])

    def result(self):
        members = {}
        for name, values, kind in self.scalars:
            if kind.kind == "enum":
                members[name] = [names_of(kind)[value] for value in values]
            else:
                dtype = {"double": "f8", "_Bool": "?"}.get(kind.cname, "i8")
                members[name] = np.array(values, dtype=dtype)
        for name, values, _ in self.arrays:
            members[name] = values
        return Result(**members)


class Source:
    """Trees for a task: in memory, or files (pathlib.Path), which are read block by block."""

    def __init__(self, trees, read=None):
        self.objects = {}
        made, error = ffi.new("phl_source **"), ffi.new("phl_error *")
        paths = [trees] if isinstance(trees, os.PathLike) else trees
        if isinstance(paths, (list, tuple)) and paths \
                and all(isinstance(path, os.PathLike) for path in paths):
            self._call = Call()
            self._kept = ([c_path(path) for path in paths],
                          self._call.connect(fill(read or {}, Options("read"))))
            check(lib.phl_source_open(ffi.new("char *[]", self._kept[0]), len(paths),
                                      self._kept[1].c, made, error), error)
        else:
            if read:
                raise TypeError("options of reading belong to files")
            self._kept = as_forest(trees)
            self.objects = self._kept._objects
            check(lib.phl_source_forest(self._kept._c, made, error), error)
        self.c = made[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lib.phl_source_free(self.c)
        self.c = None


def forest_of(blocks, objects):
    """One forest of blocks that are ours."""
    if len(blocks) == 1:
        forest = Forest.__new__(Forest)
        forest._adopt(blocks[0], objects)
        return forest
    made, error = ffi.new("phl_forest **"), ffi.new("phl_error *")
    check(lib.phl_forest_concat(ffi.new("phl_forest *[]", blocks or [ffi.NULL]), len(blocks), made,
                                error), error)
    return Forest._of(made[0], objects)


def evaluation_dict(pointer, free=True):
    """A phl_evaluation as a dict; it is released."""
    try:
        found = to_dict(pointer)
        n = pointer.n_names
        for name in ("best", "drawn"):
            confusion = getattr(pointer, name)
            found[name] = None if confusion == ffi.NULL else confusion_dict(confusion, n)
        return found
    finally:
        if free:
            lib.phl_evaluation_free(pointer)


def confusion_dict(confusion, n):
    found = to_dict(confusion, counts=n * n, measures=n)
    if found["counts"] is not None:
        found["counts"] = found["counts"].reshape(n, n)
    return found
