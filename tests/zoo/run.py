#!/usr/bin/python3
"""run.py PHLOEM [--update] - the zoo of bad input, reported as TAP: one file, one fault, one message.

expected.txt has a line for each file in files/, with five columns separated by tabs: the file's
name, options, the number of good trees in it, the number of bad ones, and what is printed to
standard error, exactly.  `phloem stats FILE` must print that and nothing else and exit with 3;
with --skip-bad it must exit with 0, report the same fault first and count both kinds of trees.
--update rewrites the messages to what was seen; read the difference before keeping it.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = os.path.join(HERE, "files")
EXPECTED = os.path.join(HERE, "expected.txt")
SECONDS = 60


def run(phloem, *words):
    done = subprocess.run([phloem, "stats", *words], cwd=FILES, capture_output=True,
                          timeout=SECONDS, check=False, stdin=subprocess.DEVNULL)
    return (done.returncode, done.stdout.decode("utf-8", "backslashreplace"),
            done.stderr.decode("utf-8", "backslashreplace"))


def faults(phloem, name, options, good, bad, message):
    """What is not as it should be, and the message that was printed."""
    wrong = []
    code, out, err = run(phloem, name, *options)
    if code != 3:
        wrong.append(f"exit code {code}, expected 3")
    if out:
        wrong.append(f"printed to standard output: {out[:200]!r}")
    if err != f"phloem: {message}\n":
        wrong.append(f"found    {err!r}")
        wrong.append(f"expected {'phloem: ' + message!r}")
    code, out, skipped = run(phloem, "--json", "--skip-bad", name, *options)
    if code != 0:
        wrong.append(f"with --skip-bad: exit code {code}, expected 0")
    else:
        counts = json.loads(out)
        if (counts["trees"], counts["skipped"]) != (good, bad):
            wrong.append(f"with --skip-bad: {counts['trees']} trees and {counts['skipped']} "
                         f"skipped, expected {good} and {bad}")
    if not skipped.startswith(f"phloem: skipped: {message}\n"):
        wrong.append(f"with --skip-bad: found {skipped!r}")
    return wrong, err[len("phloem: "):].rstrip("\n")


def main():
    words = [word for word in sys.argv[1:] if word != "--update"]
    update = len(words) < len(sys.argv) - 1
    if len(words) != 1:
        print(__doc__.strip())
        return 2
    phloem = os.path.abspath(words[0])
    with open(EXPECTED, encoding="utf-8") as stream:
        rows = [line.rstrip("\n").split("\t") for line in stream]
    strays = sorted(set(os.listdir(FILES)) ^ {row[0] for row in rows})
    report = harness.Report()
    report.line(not strays, "every file has its line and every line its file", *strays)
    for row in rows:
        name, options, good, bad, message = row
        try:
            wrong, seen = faults(phloem, name, options.split(), int(good), int(bad), message)
        except subprocess.TimeoutExpired:
            wrong, seen = [f"not done after {SECONDS} s"], message
        row[4] = seen
        report.line(not wrong, name, *wrong)
    if update:
        with open(EXPECTED, "w", encoding="utf-8") as stream:
            stream.writelines("\t".join(row) + "\n" for row in rows)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
