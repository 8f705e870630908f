#!/usr/bin/python3
"""run_readers.py PHLOEM - Newick and RNA structures against parsers in plain Python; TAP.

1,000 random trees with names that need every kind of quoting, as Newick with comments, lengths and
blanks, read by phloem, written and read again; 1,000 random structures with and without pairs that
cross, as dot-bracket notation and as connectivity tables.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

NAMES = ["", "a", "B_b", "it's", "'", "''", "two words", "(", ")", ",", ":", ";", "[c]", "a:b;c,d",
         " ", "\t", "#x", "caf\u00e9", "\ufeffx", '"q"', "95", "-", "_", "?", "x" * 200]


def random_tree(rng, size):
    """Nested lists: [name, child, ...]."""
    root = [rng.choice(NAMES)]
    nodes = [root]
    for _ in range(rng.randrange(size)):
        child = [rng.choice(NAMES)]
        rng.choice(nodes[-8:]).append(child)
        nodes.append(child)
    return root


def newick_name(rng, name):
    bare = name and not set(name) & set(" \t'()[]:;,") and not name.startswith(("#", "\ufeff"))
    if (bare or not name) and rng.random() < 0.7:
        return name
    return "'" + name.replace("'", "''") + "'"


def newick(rng, tree):
    noise = rng.choice(["", "", "", " ", "\n", "[x]", " [&&NHX:S=h;] "])
    inside = "(" + ",".join(newick(rng, child) for child in tree[1:]) + ")" if len(tree) > 1 else ""
    length = rng.choice(["", "", ":1", ": 2.5e-3", ":-1"])
    return inside + noise + newick_name(rng, tree[0]) + rng.choice(["", " "]) + length


def flat(tree, parent=-1, out=None):
    out = [] if out is None else out
    out.append((tree[0], parent))
    number = len(out) - 1
    for child in tree[1:]:
        flat(child, number, out)
    return out


def convert(phloem, path, to, *options):
    done = subprocess.run([phloem, "convert", path, "--to", to, "-o", "-", "--quiet", *options],
                          capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    return done.stdout.decode("utf-8")


def check_newick(phloem, report, folder):
    rng = random.Random(1)
    trees = [random_tree(rng, 40) for _ in range(1000)]
    path = os.path.join(folder, "a.nwk")
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(newick(rng, tree) + ";" for tree in trees))
    first = convert(phloem, path, "newick")
    with open(os.path.join(folder, "b.nwk"), "w", encoding="utf-8") as out:
        out.write(first)
    wanted = [flat(tree) for tree in trees]
    for name, what in (("a.nwk", "as written by Python"), ("b.nwk", "as written by phloem")):
        rows = [json.loads(line) for line in
                convert(phloem, os.path.join(folder, name), "json").splitlines()]
        found = [list(zip(row["label"], row["parent"])) for row in rows]
        report.line(found == wanted, f"Newick {what}: {len(found)} trees",
                    next((f"{a} {b}" for a, b in zip(found, wanted) if a != b), len(found)))


def random_pairs(rng, length, knots):
    """Partners (from 0, or None) of each base."""
    partner = [None] * length
    for _ in range(rng.randrange(length)):
        i, j = sorted(rng.sample(range(length), 2)) if length > 1 else (0, 0)
        if i == j or partner[i] is not None or partner[j] is not None:
            continue
        if not knots and any(partner[k] is not None and not i < partner[k] < j for k in range(i, j)):
            continue
        partner[i], partner[j] = j, i
    return partner


def dots(partner):
    """As brackets: a pair takes the first kind none of whose pairs it crosses; None: too many."""
    kinds = ["()", "[]", "{}", "<>"] + [chr(65 + i) + chr(97 + i) for i in range(26)]
    members = [[] for _ in kinds]
    text = ["."] * len(partner)
    for i, j in enumerate(partner):
        if j is None or j < i:
            continue
        for kind, pairs in zip(kinds, members):
            if not any(k < i < m < j or i < k < j < m for k, m in pairs):
                pairs.append((i, j))
                text[i], text[j] = kind
                break
        else:
            return None
    return "".join(text)


def uncrossed(partner):
    """Of two pairs that cross, the one that opens later goes; the later closing decides last."""
    partner = list(partner)
    for j, i in enumerate(partner):
        if i is None or i > j:
            continue
        for k in range(i + 1, j):
            if partner[k] is not None and partner[k] > j:
                partner[partner[k]] = None
                partner[k] = None
    return partner


def rna_tree(bases, partner):
    nodes, stack = [("rna", -1)], [0]
    for i, j in enumerate(partner):
        if j is None:
            nodes.append((bases[i], stack[-1]))
        elif j > i:
            nodes.append((bases[i] + bases[j], stack[-1]))
            stack.append(len(nodes) - 1)
        else:
            stack.pop()
    return nodes


def check_rna(phloem, report, folder):
    rng = random.Random(2)
    cases = []
    while len(cases) < 1000:
        partner = random_pairs(rng, rng.randint(1, 60), rng.random() < 0.3)
        if dots(partner) is not None:
            cases.append(("".join(rng.choice("ACGU") for _ in partner), partner))
    with open(os.path.join(folder, "a.dbn"), "w", encoding="ascii") as out:
        for number, (bases, partner) in enumerate(cases):
            out.write(f">s{number} family\n{bases}\n{dots(partner)} ({-number / 10})\n")
    with open(os.path.join(folder, "a.ct"), "w", encoding="ascii") as out:
        for number, (bases, partner) in enumerate(cases):
            out.write(f"{len(bases)} ENERGY = -1.0 s{number} family\n")
            for i, j in enumerate(partner):
                out.write(f"{i + 1} {bases[i]} {i} {i + 2} {0 if j is None else j + 1} {i + 1}\n")
    wanted = [rna_tree(bases, uncrossed(partner)) for bases, partner in cases]
    for name in ("a.dbn", "a.ct"):
        rows = [json.loads(line) for line in
                convert(phloem, os.path.join(folder, name), "json", "--knots", "drop").splitlines()]
        found = [list(zip(row["label"], row["parent"])) for row in rows]
        report.line(found == wanted and rows[7]["id"] == "s7", f"RNA, {name}: {len(found)} structures",
                    next((f"{a} {b}" for a, b in zip(found, wanted) if a != b), len(found)))


def main():
    phloem, report = os.path.abspath(sys.argv[1]), harness.Report()
    with tempfile.TemporaryDirectory() as folder:
        check_newick(phloem, report, folder)
        check_rna(phloem, report, folder)
    return report.end()


sys.exit(main())
