"""Estimators after the conventions of scikit-learn.

X is a Forest or a list of trees in any form that Forest takes, strings in brackets included.
"""
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, DensityMixin, TransformerMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .errors import Interrupted
from .features import Features
from .forest import as_forest
from .run import Run

LOG2 = np.log(2.0)
RULES = {"linear": "head", "generative": "generative", "both": "default"}


def _threads(n_jobs):
    """None is one thread, as in scikit-learn; -1 all cores."""
    if n_jobs is None:
        return 1
    return 0 if n_jobs < 0 else int(n_jobs)


def _seed(random_state):
    """None: the library's own, so that results can be repeated."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return random_state
    return int(check_random_state(random_state).randint(2 ** 31 - 1))


class _TreeEstimator(BaseEstimator):
    """What all of them share: trees as input, and the options of a training."""

    # scikit-learn before 1.6
    def _more_tags(self):
        return {"X_types": ["string"], "no_validation": True, "requires_fit": True}

    # scikit-learn 1.6 and later
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        tags.no_validation = True
        return tags

    def _forest(self, X):
        forest = as_forest(X)
        if len(forest) == 0:
            raise ValueError("found no trees (0 samples), expected at least one")
        return forest

    def _settings(self, **more):
        """Options of Run.train, from those parameters that are not None."""
        found = {"seed": _seed(self.random_state), "threads": _threads(self.n_jobs), **more}
        for name in ("states", "iterations", "chains"):
            found[name] = getattr(self, name)
        found["kind"] = self.model
        found.update(self.options or {})
        return {name: value for name, value in found.items() if value is not None}

    def _train(self, train, forest, **settings):
        try:
            self.run_ = train(forest, **settings)
        except Interrupted as stopped:
            if stopped.run is not None:  # Ctrl-C: what was reached can be used
                self.run_ = stopped.run
            raise
        return self


def _weighted(forest, sample_weight):
    """(numbers of the trees that count, their weights or None)"""
    numbers = np.arange(len(forest))
    if sample_weight is None:
        return numbers, None
    weight = np.asarray(sample_weight, dtype=float)
    if weight.ndim == 0:
        weight = np.full(len(forest), float(weight))
    if weight.shape != (len(forest),):
        raise ValueError(f"sample_weight has shape {weight.shape}, expected ({len(forest)},)")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("sample_weight: found a number that is negative, infinite or NaN")
    numbers = np.flatnonzero(weight)
    if len(numbers) == 0:
        raise ValueError("sample_weight: all are 0, expected at least one tree that counts")
    return numbers, weight[numbers]


class TreeClassifier(ClassifierMixin, _TreeEstimator):
    """The class of a tree.

    method -- "linear": a linear classifier on pieces of trees; "generative": a model of the trees
        of each class; "both": both, and what goes by which is chosen by trees held out
    c, groups -- linear: the weight of the trees against the penalty, and the groups of features;
        None: chosen by cross-validation
    model, states, iterations, chains -- generative: as for Run.train
    prior -- generative: "uniform" or "empirical" (as frequent as in training), ...; None: what
        training chose, or uniform
    options -- a dict of further options of Run.train or Run.train_classifier
    random_state -- seed; None is the library's own, so that results can be repeated
    n_jobs -- threads; results do not depend on it
    """

    def __init__(self, method="linear", c=None, groups=None, model=None, states=None,
                 iterations=None, chains=None, prior=None, structure=True, options=None,
                 random_state=None, n_jobs=None):
        self.method = method
        self.c = c
        self.groups = groups
        self.model = model
        self.states = states
        self.iterations = iterations
        self.chains = chains
        self.prior = prior
        self.structure = structure
        self.options = options
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None, sample_weight=None):
        """y: the class of each tree; None: those that the trees have."""
        if self.method not in RULES:
            raise ValueError(f"method: found {self.method!r}, expected 'linear', 'generative' or "
                             "'both'")
        forest = self._forest(X)
        y = self._targets(forest, y)
        numbers, weights = _weighted(forest, sample_weight)
        self.classes_, codes = np.unique(y[numbers], return_inverse=True)
        if len(self.classes_) < 2 and self.method != "generative":
            raise ValueError(f"found 1 class, {self.classes_[0]!r}; "
                             "a linear classifier needs two classes or more")
        names = [str(name) for name in self.classes_]
        if len(set(names)) < len(names) or "" in names:
            names = [str(i) for i in range(len(names))]
        known = forest._copy(numbers, [names[code] for code in codes], weights)
        if self.method == "linear":
            settings = {"c": self.c, "groups": self.groups, "seed": _seed(self.random_state),
                        "threads": _threads(self.n_jobs), **(self.options or {})}
            fewest = int(np.bincount(codes).min())
            folds = settings.get("n_folds") or 5
            if len(known) < folds and "fold" not in settings:
                settings["n_folds"] = max(2, min(folds, len(known), max(fewest, 2)))
            self._train(Run.train_classifier, known, **settings)
        else:
            head = "linear" if self.method == "both" else None
            self._train(Run.train, known, **self._settings(per_class=True, head=head))
        self._order = np.array([self.run_.classes.index(name) for name in names])
        return self

    def _targets(self, forest, y):
        if y is None:
            y = forest.y
            missing = [i for i, name in enumerate(y) if name is None]
            if missing:
                raise ValueError(f"requires y to be passed, but the target y is None, and tree "
                                 f"{missing[0]} has no class")
            return np.array([str(name) for name in y])
        y = column_or_1d(y, warn=True)
        if len(y) != len(forest):
            raise ValueError(f"found {len(y)} targets for {len(forest)} trees: "
                             "inconsistent numbers of samples")
        check_classification_targets(y)
        if y.dtype == object and all(isinstance(name, str) for name in y):
            y = y.astype(str)
        return y

    def predict_log_proba(self, X):
        """[trees][classes], in the order of classes_."""
        check_is_fitted(self, "run_")
        how = {} if self.method == "linear" else {"prior": self.prior, "structure": self.structure}
        found = self.run_.classify(self._forest(X), threads=_threads(self.n_jobs),
                                   rule=RULES[self.method], **how)
        return np.ascontiguousarray(found.log_posterior[:, self._order])

    def predict_proba(self, X):
        return np.exp(self.predict_log_proba(X))

    def predict(self, X):
        """The most probable class of each tree."""
        best = np.argmax(self.predict_log_proba(X), axis=1)
        return self.classes_[best]


class _Generative(_TreeEstimator):
    """A model of all trees, whatever their class."""

    def fit(self, X, y=None, sample_weight=None):
        forest = self._forest(X)
        numbers, weights = _weighted(forest, sample_weight)
        known = forest._copy(numbers, [None] * len(numbers), weights)
        return self._train(Run.train, known, **self._settings())

    def _unclassed(self, X):
        check_is_fitted(self, "run_")
        return self._forest(X)


class TreeLabeler(TransformerMixin, _Generative):
    """Unknown labels (None, or ? in brackets) filled in.

    predict(X) and transform(X) give a Forest without unknown labels; predict_proba(X) the
    probabilities behind it, for each tree an array [unknown nodes][labels_].
    hide -- score(X): the share of known labels that are hidden and must be found again
    """

    def __init__(self, model=None, states=None, iterations=None, chains=None, hide=0.2,
                 options=None, random_state=None, n_jobs=None):
        self.model = model
        self.states = states
        self.iterations = iterations
        self.chains = chains
        self.hide = hide
        self.options = options
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.labels_ = list(self.run_.labels)
        return self

    def _label(self, X, **how):
        forest = self._unclassed(X)
        return self.run_.label(forest, seed=_seed(self.random_state),
                               threads=_threads(self.n_jobs), **how)

    def predict(self, X):
        return self._label(X, no_draw=True).forest

    transform = predict

    def predict_proba(self, X):
        return self._label(X, no_draw=True).probability

    def score(self, X, y=None):
        """The share of hidden labels that are found again."""
        return self._label(X, hide=self.hide, no_draw=True).evaluation["best"]["accuracy"]


class TreeDensity(DensityMixin, _Generative):
    """How probable trees are, and new ones like them.

    per_label -- True: score_samples gives the mean over labels, which compares trees of different
        sizes; the lowest are the oddest.  False: the log-likelihood of each tree
    structure -- False: labels alone; True: the shape counts too (with per_label=False)
    """

    def __init__(self, model=None, states=None, iterations=None, chains=None, per_label=True,
                 structure=False, options=None, random_state=None, n_jobs=None):
        self.model = model
        self.states = states
        self.iterations = iterations
        self.chains = chains
        self.per_label = per_label
        self.structure = structure
        self.options = options
        self.random_state = random_state
        self.n_jobs = n_jobs

    def score_samples(self, X):
        """Nats for each tree; -inf: impossible."""
        forest = self._unclassed(X)
        found = self.run_.score(forest, structure=self.structure and not self.per_label,
                                threads=_threads(self.n_jobs))
        return -LOG2 * found.bits_per_label if self.per_label else found.log_likelihood

    def score(self, X, y=None):
        """The mean over trees."""
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples=1, random_state=None, shapes=None):
        """New trees, as a Forest; for given shapes, their labels drawn anew."""
        check_is_fitted(self, "run_")
        seed = _seed(self.random_state if random_state is None else random_state)
        if shapes is not None:
            return self.run_.sample(shapes=shapes, seed=seed)
        return self.run_.sample(n_samples, seed=seed)


class TreeFeatures(TransformerMixin, _TreeEstimator):
    """Pieces of trees as a SciPy sparse matrix, for models of other kinds.

    groups -- "S+B+BG+L+P1" or some of them (see phloem.h, section 12)
    least_trees -- leave out what is in fewer distinct trees
    counts -- True: counts; False: scaled values, whose squares add up to 1 for each tree
    """

    def __init__(self, groups=None, least_trees=1, counts=False, n_jobs=None):
        self.groups = groups
        self.least_trees = least_trees
        self.counts = counts
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        self.features_ = Features(self._forest(X), groups=self.groups,
                                  least_trees=self.least_trees, threads=_threads(self.n_jobs))
        return self

    def transform(self, X):
        check_is_fitted(self, "features_")
        return self.features_.extract(self._forest(X), counts=self.counts,
                                      threads=_threads(self.n_jobs))

    def get_feature_names_out(self, input_features=None):
        check_is_fitted(self, "features_")
        return np.array([f"{self.features_.group(i)} {self.features_.text(i)}"
                         for i in range(len(self.features_))], dtype=object)
