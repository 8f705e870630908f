"""Phloem learns from trees: classify them, fill in labels, find odd ones.

    forest = phloem.Forest.read("documents.trees")
    run = phloem.Run.train(forest)
    run.score(forest)

The estimators TreeClassifier, TreeLabeler, TreeDensity and TreeFeatures follow scikit-learn.
"""
from ._native import ffi as _ffi, lib as _lib
from .errors import (ArgumentError, DataError, Error, FileError, InternalError, Interrupted, Note,
                     OutOfMemory)
from .features import Features, cross_validate, make_folds
from .forest import FORMATS, Forest, Node, Tree
from .run import Draw, Head, Model, Run

__version__ = _ffi.string(_lib.phl_version()).decode()
ESTIMATORS = ("TreeClassifier", "TreeDensity", "TreeFeatures", "TreeLabeler")


def __getattr__(name):
    """The estimators need scikit-learn, which the rest does not."""
    if name in ESTIMATORS:
        from . import estimators
        return getattr(estimators, name)
    if name == "plots":
        import importlib
        return importlib.import_module(".plots", __name__)
    raise AttributeError(f"module 'phloem' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *ESTIMATORS])
