#!/usr/bin/python3
"""run_features.py PHLOEM - `phloem features` against plain Python that walks every tree; TAP.

Each node of each tree is visited by itself; features are texts in dictionaries.  Counts must be equal,
values to 1e-15, for the trees the dictionary is made of and for others.  Random trees with gaps,
unknown labels, odd labels and single nodes always; the data sets where they are.
"""
import collections
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import forest_oracle  # noqa: E402  # pylint: disable=wrong-import-position

LABELS = ["a", "b", "c", "d e", "_", "?", "^", "<", ">", "", "(", "\\", "..."]


def name(label):
    """A label as a node shows it."""
    if label is None:
        return "?"
    odd = not label or label[0] == "#" or label in ("_", "?", "^", "<", ">", "...")
    return json.dumps(label) if odd or any(c in ' ()"' for c in label) else label


def whole(node):
    """The complete subtree as text, without calling itself."""
    text, todo = "", [("node", node)]
    while todo:
        what, item = todo.pop()
        if what == "text":
            text += item
            continue
        text += "(" + name(item[0])
        children, after = [], 1
        for slot, child in item[1]:
            children += [("text", " _" * (slot - after) + " "), ("node", child)]
            after = slot + 1
        todo += [("text", ")")] + children[::-1]
    return text


def count(root):
    """{(group, text): occurrences} of a tree, by visiting every node."""
    found = collections.Counter()
    todo = [(root, None, None)]
    while todo:
        node, above, _ = todo.pop()
        over = "^" if above is None else name(above[0])
        found["S", whole(node)] += 1
        found["L", f"({name(node[0])})"] += 1
        found["P1", f"({over} ({name(node[0])}))"] += 1
        row, after = ["<"], 1
        for slot, child in node[1]:
            if slot > after:
                row.append("_")
            row.append(f"({name(child[0])})")
            after = slot + 1
            todo.append((child, node, slot))
        row.append(">")
        for left, right in zip(row, row[1:]) if node[1] else ():
            found["B", f"({name(node[0])} {left} {right})"] += 1
            found["BG", f"({over} ({name(node[0])} {left} {right}))"] += 1
    return found


def scaled(counts, known):
    totals = collections.Counter()
    for (group, _), times in counts.items():
        totals[group] += times
    return {key: math.sqrt(times / (totals[key[0]] * len(totals)))
            for key, times in counts.items() if key in known}


def random_tree(rng, labels):
    def node():
        return [None if rng.random() < 0.1 else rng.choice(labels), []]
    root = node()
    nodes = [root]
    for _ in range(rng.choice((0, 1, 3, 8, 20))):
        parent = rng.choice(nodes)
        child = node()
        slot = (parent[1][-1][0] if parent[1] else 0) + (1 if rng.random() < 0.8 else 3)
        parent[1].append((slot, child))
        nodes.append(child)
    return root


def unescape(text):
    """A field of TSV."""
    return text.replace("\\\\", "\0").replace("\0", "\\")


def read_rows(path):
    with open(path, encoding="utf-8") as stream:
        for line in stream:
            of_class, *pairs = line.split()
            yield int(of_class), {int(number): float(value) for number, value in
                                  (pair.split(":") for pair in pairs)}


def compare(phloem, folder, train, test, least):
    """What is wrong, or None; and how many features there are."""
    def run(*arguments):
        subprocess.run([phloem, "features", *arguments, "--quiet"], cwd=folder, check=True)
    with_least = ["--least-trees", str(least), "--like", train]
    run(*with_least, test, "--values", "counts", "-o", "counts", "-d", "names")
    run(*with_least, test, "-o", "values", "--threads", "1")
    known, classes = {}, {}
    with open(os.path.join(folder, "names"), encoding="utf-8") as stream:
        for line in list(stream)[1:]:
            kind, number, text = line.rstrip("\n").split("\t")
            (classes if kind == "class" else known)[
                unescape(text) if kind == "class" else (kind, unescape(text))] = int(number)
    seen = collections.Counter()
    for text in {whole(root): root for _, root in forest_oracle.read(train)}.values():
        seen.update(set(count(text)))
    expected = {key for key, trees in seen.items() if trees >= least}
    if expected != set(known):
        return f"the dictionary differs: {sorted(expected ^ set(known))[:5]}", 0
    trees = forest_oracle.read(test)
    counts = list(read_rows(os.path.join(folder, "counts")))
    values = list(read_rows(os.path.join(folder, "values")))
    if not len(trees) == len(counts) == len(values):
        return "another number of trees", 0
    for number, (of_class, root) in enumerate(trees):
        mine = count(root)
        wanted = {known[key]: times for key, times in mine.items() if key in known}
        if counts[number] != (classes.get(of_class, 0), wanted):
            return f"tree {number}: counts {counts[number]} instead of {wanted}", 0
        wanted = {known[key]: value for key, value in scaled(mine, known).items()}
        if set(wanted) != set(values[number][1]) or any(
                abs(values[number][1][key] - value) > 1e-15 for key, value in wanted.items()):
            return f"tree {number}: values differ", 0
    return None, len(known)


def write_random(path, seed, labels):
    rng = random.Random(seed)
    with open(path, "w", encoding="utf-8") as stream:
        for _ in range(60):
            stream.write(f"{rng.choice('xyz')}\t{whole(random_tree(rng, labels))}\n")


def main():
    phloem, report = os.path.abspath(sys.argv[1]), harness.Report()
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, f"{i}.trees") for i in range(3)]
        for seed in range(12):
            write_random(paths[0], seed, LABELS)
            write_random(paths[1], seed + 1000, LABELS + ["new", "newer"])
            write_random(paths[2], seed + 2000, ["all", "are", "new"])
            for test in paths[:3]:
                for least in (1, 2):
                    why, features = compare(phloem, folder, paths[0], test, least)
                    if why or features < 100:
                        report.line(False, f"random trees, seed {seed}", why, features)
        report.line(not report.failed, "random trees: gaps, unknown and new labels, single nodes")
        for train, test in (("inex06/train.elastic.tree", "inex06/test.elastic.tree"),
                            ("pud/upos.train.trees", "pud/upos.test.trees")):
            train, test = harness.data_sets.path(train), harness.data_sets.path(test)
            if not os.path.exists(train):
                report.skip(train)
                continue
            for path, copy in ((train, paths[0]), (test, paths[1])):
                subprocess.run([phloem, "convert", path, "--limit", "1500", "-o", copy, "--quiet"],
                               check=True)
            for least in (1, 2):
                why, features = compare(phloem, folder, paths[0], paths[1], least)
                report.line(not why, f"{os.path.basename(os.path.dirname(train))}: {features} "
                                     f"features in {least} trees or more", why)
    return report.end()


sys.exit(main())
