"""Pictures, ArviZ's groups, what notebooks show."""
import sys

import numpy as np
import pytest

import phloem
from phloem import Forest, Run


@pytest.fixture(scope="module")
def run(symm):
    return Run.train(symm, per_class=True, kind="tf", states=4, iterations=20, chains=2, keep=3)


def test_plots(run, symm, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    axes = run.plot_slots("left")
    assert len(axes.patches) == run.slots
    axes = run.plot_trace("log_joint", "right")
    assert len(axes.lines) == 2 and list(axes.lines[0].get_ydata()) \
        == list(run.trace("right")[0]["log_joint"])
    found = run.classify(symm, evaluate=True)
    for axes in (phloem.plots.confusion(found.evaluation),
                 phloem.plots.confusion(symm.y, found.predicted)):
        assert np.allclose(np.asarray(axes.images[0].get_array()).sum(axis=1), 1)
    bits = run.score(symm[:1], bits=True).bits[0]
    axes = phloem.plots.tree(symm[0], bits)
    assert len(axes.texts) == symm[0].size
    phloem.plots.tree(symm[0], [node.label for node in symm[0]])
    axes.figure.savefig(tmp_path / "tree.png")
    pyplot.close("all")


def test_arviz_groups(run):
    groups = run.to_arviz("left")
    posterior = groups["posterior"]
    assert posterior["log_joint"].shape == (2, 10)
    trace = run.trace("left")
    assert np.array_equal(np.asarray(posterior["log_likelihood"])[1],
                          trace[1]["log_likelihood"][10:])
    assert np.asarray(groups["draws"]["emission"]).shape[:2] == (2, 3)
    assert np.asarray(groups["sample_stats"]["tried"]).shape == (2, 10, 4)


def test_arviz_groups_without_xarray(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    groups = run.to_arviz("left")
    assert isinstance(groups["posterior"]["log_joint"], np.ndarray)


def test_arviz_itself(run, monkeypatch):
    """ArviZ is not in Debian: a stub that takes what it takes."""
    import types

    class InferenceData:
        def __init__(self, **groups):
            self.groups = groups
    pytest.importorskip("xarray")
    monkeypatch.setitem(sys.modules, "arviz", types.SimpleNamespace(InferenceData=InferenceData))
    found = run.to_arviz("left")
    assert isinstance(found, InferenceData)
    assert found.groups["posterior"]["log_joint"].dims == ("chain", "draw")


def test_notebooks(run, symm):
    text = run._repr_html_()
    assert "log-likelihood" in text and "left" in text
    assert "temperature" in Run.train_classifier(symm, c=30, groups="L")._repr_html_()
    odd = Forest([("<script>", ("&",))], classes=["<b>"])
    for text in (odd._repr_html_(), odd[0]._repr_html_()):
        assert "<script>" not in text and "<b>b" not in text
    deep = "(a " * 3000 + "(b)" + ")" * 3000
    assert Forest([deep])[0]._repr_html_().count("<rect") == 400
    assert Forest([])._repr_html_()
