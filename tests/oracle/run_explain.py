#!/usr/bin/env python3
"""run_explain.py PHLOEM - reasons of the linear head; TAP.

Documents of two classes, alike but for one planted subtree: it must be named first for each of 100 trees that
training has not seen, on the nodes where it stands.  What the parts of an explanation add must be the log-odds,
to 1e-9, and the log-odds those of the probabilities; for the head alone, and for head and models together.
"""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

PLANTED = "(list (item) (link (item)))"
LABELS = ["list", "item", "link", "text", "note"]


def grow(rng, depth):
    """A random tree as nested lists: [label, children]."""
    n = rng.choice([0, 1, 2, 3]) if depth else 0
    return [rng.choice(LABELS), [grow(rng, depth - 1) for _ in range(n)]]


def text(tree):
    return "(" + " ".join([tree[0]] + [text(child) for child in tree[1]]) + ")"


def nodes(tree):
    """All nodes in pre-order."""
    found = [tree]
    for child in tree[1]:
        found += nodes(child)
    return found


def document(rng, planted):
    while True:
        tree = ["doc", [grow(rng, 3) for _ in range(4)]]
        if PLANTED in text(tree):
            continue
        item, link = ["item", []], ["link", [["item", []]]]
        # The pieces of the planted subtree are as frequent in trees without it.
        for piece in [["list", [item, link]]] if planted else [item, link]:
            place = rng.choice([node for node in nodes(tree) if node[1]])
            place[1].insert(rng.randrange(len(place[1]) + 1), piece)
        if planted or PLANTED not in text(tree):
            return tree


def main():
    phloem, report, rng = os.path.abspath(sys.argv[1]), harness.Report(), random.Random(16)
    with tempfile.TemporaryDirectory() as folder:
        def run(*arguments):
            return subprocess.run([phloem, *arguments, "--quiet"], cwd=folder, check=True,
                                  capture_output=True, text=True).stdout

        def write(name, trees):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
                stream.writelines(f"{kind}\t{text(tree)}\n" for kind, tree in trees)
        write("train.trees", [(kind, document(rng, kind == "with")) for kind in ("with", "without") * 150])
        tests = [document(rng, True) for _ in range(100)]
        write("test.trees", [("with", tree) for tree in tests])
        run("train", "train.trees", "--per-class", "--model", "sp", "--states", "2", "--iterations", "3",
            "--head", "linear", "-o", "x.run")
        for rule in ("head", "both"):
            told = json.loads(run("classify", "--rule", rule, "--explain", "4", "--json", "x.run", "test.trees"))
            first = sum(entry["predicted"] == "with" and entry["reasons"][0]["feature"] == PLANTED for entry in told)
            report.line(first == 100, f"{rule}: the planted subtree is named first in 100 of 100", f"{first}")
            placed = sum(entry["reasons"][0]["nodes"] ==
                         [i for i, node in enumerate(nodes(tree)) if text(node) == PLANTED]
                         for entry, tree in zip(told, tests))
            report.line(placed == 100, f"{rule}: on its nodes", f"{placed}")
            worst = max(abs(entry["models"] + entry["constant"] + entry["rest"] +
                            sum(reason["log_odds"] for reason in entry["reasons"]) - entry["log_odds"])
                        for entry in told)
            report.line(worst < 1e-9, f"{rule}: the parts add up to the log-odds", f"{worst}")
            odds = max(abs(math.log(entry["probability"] / (1 - entry["probability"])) / entry["log_odds"] - 1)
                       for entry in told if entry["probability"] < 0.999)
            report.line(odds < 1e-9, f"{rule}: which are those of the probabilities", f"{odds}")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
