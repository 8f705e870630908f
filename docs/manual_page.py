#!/usr/bin/python3
"""docs/manual_page.py LOWDOWN PAGE.md NAME SECTION VERSION WHAT - a page of docs/ as a man page.

Printed on standard output, made by the program lowdown.  Links keep their words and lose their
addresses, which lead nowhere in a terminal; lines that list the parts of the page go.
"""
import re
import subprocess
import sys


def main():
    lowdown, path, name, section, version, what = sys.argv[1:]
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    # The contents at the top: items that are links into the page.
    text = re.sub(r"^- .*\]\(#[^)]*\)[^\n]*\n(?:  [^\n]*\n)*", "", text, flags=re.M)
    text = re.sub(r"(?<!!)\[([^\]]+)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^# (.*)$", "# DESCRIPTION", text, count=1, flags=re.M)
    text = f"# NAME\n\n{name} - {what}\n\n{text}"
    made = subprocess.run([lowdown, "-s", "-tman", "-M", f"title={name}", "-M", f"section={section}",
                           "-M", f"source=phloem {version}"], input=text, capture_output=True,
                          text=True, encoding="utf-8", check=True)
    sys.stdout.reconfigure(encoding="utf-8")
    print(made.stdout, end="")


main()
