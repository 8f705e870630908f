#!/usr/bin/python3
"""tests/old-runs/run.py PHLOEM - run files of earlier versions open, with the same numbers.

Every NAME.run of this folder, in a folder of its own: `show --json` prints NAME.json and `score` on
new.trees prints NAME.scores, `sample` draws NAME.sampled, byte for byte; `show` and `diagnose`
answer; `resume` refuses in words,
because checkpoints can be used only by the version that wrote them.  None of them changes the file.
TAP on standard output.
"""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402  # pylint: disable=wrong-import-position

PHLOEM = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
REPORT = harness.Report()


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
    REPORT.line(shown.returncode == 0 and shown.stdout == content(os.path.join(HERE, f"{name}.json")),
                f"{name}: show --json", shown.stderr.decode())
    scored = phloem("score", run, "new.trees")
    REPORT.line(scored.returncode == 0 and
                scored.stdout == content(os.path.join(HERE, f"{name}.scores")),
                f"{name}: score", scored.stderr.decode())
    drawn = phloem("sample", run, "--trees", "5", "--seed", "1", "--quiet", "-o", "-")
    REPORT.line(drawn.returncode == 0 and
                drawn.stdout == content(os.path.join(HERE, f"{name}.sampled")),
                f"{name}: sample", drawn.stderr.decode())
    told = phloem("show", run)
    REPORT.line(told.returncode == 0 and told.stdout != b"", f"{name}: show", told.stderr.decode())
    diagnosed = phloem("diagnose", run)
    REPORT.line(diagnosed.returncode in (0, 1, 2, 3), f"{name}: diagnose", diagnosed.stderr.decode())
    resumed = phloem("resume", run, "--quiet", "--iterations", "200000000")
    REPORT.line(resumed.returncode == 3 and
                b"checkpoints can be used only by the version that wrote them" in resumed.stderr,
                f"{name}: resume refuses", resumed.stderr.decode())
    REPORT.line(content(os.path.join(folder, run)) == before and
                sorted(os.listdir(folder)) == sorted([run, "new.trees"]), f"{name}: left as it was")


names = sorted(entry[:-4] for entry in os.listdir(HERE) if entry.endswith(".run"))
REPORT.line(len(names) >= 8, f"{len(names)} run files")
for each in names:
    with tempfile.TemporaryDirectory() as place:
        shutil.copy(os.path.join(HERE, "new.trees"), place)
        check(each, place)
sys.exit(REPORT.end())
