#!/usr/bin/python3
"""run.py PHLOEM - accuracy floors on the data sets of the paper; TAP.

One seed each, so that it stays short; the figures of several seeds are in the documentation.  Each floor
lies below the worst of five seeds, so a change that merely draws other random numbers passes and a
learner that is broken does not.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

SHORT = ["--iterations", "100", "--anneal", "10:50", "--chains", "1", "--keep", "20", "--beta", "1"]
CASES = [
    # what, training, test, train options, use, floor in percent
    ("sp labels symm", "symm/train.trees", "symm/test.trees", ["--model", "sp"], "label", 86.0),
    ("tf labels symm", "symm/train.trees", "symm/test.trees", SHORT, "label", 100.0),
    ("sp classifies inex05", "inex05/train.elastic.tree", "inex05/test.elastic.tree",
     ["--model", "sp", "--per-class"], "classify", 93.0),
    ("tf classifies inex05", "inex05/train.elastic.tree", "inex05/test.elastic.tree",
     ["--per-class", "--states", "6", *SHORT], "classify", 95.0),
    ("sp classifies inex06", "inex06/train.elastic.tree", "inex06/test.elastic.tree",
     ["--model", "sp", "--per-class", "--states", "2"], "classify", 25.0),
    ("tf classifies inex06", "inex06/train.elastic.tree", "inex06/test.elastic.tree",
     ["--per-class", "--states", "2", "--chains", "2", *SHORT[:4], *SHORT[6:]], "classify",
     27.5),
]


def main():
    phloem, report = os.path.abspath(sys.argv[1]), harness.Report()
    for what, train, test, options, use, floor in CASES:
        train, test = harness.data_sets.path(train), harness.data_sets.path(test)
        if not os.path.exists(train):
            report.skip(what)
            continue
        with tempfile.TemporaryDirectory() as folder:
            def run(*command):
                return subprocess.run([phloem, *command], cwd=folder, capture_output=True, text=True)

            done = run("train", "--model", "tf", train, "-o", "x.run", "--quiet", *options)
            if done.returncode == 0:
                more = ["--hide", "all"] if use == "label" else []
                done = run(use, "x.run", test, *more)
            match = re.search(r"^accuracy +([0-9.]+) %", done.stdout, re.MULTILINE)
            report.line(bool(match) and float(match[1]) >= floor,
                        f"{what}: {match[1] if match else 'no figure'} %, floor {floor} %",
                        done.stderr or done.stdout)
    return report.end()


sys.exit(main())
