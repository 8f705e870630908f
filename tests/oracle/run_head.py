#!/usr/bin/python3
"""run_head.py PHLOEM - the linear head against scikit-learn's logistic regression; TAP.

The same features, written by `phloem features`, the C that was chosen: probabilities of test trees must
agree to 2e-2 (both stop early), and the objective of our solution must be that of theirs to the duality gap.  Without
scikit-learn (Debian's python3-sklearn) the test is skipped and says so.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import run_arrays  # noqa: E402

try:
    import numpy
    from scipy.sparse import csr_matrix, hstack
    from sklearn.datasets import load_svmlight_file
    from sklearn.linear_model import LogisticRegression
except ImportError:
    numpy = None
import sqlite3  # noqa: E402  # pylint: disable=wrong-import-position


def stored(path):
    run = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    return {name: (json.loads(shape), numpy.frombuffer(run_arrays.unpacked(data, dtype, shape, part),
                                                       "<f8" if dtype == "float64" else "<u4"))
            for name, dtype, shape, part, data in
            run.execute("SELECT name, dtype, shape, part, data FROM head WHERE dtype <> 'uint64'")}


def objective(weights, rows, truth, c):
    scores = rows @ weights
    top = scores.max(1, keepdims=True)
    loss = top[:, 0] + numpy.log(numpy.exp(scores - top).sum(1)) - scores[range(len(truth)), truth]
    return 0.5 * (weights ** 2).sum() + c * loss.sum()


def main():
    phloem, report = os.path.abspath(sys.argv[1]), harness.Report()
    if numpy is None:
        report.skip("scikit-learn", "no scikit-learn")
        return report.end()
    with tempfile.TemporaryDirectory() as folder:
        def run(*arguments):
            return subprocess.run([phloem, *arguments, "--quiet"], cwd=folder, check=True,
                                  capture_output=True, text=True).stdout
        run("generate", "documents", "--trees-per-class", "80", "-o", "all.trees")
        with open(os.path.join(folder, "all.trees"), encoding="utf-8") as stream:
            lines = list(stream)
        for name, part in (("train", lines[::2] + lines[::14]), ("test", lines[1::2])):
            with open(os.path.join(folder, name + ".trees"), "w", encoding="utf-8") as stream:
                stream.writelines(part)
        run("train", "--classifier", "train.trees", "-o", "c.run")
        head = stored(os.path.join(folder, "c.run"))
        facts = head["facts"][1]
        chosen = head["choice"][1].reshape(head["choice"][0])[int(facts[2])]
        groups = ",".join(name for bit, name in enumerate(("S", "B", "BG", "L", "P1"))
                          if int(chosen[0]) >> bit & 1)
        c = chosen[1] * facts[5] / facts[4]
        loaded = []
        for name in ("train", "test"):
            run("features", "--like", "train.trees", name + ".trees", "--groups", groups, "-o",
                name + ".svm")
            rows, truth = load_svmlight_file(os.path.join(folder, name + ".svm"),
                                             n_features=head["weight"][0][0] - 1, zero_based=False)
            loaded.append((hstack([rows, numpy.ones((rows.shape[0], 1))]).tocsr(),
                           truth.astype(int) - 1))
        (rows, truth), (test, _) = loaded
        weights = head["weight"][1].reshape(head["weight"][0])
        model = LogisticRegression(C=c, fit_intercept=False, max_iter=20000, tol=1e-9)
        model.fit(csr_matrix(rows), truth)
        ours, theirs = (objective(w, rows, truth, c) for w in (weights, model.coef_.T))
        gap = facts[7] * c * len(truth)
        report.line(theirs - 1e-3 * gap <= ours <= theirs + 1.001 * gap,
                    f"objective {ours:.6f}, scikit-learn's {theirs:.6f}, duality gap {gap:.2g}")
        scores = test @ weights / facts[1]
        scores -= scores.max(1, keepdims=True)
        expected = numpy.exp(scores) / numpy.exp(scores).sum(1, keepdims=True)
        answers = json.loads(run("classify", "c.run", "test.trees", "--no-class", "--json"))
        mine = numpy.array([[row[key] for key in row if key.startswith("p(")] for row in answers])
        worst = abs(mine - expected).max()
        report.line(worst < 1e-12, f"probabilities are those of the stored weights to {worst:.1e}")
        logits = test @ model.coef_.T / facts[1]
        logits -= logits.max(1, keepdims=True)
        other = numpy.exp(logits) / numpy.exp(logits).sum(1, keepdims=True)
        worst = abs(mine - other).max()
        report.line(worst < 2e-2, f"probabilities differ from scikit-learn's by {worst:.1e}")
    return report.end()


sys.exit(main())
