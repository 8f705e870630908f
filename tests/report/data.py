#!/usr/bin/python3
"""data.py PHLOEM - the data of `phloem report`: valid by the schema, and the figures of other commands
and of plain arithmetic; TAP.

Runs of every kind are trained on small forests.  Trees are rebuilt from the table of subtrees and held
against `convert`, predictions against `classify`, labels against `label`, odd nodes against `score`,
traces and ranks against the table `trace` of the run file; intervals are solved anew.
"""
import base64
import hashlib
import json
import math
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

import jsonschema

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
NASTY = ["<script>alert(1)</script>", "\"'\\ ]]>", "\x1b[31mred\x07", "\u202eabc\u2066", "&amp;<!--", "\u2028", "l" * 10000]
REPORT = harness.Report()


def phloem(*words, code=0, text=True):
    done = subprocess.run([PROGRAM, *words], capture_output=True, check=False)
    if done.returncode != code:
        raise SystemExit(f"phloem {words}: exit code {done.returncode}: {done.stderr.decode('utf-8', 'replace')}")
    return done.stdout.decode() if text else done.stdout


def report_of(*words):
    return json.loads(phloem("report", "--json", "--quiet", *words))


def near(a, b, relative=1e-5, absolute=1e-9):
    return a is b is None or (a is not None and b is not None
                              and abs(a - b) <= absolute + relative * max(abs(a), abs(b)))


# ---- trees ----

def from_table(table, root):
    """(label, {slot: subtree}) of a subtree, by the description in docs/report.md."""
    first = [0]
    for n in table["children"]:
        first.append(first[-1] + n)
    made = [None] * len(table["label"])
    for i, label in enumerate(table["label"]):  # children come before parents
        places = table["child"][first[i]:first[i + 1]]
        slots = table["slots"].get(str(i), range(1, len(places) + 1))
        made[i] = (table["labels"][label] if label >= 0 else None,
                   {slot: made[place] for slot, place in zip(slots, places)})
    return made[root]


def from_lines(text):
    """The same from the JSON lines of `convert`."""
    trees = []
    for line in text.splitlines():
        tree = json.loads(line)
        nodes = [(label, {}) for label in tree["label"]]
        for node, parent, slot in zip(nodes, tree["parent"], tree["slot"]):
            if parent >= 0:
                nodes[parent][1][slot] = node
        trees.append(nodes[0])
    return trees


def from_nodes(tree):
    nodes = [(label, {}) for label in tree["label"]]
    for node, parent, slot in zip(nodes, tree["parent"], tree["slot"]):
        if parent >= 0:
            nodes[parent][1][slot] = node
    return nodes[0]


def check_trees(data, test):
    trees = from_lines(phloem("convert", test, "--to", "json", "-o", "-", "--quiet"))
    found = [from_table(data["test"]["subtrees"], root) for root in data["test"]["root"]]
    REPORT.line(found == trees, "test trees rebuilt from the table are the trees", found[:2], trees[:2])
    sources = data["test"]["source"]
    REPORT.line(sources[0] == f"{test}:1" and sources[1:] == list(range(2, len(trees) + 1)),
                "sources of trees", sources[:3])
    return trees


# ---- classification ----

def wilson(share, n):
    """The ends of {p : |share - p| <= z sqrt(p (1 - p) / n)}, by bisection."""
    z = 1.959963984540054

    def inside(p):
        return abs(share - p) <= z * math.sqrt(p * (1 - p) / n)

    ends = []
    for outer in (0.0, 1.0):
        low, high = outer, share
        if inside(outer):
            ends.append(outer)
            continue
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (low, middle) if inside(middle) else (middle, high)
        ends.append(high)
    return ends


def check_classification(data, run, test, folder):
    c = data["runs"][0]["test"]["classification"]
    rows = os.path.join(folder, "predictions.tsv")
    shown = json.loads(phloem("classify", run, test, "--json", "-p", rows, "--quiet"))
    with open(rows, encoding="utf-8") as stream:
        head, *lines = [line.rstrip("\n").split("\t") for line in stream]
    p = c["predictions"]
    good = len(lines) == len(p["predicted"]) and head[4:] == [f"p({name})" for name in c["names"]]
    for i, line in enumerate(lines):
        chances = [float(cell) for cell in line[4:]]
        order = sorted(range(len(chances)), key=lambda k: -chances[k])
        good &= c["names"][p["predicted"][i]] == line[3] and near(p["p_predicted"][i], chances[order[0]], 1e-4)
        good &= near(p["p_second"][i], chances[order[1]], 1e-4, 1e-7)
        good &= (c["names"][p["true"][i]] if p["true"][i] >= 0 else "") == (line[2] if line[2] in c["names"] else "")
    REPORT.line(good, "predictions are those of classify")
    REPORT.line(c["evaluation"] == shown, "the evaluation is that of classify")
    good = True
    for row in c["per_class"]:
        if row["n"]:
            low, high = wilson(row["accuracy"], row["n"])
            good &= near(row["low"], low, 1e-5, 1e-6) and near(row["high"], high, 1e-5, 1e-6)
    REPORT.line(good, "intervals of accuracies are Wilson's")
    bins = [[] for _ in range(15)]
    for truth, best, chance in zip(p["true"], p["predicted"], p["p_predicted"]):
        if truth >= 0:
            bins[min(14, int(chance * 15))].append((truth == best, chance))
    good = all(b["n"] == len(found) and (not found or near(b["right"], sum(x for x, _ in found) / len(found), 1e-5)
                                         and near(b["probability"], sum(x for _, x in found) / len(found), 1e-4))
               for b, found in zip(c["calibration"], bins))
    REPORT.line(good, "the calibration curve", c["calibration"])


# ---- labels and odd trees ----

def check_labels(data, run, test, trees):
    labelled = data["runs"][0]["test"]["labelling"]
    shown = json.loads(phloem("label", run, test, "--hide", "0.2", "--json", "--quiet"))
    REPORT.line(near(labelled["accuracy"], shown["accuracy"]) and labelled["n"] == shown["n"],
                "accuracy of labels is that of label", labelled["accuracy"], shown["accuracy"])
    good = bool(labelled["worst"])
    for tree in labelled["worst"]:
        good &= from_nodes(tree) == trees[tree["tree"]] and len(tree["hidden"]) == tree["n_hidden"]
        good &= sum(h["wrong"] for h in tree["hidden"]) == tree["n_wrong"] > 0
        good &= all(h["wrong"] == (tree["label"][h["node"]] != h["predicted"]) for h in tree["hidden"])
    REPORT.line(good, "wrong labels are those that differ")


def check_odd(data, run, test, trees):
    odd = data["runs"][0]["test"]["oddest"]
    lines = [line.split("\t") for line in phloem("score", run, test, "--quiet").splitlines()]
    column = lines[0].index("oddity" if odd["by"] == "oddity" else "bits_per_label")
    # With models of classes, score prints a row for each of them.
    c = data["runs"][0]["test"].get("classification")
    own = {i: c["names"][k] for i, k in enumerate(c["predictions"]["true"])} if c else {}
    figures = sorted((float(line[column]) for line in lines[1:] if own.get(int(line[0]), line[2]) == line[2]), reverse=True)
    found = [tree[odd["by"]] for tree in odd["trees"]]
    REPORT.line(all(near(a, b, 1e-4) for a, b in zip(found, figures)) and len(found) == min(40, len(trees)),
                f"the oddest trees, by {odd['by']}", found[:4], figures[:4])
    nodes = {}
    for line in phloem("score", "--per-node", run, test, "--quiet").splitlines()[1:]:
        cells = line.split("\t")
        if own.get(int(cells[0]), cells[2]) == cells[2]:
            nodes[int(cells[0]), int(cells[3])] = float(cells[5]) if cells[5] else None
    good = all(near(bits, nodes[tree["tree"], i], 1e-3, 1e-4) and from_nodes(tree) == trees[tree["tree"]]
               for tree in odd["trees"] for i, bits in enumerate(tree["bits"]))
    REPORT.line(good, "bits of nodes are those of score --per-node")


# ---- convergence ----

def check_traces(data, run):
    rows = {}
    with sqlite3.connect(f"file:{run}?mode=ro", uri=True) as database:
        for chain, *row in database.execute(
                "SELECT chain, iteration, temperature, log_joint, log_likelihood, active, sum_size FROM trace "
                "WHERE class = 0 ORDER BY chain, iteration"):
            rows.setdefault(chain, []).append(row)
    names = ["log_joint", "log_likelihood", "active", "sum_size"]
    found = data["runs"][0]["convergence"]["classes"][0]
    good, thinned = True, False
    for chain in found["chains"]:
        width, all_rows = chain["rows_in_a_piece"], rows[chain["chain"]]
        pieces = [all_rows[i:i + width] for i in range(0, len(all_rows), width)]
        thinned |= width > 1
        good &= chain["rows"] == len(all_rows) and chain["iteration"] == [piece[0][0] for piece in pieces]
        good &= len(pieces) <= 300
        for q, name in enumerate(names):
            if name in chain:
                low = [min(row[2 + q] for row in piece) for piece in pieces]
                high = [max(row[2 + q] for row in piece) for piece in pieces]
                good &= all(map(lambda a, b: near(a, b, 1e-8), chain[name]["low"], low))
                good &= ("high" in chain[name]) == (width > 1)
                good &= width == 1 or all(map(lambda a, b: near(a, b, 1e-8), chain[name]["high"], high))
    REPORT.line(good, f"traces of {os.path.basename(run)}{', thinned: least and most are kept' if thinned else ''}")
    return rows, thinned


def check_starts(rows):
    """Starts of a grammar: a row for each iteration; the first split climbs (later ones need not: tables are smoothed and
    shared by classes), and the last row is of the best stage."""
    good = len(rows) == 4
    for start in rows.values():
        *steps, last = start
        splits = [row[4] for row in steps]
        good &= len(steps) > 20 and splits == sorted(splits) and set(splits) == set(range(splits[-1] + 1))
        good &= last[4] in splits and last[2] == max(row[2] for row in steps)
        for split in set(splits) - {0}:
            stage = [row for row in steps if row[4] == split]
            good &= len({row[2] for row in stage}) == 1 and (split > 1 or stage[0][3] < stage[-1][3])
            good &= all(row[5] <= stage[0][5] for row in stage)
    REPORT.line(good, "a grammar: the objective of every iteration, stages with their figures")


def check_ranks(data, rows):
    found = data["runs"][0]["convergence"]["classes"][0]
    good = True
    for q, name in enumerate(["log_joint", "log_likelihood", "active", "sum_size"]):
        draws = [(row[2 + q], chain) for chain in sorted(rows) for row in rows[chain]
                 if row[0] > found["warmup"] and row[1] == 1.0]
        expected = [[0.0] * 20 for _ in rows]
        n = len(draws)
        for value, chain in draws:
            # The ranks of equal values are one stretch; each of them lies anywhere in it.
            begin = sum(other < value for other, _ in draws) / n * 20
            end = sum(other <= value for other, _ in draws) / n * 20
            for b in range(20):
                expected[chain][b] += max(0.0, min(end, b + 1) - max(begin, b)) / (end - begin)
        good &= all(near(a, b, 1e-4, 1e-4) for x, y in zip(found["ranks"][name], expected) for a, b in zip(x, y))
    REPORT.line(good, "rank plots")


# ---- the page ----

def check_page(folder, words):
    page_file = os.path.join(folder, "page.html")
    phloem("report", *words, "-o", page_file, "--quiet")
    with open(page_file, "rb") as stream:
        page = stream.read().decode("utf-8")
    text = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S).group(1)
    inside, printed = json.loads(text), report_of(*words)
    inside.pop("command"), printed.pop("command")
    REPORT.line(inside == printed, "the page holds the data that --json prints")
    REPORT.line(not re.search("[<>&\u2028\u2029\n]", text), "data on the page have no <, > and &, no line ends")
    script = re.search(r"<script>(.*?)</script>", page, re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page).group(1)
    REPORT.line(policy == f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
                          "base-uri 'none'; form-action 'none'", "the policy names the script alone", policy)
    before = page[:page.index("<!--\nThe script of this page")].replace(script, "")
    REPORT.line(not re.search(r"(?:src|href)=[\"']?(?:http|//)|url\(|@import", before), "nothing comes from outside")
    return page


def check_hostile(folder):
    trees, run = os.path.join(folder, "nasty.trees"), os.path.join(folder, "nasty.run")
    with open(trees, "w", encoding="utf-8") as stream:
        for name in NASTY:
            for k in range(4):
                stream.write(f"{json.dumps(name)}\t({json.dumps(name)} ({json.dumps(NASTY[k])}) _ (?))\n")
    phloem("train", "--per-class", "--model", "sp", "--states", "2", "--iterations", "3", trees, "-o", run, "--quiet")
    check_page(folder, [run, "--test", trees, "--hide", "0.5"])
    data = report_of(run, "--test", trees)
    jsonschema.validate(data, SCHEMA)
    names = data["runs"][0]["test"]["classification"]["names"]
    REPORT.line(names == NASTY[:-1] + [NASTY[-1][:1000] + "..."], "hostile names are kept, long ones cut", names[:6])
    odd = os.path.join(folder, os.fsdecode(b"\xff<b>.trees"))
    with open(odd, "w", encoding="utf-8") as stream:
        stream.write('"<script>"\t(a)\n')
    made = json.loads(phloem("report", "--json", run, "--test", odd, "--quiet", text=False))
    REPORT.line("\ufffd" in made["test"]["source"][0], "bytes of a path that are no UTF-8", made["test"]["source"])


def check_edges(folder):
    """Trees that nobody can look at."""
    trees, run = os.path.join(folder, "edges.trees"), os.path.join(folder, "edges.run")
    with open(trees, "w", encoding="utf-8") as stream:
        stream.write("(a " * 20000 + ")" * 20000 + "\n" + "(a" + " (b)" * 20000 + ")\n(a)\n(c " + "_ " * 1000 + "(b))\n")
    phloem("train", "--model", "sp", "--states", "1", "--iterations", "2", "--quiet", trees, "-o", run)
    text = phloem("report", "--json", run, "--test", trees, "--quiet")
    data = json.loads(text)
    jsonschema.validate(data, SCHEMA)
    roots = data["test"]["root"]
    deep = from_depth(data["test"]["subtrees"], roots[0])
    REPORT.line(len(text) < 500_000 and deep == 60, f"a deep and a wide tree: {len(text)} bytes, {deep} levels")
    REPORT.line(from_table(data["test"]["subtrees"], roots[3])[1] == {1001: ("b", {})}, "an only child far to the right")


def from_depth(table, root):
    first = [0]
    for n in table["children"]:
        first.append(first[-1] + n)
    depth = 0
    while table["children"][root]:
        root = table["child"][first[root]]
        depth += 1
    return depth


def main():
    with tempfile.TemporaryDirectory() as folder:
        def at(name):
            return os.path.join(folder, name)

        phloem("generate", "documents", "--trees-per-class", "40", "--nodes", "14", "-o", at("train.trees"), "--quiet")
        phloem("generate", "documents", "--trees-per-class", "20", "--nodes", "14", "--seed", "7", "-o", at("test.trees"), "--quiet")
        train = ["train", at("train.trees"), "--quiet", "-o"]
        phloem(*train, at("default.run"), "--per-class")
        phloem(*train, at("tf.run"), "--per-class", "--model", "tf", "--states", "3", "--chains", "3", "--iterations", "60")
        phloem(*train, at("sp.run"), "--model", "sp", "--states", "3", "--restarts", "2", "--iterations", "700", "--tolerance", "0")
        phloem(*train, at("td.run"), "--members", "td,expert", "--states", "3")
        phloem(*train, at("linear.run"), "--classifier")
        phloem(*train, at("piece.run"), "--model", "sp", "--states", "2", "--restarts", "2", "--piece", "1/2")
        phloem(*train, at("bare.run"), "--model", "sp", "--states", "2", "--no-embed")
        test = at("test.trees")
        for name in ("default", "tf", "sp", "td", "linear", "piece", "bare"):
            data = report_of(at(f"{name}.run"), "--test", test)
            faults = list(jsonschema.Draft7Validator(SCHEMA).iter_errors(data))
            REPORT.line(not faults, f"schema: {name}.run", *[f"{list(f.absolute_path)}: {f.message[:300]}" for f in faults[:3]])
            codes = {alert["code"] for alert in data["alerts"]}
            if name in ("default", "tf", "linear"):
                trees = check_trees(data, test) if name == "tf" else trees if name == "linear" else None
                check_classification(data, at(f"{name}.run"), test, folder)
            if name in ("sp", "td"):
                check_labels(data, at(f"{name}.run"), test, trees)
            if name in ("default", "td", "sp"):
                check_odd(data, at(f"{name}.run"), test, from_lines(phloem("convert", test, "--to", "json", "-o", "-", "--quiet")))
            if name in ("tf", "sp", "default"):
                rows, thinned = check_traces(data, at(f"{name}.run"))
                REPORT.line(thinned == (name == "sp"), f"{name}: long traces are thinned, short ones are not")
            if name == "default":
                check_starts(rows)
            if name == "tf":
                check_ranks(data, rows)
            if name in ("piece", "bare"):
                REPORT.line({"piece": "piece", "bare": "no-trees"}[name] in codes, f"an alert: {name}", codes)
        seen = report_of(at("tf.run"), "--test", at("train.trees"))
        REPORT.line("tested-on-training-trees" in {alert["code"] for alert in seen["alerts"]}
                    and seen["verdict"]["level"] == "trouble", "trees of the training are no test")
        # Documents by other grammars under the same names of classes: nothing that was learned holds.
        codes = {alert["code"]: alert["level"] for alert in report_of(at("linear.run"), "--test", test)["alerts"]}
        figures = report_of(at("linear.run"), "--test", test)["runs"][0]["test"]["classification"]["evaluation"]
        below = figures["accuracy"] <= figures["largest_share"]
        near_it = not below and figures["accuracy_low"] <= figures["largest_share"]
        REPORT.line(below + near_it == 1 and codes.get("below-largest-class") == ("trouble" if below else None)
                    and codes.get("near-largest-class") == ("note" if near_it else None),
                    "an alert when the largest class would do as well", codes, figures["accuracy"])
        check_page(folder, [at("default.run"), at("tf.run"), "--test", test])
        check_hostile(folder)
        check_edges(folder)
        bad = dict(seen, verdict={"level": "splendid"})
        REPORT.line(not jsonschema.Draft7Validator(SCHEMA).is_valid(bad), "the schema refuses what is not in it")
    return REPORT.end()


with open(os.path.join(harness.ROOT, "report", "schema.json"), encoding="utf-8") as opened:
    SCHEMA = json.load(opened)

if __name__ == "__main__":
    sys.exit(main())
