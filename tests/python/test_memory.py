"""Nothing is leaked, whatever is freed first."""
import gc
import os
import random

import numpy as np
import pytest

import phloem
from phloem import Forest, Run, TreeClassifier

ROUNDS = int(os.environ.get("PHLOEM_TEST_ROUNDS", "30"))


def resident():
    """Bytes of memory in use."""
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(action, rounds=ROUNDS):
    """Bytes that memory grows by in so many rounds, after some to warm up."""
    for _ in range(max(5, rounds // 5)):
        action()
    gc.collect()
    before = resident()
    for _ in range(rounds):
        action()
    gc.collect()
    return resident() - before


def test_fit_and_predict():
    trees = Forest.generate_symm(trees_per_class=6)
    nested, y = trees.to_nested(), trees.y

    def once():
        for how in (dict(c=3, groups="L+P1"), dict(method="generative", model="sp", states=2,
                                                   iterations=2)):
            TreeClassifier(**how).fit(nested, y).predict_proba(nested)
    grown = growth(once)
    print(f"{ROUNDS} rounds of fit and predict: {grown / 1024:.0f} KiB")
    assert grown < 4 << 20


def test_errors_leak_nothing():
    big = [("x" * 50, *[(str(i), "y") for i in range(300)])] * 5

    def once():
        for trees in (big + [("a", {1})], big + ["(a"], big + [()], [*big, ("1", 1)]):
            with pytest.raises((TypeError, ValueError)):
                Forest(trees)
        with pytest.raises(ValueError):
            Forest(big, weights=[float("nan")] * len(big))
        with pytest.raises(phloem.Error):
            Run.train(Forest(big[:1]), states=0)
    assert growth(once) < 4 << 20


def test_tasks_and_views():
    symm = Forest.generate_symm(trees_per_class=10)
    run = Run.train(symm, kind="tf", states=3, iterations=10, chains=1)

    def once():
        run.score(symm, bits=True)
        run.label(symm, hide=0.5)
        run.decode(symm)
        run.sample(3)
        run.diagnose()
        [draw.tensors for draw in run.draws]
        run.trace()
        symm[::2].links
        list(symm)
    assert growth(once) < 4 << 20


def test_any_order_of_freeing():
    """Views, trees, draws, models, runs and forests are dropped at random."""
    chance = random.Random(3)
    for _ in range(20):
        forest = Forest.generate_symm(trees_per_class=4, seed=chance.randrange(1000))
        run = Run.train(forest, kind="tf", states=2, iterations=4, chains=1)
        things = [forest, run, forest.links, forest[0], forest[0].root, forest[1:3], run.model(),
                  run.draws[0], run.draws[0]["emission"], run.trace()[0], run.score(forest),
                  run.label(forest, hide=1).forest, iter(forest)]
        sums = [float(np.sum(thing)) for thing in things
                if isinstance(thing, np.ndarray) and thing.dtype.names is None]
        del forest, run
        chance.shuffle(things)
        while len(things) > 4:
            things.pop()
            gc.collect()
        for thing in things:
            if isinstance(thing, np.ndarray) and thing.dtype.names is None:
                assert float(np.sum(thing)) in sums
            else:
                repr(thing)
        things.clear()
