"""Features of trees, and folds."""
import numpy as np

from ._calls import Call
from ._native import ffi, lib
from ._structs import Options, fill, to_dict
from ._tasks import Collector, Source, evaluation_dict
from .errors import check, text_of
from .forest import as_forest
from .run import check_folds, feature_text


class Features:
    """A dictionary of the pieces that some trees are made of; it does not change any more.

    groups -- "S+B+BG+L+P1" or some of them; least_trees -- leave out what is in fewer trees
    """

    def __init__(self, trees, **options):
        # Numbered by where they first occur, labels come out of a pickle as they went in.
        self._forest = as_forest(trees)[:]
        self._options = options
        call = Call()
        how = call.connect(fill(options, Options("features")))
        made = ffi.new("phl_features **")
        call.check(lib.phl_features_create, self._forest._c, how.c, made)
        self._c = ffi.gc(made[0], lib.phl_features_free)

    def __len__(self):
        return lib.phl_features_count(self._c)

    def text(self, number):
        """A feature as a tree in brackets."""
        return feature_text(self._c, number)

    def group(self, number):
        return text_of(lib.phl_features_group_name(lib.phl_features_group(self._c, number)))

    def extract(self, trees, *, read=None, counts=False, **options):
        """[trees][features] as a SciPy sparse matrix: values, or counts."""
        from scipy.sparse import csr_matrix
        call = Call()
        how = call.connect(fill(options, Options("features")))
        collector = Collector("tree_features")
        call.on["each"] = collector.take
        with Source(trees, read) as source:
            call.check(lib.phl_features_extract, self._c, source.c, how.c, lib.phlpy_on_features)
        found = collector.result()
        filled = [array for array in (found.count if counts else found.value) if array is not None]
        columns = [array for array in found.feature if array is not None]
        starts = np.concatenate([[0], np.cumsum(found.n)]).astype("i8")
        return csr_matrix((np.concatenate(filled or [[]]).astype("f8"),
                           np.concatenate(columns or [[]]).astype("i4"), starts),
                          shape=(len(found.n), len(self)))

    def __reduce__(self):
        return _restore, (self._forest, self._options)


def _restore(forest, options):
    return Features(forest, **options)


def make_folds(trees, n_folds=10, seed=42):
    """Test fold of every tree, class by class, from 0."""
    forest = as_forest(trees)
    found, error = np.zeros(len(forest), "u4"), ffi.new("phl_error *")
    check(lib.phl_folds_make(forest._c, n_folds, seed,
                             ffi.cast("uint32_t *", ffi.from_buffer(found)), error), error)
    return found


def cross_validate(trees, *, train=None, **options):
    """For every candidate and every fold: train on the others, test on the fold.

    train -- a dict of options of training, or a list of such dicts, which are compared;
    options -- states=[4, 8], n_folds=10, priors=["uniform", "empirical"], work="FILE", ...

    With work, a file keeps every training that is finished: the same call goes on from it."""
    forest = as_forest(trees)
    call = Call()
    how = fill(options, Options("evaluate"))
    check_folds(options, forest)
    if isinstance(train, (list, tuple)):
        ways = [how.keep(fill(way, Options("train"))) for way in train]
        how.c.trains = how.keep(ffi.new("phl_train_options *[]", [way.c for way in ways]))
        how.c.n_trains = len(ways)
    elif train is not None:
        how.set("train", fill(train, Options("train")))
    call.connect(how)
    made = ffi.new("phl_cross_validation **")
    call.check(lib.phl_cross_validate, forest._c, how.c, made)
    try:
        c = made[0]
        found = to_dict(c)
        for i, choice in enumerate(found["choices"]):
            choice["folds"] = [to_dict(c.choices[i].folds[k]) for k in range(c.n_folds)]
            pooled = c.choices[i].pooled
            choice["pooled"] = None if pooled == ffi.NULL else evaluation_dict(pooled, free=False)
        return found
    finally:
        lib.phl_cross_validation_free(made[0])
