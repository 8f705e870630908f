"""Runs: what training gives, and what can be done with it."""
import json
import os
import tempfile
from functools import cached_property

import numpy as np

from . import errors
from ._calls import Call
from ._native import ffi, lib
from ._structs import DTYPES, Options, array, c_path, c_string, fill, names_of, to_dict
from ._tasks import Collector, Source, evaluation_dict, forest_of
from .errors import check, text_of
from .forest import as_forest
from .progress import watch

TENSOR_TYPES = {lib.PHL_UINT8: "u1", lib.PHL_INT32: "i4", lib.PHL_UINT32: "u4",
                lib.PHL_UINT64: "u8", lib.PHL_FLOAT64: "f8"}


class Run:
    """A trained model, or one for each class.

    Run.train(trees) trains in memory, Run.train(trees, "my.run") into a file that always
    holds the state so far; Run.open and Run.resume take it up again.  Options are the members of
    the library's structs (phl_train_options and so on), as keywords.
    """

    def __init__(self):
        raise TypeError("a run comes from Run.train, Run.open, Run.resume or Run.train_classifier")

    @classmethod
    def _of(cls, pointer, objects=None):
        run = cls.__new__(cls)
        run._c = ffi.gc(pointer, lib.phl_run_free)
        run._objects = objects or {}
        return run

    # ---- training ----

    @classmethod
    def train(cls, trees, path=None, *, progress=False, **options):
        """Fit a model to trees or, with per_class=True, one to each class.

        path -- a run file to train into; then replace, no_embed and checkpoint_seconds may be given
        progress -- True: a bar; or a function that is given a dict now and then
        Ctrl-C stops within an iteration; the run reached so far is the `run` of the exception.
        """
        forest = as_forest(trees)
        call, how, file = Call(), Options("train"), Options("file")
        fill(options, *((how,) if path is None else (how, file)))
        check_folds(options, forest)
        made = ffi.new("phl_run **")
        with watch(progress) as step:
            call.connect(how, progress=step)
            if path is None:
                status = call.run(lib.phl_train, forest._c, how.c, made)
            else:
                status = call.run(lib.phl_train_file, forest._c, how.c, file.c, c_path(path), made)
        return cls._trained(call, status, made, forest._objects)

    @classmethod
    def resume(cls, path, *, forest=None, progress=False, **options):
        """Go on with a training into a file that was interrupted, or extend it (iterations=...)."""
        call, how = Call(), Options("resume")
        fill(options, how)
        if forest is not None:
            forest = as_forest(forest)
            how.set("forest", forest)
        made = ffi.new("phl_run **")
        with watch(progress) as step:
            call.connect(how, progress=step)
            status = call.run(lib.phl_resume, c_path(path), how.c, made)
        return cls._trained(call, status, made, None)

    @classmethod
    def train_classifier(cls, trees, **options):
        """A linear classifier on pieces of trees: a run without models of trees."""
        forest = as_forest(trees)
        call = Call()
        how = call.connect(fill(options, Options("classifier")))
        check_folds(options, forest)
        made = ffi.new("phl_run **")
        status = call.run(lib.phl_train_classifier, forest._c, how.c, made)
        return cls._trained(call, status, made, forest._objects)

    @classmethod
    def _trained(cls, call, status, made, objects):
        run = cls._of(made[0], objects) if status == lib.PHL_OK else None
        errors.warn(call.notes)
        if call.interrupted:
            raise errors.Interrupted("training was interrupted", run)
        check(status, call.error)
        return run

    @classmethod
    def open(cls, path):
        """Open a run file."""
        made, error = ffi.new("phl_run **"), ffi.new("phl_error *")
        check(lib.phl_run_open(c_path(path), made, error), error)
        return cls._of(made[0])

    def save(self, path, replace=False):
        """Write to a new file, complete or not at all."""
        error = ffi.new("phl_error *")
        check(lib.phl_run_save(self._c, c_path(path), replace, error), error)

    def __reduce__(self):
        with tempfile.TemporaryDirectory(prefix="phloem-") as folder:
            path = os.path.join(folder, "run")
            self.save(path)
            with open(path, "rb") as stream:
                return _restore, (stream.read(), self._objects)

    # ---- what it is ----

    @property
    def kind(self):
        """"tf", "sp", "full", "td", "grammar"; "no_kind" for a linear classifier alone."""
        return names_of(ffi.typeof("phl_kind"))[lib.phl_run_kind(self._c)]

    @property
    def states(self):
        return lib.phl_run_states(self._c)

    @property
    def slots(self):
        return lib.phl_run_slots(self._c)

    @cached_property
    def labels(self):
        """Names of labels; numbers in results are positions in this list."""
        names = (text_of(lib.phl_run_label_name(self._c, i))
                 for i in range(lib.phl_run_labels(self._c)))
        return [self._objects.get(name, name) for name in names]

    @property
    def per_class(self):
        return bool(lib.phl_run_per_class(self._c))

    @cached_property
    def classes(self):
        """Names of classes; [None] in a run with one model for all trees."""
        return [text_of(lib.phl_run_class_name(self._c, i))
                for i in range(lib.phl_run_classes(self._c))]

    def meta(self, key):
        """A fact about how the run was made ("version", "seed", "fingerprint", ...) or None."""
        return text_of(lib.phl_run_meta(self._c, c_string(key, "key")))

    @property
    def options(self):
        """The options it was trained with, every default worked out; None: it does not say."""
        found = lib.phl_run_options(self._c)
        return None if found == ffi.NULL else to_dict(found)

    @property
    def models(self):
        """One model, or one for each class, in the order of `classes`."""
        return [Model(self, i) for i in range(len(self.classes))]

    def model(self, class_name=None):
        """The model of a class; of a run without classes, its model."""
        if class_name is None and len(self.classes) == 1:
            return Model(self, 0)
        if class_name not in self.classes:
            raise KeyError(f"the run has no class {class_name!r}; it has {self.classes}")
        return Model(self, self.classes.index(class_name))

    @property
    def draws(self):
        """All draws, class after class."""
        return [draw for model in self.models for draw in model.draws]

    @property
    def interrupted(self):
        """Whether training stopped before its end."""
        return any(model.stop_reason == "interrupted" for model in self.models)

    def to_dict(self):
        """Everything, as `phloem show --json` prints it."""
        text, size, error = ffi.new("char **"), ffi.new("size_t *"), ffi.new("phl_error *")
        check(lib.phl_run_json(self._c, text, size, error), error)
        try:
            return json.loads(ffi.string(text[0]))
        finally:
            lib.phl_free(text[0])

    @property
    def head(self):
        """The linear classifier of the run; None: it has none."""
        found = lib.phl_run_head(self._c)
        return None if found == ffi.NULL else Head(self, found)

    def trace(self, class_name=None):
        """Figures of every iteration: a list with one structured array (a view) for each chain."""
        return self.model(class_name).trace

    def trace_frame(self):
        """All traces as a pandas DataFrame."""
        import pandas
        parts = []
        for model in self.models:
            for rows in model.trace:
                flat = {name: rows[name] for name in rows.dtype.names if rows[name].ndim == 1}
                flat.pop("class_index")
                for name in ("tried", "changed"):
                    for k in range(rows[name].shape[1]):
                        flat[f"{name}_{k}"] = rows[name][:, k]
                parts.append(pandas.DataFrame({"class": model.class_name, **flat}))
        return pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame()

    # ---- diagnosis ----

    def diagnose(self, class_name=None, **options):
        """Can the run be trusted?  A dict with what is compared, and findings in sentences."""
        how = fill(options, Options("diagnose"))
        if class_name is not None:
            how.set("class_index", Model.number(self, class_name))
        found, error = ffi.new("phl_diagnosis *"), ffi.new("phl_error *")
        check(lib.phl_diagnose(self._c, how.c, found, error), error)
        try:
            return to_dict(found)
        finally:
            lib.phl_diagnosis_clear(found)

    def to_arviz(self, class_name=None):
        from .arviz import groups
        return groups(self.model(class_name))

    # ---- tasks ----

    def score(self, trees, *, read=None, **options):
        """How probable trees are: log_likelihood and bits_per_label for each; with bits=True and
        predictive=True node by node; with every_class=True under every model."""
        call = Call()
        how = fill(options, Options("score"))
        collector = Collector("tree_score", self)
        call.connect(how, each=collector.take)
        with Source(trees, read) as source:
            call.check(lib.phl_score, self._c, source.c, how.c, lib.phlpy_on_score)
        result = collector.result()
        if options.get("every_class"):
            result.reshape(len(self.classes))
        return result

    def classify(self, trees, *, evaluate=False, read=None, **options):
        """The classes of trees: predicted names, log_posterior [trees][classes] and, by the models,
        log_likelihood; with evaluate=True also the comparison with the classes they have."""
        call = Call()
        how = fill(options, Options("classify"))
        collector = Collector("classified_tree", self)
        call.connect(how, each=collector.take)
        made = ffi.new("phl_evaluation **") if evaluate else ffi.NULL
        with Source(trees, read) as source:
            call.check(lib.phl_classify, self._c, source.c, how.c, lib.phlpy_on_classify, made)
        result = collector.result()
        result.classes = list(self.classes)
        result.log_posterior = _stacked(result.log_posterior, len(self.classes))
        result.log_likelihood = (_stacked(result.log_likelihood, len(self.classes))
                                 if all(row is not None for row in result.log_likelihood) else None)
        result.predicted = np.array(self.classes, dtype=object)[result.best]
        if evaluate:
            result.evaluation = evaluation_dict(made[0])
        return result

    def label(self, trees, *, read=None, **options):
        """Fill in unknown labels: `forest` are the trees filled in; best, drawn, probability and so
        on are node by node, one array for each tree.  With hide=0.2 known labels are hidden, too,
        and `evaluation` tells how many were found again."""
        call = Call()
        how = fill(options, Options("label"))
        collector, blocks = Collector("labelled_tree", self), []
        call.connect(how, each=collector.take, filled=lambda block: blocks.append(copied(block)))
        made = ffi.new("phl_evaluation **") if options.get("hide") else ffi.NULL
        with Source(trees, read) as source:
            call.check(lib.phl_label, self._c, source.c, how.c, lib.phlpy_on_label, made)
            objects = {**self._objects, **source.objects}
        result = collector.result()
        result.forest = forest_of(blocks, objects)
        result.evaluation = evaluation_dict(made[0]) if made != ffi.NULL else None
        return result

    def decode(self, trees, *, read=None, **options):
        """The hidden states of nodes, one array for each tree: best (with marginals=True, the
        default, also marginals), pairs=True, joint=True."""
        call = Call()
        how = fill(options, Options("decode"))
        collector = Collector("decoded_tree", self)
        call.connect(how, each=collector.take)
        with Source(trees, read) as source:
            call.check(lib.phl_decode, self._c, source.c, how.c, lib.phlpy_on_decode)
        return collector.result()

    def sample(self, trees=None, *, shapes=None, read=None, **options):
        """New trees: so many of each class or, for given shapes, their labels drawn anew."""
        call = Call()
        how = fill({"trees": trees, **options}, Options("sample"))
        blocks = []
        call.connect(how, each=lambda block: blocks.append(copied(block)))
        if shapes is None:
            call.check(lib.phl_sample, self._c, ffi.NULL, how.c, lib.phlpy_on_forest)
        else:
            with Source(shapes, read) as source:
                call.check(lib.phl_sample, self._c, source.c, how.c, lib.phlpy_on_forest)
        return forest_of(blocks, self._objects)

    # ---- printing and pictures ----

    def __repr__(self):
        if self.kind == "no_kind":
            return f"<Run: linear classifier of {len(self.classes)} classes>"
        of = f"{len(self.classes)} classes, " if self.per_class else ""
        return (f"<Run: model {self.kind}, {self.states} states, {of}{len(self.labels)} labels, "
                f"{len(self.draws)} draws>")

    def _repr_html_(self):
        from .html import run_html
        return run_html(self)

    def plot_slots(self, class_name=None, axes=None):
        """Which child positions matter: the share of draws in which each slot does."""
        from .plots import slots
        return slots(self.model(class_name), axes)

    def plot_trace(self, quantity="log_likelihood", class_name=None, axes=None):
        """One line a chain."""
        from .plots import trace
        return trace(self.model(class_name), quantity, axes)


def check_folds(options, forest):
    """The library takes one number for each tree."""
    fold = options.get("fold")
    if fold is not None and len(fold) != len(forest):
        raise ValueError(f"fold: found {len(fold)} numbers for {len(forest)} trees")


def _restore(content, objects):
    with tempfile.TemporaryDirectory(prefix="phloem-") as folder:
        path = os.path.join(folder, "run")
        with open(path, "wb") as stream:
            stream.write(content)
        run = Run.open(path)
    run._objects = objects
    return run


def copied(block):
    """A borrowed block of trees as one of our own."""
    made, error = ffi.new("phl_forest **"), ffi.new("phl_error *")
    check(lib.phl_forest_concat(ffi.new("phl_forest *[]", [ffi.cast("phl_forest *", block)]), 1,
                                made, error), error)
    return ffi.gc(made[0], lib.phl_forest_free)


def _stacked(rows, width):
    return np.vstack(rows) if len(rows) else np.empty((0, width))


class Model:
    """The model of one class of a run: its draws, and how far training got."""

    def __init__(self, run, index):
        self.run, self.index = run, index
        self._c = lib.phl_run_model(run._c, index)

    @staticmethod
    def number(run, class_name):
        return run.model(class_name).index

    @property
    def class_name(self):
        return self.run.classes[self.index]

    @property
    def draws(self):
        return [Draw(self, i) for i in range(lib.phl_model_draws(self._c))]

    @property
    def best_draw(self):
        """The draw that speaks for the model where one must; None without draws."""
        draws = self.draws
        return draws[lib.phl_model_best_draw(self._c)] if draws else None

    @property
    def trees(self):
        """Number of trees it was trained on."""
        return lib.phl_model_trees(self._c)

    @property
    def log_likelihood(self):
        return lib.phl_model_log_likelihood(self._c)

    @property
    def stop_reason(self):
        return text_of(lib.phl_stop_reason_name(lib.phl_model_stop_reason(self._c)))

    @property
    def iterations(self):
        return lib.phl_model_iterations(self._c)

    def slot_posterior(self, slot):
        """(share of draws in which the slot matters, [C + 2] draws with so many blocks)"""
        counts = np.zeros(self.run.states + 2, dtype=np.uintp)
        share = lib.phl_model_slot_posterior(self._c, slot,
                                             ffi.cast("size_t *", ffi.from_buffer(counts)))
        return share, counts

    @property
    def trace(self):
        """One structured array for each chain, a view."""
        return [self._rows(chain) for chain in range(lib.phl_trace_chains(self._c))]

    def _rows(self, chain):
        first = lib.phl_trace_get(self._c, chain, 0)
        if first == ffi.NULL:
            return np.empty(0, _row_dtype(ffi.sizeof("phl_trace_row")))
        second = lib.phl_trace_get(self._c, chain, 1)
        stride = ffi.sizeof("phl_trace_row")
        if second != ffi.NULL:
            stride = int(ffi.cast("uintptr_t", second)) - int(ffi.cast("uintptr_t", first))
        low, high = 1, 2  # how many there are
        while lib.phl_trace_get(self._c, chain, high - 1) != ffi.NULL:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            if lib.phl_trace_get(self._c, chain, middle - 1) != ffi.NULL:
                low = middle
            else:
                high = middle
        return array(first, low, owner=self.run._c, dtype=_row_dtype(stride))

    def __repr__(self):
        of = "" if self.class_name is None else f" of {self.class_name!r}"
        return f"<Model{of}: {lib.phl_model_draws(self._c)} draws, {self.stop_reason}>"


def _row_dtype(stride):
    """phl_trace_row, as far as this package knows it."""
    names, formats, offsets = [], [], []
    for name, field in ffi.typeof("phl_trace_row").fields:
        item = field.type.item if field.type.kind == "array" else field.type
        shape = (field.type.length,) if field.type.kind == "array" else ()
        names.append(name)
        formats.append((DTYPES[item.cname], shape))
        offsets.append(field.offset)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": stride})


class Draw:
    """One set of parameters.  draw["emission"] is a view of the run's own numbers;
    draw["partition", 2] that of slot 2."""

    def __init__(self, model, index):
        self.model, self.index = model, index
        self._c = lib.phl_model_draw(model._c, index)

    @property
    def chain(self):
        return self._c.chain

    @property
    def iteration(self):
        return self._c.iteration

    @property
    def log_likelihood(self):
        return self._c.log_likelihood

    @property
    def log_joint(self):
        return self._c.log_joint

    def _view(self, tensor):
        shape = [tensor.shape[i] for i in range(tensor.n_axes)]
        strides = [tensor.strides[i] for i in range(tensor.n_axes)]
        dtype = np.dtype(TENSOR_TYPES[tensor.dtype])
        if 0 in shape:
            return np.empty(shape, dtype)
        length = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides))
        flat = array(tensor.data, length, owner=self.model.run._c, dtype=dtype)
        return np.lib.stride_tricks.as_strided(
            flat, shape, [stride * dtype.itemsize for stride in strides], writeable=False)

    @property
    def tensors(self):
        """{name or (name, slot): array}, all of them views."""
        found, tensor = {}, ffi.new("phl_tensor *")
        number = 0
        while lib.phl_tensor_get(self._c, number, tensor):
            name = text_of(tensor.name)
            found[(name, tensor.slot) if tensor.slot else name] = self._view(tensor)
            number += 1
        return found

    def __getitem__(self, key):
        name, slot = key if isinstance(key, tuple) else (key, 0)
        tensor = ffi.new("phl_tensor *")
        if not lib.phl_tensor_find(self._c, c_string(name, "tensor"), slot, tensor):
            raise KeyError(f"{key!r}; there are {', '.join(map(repr, self.tensors))}")
        return self._view(tensor)

    def slot_size(self, slot):
        """Blocks of a slot: 1, it does not matter; 0 for models without."""
        return lib.phl_model_slot_size(self.model._c, self.index, slot)

    def __repr__(self):
        return f"<Draw of chain {self.chain}, iteration {self.iteration}>"


class Head:
    """The linear classifier of a run: what was chosen, and the weight of every feature."""

    def __init__(self, run, pointer):
        self.run, self._c = run, pointer

    @property
    def summary(self):
        found = ffi.new("phl_head_summary *")
        lib.phl_head_summarise(self._c, found)
        return to_dict(found)

    @property
    def weights(self):
        """[features + 1][classes] of each feature; last, what every tree has.  Views of the run's
        own numbers where they lie together, else a copy."""
        count = lib.phl_features_count(lib.phl_head_features(self._c))
        classes = len(self.run.classes)
        first = lib.phl_head_weights(self._c, 0)
        last = lib.phl_head_weights(self._c, count)
        together = (int(ffi.cast("uintptr_t", last)) - int(ffi.cast("uintptr_t", first))
                    == count * classes * 8)
        if together:
            return array(first, (count + 1, classes), owner=self.run._c)
        return np.vstack([array(lib.phl_head_weights(self._c, i), classes)
                          for i in range(count + 1)])

    def feature(self, number):
        """A feature as a tree in brackets."""
        return feature_text(lib.phl_head_features(self._c), number)

    def top(self, class_name, n=10):
        """[(weight, feature)] that speak most for a class."""
        column = self.weights[:-1, self.run.classes.index(class_name)]
        best = np.argsort(-column, kind="stable")[:n]
        return [(float(column[i]), self.feature(int(i))) for i in best]


def feature_text(features, number):
    if not 0 <= number < lib.phl_features_count(features):
        raise IndexError(f"there is no feature {number}")
    text, error = ffi.new("char **"), ffi.new("phl_error *")
    check(lib.phl_features_text(features, number, text, error), error)
    try:
        return text_of(text[0])
    finally:
        lib.phl_free(text[0])
