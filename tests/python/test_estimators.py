"""The estimators in the company of scikit-learn's tools."""
import multiprocessing
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (GridSearchCV, StratifiedKFold, cross_val_predict,
                                     cross_val_score, train_test_split)
from sklearn.pipeline import make_pipeline

import phloem
from phloem import Forest, TreeClassifier, TreeDensity, TreeFeatures, TreeLabeler

QUICK = dict(model="tf", states=3, iterations=12, chains=1)
LINEAR = dict(c=30, groups="S+B+BG")


@pytest.fixture(params=["linear", "generative", "both"])
def classifier(request):
    more = LINEAR if request.param == "linear" else QUICK
    return TreeClassifier(method=request.param, **more)


def test_fit_and_predict(classifier, symm):
    classifier.fit(symm, symm.y)
    proba = classifier.predict_proba(symm)
    assert list(classifier.classes_) == sorted(symm.classes)
    assert proba.shape == (len(symm), 3) and np.allclose(proba.sum(axis=1), 1)
    assert np.array_equal(classifier.predict(symm),
                          classifier.classes_[proba.argmax(axis=1)])
    assert classifier.score(symm, symm.y) > 0.9
    assert np.array_equal(np.exp(classifier.predict_log_proba(symm)), proba)
    own = clone(classifier).fit(symm)  # the classes that the trees have
    assert np.array_equal(own.predict_proba(symm), proba)


def test_targets_of_any_kind(classifier, symm):
    expected = classifier.fit(symm, symm.y).predict_proba(symm)
    numbers = np.unique(symm.y.astype(str), return_inverse=True)[1]
    for y in (numbers, numbers - 1, numbers * 2.0):
        found = clone(classifier).fit(symm, y)
        assert found.classes_.dtype == y.dtype
        assert np.array_equal(found.predict_proba(symm), expected)
    assert set(clone(classifier).fit(symm, numbers == 1).predict(symm)) == {True, False}


def test_input_of_any_form(classifier, symm):
    expected = classifier.fit(symm, symm.y).predict_proba(symm)
    plain = symm.with_classes([None] * len(symm))
    for trees in (symm.to_nested(), [str(tree) for tree in symm], list(symm), np.asarray(symm),
                  plain):
        found = clone(classifier).fit(trees, symm.y)
        assert np.array_equal(found.predict_proba(trees), expected)


def test_bad_input(classifier, symm):
    for X, y in ((symm, symm.y[:-1]), (symm, np.zeros((len(symm), 2))), ([], []),
                 (symm, np.linspace(0, 1, len(symm))), (["(a)"], None), (["(a"], ["x"])):
        with pytest.raises(ValueError):
            classifier.fit(X, y)
    with pytest.raises(ValueError, match="method"):
        TreeClassifier(method="best").fit(symm, symm.y)
    with pytest.raises(ValueError, match="class"):
        TreeClassifier().fit(symm, ["x"] * len(symm))
    for weight in (np.nan, -1, [1, 2]):
        with pytest.raises(ValueError, match="sample_weight"):
            classifier.fit(symm, symm.y, sample_weight=weight)
    from sklearn.exceptions import NotFittedError
    for estimator in (TreeClassifier(), TreeLabeler(), TreeDensity()):
        with pytest.raises(NotFittedError):
            getattr(estimator, "score_samples", getattr(estimator, "predict", None))(symm)
    with pytest.raises(TypeError, match="did you mean"):
        TreeClassifier(method="generative", options={"iteration": 3}).fit(symm, symm.y)


def test_weights(symm):
    """A tree of weight 0 is not there."""
    keep = np.arange(len(symm)) % 3 > 0
    est = TreeClassifier(**LINEAR)
    expected = clone(est).fit(symm[keep], symm.y[keep]).predict_proba(symm)
    found = clone(est).fit(symm, symm.y, sample_weight=keep.astype(float)).predict_proba(symm)
    assert np.array_equal(found, expected)
    heavy = clone(est).fit(symm, symm.y, sample_weight=np.where(symm.y == "left", 50.0, 1.0))
    assert not np.array_equal(heavy.predict_proba(symm), clone(est).fit(symm, symm.y)
                              .predict_proba(symm))


def test_seed_and_jobs(symm):
    est = TreeClassifier(method="generative", random_state=3, **QUICK)
    expected = est.fit(symm, symm.y).predict_proba(symm)
    for same in (dict(n_jobs=2), dict(n_jobs=-1), dict(random_state=3)):
        assert np.array_equal(clone(est).set_params(**same).fit(symm, symm.y).predict_proba(symm),
                              expected)
    assert not np.array_equal(clone(est).set_params(random_state=4).fit(symm, symm.y)
                              .predict_proba(symm), expected)
    clone(est).set_params(random_state=np.random.RandomState(1)).fit(symm, symm.y)


def test_cross_validation(classifier, symm):
    scores = cross_val_score(classifier, symm, symm.y, cv=3)
    assert scores.shape == (3,) and scores.mean() > 0.85
    assert len(cross_val_predict(classifier, symm, symm.y, cv=3, method="predict_proba")) \
        == len(symm)
    train, test, y_train, y_test = train_test_split(symm, symm.y, stratify=symm.y, random_state=0)
    assert isinstance(train, Forest) and len(train) + len(test) == len(symm)
    assert classifier.fit(train, y_train).score(test, y_test) > 0.8


def test_lists_are_cut_like_forests(symm):
    est = TreeClassifier(**LINEAR)
    folds = StratifiedKFold(3)
    assert np.array_equal(cross_val_score(est, symm, symm.y, cv=folds),
                          cross_val_score(est, [str(tree) for tree in symm], symm.y, cv=folds))


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_grid_search(symm, backend):
    """In two processes, the second time made by fork."""
    grid = GridSearchCV(TreeClassifier(groups="S+B"), {"c": [1, 30], "groups": ["S", "S+B"]}, cv=3,
                        n_jobs=2)
    alone = GridSearchCV(TreeClassifier(groups="S+B"), {"c": [1, 30], "groups": ["S", "S+B"]}, cv=3)
    with joblib.parallel_backend(backend):
        grid.fit(symm, symm.y)
    alone.fit(symm, symm.y)
    assert np.array_equal(grid.cv_results_["mean_test_score"],
                          alone.cv_results_["mean_test_score"])


def _child(answer, symm):
    est = TreeClassifier(method="generative", n_jobs=2, **QUICK).fit(symm, symm.y)
    answer.put(est.predict_proba(symm))


def test_fork_after_threads(symm):
    """A child made by fork after threads were used does not hang, and finds the same."""
    est = TreeClassifier(method="generative", n_jobs=2, **QUICK).fit(symm, symm.y)
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    child = context.Process(target=_child, args=(answer, symm))
    child.start()
    found = answer.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0 and np.array_equal(found, est.predict_proba(symm))


def test_pipelines(symm):
    pipe = make_pipeline(TreeFeatures(groups="S+B"), LogisticRegression(max_iter=1000))
    assert cross_val_score(pipe, symm, symm.y, cv=3).mean() > 0.85
    calibrated = CalibratedClassifierCV(TreeClassifier(**LINEAR), cv=3).fit(symm, symm.y)
    assert calibrated.score(symm, symm.y) > 0.9


def test_pickles(classifier, symm, tmp_path):
    classifier.fit(symm, symm.y)
    expected = classifier.predict_proba(symm)
    assert np.array_equal(pickle.loads(pickle.dumps(classifier)).predict_proba(symm), expected)
    joblib.dump((classifier, symm), tmp_path / "a.joblib")
    code = ("import joblib, sys; est, trees = joblib.load(sys.argv[1]);"
            "print(est.predict_proba(trees).tobytes().hex())")
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "a.joblib"],
                          stdout=subprocess.PIPE, check=True)
    assert done.stdout.decode().strip() == expected.tobytes().hex()


def test_labeler(symm):
    est = TreeLabeler(**{**QUICK, "states": 6, "iterations": 60}).fit(symm)
    unknown = Forest(["(? (? (?)) _ (?))", "(2 (0) _ (0))"])
    filled = est.predict(unknown)
    assert isinstance(filled, Forest) and filled.stats()["unknown"] == 0
    assert est.predict_proba(unknown)[0].shape == (4, len(est.labels_))
    assert est.transform(unknown) == filled and 0.4 < est.score(symm) <= 1
    assert clone(est).get_params() == est.get_params()


def test_density(documents):
    est = TreeDensity(**QUICK).fit(documents)
    odd = Forest([("term", ("article", ("article",)), ("first", ("abstract",)))])
    assert est.score_samples(odd)[0] < np.median(est.score_samples(documents))
    assert est.score(documents) == pytest.approx(est.score_samples(documents).mean())
    whole = clone(est).set_params(per_label=False, structure=True).fit(documents)
    assert (whole.score_samples(documents) < est.score_samples(documents)).all()
    assert len(est.sample(4, random_state=1)) == 4
    assert est.sample(2, random_state=5) == est.sample(2, random_state=5)
    assert len(est.sample(shapes=documents[:3])) == 3


def test_features(documents):
    est = TreeFeatures(groups="L+P1").fit(documents)
    values = est.transform(documents)
    assert values.shape == (len(documents), len(est.get_feature_names_out()))
    counts = TreeFeatures(groups="L", counts=True).fit_transform(documents)
    assert counts.sum() == documents.stats()["nodes"]
    assert est.get_feature_names_out()[0].startswith("L (")
    with pytest.raises(ValueError, match="groups"):
        TreeFeatures(groups="Q").fit(documents)
    again = pickle.loads(pickle.dumps(est))
    assert (again.transform(documents) != values).nnz == 0


def test_tags_of_newer_versions():
    """The interface of scikit-learn 1.6, as a stub."""
    class Input:
        two_d_array, one_d_array, string = True, False, False

    class Tags:
        def __init__(self):
            self.input_tags, self.no_validation = Input(), False

    class Newer:
        def __sklearn_tags__(self):
            return Tags()

    for kind in (TreeClassifier, TreeLabeler, TreeDensity, TreeFeatures):
        class Estimator(kind, Newer):
            pass
        tags = Estimator().__sklearn_tags__()
        assert tags.input_tags.string and not tags.input_tags.two_d_array and tags.no_validation
        older = kind()._get_tags()
        assert older["X_types"] == ["string"] and older["no_validation"]


def test_control_c_leaves_an_estimator(symm):
    import os
    import signal
    import threading
    est = TreeClassifier(method="generative", model="tf", states=4, iterations=10_000_000)
    threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(phloem.Interrupted):
        est.fit(symm, symm.y)
    assert est.run_.interrupted


def test_without_scikit_learn():
    """Forests and runs do without it."""
    code = ("import sys; sys.modules['sklearn'] = None; import phloem; "
            "print(len(phloem.Forest(['(a)'])))")
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"1\n"
