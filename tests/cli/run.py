#!/usr/bin/python3
"""run.py PHLOEM [--update] [--valgrind] [CASE.test ...] - command-line tests, reported as TAP.

A case is one file in cases/.  Its first line says what is tested; then sections, each opened by a
line that begins with "--- ":

  --- command            run by `sh -eu` in an empty folder; $PHLOEM is the program, $DATA the
                         folder of the data sets
  --- file NAME          a file in that folder, before the command runs
  --- file NAME escaped  the same with Python's escapes (\\x00, \\r, ...); no newline is added at the end
  --- stdin              what the command reads; nothing otherwise
  --- stdout             expected, exactly; nothing otherwise
  --- stderr             expected, exactly; nothing otherwise
  --- stderr regex       expected to match as a whole (re.DOTALL)
  --- result NAME        expected content of a file the command leaves behind
  --- exit N             expected exit code; 0 otherwise
  --- needs NAME         skipped unless $DATA/NAME exists

--valgrind runs the program under valgrind and takes each complaint of it for a fault.
--update rewrites stdout, stderr (if exact) and exit to what was seen; read the difference before
keeping it.
"""
import difflib
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "cases")
SECONDS = 120  # a case that takes longer has failed; under valgrind ten times that
VALGRIND = """#!/bin/sh
exec valgrind -q --leak-check=full --show-leak-kinds=definite \\
    --log-file='{folder}/valgrind.%p' -- '{program}' "$@"
"""


class Case:
    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path)[: -len(".test")]
        with open(path, encoding="utf-8", newline="") as stream:
            title, *parts = re.split(r"^--- ", stream.read(), flags=re.M)
        self.title = title.strip()
        self.sections = []  # (heading, body)
        for part in parts:
            heading, _, body = part.partition("\n")
            self.sections.append((heading.strip(), body))
        known = r"(command|stdin|stdout|stderr( regex)?|exit -?\d+|needs \S+|result \S+|file \S+( escaped)?)$"
        for heading, _ in self.sections:
            if not re.match(known, heading):
                raise SystemExit(f"{path}: no section is called '{heading}'")
        if self.get("command") is None or not self.title:
            raise SystemExit(f"{path}: a case needs a title and a command")

    def get(self, heading):
        for name, body in self.sections:
            if name == heading:
                return body
        return None

    def headings(self, word):
        return [(name.split(), body) for name, body in self.sections if name.split()[0] == word]

    def exit_code(self):
        return next((int(words[1]) for words, _ in self.headings("exit")), 0)

    def missing_data(self):
        return [words[1] for words, _ in self.headings("needs")
                if not os.path.exists(harness.data_sets.path(words[1]))]

    def run(self, phloem, seconds):
        """What happened: exit code, stdout, stderr, and the files asked for by `result`."""
        with tempfile.TemporaryDirectory(prefix="phloem-cli-") as folder:
            for words, body in self.headings("file"):
                path = os.path.join(folder, words[1])
                os.makedirs(os.path.dirname(path), exist_ok=True)
                content = body.encode()
                if "escaped" in words:
                    content = body.rstrip("\n").encode("latin-1", "backslashreplace")
                    content = content.decode("unicode_escape").encode("latin-1")
                with open(path, "wb") as stream:
                    stream.write(content)
            env = {key: value for key, value in os.environ.items() if not key.startswith("PHLOEM")}
            env.update(PHLOEM=phloem, DATA=harness.data_sets.FOLDER,
                       LC_ALL="C.UTF-8", COLUMNS="80", TERM="dumb")
            done = subprocess.run(["sh", "-eu", "-c", self.get("command")], cwd=folder, env=env,
                                  input=(self.get("stdin") or "").encode(), capture_output=True,
                                  timeout=seconds, check=False)
            files = {}
            for words, _ in self.headings("result"):
                path = os.path.join(folder, words[1])
                if os.path.exists(path):
                    with open(path, "rb") as stream:
                        files[words[1]] = stream.read().decode("utf-8", "backslashreplace")
        return (done.returncode, done.stdout.decode("utf-8", "backslashreplace"),
                done.stderr.decode("utf-8", "backslashreplace"), files)

    def faults(self, code, out, err, files):
        faults = []
        if code != self.exit_code():
            faults.append(f"exit code {code}, expected {self.exit_code()}")
        pattern = self.get("stderr regex")
        if pattern is None:
            faults += difference("stderr", self.get("stderr") or "", err)
        elif not re.fullmatch(pattern.rstrip("\n"), err.rstrip("\n"), re.S):
            faults.append(f"stderr does not match the pattern; it is:\n{err}")
        faults += difference("stdout", self.get("stdout") or "", out)
        for words, body in self.headings("result"):
            if words[1] not in files:
                faults.append(f"there is no file {words[1]}")
            else:
                faults += difference(words[1], body, files[words[1]])
        return faults

    def update(self, code, out, err, files):
        exact = self.get("stderr regex") is None
        text = self.title + "\n"
        for heading, body in self.sections:
            word = heading.split()[0]
            if word in ("stdout", "exit") or (word == "stderr" and exact):
                continue
            if word == "result":
                body = files.get(heading.split()[1], body)
            text += f"--- {heading}\n{body}"
        if out:
            text += "--- stdout\n" + out
        if exact and err:
            text += "--- stderr\n" + err
        if code:
            text += f"--- exit {code}\n"
        with open(self.path, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)


def valgrind_faults(folder):
    """What valgrind has written there, if anything; used up."""
    faults = []
    for path in glob.glob(os.path.join(folder, "valgrind.*")):
        with open(path, encoding="utf-8", errors="replace") as stream:
            faults += [text for text in [stream.read()] if text]
        os.remove(path)
    return faults


def difference(name, expected, found):
    if expected == found:
        return []
    lines = difflib.unified_diff(expected.splitlines(True), found.splitlines(True),
                                 f"{name} expected", f"{name} found")
    return ["".join(line if line.endswith("\n") else line + "\n(no newline at the end)\n"
                    for line in lines)]


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    if not words or set(options) - {"--update", "--valgrind"}:
        print(__doc__)
        return 2
    paths = words[1:] or sorted(os.path.join(CASES, name) for name in os.listdir(CASES)
                                if name.endswith(".test"))
    phloem, seconds = os.path.abspath(words[0]), SECONDS
    if "--valgrind" not in options:
        return run_cases(phloem, paths, seconds, "--update" in options)
    with tempfile.TemporaryDirectory(prefix="phloem-cli-") as folder:
        wrapper = os.path.join(folder, "phloem")
        with open(wrapper, "w", encoding="utf-8") as stream:
            stream.write(VALGRIND.format(program=phloem, folder=folder))
        os.chmod(wrapper, 0o755)
        return run_cases(wrapper, paths, 10 * seconds, False)


def run_cases(phloem, paths, seconds, update):
    report = harness.Report()
    for path in paths:
        case = Case(path)
        label = f"{case.name}: {case.title.splitlines()[0]}"
        if case.missing_data():
            report.skip(label, f"no data ({', '.join(case.missing_data())})")
            continue
        try:
            seen = case.run(phloem, seconds)
            if update:
                case.update(*seen)
                case = Case(path)
            faults = case.faults(*seen) + valgrind_faults(os.path.dirname(phloem))
        except subprocess.TimeoutExpired:
            faults = [f"not done after {seconds} s"]
        report.line(not faults, label, *(fault.rstrip("\n") for fault in faults))
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
