#!/usr/bin/python3
"""run.py PHLOEM DATA - accuracy floors on the data sets of the paper (TESTING: "The paper"); TAP.

One seed each, so that it stays short; the figures of several seeds are in the documentation.  Each floor
lies below the worst of five seeds, so a change that merely draws other random numbers passes and a
learner that is broken does not.
"""
import os
import re
import subprocess
import sys
import tempfile

SHORT = ["--iterations", "100", "--anneal", "10:50", "--chains", "1", "--keep", "20"]
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
     ["--per-class", "--states", "2", "--chains", "2", *SHORT[:-4], "--keep", "20"], "classify",
     27.5),
]


def main():
    phloem, data = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    failed = False
    for number, (what, train, test, options, use, floor) in enumerate(CASES, 1):
        if not os.path.exists(f"{data}/{train}"):
            print("skipped: no data")
            print(f"ok {number} - {what} # SKIP no data")
            continue
        with tempfile.TemporaryDirectory() as folder:
            def run(*command):
                return subprocess.run([phloem, *command], cwd=folder, capture_output=True, text=True)

            done = run("train", f"{data}/{train}", "-o", "x.run", "--quiet", *options)
            if done.returncode == 0:
                more = ["--hide", "all"] if use == "label" else []
                done = run(use, "x.run", f"{data}/{test}", *more)
            match = re.search(r"^accuracy +([0-9.]+) %", done.stdout, re.MULTILINE)
            good = bool(match) and float(match[1]) >= floor
            failed |= not good
            print(f"{'ok' if good else 'not ok'} {number} - {what}: "
                  f"{match[1] if match else 'no figure'} %, floor {floor} %", flush=True)
            if not good:
                print("# " + (done.stderr or done.stdout).replace("\n", "\n# "))
    print(f"1..{len(CASES)}")
    return 1 if failed else 0


sys.exit(main())
