"""Runs: training, draws and traces, tasks, files, pickles."""
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import phloem
from phloem import Forest, Run

SHORT = dict(kind="tf", states=4, iterations=30, chains=2, keep=5)


@pytest.fixture(scope="module")
def run(symm):
    return Run.train(symm, **SHORT)


@pytest.fixture(scope="module")
def per_class(symm):
    return Run.train(symm, per_class=True, **SHORT)


def test_facts(run, per_class, symm):
    assert (run.kind, run.states, run.per_class, run.classes) == ("tf", 4, False, [None])
    assert run.labels == symm.labels and run.slots == 3
    assert run.options["states"] == 4 and run.options["learner"] == "gibbs"
    assert run.meta("seed") == "42" and run.meta("nothing") is None
    assert per_class.classes == symm.classes and not per_class.interrupted
    with pytest.raises(KeyError, match="no class 'x'"):
        per_class.model("x")


def test_draws_are_views(run):
    assert len(run.draws) == 10
    draw = run.model().best_draw
    emission = draw["emission"]
    assert emission.shape == (4, len(run.labels) + 1) and not emission.flags.writeable
    assert np.allclose(emission.sum(axis=1), 1)
    assert np.shares_memory(emission, draw["emission"])
    tensors = draw.tensors
    assert tensors["core"].shape[-1] == 4 and np.allclose(tensors["core"].sum(axis=-1), 1)
    for slot in range(1, 4):
        if draw.slot_size(slot) > 1:
            assert draw["partition", slot].dtype == np.int32
    with pytest.raises(KeyError, match="emission"):
        draw["nothing"]
    shown = run.to_dict()
    assert shown["model"] == "tf"


def test_views_outlive_the_run(symm):
    run = Run.train(symm, **SHORT)
    emission, trace = run.draws[0]["emission"], run.trace()[0]
    expected, rows = emission.copy(), trace.copy()
    del run
    import gc
    gc.collect()
    Run.train(symm, seed=1, **SHORT)
    assert np.array_equal(emission, expected) and np.array_equal(trace, rows)


def test_traces(run, per_class):
    trace = run.trace()
    assert len(trace) == 2 and all(len(rows) == 30 for rows in trace)
    assert list(trace[0]["iteration"]) == list(range(1, 31))
    assert not trace[0].flags.owndata and trace[0]["tried"].shape == (30, 4)
    assert np.isfinite(trace[1]["log_likelihood"]).all()
    frame = per_class.trace_frame()
    assert len(frame) == 3 * 2 * 30 and set(frame["class"]) == set(per_class.classes)


def test_slots(run):
    share, counts = run.model().slot_posterior(1)
    assert counts.sum() == 10 and share == counts[2:].sum() / 10


def test_diagnose(run, per_class):
    found = run.diagnose()
    assert found["learner"] == "gibbs" and len(found["classes"][0]["chains"]) == 2
    assert any("fewer than 4" in finding["text"] for finding in found["classes"][0]["findings"])
    assert not any("--" in (finding["advice"] or "") for finding in found["classes"][0]["findings"])
    assert len(per_class.diagnose("left")["classes"]) == 1
    assert found["classes"][0]["quantities"][0]["name"] == "log_joint"


def test_score(run, per_class, symm):
    scores = run.score(symm, bits=True, predictive=True)
    assert scores.log_likelihood.shape == symm.shape
    assert [len(bits) for bits in scores.bits] == list(scores.nodes)
    assert scores.predictive[0].shape == (scores.nodes[0], len(run.labels) + 1)
    assert np.allclose(scores.predictive[0].sum(axis=1), 1)
    every = per_class.score(symm, every_class=True)
    assert every.log_likelihood.shape == (len(symm), 3)
    own = per_class.score(symm)
    number = [per_class.classes.index(name) for name in symm.y]
    assert np.array_equal(every.log_likelihood[np.arange(len(symm)), number], own.log_likelihood)


def test_trees_of_any_form(run, symm, tmp_path):
    expected = run.score(symm).log_likelihood
    for trees in (symm.to_nested(), [str(tree) for tree in symm], list(symm), symm.to_dicts()):
        assert np.array_equal(run.score(trees).log_likelihood, expected)
    symm.write(tmp_path / "s.trees")
    for paths in (tmp_path / "s.trees", [tmp_path / "s.trees"]):
        assert np.array_equal(run.score(paths).log_likelihood, expected)
    few = run.score(tmp_path / "s.trees", read={"block_trees": 7, "limit": 20}, bits=True)
    assert np.array_equal(few.log_likelihood, expected[:20]) and len(few.bits[19]) == few.nodes[19]
    with pytest.raises(TypeError, match="belong to files"):
        run.score(symm, read={"limit": 3})


def test_classify(per_class, run, symm):
    found = per_class.classify(symm, evaluate=True)
    assert found.log_posterior.shape == (len(symm), 3)
    assert np.allclose(np.exp(found.log_posterior).sum(axis=1), 1)
    assert (found.predicted == symm.y).mean() == found.evaluation["best"]["accuracy"]
    assert found.evaluation["best"]["counts"].sum() == len(symm)
    with pytest.raises(phloem.ArgumentError):
        run.classify(symm)


def test_label(run, symm):
    hidden = Forest(["(? (? (0)) _ (?))"])
    found = run.label(hidden)
    assert None not in {node.label for node in found.forest[0]}
    assert list(found.filled[0]) == [True, True, False, True]
    assert found.probability[0].shape == (3, len(run.labels)) and found.evaluation is None
    checked = run.label(symm, hide=0.5, seed=3)
    assert 0.5 < checked.evaluation["best"]["accuracy"] <= 1
    assert checked.forest.stats()["nodes"] == symm.stats()["nodes"]
    assert len(run.label(symm, no_draw=True, hide=1).drawn) == len(symm)


def test_labels_that_are_objects():
    trees = [((1, "x"), (2,), (3,)), ((1, "x"), (3,), (3,))] * 5
    run = Run.train(trees, kind="tf", states=2, iterations=20, chains=1)
    assert set(run.labels) == {(1, "x"), 2, 3}
    filled = run.label([((1, "x"), (None,), (3,))]).forest.to_nested()[0]
    assert filled[1][0] in {(1, "x"), 2, 3}


def test_decode(run, symm):
    found = run.decode(symm, joint=True, pairs=True)
    sizes = symm.sizes[symm.tree_root]
    assert [len(best) for best in found.best] == list(sizes)
    assert np.allclose(found.marginals[0].sum(axis=1), 1) and found.pairs[0].shape[1:] == (4, 4)
    assert np.array_equal(found.marginals[0].argmax(axis=1), found.best[0])
    assert run.decode(symm, marginals=False, joint=True).marginals[0] is None


def test_sample(run, per_class, symm):
    trees = run.sample(7, seed=5)
    assert len(trees) == 7 and trees == run.sample(7, seed=5) != run.sample(7, seed=6)
    assert len(per_class.sample(2)) == 6
    drawn = run.sample(shapes=symm)
    assert drawn.stats()["nodes"] == symm.stats()["nodes"]


def test_files(run, symm, tmp_path):
    run.save(tmp_path / "a.run")
    assert np.array_equal(Run.open(tmp_path / "a.run").score(symm).log_likelihood,
                          run.score(symm).log_likelihood)
    with pytest.raises(phloem.FileError):
        run.save(tmp_path / "a.run")
    trained = Run.train(symm, tmp_path / "b.run", **SHORT)
    assert np.array_equal(trained.draws[-1]["core"], run.draws[-1]["core"])
    longer = Run.resume(tmp_path / "b.run", iterations=40)
    assert longer.model().iterations == 40
    with pytest.raises(phloem.Error, match="exists|replace"):
        Run.train(symm, tmp_path / "b.run", **SHORT)
    Run.train(symm, tmp_path / "b.run", replace=True, no_embed=True, **SHORT)
    with pytest.raises(phloem.Error):
        Run.resume(tmp_path / "b.run", iterations=40)
    assert Run.resume(tmp_path / "b.run", iterations=40, forest=symm).model().iterations == 40


def test_pickles(per_class, symm, tmp_path):
    expected = per_class.classify(symm).log_posterior
    again = pickle.loads(pickle.dumps(per_class))
    assert np.array_equal(again.classify(symm).log_posterior, expected)
    path = tmp_path / "run.pickle"
    path.write_bytes(pickle.dumps((per_class, symm)))
    code = ("import pickle, sys; run, trees = pickle.load(open(sys.argv[1], 'rb'));"
            "print(run.classify(trees).log_posterior.tobytes().hex())")
    done = subprocess.run([sys.executable, "-c", code, path], stdout=subprocess.PIPE, check=True)
    assert done.stdout.decode().strip() == expected.tobytes().hex()


def test_linear_classifier(symm):
    run = Run.train_classifier(symm, c=30, groups="S+B+BG")
    assert run.kind == "no_kind" and "linear" in repr(run)
    assert run.head.summary["groups"] == 7 and run.head.weights.shape[1] == 3
    assert len(run.head.top("left", 3)) == 3
    found = run.classify(symm)
    assert found.log_likelihood is None and (found.predicted == symm.y).mean() > 0.9
    fold = phloem.make_folds(symm, 3)
    assert Run.train_classifier(symm, fold=fold, n_folds=3).head.summary["n_folds"] == 3
    with pytest.raises(ValueError, match="fold: found 2"):
        Run.train_classifier(symm, fold=[0, 1])
    with pytest.raises(ValueError, match="fold: found 2"):
        Run.train(symm, per_class=True, head="linear", fold=[0, 1], n_folds=2, **SHORT)
    with pytest.raises(ValueError, match="groups"):
        Run.train_classifier(symm, groups="S+X")


def test_features(documents):
    features = phloem.Features(documents[:20], groups="L+P1")
    values = features.extract(documents)
    assert values.shape == (len(documents), len(features))
    assert np.allclose(values[:20].multiply(values[:20]).sum(axis=1), 1)
    assert features.group(0) == "L" and features.text(0).startswith("(")
    again = pickle.loads(pickle.dumps(features))
    assert (again.extract(documents) != values).nnz == 0
    with pytest.raises(IndexError):
        features.text(len(features))


def test_cross_validation(symm):
    found = phloem.cross_validate(symm, states=[2, 4], n_folds=3,
                                  train=dict(iterations=20, chains=1, per_class=True))
    assert [choice["states"] for choice in found["choices"]] == [2, 4]
    assert len(found["choices"][0]["folds"]) == 3
    assert found["choices"][found["winner"]]["pooled"]["n"] == len(symm)


def test_cross_validation_of_several(symm, tmp_path):
    """Several models and priors; a file keeps what is done."""
    work = tmp_path / "a.work"
    short = dict(iterations=10, per_class=True)
    how = dict(train=[dict(kind="td", states=2, **short), dict(kind="sp", states=3, **short),
                      dict(kind="no_kind", head="linear", per_class=True)],
               priors=["uniform", "empirical"], n_folds=3)
    found = phloem.cross_validate(symm, work=work, **how)
    kinds = [choice["kind"] for choice in found["choices"]]
    assert kinds == ["td", "td", "sp", "sp", "no_kind", "no_kind"]
    assert found["choices"][1]["prior"] == "empirical" and found["done"] == found["all"] == 9
    best = found["choices"][found["winner"]]
    assert best["accuracy_se"] == pytest.approx(best["accuracy_sd"] / 3 ** 0.5)
    assert found["choices"][found["chosen"]]["is_near"]
    again = phloem.cross_validate(symm, work=work, **how)
    assert [c["accuracy_mean"] for c in again["choices"]] == [c["accuracy_mean"] for c in found["choices"]]
    with pytest.raises(phloem.DataError, match="other models"):
        phloem.cross_validate(symm, work=work, **{**how, "priors": ["uniform"]})


def test_progress(symm, capsys):
    seen = []
    Run.train(symm, progress=seen.append, **SHORT)
    assert len(seen) == 60 and max(step["iteration"] for step in seen) == 30
    assert seen[0]["restarts"] == 2 and seen[0]["class_name"] is None
    Run.train(symm, progress=True, **SHORT)
    with pytest.raises(RuntimeError, match="enough"):
        def stop(_):
            raise RuntimeError("enough")
        Run.train(symm, progress=stop, kind="tf", states=4, iterations=100_000)


def test_progress_without_tqdm(symm, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    Run.train(symm, progress=True, **SHORT)
    assert "of 60 iterations" in capsys.readouterr().err


def interrupt_after(seconds):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()


def test_control_c_leaves_a_run(symm):
    interrupt_after(0.3)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as caught:
        Run.train(symm, kind="tf", states=5, iterations=10_000_000)
    assert time.monotonic() - began < 5
    run = caught.value.run
    assert isinstance(caught.value, phloem.Interrupted) and run.interrupted
    assert np.isfinite(run.score(symm).log_likelihood).all()


def test_control_c_leaves_a_file(symm, tmp_path):
    interrupt_after(0.3)
    with pytest.raises(phloem.Interrupted):
        Run.train(symm, tmp_path / "a.run", kind="tf", states=3, iterations=3000, chains=1)
    assert Run.open(tmp_path / "a.run").interrupted
    done = Run.resume(tmp_path / "a.run")
    straight = Run.train(symm, kind="tf", states=3, iterations=3000, chains=1)
    assert not done.interrupted
    assert np.array_equal(done.draws[-1]["core"], straight.draws[-1]["core"])


def test_control_c_in_other_calls(tmp_path):
    trees = Forest.generate_documents(trees_per_class=3000)
    run = Run.train(trees[::40], kind="tf", states=20, iterations=20)
    interrupt_after(0.05)
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100):
            run.decode(trees, threads=1)
    assert len(run.score(trees[:5]).nodes) == 5


def test_the_lock_is_released(symm):
    """Another thread counts while a training runs."""
    count, over = [0], threading.Event()

    def work():
        while not over.is_set():
            count[0] += 1
            time.sleep(0.001)
    thread = threading.Thread(target=work)
    thread.start()
    began = time.monotonic()
    try:
        Run.train(symm, kind="tf", states=8, iterations=400, threads=1)
    finally:
        elapsed = time.monotonic() - began
        over.set()
        thread.join()
    assert count[0] > 100 * elapsed


def test_trainings_in_threads(symm):
    expected = Run.train(symm, **SHORT).draws[-1]["core"]
    found = []
    threads = [threading.Thread(target=lambda: found.append(
        Run.train(symm, threads=1, **SHORT).draws[-1]["core"])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(np.array_equal(core, expected) for core in found)
