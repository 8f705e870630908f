#!/usr/bin/python3
"""run_score.py PHLOEM - `phloem score` against the plain Python of score.py on whole trees; TAP.

Trees of any size, models as trained: every log-likelihood must agree to 1e-9 relative.  Generated symm
trees always; the data sets where they are.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 1e-9


def main():
    phloem, report = os.path.abspath(sys.argv[1]), harness.Report()
    with tempfile.TemporaryDirectory() as folder:
        def run(*command):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{command}: {done.stderr}")
            return done.stdout

        run(phloem, "generate", "symm", "--trees-per-class", "20", "-o", "symm.trees", "--quiet")
        sets = {"generated symm": "symm.trees",
                "symm": harness.data_sets.path("symm/test.trees"),
                "inex05": harness.data_sets.path("inex05/test.elastic.tree")}
        for name, path in sets.items():
            for model in ("sp", "td", "tf"):
                what = f"{model} on {name}"
                if path.startswith("/") and not os.path.exists(path):
                    report.skip(what)
                    continue
                run(phloem, "train", path, "--model", model, "--states", "4", "--iterations", "10",
                    "--chains", "1", "--keep", "1", "--force", "-o", "x.run", "--quiet")
                with open(f"{folder}/model.json", "w", encoding="utf-8") as out:
                    out.write(run(phloem, "show", "x.run", "--json"))
                run(phloem, "convert", path, "--limit", "150", "-o", "x.jsonl", "--quiet")
                ours = json.loads(run(phloem, "score", "x.run", "x.jsonl", "--json"))
                if isinstance(ours, dict):
                    ours = next(value for value in ours.values() if isinstance(value, list))
                theirs = run("/usr/bin/python3", f"{HERE}/score.py", "model.json", "x.jsonl")
                theirs = [float(line.split("\t")[-1]) for line in theirs.splitlines()[1:]]
                worst = max(abs(row["log_likelihood"] - value) / abs(value)
                            for row, value in zip(ours, theirs))
                good = len(ours) == len(theirs) > 0 and worst < LIMIT
                report.line(good, f"{what}: {len(theirs)} trees, "
                                  f"worst relative difference {worst:.1e}")
    return report.end()


sys.exit(main())
