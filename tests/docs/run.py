#!/usr/bin/python3
"""run.py PHLOEM BUILD [--update] [FILE.md ...] - run the examples of the documentation, reported as TAP.

Every fenced block marked `console` in README.md, docs/*.md and examples/*.md is run: a line
"$ command" (with "\\" at its end it goes on in the next line), then its output, exactly, standard
error included.  A line "..." in the expected output stands for any number of lines.  The blocks of
one file run in order in one folder that is empty at first.  A block of another kind directly after
a line <!-- file: NAME --> is saved there under that name; a line <!-- use: NAME --> copies the file NAME,
which lies beside the page, into the folder.  A command must end with exit code 0; where another is
meant, write `command || echo "exit $?"`.

--update writes what was seen into the file, except where "..." is used; read the difference before
keeping it.
"""
import difflib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SECONDS = 120
FENCE = re.compile(r"^<!-- use: (?P<use>\S+) -->$|(?:^<!-- file: (?P<file>\S+) -->\n)?"
                   r"^```(?P<kind>[\w+-]*)[^\n]*\n(?P<body>.*?)^```[ ]*$", re.M | re.S)


def steps(body):
    """(line offset, command, expected lines) of a console block."""
    found, lines, at = [], body.splitlines(), 0
    while at < len(lines):
        if not lines[at].startswith("$ "):
            raise SystemExit(f"a console block begins with '$ ', not with: {lines[at]}")
        start, command = at, lines[at][2:]
        while command.endswith("\\") and at + 1 < len(lines):
            at += 1
            command += "\n" + re.sub(r"^> ", "", lines[at])
        at += 1
        expected = []
        while at < len(lines) and not lines[at].startswith("$ "):
            expected.append(lines[at])
            at += 1
        found.append((start, command, expected))
    return found


def matches(expected, found):
    """Line by line; "..." stands for any number of lines."""
    reach = {0}  # how many lines of `found` may be used up so far
    for line in expected:
        if line.strip() == "...":
            reach = set(range(min(reach), len(found) + 1)) if reach else set()
        else:
            reach = {at + 1 for at in reach if at < len(found) and found[at] == line}
    return len(found) in reach


def examples(path):
    """("use", name), ("save", name, content) and ("run", line, command, expected), in order."""
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    for match in FENCE.finditer(text):
        if match.group("use"):
            yield ("use", match.group("use"))
        elif match.group("file"):
            yield ("save", match.group("file"), match.group("body"))
        elif match.group("kind") == "console":
            first = text.count("\n", 0, match.start("body")) + 1
            for offset, command, expected in steps(match.group("body")):
                yield ("run", first + offset, command, expected)


def replace_output(path, line, command, expected, found):
    """Put `found` in place of the output of the command that begins at `line` (from 1)."""
    with open(path, encoding="utf-8") as stream:
        lines = stream.read().split("\n")
    first = line - 1 + command.count("\n") + 1
    lines[first:first + len(expected)] = found
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("\n".join(lines))


def run_file(path, env, update, report):
    name = os.path.relpath(path, ROOT)
    shift = 0  # lines that updates have added so far
    with tempfile.TemporaryDirectory(prefix="phloem-docs-") as folder:
        for kind, where, *rest in list(examples(path)):
            if kind == "use":
                shutil.copy(os.path.join(os.path.dirname(path), where), folder)
                continue
            if kind == "save":
                with open(os.path.join(folder, where), "w", encoding="utf-8") as stream:
                    stream.write(rest[0])
                continue
            command, expected = rest
            try:
                done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, timeout=SECONDS,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, check=False)
            except subprocess.TimeoutExpired:
                report(f"{name}:{where}", command, [f"not done after {SECONDS} s"])
                continue
            found = done.stdout.decode("utf-8", "backslashreplace").splitlines()
            faults = []
            if done.returncode != 0:
                faults.append(f"exit code {done.returncode}")
            if update and "..." not in expected and expected != found:
                replace_output(path, where + shift, command, expected, found)
                shift += len(found) - len(expected)
            elif not matches(expected, found):
                faults += difflib.unified_diff(expected, found, "expected", "found", lineterm="")
            report(f"{name}:{where}", command, faults)


def main():
    words = [word for word in sys.argv[1:] if word != "--update"]
    update = len(words) != len(sys.argv) - 1
    if len(words) < 2:
        print(__doc__)
        return 2
    phloem, build, *files = (os.path.abspath(word) for word in words)
    if not files:
        files = [os.path.join(ROOT, "README.md")]
        for name in ("docs", "examples"):
            files += sorted(glob.glob(os.path.join(ROOT, name, "*.md")))
    env = dict(os.environ)
    env.update(PATH=os.path.dirname(phloem) + ":" + env.get("PATH", "/usr/bin:/bin"),
               LD_LIBRARY_PATH=os.path.join(build, "src"), LC_ALL="C.UTF-8", COLUMNS="80", TERM="dumb",
               PKG_CONFIG_PATH=os.path.join(build, "meson-uninstalled"))
    tap = harness.Report()

    def report(place, command, faults):
        tap.line(not faults, f"{place} $ {command.splitlines()[0]}", *faults)

    for path in files:
        run_file(path, env, update, report)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
