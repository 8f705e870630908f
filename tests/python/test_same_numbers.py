"""The numbers of the command line: parameters to the bit, the rest to every digit that it prints."""
import json

import numpy as np
import pytest

import phloem
from phloem import Forest, Run, TreeClassifier

SETS = {  # training and test trees, options of training in both languages
    "symm": ("symm/train.trees", "symm/test.trees", dict(kind="tf", states=5, iterations=40)),
    "symm, one model": ("symm/train.trees", "symm/test.trees", dict(kind="tf", states=5, iterations=40)),
    "inex05": ("inex05/train.elastic.tree", "inex05/test.elastic.tree",
               dict(kind="tf", states=3, iterations=6, chains=1)),
    "pud": ("pud/upos.train.trees", "pud/upos.test.trees",
            dict(kind="tf", states=3, iterations=6, chains=1)),
}
LIMIT = 1500


def words(options):
    names = {"kind": "model"}
    return [word for name, value in options.items()
            for word in (f"--{names.get(name, name)}", value)]


def rows(text):
    head, *lines = text.splitlines()
    names = head.split("\t")
    return [dict(zip(names, line.split("\t"))) for line in lines]


def same_tensors(one, two):
    assert len(one.draws) == len(two.draws) > 0
    for mine, theirs in zip(one.draws, two.draws):
        mine, theirs = mine.tensors, theirs.tensors
        assert list(mine) == list(theirs)
        assert all(mine[key].tobytes() == theirs[key].tobytes() for key in mine)


@pytest.fixture(scope="module", params=SETS)
def trained(request, data, program, tmp_path_factory):
    train, test, options = SETS[request.param]
    train, test = data(train), data(test)
    path = tmp_path_factory.mktemp("same") / "a.run"
    per_class = [] if "one model" in request.param else ["--per-class"]
    program("train", train, "-o", path, "--quiet", *per_class, *words(options))
    run = Run.train(Forest.read(train), per_class=bool(per_class), **options)
    return run, path, test


def test_train(trained):
    run, path, _ = trained
    same_tensors(run, Run.open(path))


def test_score(trained, program):
    run, path, test = trained
    printed = rows(program("score", path, test, "--limit", LIMIT))
    found = run.score(Forest.read(test, limit=LIMIT), every_class=True)
    assert [f"{value:.10g}" for value in found.log_likelihood.ravel()] \
        == [row["log_likelihood"] for row in printed]
    assert [f"{value:.6g}" for value in found.bits_per_label.ravel()] \
        == [row["bits_per_label"] for row in printed]


def test_classify(trained, program, tmp_path):
    run, path, test = trained
    if not run.per_class:
        with pytest.raises(phloem.ArgumentError, match="per_class"):
            run.classify(Forest.read(test, limit=LIMIT))
        return
    evaluation = json.loads(program("classify", path, test, "--limit", LIMIT, "--json",
                                    "--predictions", tmp_path / "p.tsv"))
    printed = rows((tmp_path / "p.tsv").read_text())
    found = run.classify(Forest.read(test, limit=LIMIT), evaluate=True)
    assert list(found.predicted) == [row["predicted"] for row in printed]
    for k, name in enumerate(run.classes):
        column = np.exp(found.log_posterior[:, k])
        assert [f"{value:.6g}" for value in column] == [row[f"p({name})"] for row in printed]
    assert evaluation["log_loss"] == pytest.approx(found.evaluation["log_loss"], rel=1e-9)


def test_label(trained, program, tmp_path):
    run, path, test = trained
    program("label", path, test, "--limit", LIMIT, "--hide", "0.5", "-o", tmp_path / "filled.jsonl",
            "--quiet")
    found = run.label(Forest.read(test, limit=LIMIT), hide=0.5)
    assert Forest.read(tmp_path / "filled.jsonl") == found.forest


def test_sample(trained, program, tmp_path):
    run, path, _ = trained
    program("sample", path, "--trees", "5", "-o", tmp_path / "s.trees", "--quiet")
    assert Forest.read(tmp_path / "s.trees") == run.sample(5)


def test_the_estimator(data, program, tmp_path):
    """TreeClassifier is `train --per-class` and `classify`."""
    train, test = data("inex05/train.elastic.tree"), data("inex05/test.elastic.tree")
    options = dict(kind="tf", states=3, iterations=6, chains=1)
    program("train", train, "-o", tmp_path / "a.run", "--quiet", "--per-class", *words(options))
    trees = Forest.read(train)
    options["model"] = options.pop("kind")
    est = TreeClassifier(method="generative", n_jobs=-1, **options).fit(trees, trees.y)
    same_tensors(est.run_, Run.open(tmp_path / "a.run"))
    new = Forest.read(test, limit=LIMIT)
    found = Run.open(tmp_path / "a.run").classify(new)
    assert np.array_equal(np.exp(found.log_posterior), est.predict_proba(new)[
        :, [list(est.classes_).index(name) for name in found.classes]])


def test_the_linear_classifier(program, tmp_path):
    trees = Forest.generate_documents(trees_per_class=40)
    trees.write(tmp_path / "t.trees")
    program("train", tmp_path / "t.trees", "--classifier", "-o", tmp_path / "a.run", "--quiet")
    found = Run.open(tmp_path / "a.run")
    est = TreeClassifier().fit(Forest.read(tmp_path / "t.trees"))
    assert found.head.weights.tobytes() == est.run_.head.weights.tobytes()
