#!/usr/bin/python3
"""run.py PHLOEM - every kind of data that README.md names in its first paragraph is read out of
examples/kinds, trained on and classified; TAP."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

# As README.md calls it; where it is; options; trees; classes.
KINDS = [
    ("XML", "xml", [], 12, 2),
    ("HTML documents", "html", ["--html-skip", "head"], 12, 2),
    ("parse trees", "parses.mrg", ["--words", "drop"], 20, 2),
    ("dependency trees", "dependencies", ["--class-by-folder"], 16, 2),
    ("glycans", "glycans.trees", [], 20, 2),
    ("RNA folds", "folds.dbn", ["--family"], 20, 2),
    ("session", "sessions.jsonl", [], 20, 2),
]


def main():
    phloem, report = os.path.abspath(sys.argv[1]), harness.Report()
    with open(os.path.join(harness.ROOT, "README.md"), encoding="utf-8") as file:
        promise = " ".join(file.read().split("\n\n")[1].split())
    with tempfile.TemporaryDirectory() as folder:
        def run(*words):
            done = subprocess.run([phloem, *words], cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"{words}: {done.stderr}")
            return done.stdout

        for name, path, options, trees, classes in KINDS:
            report.line(name in promise, f"README.md names {name}", promise)
            data = os.path.join(harness.ROOT, "examples", "kinds", path)
            stats = json.loads(run("stats", data, *options, "--json"))
            report.line((stats["trees"], len(stats["classes"])) == (trees, classes), f"{name}: read",
                        stats["trees"], stats["classes"])
            run("train", data, *options, "--model", "tf", "--per-class", "--states", "3", "--iterations",
                "40", "--warmup", "20", "--chains", "1", "--force", "-o", "kind.run", "--quiet")
            told = run("classify", "kind.run", data, *options)
            accuracy = float(next(line for line in told.splitlines()
                                  if line.startswith("accuracy")).split()[1])
            report.line(accuracy >= 85, f"{name}: trained on and classified, {accuracy} %", told)
    return report.end()


sys.exit(main())
