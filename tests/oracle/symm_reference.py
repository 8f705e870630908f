#!/usr/bin/env python3
"""The paper's labelling trees, grown independently of src/forest/generate_symm.c.

Compares samples of bracket trees, class by class, with trees grown here, moment by moment:

    symm_reference.py --data "$PHLOEM_DATA/symm"         the authors' trees: is the rule right?
    symm_reference.py --trees FILE [--trees FILE ...]     ours: `phloem generate symm -o FILE`
    symm_reference.py --constants --simulate 200000       the constants of tests/unit/test_generate.c

Moments are means over trees, so trees count as independent and z is Welch's.  Exit 1 if some |z|
exceeds --limit (default 4.5: with 3 classes x 19 moments a false alarm in 2,600 runs) or a tree
breaks a rule that holds for every tree.  Python's standard library only.
"""
import argparse
import collections
import glob
import math
import os
import random
import sys

SLOTS = 3
CLASSES = {  # smallest and largest size, chance that each slot is filled
    "left": (20, 25, (0.9, 0.3, 0.1)),
    "symmetric": (50, 60, (0.6, 0.6, 0.6)),
    "right": (80, 100, (0.1, 0.3, 0.9)),
}


def grow(name, rng):
    """Filled slots of each node, breadth-first."""
    smallest, largest, fill = CLASSES[name]
    size = round(rng.uniform(smallest, largest))
    while True:
        tree, n, oldest = [()], 1, 0
        while oldest < len(tree) and n < size:
            filled = []
            for slot in range(SLOTS):
                if n < size and rng.random() < fill[slot]:
                    filled.append(slot)
                    n += 1
            tree[oldest] = tuple(filled)
            tree.extend([()] * len(filled))
            oldest += 1
        if n == size:
            return tree


def parse(text):
    """Filled slots of each node, breadth-first, of a bracket tree; checks label = children."""
    root, open_nodes = None, []
    for token in text.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            node = {"label": None, "children": []}
            if open_nodes:
                open_nodes[-1]["children"].append(node)
            else:
                root = node
            open_nodes.append(node)
        elif token == ")":
            open_nodes.pop()
        elif open_nodes[-1]["label"] is None:
            open_nodes[-1]["label"] = token
        elif token == "_":
            open_nodes[-1]["children"].append(None)
        else:
            sys.exit(f"unexpected {token!r} in {text!r}")
    queue, tree = collections.deque([root]), []
    while queue:
        node = queue.popleft()
        filled = tuple(slot for slot, child in enumerate(node["children"]) if child)
        if node["label"] != str(len(filled)) or any(slot >= SLOTS for slot in filled):
            sys.exit(f"label {node['label']!r} at a node with slots {filled} in {text!r}")
        tree.append(filled)
        queue.extend(child for child in node["children"] if child)
    return tree


def read(paths):
    samples = {name: [] for name in CLASSES}
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                if line.strip() and not line.startswith("#"):
                    name, text = line.rstrip("\n").split("\t")
                    tree = parse(text)
                    smallest, largest, _ = CLASSES[name]
                    if not smallest <= len(tree) <= largest:
                        sys.exit(f"{path}: a {name} tree of {len(tree)} nodes")
                    samples[name].append(tree)
    return samples


def moments(name, tree):
    smallest, largest, _ = CLASSES[name]
    n = len(tree)
    internal = [filled for filled in tree if filled]
    depth, last = [0], 0
    for node, filled in enumerate(tree):
        depth.extend([depth[node] + 1] * len(filled))
        last = node if filled else last
    result = {"size": n, "size at an end": n in (smallest, largest)}
    for slot in range(SLOTS):
        result[f"slot {slot + 1} filled"] = sum(slot in f for f in internal) / len(internal)
    for degree in range(SLOTS + 1):
        result[f"share of {degree} children"] = sum(len(f) == degree for f in tree) / n
    result["height"] = depth[-1]
    result["height squared"] = depth[-1] ** 2
    result["mean depth"] = sum(depth) / n
    result["share of early leaves"] = sum(not f for f in tree[:last]) / n
    for slot in range(SLOTS):  # the last node with children, perhaps cut short
        result[f"last node, slot {slot + 1}"] = slot in tree[last]
    for slot in range(SLOTS):
        result[f"root, slot {slot + 1}"] = slot in tree[0]
    return result


def summarise(rows):
    """name -> (mean, standard deviation, n)"""
    n, result = len(rows), {}
    for key in rows[0]:
        mean = math.fsum(row[key] for row in rows) / n
        variance = math.fsum((row[key] - mean) ** 2 for row in rows) / (n - 1)
        result[key] = (mean, math.sqrt(variance), n)
    return result


def size_test(name, trees):
    """Chi-square of the sizes: rounded uniform reals, and (not the rule) uniform integers."""
    smallest, largest, _ = CLASSES[name]
    k, counts = largest - smallest + 1, collections.Counter(len(tree) for tree in trees)
    rounded = [(0.5 if i in (0, k - 1) else 1.0) / (k - 1) for i in range(k)]
    result = []
    for law in (rounded, [1.0 / k] * k):
        expected = [len(trees) * p for p in law]
        result.append(sum((counts[smallest + i] - e) ** 2 / e for i, e in enumerate(expected)))
    return result + [k - 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="folder of .trees files")
    parser.add_argument("--trees", action="append", default=[], help="a bracket file")
    parser.add_argument("--simulate", type=int, default=5000, help="trees a class grown here")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=4.5)
    parser.add_argument("--constants", action="store_true", help="print C constants and stop")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    reference = {
        name: summarise([moments(name, grow(name, rng)) for _ in range(options.simulate)])
        for name in CLASSES
    }
    if options.constants:
        for name, table in reference.items():
            print(f"    {{ /* {name} */")
            for key, (mean, deviation, _) in table.items():
                print(f"        {{{mean:.6f}, {deviation:.6f}}}, /* {key} */")
            print("    },")
        return 0
    paths = list(options.trees)
    if options.data:
        paths += sorted(glob.glob(os.path.join(options.data, "*.trees")))
    if not paths:
        parser.error("give --data, --trees or --constants")
    worst = 0.0
    for name, trees in read(paths).items():
        if len(trees) < 2:
            sys.exit(f"only {len(trees)} {name} trees: at least 2 are needed")
        rounded, uniform, freedom = size_test(name, trees)
        print(f"{name}: {len(trees)} trees; chi-square of sizes {rounded:.1f} "
              f"(uniform integers: {uniform:.1f}), {freedom} degrees of freedom")
        for key, (mean, deviation, n) in summarise([moments(name, t) for t in trees]).items():
            expected, expected_deviation, m = reference[name][key]
            error = math.sqrt(deviation ** 2 / n + expected_deviation ** 2 / m)
            z = (mean - expected) / error if error > 0 else 0.0
            worst = max(worst, abs(z))
            print(f"  {key:24} {mean:9.4f}  reference {expected:9.4f}  z {z:6.2f}")
    print(f"largest |z| {worst:.2f}, limit {options.limit}")
    return 0 if worst <= options.limit else 1


if __name__ == "__main__":
    sys.exit(main())
