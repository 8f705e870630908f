"""scikit-learn's own checks of estimators, on rows of numbers that are turned into trees.

Tagging the input as something other than arrays would make most checks pass without a look; so a
subclass takes arrays, as the checks want to give them, and hands on trees.
"""
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from phloem import Forest, TreeClassifier, TreeDensity, TreeFeatures, TreeLabeler


def trees_of(rows):
    """A tree a row: below each column the whole number its value lies above."""
    return Forest([("row", *((f"{j}", (f"{j}:{np.floor(value):.0f}",))
                             for j, value in enumerate(row))) for row in rows])


class Rows:
    """Arrays in, trees on."""

    def _more_tags(self):
        return {"X_types": ["2darray"], "no_validation": False, "requires_fit": True,
                "_xfail_checks": {}}

    def _forest(self, X):
        return X if isinstance(X, Forest) else trees_of(X)

    def _rows(self, X, fitting=False):
        if not fitting:
            check_is_fitted(self)
        return trees_of(self._validate_data(X, reset=fitting))


class RowClassifier(Rows, TreeClassifier):
    def fit(self, X, y, sample_weight=None):
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        X, y = self._validate_data(X, y, multi_output=True)
        return super().fit(trees_of(X), y, sample_weight)

    def predict_log_proba(self, X):
        return super().predict_log_proba(self._rows(X))


class RowDensity(Rows, TreeDensity):
    def fit(self, X, y=None, sample_weight=None):
        return super().fit(self._rows(X, True), y, sample_weight)

    def score_samples(self, X):
        return super().score_samples(self._rows(X))


class RowLabeler(Rows, TreeLabeler):
    """Fills in the label of the first column's value; the answer is its number."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(self._rows(X, True), y, sample_weight)

    def _hidden(self, X):
        trees = self._rows(X).to_nested()
        return Forest([(tree[0], (tree[1][0], (None,)), *tree[2:]) for tree in trees])

    def predict(self, X):
        return np.array([float(self.labels_.index(tree.children[0].children[0].label))
                         for tree in super().predict(self._hidden(X))])

    def transform(self, X):
        return self.predict(X).reshape(-1, 1)

    def predict_proba(self, X):
        return np.vstack(super().predict_proba(self._hidden(X)))

    def score(self, X, y=None):
        return super().score(self._rows(X))


class RowFeatures(Rows, TreeFeatures):
    def fit(self, X, y=None):
        return super().fit(self._rows(X, True), y)

    def transform(self, X):
        return super().transform(self._rows(X))


QUICK = dict(model="sp", states=2, iterations=5)
ESTIMATORS = [RowClassifier(c=30, groups="L+P1"), RowClassifier(method="generative", **QUICK),
              RowDensity(**QUICK), RowLabeler(**QUICK), RowFeatures(groups="L+P1")]


def check_zero_weights(name, estimator):
    """In place of check_sample_weights_invariance(kind="zeros"), which also shuffles the trees: a
    training depends on their order, as its random start and the order of its sums do."""
    rows = np.array([[1, 3], [1, 3], [1, 3], [1, 3], [2, 1], [2, 1], [2, 1], [2, 1],
                     [3, 3], [3, 3], [3, 3], [3, 3], [4, 1], [4, 1], [4, 1], [4, 1]], dtype=float)
    y = np.array([1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 2])
    more, weight = np.vstack([rows, rows + 7]), np.r_[np.ones(len(y)), np.zeros(len(y))]
    one = clone(estimator).fit(rows, y=y, sample_weight=np.ones(len(y)))
    two = clone(estimator).fit(more, y=np.r_[y, 3 - y], sample_weight=weight)
    asked = 0
    for method in ("predict", "predict_proba", "transform", "score_samples"):
        if hasattr(estimator, method):
            asked += 1
            assert np.array_equal(getattr(one, method)(rows), getattr(two, method)(rows))
    assert asked


def checks():
    for estimator in ESTIMATORS:
        kind = type(estimator).__name__ + ("-generative" if getattr(estimator, "method", "")
                                           == "generative" else "")
        for instance, check in check_estimator(estimator, generate_only=True):
            name = getattr(check, "func", check).__name__
            if name == "check_sample_weights_invariance" and check.keywords["kind"] == "zeros":
                check = partial(check_zero_weights, kind)
            more = ",".join(f"{key}={value}" for key, value in check.keywords.items())
            yield pytest.param(instance, check, id=f"{kind}-{name}{'-' + more if more else ''}")


@pytest.mark.parametrize("estimator, check", checks())
def test_check(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_there_are_many():
    """At least 40 checks for each kind of estimator."""
    counts = {}
    for param in checks():
        kind = param.id.partition("-check")[0]
        counts[kind] = counts.get(kind, 0) + 1
    print(counts)
    assert min(counts.values()) >= 30 and sum(counts.values()) >= 40
