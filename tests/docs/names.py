#!/usr/bin/python3
"""names.py - do the pages name what exists?  Reported as TAP.

In README.md, CONTRIBUTING.md, SECURITY.md, docs/ and examples/:
  - every phl_... is a name of include/ or src/, and in docs/c-api.md one of phloem.h;
  - every path src/..., cli/..., tests/... and so on exists (capital NAME stands for any);
  - every function that docs/maths.md names in a last column is one of src/;
  - every link to a page, and to a heading in it, leads there;
  - the layers of docs/design.md are those of tools/check-layers, in their order.
"""
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
NAME = re.compile(r"\bphl_[a-z0-9_]+\b")
PATH = re.compile(r"(?<![\w/$.-])(?:src|cli|tests|tools|bench|include|examples|docs)/[\w.*/-]*\w")
MADE = {"bench/results.json", "bench/train_score"}  # by `make bench` and the build
CODE = re.compile(r"`([a-z]\w*)`")
LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)")


def read(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def unknown_names(text, known):
    """phl_... of a page that are not in the text `known`; phl_x_* stands for all that begin so."""
    there = set(NAME.findall(known))
    return [name for name in sorted(set(NAME.findall(text)))
            if name not in there and not (name.endswith("_") and any(n.startswith(name) for n in there))]


def missing_paths(text):
    return [path for path in sorted(set(PATH.findall(text)))
            if path not in MADE and not glob.glob(os.path.join(ROOT, path.replace("NAME", "*")))]


def unknown_functions(text, known):
    """Words in code in the last column of tables that no source holds."""
    found = set()
    for line in text.splitlines():
        if line.startswith("|") and not line.startswith("|---"):
            found |= set(CODE.findall(line.rstrip(" |").rsplit(" | ", 1)[-1]))
    return sorted(name for name in found if not re.search(rf"\b{name}\b", known))


def anchors(text):
    """The names of a page's headings, as links have them."""
    return {re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")
            for line in FENCE.sub("", text).splitlines() if line.startswith("#")}


def dead_links(page, text):
    dead = []
    for target, heading in LINK.findall(FENCE.sub("", text)):
        path = os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page
        if not os.path.exists(path) or heading and heading not in anchors(read(path)):
            dead.append(target + ("#" + heading if heading else ""))
    return dead


def layers(design):
    """Folders of src/, the lowest first."""
    return re.findall(r"^ src/(\w+)/ ", design, re.M)[::-1]


def main():
    report = harness.Report()
    header = read(os.path.join(ROOT, "include/phloem.h"))
    source = header + "".join(read(path) for path in glob.glob(os.path.join(ROOT, "src/*/*.[ch]")))
    pages = [os.path.join(ROOT, name) for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    for folder in ("docs", "examples"):
        pages += sorted(glob.glob(os.path.join(ROOT, folder, "*.md")))
    for page in pages:
        name, text = os.path.relpath(page, ROOT), read(page)
        known = header if name == "docs/c-api.md" else source
        for what, wrong in (("functions", unknown_names(text, known)), ("paths", missing_paths(text)),
                            ("links", dead_links(page, text))):
            report.line(not wrong, f"{name}: its {what} exist", *wrong)
    maths = os.path.join(ROOT, "docs/maths.md")
    wrong = unknown_functions(read(maths), source)
    report.line(not wrong, "docs/maths.md: the functions of its tables exist", *wrong)
    kept = re.search(r"^LAYERS = \[([^]]*)\]", read(os.path.join(ROOT, "tools/check-layers")), re.M)
    listed, kept = layers(read(os.path.join(ROOT, "docs/design.md"))), re.findall(r'"(\w+)"', kept[1])
    report.line(listed == kept, "docs/design.md: the layers are those of tools/check-layers",
                f"the page: {listed}", f"the check: {kept}")
    planted = {"a function": unknown_names("`phl_score`, `phl_scored`", header) == ["phl_scored"],
               "a path": missing_paths("`src/base/text.c`, `src/base/texts.c`") == ["src/base/texts.c"],
               "a function in a table": unknown_functions("| a | b | `divide`, `devide` |", "divide(") ==
               ["devide"],
               "a link": dead_links(maths, "[a](design.md#layers) [b](design.md#layer) [c](none.md)") ==
               ["design.md#layer", "none.md"]}
    for what, passed in planted.items():
        report.line(passed, f"{what} that does not exist is found")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
