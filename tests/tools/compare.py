#!/usr/bin/python3
"""compare.py PHLOEM - tools/compare-outputs, tried on planted differences; TAP.

NEW is a program that calls phloem and changes one thing: the comparison must name it.
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
COMPARE = os.path.join(ROOT, "tools", "compare-outputs")

# What NEW does behind phloem, for the arguments `a` and its result `r`; what must be reported.
PLANTED = [
    ("a number on standard output", "if a[:1] == ['score'] and 'td.run' in a:\n"
     "    r.stdout = r.stdout.replace(b'1', b'2', 1)", "phloem score td.run new.trees: standard output"),
    ("a message", "if 'missing.trees' in a:\n"
     "    r.stderr = r.stderr.replace(b'missing', b'lost')",
     "phloem train --model tf missing.trees -o none.run: standard error"),
    ("an exit code", "if a == ['resume', 'tf.run']:\n    r.returncode = 3",
     "phloem resume tf.run: exit code 0, now 3"),
    ("a file", "if 'label.jsonl' in a:\n    open('label.jsonl', 'a').write('{}\\n')", ": label.jsonl"),
    ("a file that is missing", "if 'classify.tsv' in a:\n    os.remove('classify.tsv')",
     "files of one only: classify.tsv"),
    ("a tensor of a run", "if 'sp.run' in a and a[0] == 'train':\n"
     "    change('sp.run', \"UPDATE tensor SET data = zeroblob(length(data)) WHERE name = 'prior'\")",
     "sp.run: tensor prior of draw 0, slot 0, part 0 differs"),
    ("a trace", "if 'soft.run' in a and a[0] == 'train':\n"
     "    change('soft.run', 'UPDATE trace SET log_joint = log_joint + 1e-9 WHERE id = 3')",
     "soft.run: trace differs"),
    ("a fact", "if 'td.run' in a and a[0] == 'train':\n"
     "    change('td.run', \"UPDATE meta SET value = '8' WHERE key = 'seed'\")", "td.run: fact seed"),
    ("a run of the old version that is read otherwise",
     "if 'diagnose' in a and '--json' in a and os.getcwd().endswith('old'):\n"
     "    r.stdout = r.stdout.replace(b'learner', b'lerner')",
     "(run of OLD): standard output"),
]

WRAPPER = """#!/usr/bin/python3
import os, sqlite3, subprocess, sys

def change(path, statement):
    run = sqlite3.connect(path)
    run.execute(statement)
    run.commit()
    run.close()

a = sys.argv[1:]
r = subprocess.run([{phloem!r}] + a, stdin=subprocess.DEVNULL, capture_output=True)
{planted}
sys.stdout.buffer.write(r.stdout)
sys.stderr.buffer.write(r.stderr)
sys.exit(r.returncode)
"""


def compare(phloem, other):
    return subprocess.run([COMPARE, phloem, other, os.devnull], capture_output=True, text=True,
                          check=False)


def main():
    phloem, tap = os.path.abspath(sys.argv[1]), harness.Report()

    def report(name, good, output=""):
        tap.line(good, name, output)

    same = compare(phloem, phloem)
    report("a program is the same as itself", same.returncode == 0, same.stdout + same.stderr)
    with tempfile.TemporaryDirectory() as folder:
        other = os.path.join(folder, "other")
        with open(other, "w", encoding="utf-8") as stream:
            stream.write(WRAPPER.format(phloem=phloem,
                                        planted="\n".join(planted for _, planted, _ in PLANTED)))
        os.chmod(other, 0o755)
        found = compare(phloem, other)
    report("exit code 1 for differences", found.returncode == 1, found.stdout + found.stderr)
    for name, _, expected in PLANTED:
        report(name, expected in found.stdout, found.stdout + found.stderr)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
