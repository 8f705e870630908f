#!/usr/bin/python3
"""run_expert.py PHLOEM - the neighbourhood expert against counts in plain Python; TAP.

Neighbourhoods of the training trees are counted anew; every label hidden in the test trees is predicted from
these counts by the formulas of docs/maths.md with the weights that the run holds, and compared with what
`phloem label` says, alone and pooled with a model (whose own predictions are those of the same model in a run
without an expert).  Oddity is compared in the same way.
"""
import csv
import hashlib
import json
import math
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import run_arrays  # noqa: E402

PLACES = "N P G L R F E LL RR PL PR W".split()
CHAINS = ["N P L R F E G", "N F E P L R", "N L R P LL RR", "N R L RR LL", "N P G PL PR", "N P R E", "N P L LL",
          "W N P", "N"]
BORDER, NEW = "border", "new"


def neighbourhoods(tree, label):
    """What is seen around each node; None: unknown."""
    children = [[] for _ in label]
    for node, parent in enumerate(tree["parent"]):
        if parent >= 0:
            children[parent].append(node)

    def beside(node, step):
        if node is None or tree["parent"][node] < 0:
            return None
        row = children[tree["parent"][node]]
        at = row.index(node) + step
        return row[at] if 0 <= at < len(row) else None

    def seen(node):
        return BORDER if node is None else label[node]

    def above(node):
        return None if node is None or tree["parent"][node] < 0 else tree["parent"][node]
    for node, own in enumerate(children):
        up = above(node)
        yield {"N": min(len(own), 6), "P": seen(up), "G": seen(above(up)), "L": seen(beside(node, -1)),
               "R": seen(beside(node, 1)), "F": seen(own[0] if own else None), "E": seen(own[-1] if own else None),
               "LL": seen(beside(node, -2)), "RR": seen(beside(node, 2)), "PL": seen(beside(up, -1)),
               "PR": seen(beside(up, 1)), "W": min(len(children[up]) if up is not None else 1, 6)}


class Expert:
    def __init__(self, forest):
        self.counts = {}
        self.rows = [(near, label) for tree in forest for near, label in
                     zip(neighbourhoods(tree, tree["label"]), tree["label"]) if label is not None]
        all_labels = self.table(())[()]
        self.labels = sorted({label for tree in forest for label in tree["label"] if label is not None})
        total = sum(all_labels.values())
        fresh = (1 + sum(count for count in all_labels.values() if count <= 1)) / (total + 2)
        self.base = {label: (1 - fresh) * count / total for label, count in all_labels.items()}
        self.base[NEW] = fresh

    def table(self, places):
        if places not in self.counts:
            table = {}
            for near, label in self.rows:
                key = tuple(near[place] for place in places)
                if None not in key:
                    cell = table.setdefault(key, {})
                    cell[label] = cell.get(label, 0) + 1
            self.counts[places] = table
        return self.counts[places]

    def chain(self, near, chain, strength=1.0, discount=0.5):
        p, places = dict(self.base), ()
        for place in chain.split():
            if near[place] is None:
                continue
            places += (place,)
            cell = self.table(places).get(tuple(near[known] for known in places))
            if cell:
                total = sum(cell.values()) + strength
                p = {label: (max(cell.get(label, 0) - discount, 0) + (strength + discount * len(cell)) * before)
                     / total for label, before in p.items()}
        return p

    def pool(self, near, weights, models=()):
        voices = [self.chain(near, chain) for chain in CHAINS] if len(weights) > len(models) else []
        voices += [{label: max(p, 1e-9) for label, p in model.items()} for model in models]
        z = {label: sum(weight * math.log(voice[label]) for weight, voice in zip(weights, voices))
             for label in self.base}
        top = max(z.values())
        total = sum(math.exp(value - top) for value in z.values())
        return {label: math.exp(value - top) / total for label, value in z.items()}


def pattern(near):
    known = sum(near[place] is not None for place in ("P", "L", "R"))
    below = sum(near[place] is not None for place in ("F", "E"))
    return (0 if near["N"] == 0 else 1 + below) * 4 + known


def weights_of(path):
    run = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    shape, data = run.execute("SELECT shape, data FROM expert WHERE name = 'weight'").fetchone()
    rows, columns = json.loads(shape)
    values = struct.unpack(f"<{rows * columns}d", run_arrays.unpacked(data, "float64", shape))
    return [values[i * columns:(i + 1) * columns] for i in range(rows)]


def members_of(path):
    run = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    return [data for data, in run.execute("SELECT data FROM members ORDER BY name")]


def table(text):
    return list(csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


def forge_member(path, data):
    """Put other bytes in the place of the further model, with checksum and digest that fit (run-file.md)."""
    run, total = sqlite3.connect(path), 0
    run.execute("UPDATE members SET data = ?, checksum = ?, shape = ?",
                (data, hashlib.sha256(data).digest(), f"[{len(data)}]"))
    for row in run.execute("SELECT 0, name, 0, part, dtype, shape, checksum FROM members"):
        text = b"T" + struct.pack("<q", 7) + b"members"
        for value in row:
            if isinstance(value, int):
                text += b"i" + struct.pack("<q", value)
            else:
                value, mark = (value.encode(), b"t") if isinstance(value, str) else (value, b"b")
                text += mark + struct.pack("<q", len(value)) + value
        total += int.from_bytes(hashlib.sha256(text).digest(), "little")
    run.execute("UPDATE section SET digest = ? WHERE name = 'members'", ((total % 2**256).to_bytes(32, "little"),))
    run.commit()
    run.close()


def check_forged(report, phloem, folder):
    """A further model is a run file within a run file, and as little trusted."""
    def content(name):
        with open(os.path.join(folder, name), "rb") as stream:
            return stream.read()
    good = members_of(os.path.join(folder, "models.run"))[0]
    logged = good[:18] + b"\2\2" + good[20:]
    for name, data, code in (("itself", good, 0), ("nothing", b"", 3), ("noise", bytes(range(256)) * 40, 3),
                             ("half of it", good[:len(good) // 2], 3), ("with a log", logged, 3),
                             ("a run with members", content("models.run"), 3),
                             ("an expert", content("e.run"), 3), ("of other labels", content("other.run"), 3)):
        path = os.path.join(folder, "forged.run")
        shutil.copy(os.path.join(folder, "models.run"), path)
        forge_member(path, data)
        found = subprocess.run([phloem, "label", path, os.path.join(folder, "test.trees"), "--hide", "0.2"],
                               capture_output=True, text=True, check=False)
        report.line(found.returncode == code, f"a further model that is {name}", found.stderr)


def check_with(report, run, folder):
    """label --with: the geometric mean of what the runs say, over the labels of the first; score --with."""
    with open(os.path.join(folder, "other.trees"), "w", encoding="utf-8") as stream:
        with open(os.path.join(folder, "train.trees"), encoding="utf-8") as known:
            stream.writelines(list(known)[:6] + ["(extra (title) (more))\n"])
    run("train", "--members", "expert", "other.trees", "-o", "o.run")
    run("train", "--model", "td", "--states", "2", "other.trees", "-o", "other.run")
    runs, rows = {"e": ["e.run"], "o": ["o.run"], "both": ["e.run", "--with", "o.run"]}, {}
    for name, words in runs.items():
        run("label", *words, "test.trees", "--hide", "0.3", "-p", "p.tsv", "--probabilities")
        with open(os.path.join(folder, "p.tsv"), encoding="utf-8") as stream:
            rows[name] = table(stream.read())
        os.unlink(os.path.join(folder, "p.tsv"))
    worst, checked = 0.0, 0
    own = [column for column in rows["e"][0] if column.startswith("p(")]
    both = [column for column in own if column in rows["o"][0]]
    report.line(len(own) > len(both) > 10 and "p(extra)" in rows["o"][0], "with: runs of other labels",
                f"{len(own)} and {len(both)}")
    for e, o, found in zip(*rows.values()):
        # What is new to a run is not printed; ratios of labels that both know depend on nothing else.
        product = {column: math.sqrt(float(e[column]) * float(o[column])) for column in both}
        total, seen = sum(product.values()), sum(float(found[column]) for column in both)
        for column in both:
            worst = max(worst, abs(product[column] / total - float(found[column]) / seen))
            checked += 1
    report.line(checked > 1000 and worst < 2e-4, "with: the geometric mean",
                f"{checked} probabilities, largest difference {worst}")
    alone = table(run("score", "e.run", "test.trees", "--per-node"))
    twice = table(run("score", "e.run", "test.trees", "--per-node", "--with", "e.run,e.run"))
    worst = max(abs(float(a["bits"]) - float(b["bits"])) / (1 + float(a["bits"])) for a, b in zip(alone, twice))
    report.line(worst < 2e-5, "with: a run beside itself says the same", f"largest difference {worst}")


def main():
    phloem, report = os.path.abspath(sys.argv[1]), harness.Report()
    with tempfile.TemporaryDirectory() as folder:
        def run(*words):
            return subprocess.run([phloem, *words, "--quiet"], cwd=folder, check=True, capture_output=True,
                                  text=True).stdout

        def read(name):
            return [json.loads(line) for line in run("convert", name, "--to", "json", "-o", "-").splitlines()]
        run("generate", "documents", "--trees-per-class", "25", "-o", "all.trees")
        with open(os.path.join(folder, "all.trees"), encoding="utf-8") as stream:
            lines = [line.split("\t")[1] for line in stream]
        for name, part in (("train", lines[::2]), ("test", lines[1::2] + ["(article (never (title)) (title))\n"])):
            with open(os.path.join(folder, name + ".trees"), "w", encoding="utf-8") as stream:
                stream.writelines(part)
        run("train", "--members", "expert", "train.trees", "-o", "e.run")
        run("train", "--members", "td,expert", "--states", "3", "train.trees", "-o", "te.run")
        run("train", "--model", "td", "--states", "3", "train.trees", "-o", "t.run")
        run("train", "--members", "td,sp,grammar,expert", "--states", "3", "train.trees", "-o", "all.run")
        run("train", "--members", "td,sp", "--states", "3", "train.trees", "-o", "models.run")
        for name in ("all", "models"):  # a further model is a run file of its own
            for number, data in enumerate(members_of(os.path.join(folder, name + ".run"))):
                with open(os.path.join(folder, f"{name}{number + 1}.run"), "wb") as stream:
                    stream.write(data)
        models = {"e": [], "te": ["t"], "all": ["t", "all1", "all2"], "models": ["t", "models1"]}
        test, expert = read("test.trees"), Expert(read("train.trees"))
        known = set(expert.labels)
        for name, rate in (("e", "0.2"), ("e", "0.9"), ("te", "0.2"), ("all", "0.2"), ("models", "0.5")):
            weights = weights_of(os.path.join(folder, name + ".run"))
            predictions = {}
            for which in (name, *models[name]):
                run("label", which + ".run", "test.trees", "--hide", rate, "-p", "p.tsv", "--probabilities")
                with open(os.path.join(folder, "p.tsv"), encoding="utf-8") as stream:
                    predictions[which] = {(int(row["tree"]), int(row["node"])): row for row in table(stream.read())}
                os.unlink(os.path.join(folder, "p.tsv"))
            worst, checked = 0.0, 0
            for number, tree in enumerate(test):
                seen = [None if (number, node) in predictions[name] else label if label in known else NEW
                        for node, label in enumerate(tree["label"])]
                for node, near in enumerate(neighbourhoods(tree, seen)):
                    row = predictions[name].get((number, node))
                    if row is None:
                        continue
                    voices = []
                    for which in models[name]:  # without what they say of new labels: see below
                        other = predictions[which][number, node]
                        voices.append({label: float(other[f"p({label})"]) for label in known})
                        voices[-1][NEW] = 1e-9
                    p = expert.pool(near, weights[pattern(near)], voices)
                    total = sum(p[label] for label in known)
                    for label in known:
                        worst = max(worst, abs(p[label] / total - float(row[f"p({label})"])))
                        checked += 1
            # Predictions of models are printed over known labels, which changes the pool by a factor alone.
            report.line(checked > 1000 and worst < 2e-5, f"{name}.run, {rate} hidden: as counted",
                         f"{checked} probabilities, largest difference {worst}")
        check_with(report, run, folder)
        check_forged(report, phloem, folder)
        weights, bits = weights_of(os.path.join(folder, "e.run")), {}
        for row in table(run("score", "e.run", "test.trees", "--per-node")):
            bits.setdefault(int(row["tree"]), []).append(float(row["bits"]))
        trees = table(run("score", "e.run", "test.trees"))
        worst = 0.0
        for number, tree in enumerate(test):
            seen = [label if label in known else NEW for label in tree["label"]]
            own = [-math.log2(expert.pool(near, weights[pattern(near)])[seen[node]])
                   for node, near in enumerate(neighbourhoods(tree, seen))]
            worst = max([worst] + [abs(a - b) / (1 + b) for a, b in zip(own, bits[number])])
            odd = (sum(value ** 4 for value in own) / len(own)) ** 0.25
            for value, column in ((odd, "oddity"), (sum(own) / len(own), "mean_bits"), (max(own), "most_bits")):
                worst = max(worst, abs(value - float(trees[number][column])) / (1 + value))
        report.line(worst < 2e-5, "oddity as counted", f"largest difference {worst}")
        report.line(float(trees[-1]["percentile"]) > 90, "a tree with a new label is odd", str(trees[-1]))
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
