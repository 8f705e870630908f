#!/usr/bin/python3
"""run_stats.py PHLOEM - `phloem stats` against the oracle, and round trips; reported as TAP.

Random files with a fixed seed, and the data sets where they are, with the
figures known for them.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

import forest_oracle

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

SEED = 20240607
NAMES = ["a", "b", "c", "x1", "#x", "_", "?", "", "two words", "tab\there", '"', "\\", "(", ")",
         "line\nend", "return\r", "é", "日本", "😀", "\x01", "\x7f", "_x", "x?", "[]", "$",
         "\ufeffmark"]
PLAIN = ["a", "b", "c", "x1", "é", "_", "?", "#x", "-1", "0.5"]


def phloem(program, *words):
    done = subprocess.run([program, *words], capture_output=True, timeout=300, check=False,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "backslashreplace")


def stats(program, *words):
    code, out, err = phloem(program, "stats", "--json", *words)
    if code != 0:
        raise RuntimeError(f"exit code {code}: {err}")
    return json.loads(out)


def as_figures(found):
    """What phloem says, in the shape of the oracle's figures."""
    figures = {key: found[key] for key in (
        "trees", "nodes", "leaves", "links", "distinct_subtrees", "distinct_internal",
        "distinct_links", "slot_child_pairs", "labels", "unknown_labels", "max_slot")}
    figures["classes"] = {row["class"]: (row["trees"], row["nodes"]) for row in found["classes"]}
    figures["slots"] = {row["slot"]: row["filled"] for row in found["slots"] if row["filled"]}
    depth, nodes = found["depth"], found["nodes_per_tree"]
    figures["depth"] = (depth["min"], depth["max"], depth["mean"])
    figures["nodes_per_tree"] = (nodes["min"], nodes["max"], nodes["mean"], nodes["median"])
    figures["identical_across_classes"] = (found["identical_across_classes"]["distinct"],
                                           found["identical_across_classes"]["trees"])
    return figures


def same(a, b):
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return abs(a - b) <= 1e-12 * max(abs(a), abs(b), 1)
    return a == b


def differences(expected, found):
    return [f"{key}: found {found.get(key)}, expected {expected[key]}"
            for key in expected if not same(expected[key], found.get(key))]


def random_tree(rng, names, gaps):
    """Few labels and small trees, so that subtrees repeat and trees occur in several classes."""
    size = rng.choice([1, 1, 2, 3, 5, 8, 20, 60])
    root = [rng.choice(names), []]
    nodes = [root]
    while len(nodes) < size:
        parent = rng.choice(nodes[-4:])
        last = parent[1][-1][0] if parent[1] else 0
        slot = last + (rng.choice([1, 1, 1, 2, 4]) if gaps else 1)
        child = [None if gaps and rng.random() < 0.1 else rng.choice(names), []]
        parent[1].append((slot, child))
        nodes.append(child)
    return root


def quote(name, rng):
    plain = name and not name.startswith(("#", "\ufeff")) and name not in ("_", "?") and \
        not any(sign <= " " or sign in '()"\x7f' for sign in name)
    if plain and rng.random() < 0.8:
        return name
    return json.dumps(name, ensure_ascii=rng.random() < 0.5)


def write_tree(root, open_node, gap, leaf, between):
    """Text of a tree: pieces are given by functions, one node at a time, without recursion."""
    out, stack = [], [(root, iter(root[1]), [0])]
    out.append(open_node(root[0]))
    if not root[1]:
        out.append(leaf)
    while stack:
        _, children, last = stack[-1]
        step = next(children, None)
        if step is None:
            out.append(")")
            stack.pop()
            continue
        slot, child = step
        first = last[0] == 0
        out.append(gap * (slot - last[0] - 1))
        last[0] = slot
        out.append("" if first and not gap else between)
        out.append(open_node(child[0]))
        if not child[1]:
            out.append(leaf)
        stack.append((child, iter(child[1]), [0]))
    return "".join(out)


def brackets_file(rng, path):
    lines = []
    for _ in range(rng.choice([0, 1, 40, 400])):
        if rng.random() < 0.05:
            lines.append(rng.choice(["", "# a comment (", "   ", "#"]))
        root = random_tree(rng, rng.sample(NAMES, 4), True)
        text = write_tree(root, lambda label: "(" + ("?" if label is None else quote(label, rng)),
                          " _", rng.choice(["", " _", " _ _"]), " ")
        if rng.random() < 0.8:
            text = quote(rng.choice(NAMES), rng) + "\t" + text
        lines.append(text + rng.choice(["", "", " ", "\t"]))
    end = rng.choice(["\n", "\r\n"])
    text = rng.choice(["", "\ufeff"]) + end.join(lines) + rng.choice(["", end])
    with open(path, "wb") as stream:
        stream.write(text.encode("utf-8"))


def elastic_file(rng, path):
    lines = []
    for _ in range(rng.choice([0, 1, 40, 400])):
        root = random_tree(rng, rng.sample(PLAIN, 4), False)
        text = write_tree(root, lambda label: label + "(", "", "$", " ")
        lines.append((rng.choice(PLAIN) + ":" if rng.random() < 0.8 else "") + text)
    with open(path, "wb") as stream:
        stream.write("\n".join(lines).encode("utf-8"))


def check_file(report, program, paths, what, known=None):
    try:
        trees = [tree for path in paths for tree in forest_oracle.read(path)]
        expected = forest_oracle.Statistics(trees).figures
        found = as_figures(stats(program, *paths))
        wrong = differences(expected, found)
        wrong += differences(known or {}, found)
        unshared = as_figures(stats(program, "--no-sharing", *paths))
        if unshared["distinct_subtrees"] != expected["nodes"]:
            wrong.append("without sharing not every node is a subtree of its own")
        for key in ("nodes", "labels", "depth", "classes", "identical_across_classes"):
            if not same(unshared[key], expected[key]):
                wrong.append(f"without sharing {key} differs")
    except (RuntimeError, AssertionError, subprocess.TimeoutExpired) as problem:
        wrong = [problem]
    report.line(not wrong, what, wrong)


def round_trip(report, program, folder, source, target, what):
    """Convert and compare fingerprints."""
    out = os.path.join(folder, target)
    code, _, err = phloem(program, "convert", "--quiet", *source, "-o", out)
    wrong = [f"convert: exit code {code}: {err}"] if code else []
    try:
        if not wrong:
            first = stats(program, *source)["fingerprint"]
            second = stats(program, out)["fingerprint"]
            wrong = [] if first == second else [f"fingerprints {first} and {second}"]
    except RuntimeError as problem:
        wrong = [problem]
    report.line(not wrong, what, wrong)


def check_random(report, program, folder):
    rng = random.Random(SEED)
    print(f"# seed {SEED}")
    for number in range(24):
        kind = "brackets" if number % 2 else "elastic"
        ending = ".trees" if number % 2 else ".elastic.tree"
        path = os.path.join(folder, f"random{number}{ending}")
        (brackets_file if number % 2 else elastic_file)(rng, path)
        check_file(report, program, [path], f"random {kind} {number}: statistics")
        for ending in (".trees", ".jsonl", ".jsonl.gz") if number % 2 else \
                (".trees.zst", ".jsonl", ".elastic.tree"):
            round_trip(report, program, folder, [path], f"out{number}{ending}",
                       f"random {kind} {number}: round trip through {ending}")


def check_data(report, program, data, folder):
    def at(*names):
        return [os.path.join(data, name) for name in names]
    known = {
        "inex05": (at("inex05/train.elastic.tree", "inex05/test.elastic.tree"),
                   {"trees": 9631, "nodes": 247139, "labels": 366, "max_slot": 32}, 11),
        "inex06": (at("inex06/train.elastic.tree", "inex06/test.elastic.tree"),
                   {"trees": 12107, "nodes": 218537, "labels": 65, "max_slot": 66}, 18),
        "symm": (at("symm/train.trees", "symm/test.trees"),
                 {"trees": 780, "nodes": 43536, "labels": 4, "max_slot": 3}, 3),
        "pud": (at("pud/upos.train.trees", "pud/upos.test.trees"),
                {"trees": 20000, "labels": 17, "max_slot": 12}, 20),
        "glycans": (at("glycans/leukemia.trees"), {"trees": 442, "labels": 56, "max_slot": 3}, 2),
    }
    for name, (paths, figures, classes) in known.items():
        check_file(report, program, paths, f"{name}: statistics", figures)
        found = len(stats(program, *paths)["classes"])
        report.line(found == classes, f"{name}: {classes} classes", [f"found {found}"])
    for path, distinct in (("inex05/train.elastic.tree", 7498),
                           ("inex06/train.elastic.tree", 3574), ("symm/train.trees", 7833)):
        check_file(report, program, at(path), f"{path}: {distinct} distinct subtrees",
                   {"distinct_subtrees": distinct})
    found = stats(program, *at("pud/en.conllu"))["trees"]
    report.line(found == 1000, "pud/en.conllu: 1000 trees", [f"found {found}"])
    for name, (paths, _, _) in known.items():
        for ending in (".trees", ".jsonl.gz"):
            round_trip(report, program, folder, paths, name + ending,
                       f"{name}: round trip through {ending}")
        if name not in ("symm", "glycans"):
            round_trip(report, program, folder, paths, name + ".elastic.tree",
                       f"{name}: round trip through elastic")
    for column in ("upos", "deprel", "form"):
        out = os.path.join(folder, column + ".conllu")
        option = ["--conllu-label", column]
        code, _, err = phloem(program, "convert", "--quiet", *option, *at("pud/en.conllu"),
                              "-o", out)
        first = stats(program, *option, *at("pud/en.conllu"))["fingerprint"]
        good = code == 0 and stats(program, *option, out)["fingerprint"] == first
        report.line(good, f"pud/en.conllu: round trip through conllu by {column}", [err])
    round_trip(report, program, folder, at("pud/en.conllu"), "en.trees",
               "pud/en.conllu: round trip through brackets")
    out = os.path.join(folder, "symm.elastic.tree")
    first = at("symm/train.trees")[0]
    code, _, err = phloem(program, "convert", first, "-o", out)
    with open(first, encoding="utf-8") as stream:
        line = next(number for number, text in enumerate(stream, 1)
                    if has_gap(forest_oracle.brackets_line(text.rstrip("\n"))))
    good = code == 3 and not os.path.exists(out) and \
        err.startswith(f"phloem: {first}:{line}: tree {line - 1}: elastic cannot express an empty slot")
    report.line(good, "symm: elastic refuses and names the first tree with an empty slot",
                [f"exit code {code}", err, f"expected line {line}"])
    folder_out = os.path.join(folder, "symm-xml")
    round_trip(report, program, folder, at("symm/test.trees"), folder_out + "/",
               "symm: round trip through a folder of XML documents")


def has_gap(tree):
    stack = [tree[1]] if tree else []
    while stack:
        _, children = stack.pop()
        if [slot for slot, _ in children] != list(range(1, len(children) + 1)):
            return True
        stack.extend(child for _, child in children)
    return False


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip())
        return 2
    program, data, report = os.path.abspath(sys.argv[1]), harness.data_sets.FOLDER, harness.Report()
    with tempfile.TemporaryDirectory(prefix="phloem-oracle-") as folder:
        check_random(report, program, folder)
        if os.path.isdir(data):
            check_data(report, program, data, folder)
        else:
            report.skip("data sets")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
