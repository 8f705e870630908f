#!/usr/bin/python3
"""tests/tools/fields.py SOURCE PHLOEM - the words of the command line for the library's options.

Every member of every options struct in phloem.h has a row in cli/args/fields.c, and no row is
without a member; every option named there is one that some command knows; every option or call
that a text of the library names (PHL_OPTION, PHL_OPTION_TO, PHL_CALL) has such words; and no text
of the library speaks of options in the words of the command line.  TAP.
"""
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

# What no front end has words for: the size, and callbacks.
SILENT = {"size", "progress", "report", "cancel", "context"}
STRUCT = re.compile(r"typedef struct phl_(\w+)_options \{(.*?)\n\} phl_\1_options;", re.S)
ROW = re.compile(r'\{"([^"]+)", "([^"]*)"\}')
MARK = re.compile(r'PHL_(?:OPTION|OPTION_TO|CALL)\(\s*"([^"]+)"')
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
FOREIGN = re.compile(r"--[a-z]|\bphloem [a-z]+\b")
# Other programs and file contents, not our command line.
ALLOWED = re.compile(r"xmllint --noent --dropdtd|--dropdtd|<\?phloem nodes|phloem nodes|"
                     r"version of phloem may")


def members(header):
    """{"read.format", ...}"""
    found = set()
    for struct, body in STRUCT.findall(header):
        body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        for declaration in filter(None, (text.strip() for text in body.split(";"))):
            names = re.search(r"\w+(?:\s*,\s*\**\w+)*$", " ".join(declaration.split())).group(0)
            for name in re.findall(r"\w+", names):
                if name not in SILENT:
                    found.add(f"{struct}.{name}")
    return found


def options(program):
    """Long options of all commands, without the dashes."""
    found = set()
    overview = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  (\w+)  +\w", overview, re.M)
    for command in commands:
        text = subprocess.run([program, command, "--help"], capture_output=True, text=True,
                              check=True).stdout
        for line in [text] + [subprocess.run([program, command, sub, "--help"], check=True,
                                             capture_output=True, text=True).stdout
                              for sub in (("symm", "documents", "logic") if command == "generate" else ())]:
            found |= set(re.findall(r"--([a-z][a-z0-9-]*)", line))
    return found


def main():
    root, program = Path(sys.argv[1]), sys.argv[2]
    faults = {}
    header = members((root / "include/phloem.h").read_text())
    table = (root / "cli/args/fields.c").read_text()
    split = table.index("calls[]")
    fields, calls = dict(ROW.findall(table[:split])), dict(ROW.findall(table[split:]))
    known = options(program)
    faults["every option of the library has a row, every row an option"] = [
        f"{name}: no row" for name in sorted(header - set(fields))] + [
        f"{name}: not in phloem.h" for name in sorted(set(fields) - header)]
    faults["every row names an option of some command"] = [
        f"{name}: --{option}" for name, option in fields.items() if option and option not in known]
    marks, words = [], []
    for path in sorted((root / "src").rglob("*.[ch]")):
        text = path.read_text()
        if path.name != "error.h":
            marks += [f"{path.name}: {name}" for name in MARK.findall(text)
                      if not (fields.get(name) or calls.get(name))]
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        code = re.sub(r'^#include.*$|"\s*\n\s*"', "", code, flags=re.M)
        words += [f"{path.name}: {literal}" for literal in LITERAL.findall(code)
                  if FOREIGN.search(ALLOWED.sub("", literal))]
    faults["every option or call named in the library has words"] = marks
    faults["no text of the library speaks command line"] = words
    report = harness.Report()
    for what, found in faults.items():
        report.line(not found, what, *found)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
