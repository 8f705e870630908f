#!/usr/bin/python3
"""calls.py - no call of phloem.h is forgotten by the tests that every call should have; TAP.

Each call that takes an error record
  - has its allocations fail one by one: it is called in a tests/unit/test_*failures.c;
  - fails without an error record: it is called so in tests/unit/test_null_error.c, unless it fails
    for want of memory alone (the tests above call it without a record, too).
Each number in an options struct is tried at the limits of its type in tests/unit/test_number_limits.c.
The lists below name what is left out, and why; what they name must exist and must be left out.
"""
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

UNIT = os.path.join(harness.ROOT, "tests", "unit")

MEMORY = "fails for want of memory alone"
NO_NULL_ERROR = {
    "phl_walk_create": MEMORY,
    "phl_walk_next": MEMORY,
    "phl_forest_fingerprint": MEMORY,
    "phl_forest_concat": MEMORY,
    "phl_stats_compute": MEMORY,
    "phl_source_forest": MEMORY,
    "phl_run_json": MEMORY,
}
NO_FAILING_ALLOCATION = {
}
LENGTH = "the length of an array that the caller gives"
NO_LIMIT = {
    "phl_read_options.n_only_classes": LENGTH,
    "phl_read_options.n_html_skip": LENGTH,
    "phl_read_options.n_endings": LENGTH,
    "phl_train_options.n_sizes": LENGTH,
    "phl_train_options.n_piece_classes": LENGTH,
    "phl_evaluate_options.n_states": LENGTH,
    "phl_score_options.n_with": LENGTH,
    "phl_label_options.n_with": LENGTH,
    "phl_evaluate_options.n_trains": LENGTH,
    "phl_evaluate_options.n_priors": LENGTH,
}
NUMBERS = r"(?:size_t|u?int(?:8|16|32|64)_t|int|unsigned|double|float)"


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def calls(header):
    """Name and arguments of each public call."""
    return [(name, re.sub(r"\s+", " ", arguments)) for name, arguments in
            re.findall(r"PHL_API\b[^;(]*?\b(phl_\w+)\s*\(([^;]*?)\)\s*(?:PHL_PRINTF[^;]*)?;", header)]


def option_numbers(header):
    """struct.member of each number in an options struct but its size."""
    found = []
    for body, name in re.findall(r"typedef struct \w+ \{([^}]*)\} (phl_\w+_options);", header):
        for members in re.findall(rf"(?<![\w*]){NUMBERS}\s+([^*;()]+);", body):
            found += [f"{name}.{member.strip()}" for member in members.split(",")]
    return [name for name in found if not name.endswith(".size")]


def text_of(*patterns):
    text = ""
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(UNIT, pattern))):
            with open(path, encoding="utf-8") as stream:
                text += without_comments(stream.read())
    return text


def main():
    report = harness.Report()
    with open(os.path.join(harness.ROOT, "include", "phloem.h"), encoding="utf-8") as stream:
        header = without_comments(stream.read())
    public = calls(header)
    failing = [name for name, arguments in public if "phl_error *error" in arguments
               and not arguments.startswith("const phl_error")]
    numbers = option_numbers(header)
    report.line(len(public) > 50 and len(failing) > 20 and len(numbers) > 20,
                f"{len(public)} calls, {len(failing)} that may fail, {len(numbers)} numbers")

    def check(what, names, found, left_out):
        report.line(set(names) - found <= set(left_out), what,
                    *(f"{name} is not there" for name in names
                      if name not in found and name not in left_out))
        report.line(not [name for name in left_out if name not in names or name in found],
                    f"{what}: what is left out has to be",
                    *(f"{name} need not be left out" for name in left_out
                      if name not in names or name in found))

    called = set(re.findall(r"\b(phl_\w+)\s*\(", text_of("test_*failures.c")))
    check("failing allocations", failing, called, NO_FAILING_ALLOCATION)
    unrecorded = set(re.findall(r"\brefused\(\s*(phl_\w+)\s*\((?:[^;]*),\s*NULL\)\)",
                                text_of("test_null_error.c")))
    check("no error record", failing, unrecorded, NO_NULL_ERROR)
    tried = {f"{struct}.{member}" for struct, member in
             re.findall(r"\bFIELD\((\w+),\s*(\w+)\)", text_of("test_number_limits.c"))}
    check("limits of numbers", numbers, tried, NO_LIMIT)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
