#!/usr/bin/python3
"""run_grammar.py PHLOEM - grammars as `phloem` trains and uses them against grammar.py; TAP.

Small random forests with empty slots, unknown labels and classes; for both forms of rules:
  - every table sums to 1 over all symbols, those that never occurred included;
  - log p of trees with known, unknown and new labels is that of an enumeration, to 1e-12 of p;
  - given the shape, that of an enumeration with every label unknown divides it;
  - the trees up to a size, one by one, have together the probability that a sum over shapes gives;
  - bits of nodes given all other labels, predictives of unknown labels, marginals of annotations and
    the most probable ones are those of an enumeration; draws have its frequencies;
  - the class posterior follows from the starts' mean log p, the temperature and the class prior.
"""
import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, ".."))
import grammar  # noqa: E402
import harness  # noqa: E402

LIMIT = 1e-12
SEED = 7


def random_tree(rng, labels, depth, unknown):
    """Labels that depend on those above and to the left, so that there is something to learn."""
    label = rng.choice(labels[:1 + (depth + rng.randrange(2)) % len(labels)])
    children, left = [], 0
    while depth > 0 and rng.random() < 0.55 and len(children) < 3:
        if rng.random() < 0.15 and len(children) < 2:
            children.append(None)
        shift = (labels.index(label) + left) % len(labels)
        children.append(random_tree(rng, labels[shift:] + labels[:shift], depth - 1, unknown))
        left += 1
    return (None if rng.random() < unknown else label, children)


def close(ours, p):
    """Is exp(ours) p to LIMIT, but for what a logarithm of that size cannot hold?"""
    return abs(ours - math.log(p)) <= LIMIT * max(1.0, abs(ours))


class Case:
    def __init__(self, run, folder, rng, unknown, classes, labels):
        self.run, self.folder, self.rng = run, folder, rng
        self.classes, self.labels = classes, labels
        with open(f"{folder}/train.trees", "w", encoding="utf-8") as out:
            for i in range(160):
                name = classes[i % len(classes)] if classes else None
                order = labels[::-1] if name == "y" else labels
                tree = random_tree(rng, order, 2, unknown)
                out.write((f"{name}\t" if name else "") + grammar.write(tree) + "\n")
        run("train", "train.trees", "--model", "grammar", "--restarts", "2", "--states", "4", "-o", "x.run",
            "--force", "--quiet", *(["--per-class"] if classes else []))
        self.json = json.loads(run("show", "x.run", "--json"))
        self.starts = [grammar.Grammar(self.json, s) for s in range(2)]

    def score(self, trees, *options):
        """[tree][class] log p."""
        with open(f"{self.folder}/test.trees", "w", encoding="utf-8") as out:
            out.writelines(grammar.write(tree) + "\n" for tree in trees)
        rows = json.loads(self.run("score", "x.run", "test.trees", "--json", *options))
        if isinstance(rows, dict):
            rows = next(value for value in rows.values() if isinstance(value, list))
        width = max(1, len(self.classes))
        values = [row["log_likelihood"] for row in rows]
        return [values[i:i + width] for i in range(0, len(values), width)]

    def expected(self, number, tree):
        return sum(start.tree(number, tree) for start in self.starts) / 2


def hide(tree):
    return (None, [None if c is None else hide(c) for c in tree[1]])


def check_tables(case):
    worst = 0.0
    for start in case.starts:
        neighbours = [("label", i) for i in range(len(start.labels))] + [grammar.UNSEEN]
        contexts = [(grammar.ROOT, grammar.BEGIN)] + [(p, grammar.BEGIN) for p in neighbours]
        contexts += [(p, l) for p in (neighbours if start.pair else [grammar.ANY])
                     for l in neighbours + [grammar.EMPTY]]
        for p, l in contexts:
            for a in range(start.sizes[p]):
                for b in range(start.sizes[l]):
                    total = math.fsum(start.probability(0, (p, a), (l, b), (x, k))
                                      for x in start.symbols(p, l) for k in range(start.sizes[x]))
                    worst = max(worst, abs(total - 1))
    return worst < LIMIT, f"tables sum to 1, worst {worst:.1e}"


def check_scores(case):
    trees = []
    while len(trees) < 60:
        tree = random_tree(case.rng, case.labels + ["never"], 2, 0.25)
        if grammar.write(tree).count("(") <= 4:
            trees.append(tree)
    found, bare = case.score(trees), case.score(trees, "--structure", "none")
    bad, annotated = [], 0
    for tree, row, given in zip(trees, found, bare):
        for number, value in enumerate(row):
            if not close(value, case.expected(number, tree)):
                bad.append((grammar.write(tree), value, math.log(case.expected(number, tree))))
            shape = [s.tree(number, tree) / s.tree(number, hide(tree)) for s in case.starts]
            if not close(given[number], sum(shape) / 2):
                bad.append((grammar.write(tree), "given the shape", given[number], math.log(sum(shape) / 2)))
    annotated = max(max(s.sizes.values()) for s in case.starts)
    return not bad and annotated > 1, f"{len(trees)} trees, up to {annotated} annotations", bad[:3]


def check_all_trees(case):
    trees = [t for size in (1, 2, 3) for t in grammar.trees_of(size, case.labels + ["never"])]
    found = case.score(trees)
    bad = []
    for number in range(max(1, len(case.classes))):
        ours = math.fsum(math.exp(row[number]) for row in found)
        theirs = sum(start.mass(number, 3) for start in case.starts) / 2
        if abs(ours - theirs) > LIMIT or not 0 < ours < 1:
            bad.append((number, ours, theirs))
    return not bad, f"{len(trees)} trees of up to 3 nodes and empty slots have the mass of their shapes", bad


def nodes_of(tree):
    """Labels in pre-order."""
    return [tree[0]] + [x for c in tree[1] if c is not None for x in nodes_of(c)]


def with_labels(tree, labels):
    """The same shape with other labels, taken from the front of a list."""
    label = labels.pop(0)
    return (label, [None if c is None else with_labels(c, labels) for c in tree[1]])


def small_trees(case, count, unknown, most=4):
    trees = []
    while len(trees) < count:
        tree = random_tree(case.rng, case.labels + ["never"], 2, unknown)
        if len(nodes_of(tree)) <= most:
            trees.append(tree)
    return trees


def rows_of(case, trees, *command):
    with open(f"{case.folder}/test.trees", "w", encoding="utf-8") as out:
        out.writelines(grammar.write(tree) + "\n" for tree in trees)
    return json.loads(case.run(*command, "x.run", "test.trees", "--json"))


def one_class(case):
    return ["--class", case.classes[1]] if case.classes else []


def check_nodes(case):
    """Bits of known labels: p of the tree over the sum over every label of that node."""
    trees, number = small_trees(case, 25, 0.2, 3), 1 if case.classes else 0
    rows = rows_of(case, trees, "score", "--per-node")
    rows = [row for row in rows if not case.classes or row["class"] == case.classes[1]]
    bad, at = [], 0
    for t, tree in enumerate(trees):
        labels = nodes_of(tree)
        for u, label in enumerate(labels):
            row, at = rows[at], at + 1
            if label is None:
                if row["bits"] is not None:
                    bad.append(row)
                continue
            hidden = with_labels(tree, labels[:u] + [None] + labels[u + 1:])
            p = case.expected(number, tree) / case.expected(number, hidden)
            if row["tree"] != t or abs(2 ** -row["bits"] - p) > LIMIT:
                bad.append((row, -math.log2(p)))
    return not bad and at == len(rows), f"bits of {at} nodes given all other labels", bad[:3]


def check_labels(case):
    """Predictives of unknown labels, and draws of them."""
    trees, number = small_trees(case, 12, 0.6, 3), 1 if case.classes else 0
    with open(f"{case.folder}/test.trees", "w", encoding="utf-8") as out:
        out.writelines(grammar.write(tree) + "\n" for tree in trees)
    text = case.run("label", "x.run", "test.trees", "--probabilities", *one_class(case)).splitlines()
    head, rows = text[0].split("\t"), [line.split("\t") for line in text[1:]]
    worst, at = 0.0, 0
    for tree in trees:
        labels = nodes_of(tree)
        for u in (u for u, x in enumerate(labels) if x is None):
            p = [case.expected(number, with_labels(tree, labels[:u] + [x] + labels[u + 1:]))
                 for x in case.labels]
            for x, value in zip(case.labels, p):
                worst = max(worst, abs(float(rows[at][head.index(f"p({x})")]) - value / sum(p)))
            at += 1
    return at == len(rows) and worst < 2e-6, f"{at} unknown labels, to the digits printed, worst {worst:.1e}"


def check_states(case):
    """Marginals of annotations, and those that are most probable together, under each start."""
    trees, number = small_trees(case, 15, 0.0, 3), 1 if case.classes else 0
    worst, bad = 0.0, []
    for s, start in enumerate(case.starts):
        options = ["--draw", str(s), *one_class(case)]
        rows = rows_of(case, trees, "decode", "--marginals", *options)
        joint = rows_of(case, trees, "decode", "--joint", *options)
        at = 0
        for tree in trees:
            found = list(start.joint(number, tree))
            total = math.fsum(p for _, p in found)
            best = max(p for _, p in found)
            chosen = [row["state"] for row in joint[at:at + len(nodes_of(tree))]]
            ours = next(p for states, p in found if [a for _, a in states] == chosen)
            if ours < best * (1 - LIMIT) or not close(joint[at]["log_probability"], best):
                bad.append((grammar.write(tree), chosen, ours, best))
            for u in range(len(nodes_of(tree))):
                for a in range(start.sizes[found[0][0][u][0]]):
                    p = math.fsum(p for states, p in found if states[u][1] == a) / total
                    worst = max(worst, abs(rows[at][f"p({a})"] - p))
                at += 1
    return worst < LIMIT and not bad, f"annotations of {len(trees)} trees, worst {worst:.1e}", bad[:3]


def check_draws(case):
    """Frequencies of drawn labels given a shape, and of whole trees: five standard deviations."""
    number, n = 1 if case.classes else 0, 20000
    known = case.labels
    bad = []

    def compare(lines, expected, what):
        seen = {}
        for line in lines:
            seen[line] = seen.get(line, 0) + 1
        for tree, p in expected.items():
            if abs(seen.get(tree, 0) - n * p) > 5 * math.sqrt(n * p * (1 - p)) + 1:
                bad.append((what, tree, seen.get(tree, 0), n * p))

    def probability(tree):
        """Of a tree that is drawn step by step, never a label that is not known."""
        return [start.drawn(number, tree) for start in case.starts]

    lines = case.run("sample", "x.run", "--trees", str(n), "-o", "-", *one_class(case)).splitlines()
    lines = [line.split("\t")[-1] for line in lines]
    trees = [t for size in (1, 2, 3) for t in grammar.trees_of(size, known)]
    compare(lines, {grammar.write(t): sum(probability(t)) / len(case.starts) for t in trees}, "whole")
    shape = (None, [(None, []), (None, [])])
    with open(f"{case.folder}/shapes.trees", "w", encoding="utf-8") as out:
        out.write((grammar.write(shape) + "\n") * n)
    lines = case.run("sample", "x.run", "--shapes", "shapes.trees", "-o", "-", *one_class(case)).splitlines()
    lines = [line.split("\t")[-1] for line in lines]
    expected = {}
    for labels in itertools.product(known, repeat=3):
        tree = with_labels(shape, list(labels))
        given = []
        for start in case.starts:
            p, before = 1.0, [None] * 3
            for u in range(3):  # a label is drawn given those before it, never the unseen one
                parts = [start.tree(number, with_labels(shape, before[:u] + [x] + [None] * (2 - u))) for x in known]
                p *= parts[known.index(labels[u])] / sum(parts)
                before[u] = labels[u]
            given.append(p)
        expected[grammar.write(tree)] = sum(given) / len(given)
    compare(lines, expected, "shape")
    return not bad, f"{n} whole trees and {n} of one shape", bad[:3]


def check_posterior(case):
    trees = [random_tree(case.rng, case.labels, 1, 0.0) for _ in range(20)]
    trees = [t for t in trees if grammar.write(t).count("(") <= 4]
    with open(f"{case.folder}/test.trees", "w", encoding="utf-8") as out:
        out.writelines(grammar.write(tree) + "\n" for tree in trees)
    text = case.run("classify", "x.run", "test.trees", "--no-class", "--json", "--class-prior", "empirical")

    def fact(key):
        return subprocess.run(["sqlite3", f"{case.folder}/x.run", f"SELECT value FROM meta WHERE key = '{key}'"],
                              check=True, capture_output=True, text=True).stdout.strip()

    temperature, form = float(fact("temperature")), fact("form")
    starts = [s for s in case.starts if form == "all" or s.pair == (form == "pair")]
    rows, worst = json.loads(text), 0.0
    for tree, row in zip(trees, rows):
        logits = [math.log(c["trees"]) + sum(math.log(s.tree(k, tree)) for s in starts) / len(starts) / temperature
                  for k, c in enumerate(case.json["classes"])]
        most = max(logits)
        total = math.fsum(math.exp(x - most) for x in logits)
        for c, x in zip(case.json["classes"], logits):
            worst = max(worst, abs(row[f"p({c['class']})"] - math.exp(x - most) / total))
    good = len(rows) == len(trees) and worst < LIMIT
    return good, f"posterior of {len(trees)} trees, temperature {temperature:.2f}, worst {worst:.1e}", text[:300]


def main():
    phloem, report = os.path.abspath(sys.argv[1]), harness.Report()
    print(f"# seed {SEED}")
    with tempfile.TemporaryDirectory() as folder:
        def run(*command):
            done = subprocess.run([phloem, *command], cwd=folder, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{command}: {done.stderr}")
            return done.stdout

        cases = {"one model": (0.0, []), "one model, labels unknown in training": (0.2, []),
                 "two classes": (0.0, ["x", "y"]), "two classes, labels unknown": (0.1, ["x", "y"])}
        for name, (unknown, classes) in cases.items():
            case = Case(run, folder, random.Random(SEED), unknown, classes, ["a", "b", "c"])
            checks = [check_tables, check_scores, check_all_trees, check_nodes, check_labels, check_states]
            checks += [] if unknown else [check_draws]
            checks += ([check_posterior] if classes else [])
            for check in checks:
                good, what, *why = check(case)
                report.line(good, f"{name}: {what}", *why)
    return report.end()


sys.exit(main())
