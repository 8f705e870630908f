#!/usr/bin/python3
"""tests/old-runs/run.py PHLOEM - run files of earlier versions open, with the same numbers.

Every NAME.run of this folder, in a folder of its own: `show --json` prints NAME.json and `score` on
new.trees prints NAME.scores, byte for byte; `show` and `diagnose` answer; `resume` refuses in words,
because checkpoints are good only in the version that wrote them.  None of them changes the file.
TAP on standard output.
"""
import os
import shutil
import subprocess
import sys
import tempfile

PHLOEM = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
tests = 0
failures = 0


def report(good, name, *details):
    global tests, failures
    tests += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {tests} - {name}")
    for detail in details:
        print("# " + str(detail).replace("\n", "\n# "))
    sys.stdout.flush()


def content(path):
    with open(path, "rb") as file:
        return file.read()


def check(name, folder):
    run = f"{name}.run"
    shutil.copy(os.path.join(HERE, run), folder)
    before = content(os.path.join(folder, run))

    def phloem(*words):
        return subprocess.run([PHLOEM, *words], capture_output=True, cwd=folder, timeout=60)

    shown = phloem("show", "--json", run)
    report(shown.returncode == 0 and shown.stdout == content(os.path.join(HERE, f"{name}.json")),
           f"{name}: show --json", shown.stderr.decode())
    scored = phloem("score", run, "new.trees")
    report(scored.returncode == 0 and
           scored.stdout == content(os.path.join(HERE, f"{name}.scores")),
           f"{name}: score", scored.stderr.decode())
    told = phloem("show", run)
    report(told.returncode == 0 and told.stdout != b"", f"{name}: show", told.stderr.decode())
    diagnosed = phloem("diagnose", run)
    report(diagnosed.returncode in (0, 1, 2, 3), f"{name}: diagnose", diagnosed.stderr.decode())
    resumed = phloem("resume", run, "--quiet", "--iterations", "200000000")
    report(resumed.returncode == 3 and b"checkpoints are good only in the version that wrote them" in resumed.stderr,
           f"{name}: resume refuses", resumed.stderr.decode())
    report(content(os.path.join(folder, run)) == before and
           sorted(os.listdir(folder)) == sorted([run, "new.trees"]), f"{name}: left as it was")


names = sorted(entry[:-4] for entry in os.listdir(HERE) if entry.endswith(".run"))
report(len(names) >= 8, f"{len(names)} run files")
for each in names:
    with tempfile.TemporaryDirectory() as place:
        shutil.copy(os.path.join(HERE, "new.trees"), place)
        check(each, place)
print(f"1..{tests}")
sys.exit(failures > 0)
