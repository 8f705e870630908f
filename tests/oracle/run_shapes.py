#!/usr/bin/python3
"""tests/oracle/run_shapes.py PHLOEM - shapes of sampled trees against enumeration in plain Python.

The model of shapes (docs/maths.md) is written down here once more, in the plainest way, from the
training trees themselves.  For each size the probabilities of all shapes with that many nodes and
at most L slots are enumerated: they sum to 1.  Then `sample` draws 40,000 trees from a run trained
on the same trees, and the shapes and the labels of roots that it drew are compared with these
probabilities by chi-square (an outcome that is expected fewer than 5 times counts with all others
such); a false alarm has probability 1e-6 a test.  What the run file holds is compared to the digit.
TAP on standard output.
"""
import json
import math
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402  # pylint: disable=wrong-import-position
import run_arrays  # noqa: E402  # pylint: disable=wrong-import-position

PHLOEM = os.path.abspath(sys.argv[1])
REPORT = harness.Report()
DISCOUNT, STRENGTH, DECAY = 0.5, 1.0, 0.9
DRAWN = 40000

# Shapes are nested tuples of children, None for an empty slot; the last slot is never empty.
TREES = {
    2: """(a (b) (c (b)))
(a (b (c) (b)))
(a _ (b (c)))
(a (b) (c))
(c (a (b (c) (b)) _ ) (b))
(a _ (c _ (b)))
(b)
(a (b (b) (c)) (c (b)))
(d (a (b) (c (b (c)))))
(a (b) (c (b)))""".replace(" _ )", ")"),
    3: """(a (b) _ (c))
(a (b) (c) (c))
(a (b (c) _ (b)) (c))
(c (b _ _ (b)))
(b)
(a (b (c (b))) (c) (b (a) (b)))
(a (b) (c))""",
    1: """(a (b (c)))
(a (b))
(b)
(a (b (c (d))))""",
}


def bin_of(x):
    if x < 4:
        return x
    octave = x.bit_length() - 1
    return 2 * octave + (x >> (octave - 1) & 1)


def members(b, low, high):
    return [x for x in range(low, high + 1) if bin_of(x) == b]


def size(shape):
    return 1 + sum(size(child) for child in shape if child is not None)


def height(shape):
    return max((height(child) + 1 for child in shape if child is not None), default=0)


def back_off(levels, outcomes, base):
    """levels: counters, shortest context first."""
    p = {x: base for x in outcomes}
    for counter in levels:
        total = sum(counter.values())
        if total > 0:
            escape = (STRENGTH + sum(min(n, DISCOUNT) for n in counter.values())) / (total + STRENGTH)
            p = {x: max(counter[x] - DISCOUNT, 0) / (total + STRENGTH) + escape * p[x] for x in p}
    return p


def restrict(p, possible):
    total = sum(p[x] for x in possible)
    return {x: p[x] / total for x in possible}


class Model:
    def __init__(self, slots):
        self.slots = slots
        self.seen = defaultdict(Counter)   # (event, full context) -> outcomes
        self.cells = defaultdict(Counter)  # (event, context of some length) -> outcomes
        self.sizes, self.bins = Counter(), Counter()

    def capacity(self, high):
        return sum(self.slots ** level for level in range(high + 1))

    def note(self, event, context, outcome, lengths):
        self.seen[event, context][outcome] += 1
        for length in lengths:
            self.cells[event, length, context[:length]][outcome] += 1

    def learn(self, label, shape):
        n, h = size(shape), height(shape)
        self.sizes[n] += 1
        self.bins[bin_of(n)] += 1
        if n > 1:
            self.note("height", (bin_of(n),), bin_of(h), (0, 1))
        self.note("label", (bin_of(len([c for c in shape if c is not None])),), label, (0, 1))
        self.learn_node(shape, 0)

    def learn_node(self, shape, depth):
        for context, child, left, h, _, _ in self.slots_of(shape, depth):
            if child is None:
                self.note("slot", context, "empty", (1, 3, 4, 5, 6))
                continue
            k, g = size(child), height(child)
            outcome = (0 if k == left else bin_of(k), g == h - 1)
            self.note("slot", context, outcome, (1, 3, 4, 5, 6))
            if g < h - 1 and k > 2:
                self.note("drop", (bin_of(h), bin_of(k)), bin_of(h - 1 - g), (0, 1, 2))
            self.learn_node(child, depth + 1)

    @staticmethod
    def slots_of(shape, depth):
        """Every slot up to the last child: context, child, nodes left, height, slot, reached."""
        h, left, reached, before = height(shape), size(shape) - 1, False, 0
        for number, child in enumerate(shape, 1):
            context = (int(reached), min(number, 4), before, bin_of(left), bin_of(h), min(depth, 2))
            yield context, child, left, h, number, reached
            if child is None:
                before = 1
            else:
                before = 2 if size(child) == 1 else 3
                left -= size(child)
                reached = reached or height(child) == h - 1

    def child_sizes(self, outcome, left, h, slot, reached):
        b, high = outcome
        room = (self.slots - slot) * self.capacity(h - 1)
        found = []
        for k in ([left] if b == 0 else members(b, 1, left - 1)):
            heights = range(k) if k > 1 else [0]
            heights = [g for g in heights if k <= self.capacity(g) and (g > 0 or k == 1)]
            fits = (h - 1 in heights) if high else any(g < h - 1 for g in heights)
            done = reached or high
            # the rest must fit, and one child at least must be high
            if fits and left - k <= room and (done or left - k >= h):
                found.append(k)
        return found

    def log_node(self, shape, depth):
        total = 0.0
        for context, child, left, h, slot, reached in self.slots_of(shape, depth):
            names = ["empty"] + [(b, high) for b in range(bin_of(left) + 1) for high in (False, True)]
            p = back_off([self.cells["slot", length, context[:length]] for length in (1, 3, 4, 5, 6)],
                         names, 1 / len(names))
            room = (self.slots - slot) * self.capacity(h - 1)
            possible = [x for x in names
                        if (left <= room if x == "empty" else self.child_sizes(x, left, h, slot, reached))]
            p = restrict(p, possible)
            if child is None:
                total += math.log(p["empty"])
                continue
            k, g = size(child), height(child)
            outcome = (0 if k == left else bin_of(k), g == h - 1)
            total += math.log(p[outcome] / len(self.child_sizes(outcome, left, h, slot, reached)))
            if g < h - 1:
                drops = [h - 1 - x for x in range(h - 1) if x <= k - 1 and k <= self.capacity(x) and (x > 0 or k == 1)]
                total += self.log_among("drop", (bin_of(h), bin_of(k)), h - 1 - g, drops, (0, 1, 2))
            total += self.log_node(child, depth + 1)
        return total

    def log_among(self, event, context, value, values, lengths):
        if len(values) == 1:
            return 0.0
        bins = range(bin_of(min(values)), bin_of(max(values)) + 1)
        p = restrict(back_off([self.cells[event, length, context[:length]] for length in lengths],
                              bins, 1 / len(bins)), bins)
        b = bin_of(value)
        return math.log(p[b] / len([x for x in values if bin_of(x) == b]))

    def log_given_size(self, shape):
        n = size(shape)
        heights = [h for h in range(1, n) if n <= self.capacity(h)] if n > 1 else [0]
        return (self.log_among("height", (bin_of(n),), height(shape), heights, (0, 1)) +
                self.log_node(shape, 0))

    def size_chance(self, n):
        total = sum(self.sizes.values())
        width = len(members(bin_of(n), 1, 4 * n))
        base = DECAY ** (bin_of(n) - 1) * (1 - DECAY) / (1 - DECAY ** 63)
        escape = (STRENGTH + DISCOUNT * len(self.bins)) / (total + STRENGTH)
        in_bin = max(self.bins[bin_of(n)] - DISCOUNT, 0) / (total + STRENGTH) + escape * base
        escape = (STRENGTH + DISCOUNT * len(self.sizes)) / (total + STRENGTH)
        return max(self.sizes[n] - DISCOUNT, 0) / (total + STRENGTH) + escape * in_bin / width


def parse(text):
    """(label, shape) of a tree in brackets; _ is an empty slot."""
    stack, label = [[]], None
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            stack.append([])
        elif word == ")":
            child = stack.pop()
            stack[-1].append(tuple(child))
        elif word == "_":
            stack[-1].append(None)
        elif label is None:
            label = word
    return label, stack[0][0]


def shapes_of(n, slots):
    """All shapes of n nodes."""
    def fill(nodes, left):
        if nodes == 0:
            yield ()
            return
        if left == 0:
            return
        for rest in fill(nodes, left - 1):
            yield (None,) + rest
        for k in range(1, nodes + 1):
            for child in shapes_of(k, slots):
                for rest in fill(nodes - k, left - 1):
                    yield (child,) + rest
    return list(fill(n - 1, slots))


def check_chances(name, expected, found, total):
    """Chi-square of counts; expected: probabilities."""
    rare_p = rare_n = statistic = 0.0
    degrees = -1
    for key, p in expected.items():
        if p * total < 5:
            rare_p, rare_n = rare_p + p, rare_n + found[key]
        else:
            statistic += (found[key] - p * total) ** 2 / (p * total)
            degrees += 1
    strange = sum(n for key, n in found.items() if key not in expected)
    if rare_p * total >= 5:
        statistic += (rare_n - rare_p * total) ** 2 / (rare_p * total)
        degrees += 1
    # Wilson and Hilferty's normal for chi-square; 4.9 standard deviations are 1e-6 (one side, 5e-7).
    z = ((statistic / degrees) ** (1 / 3) - 1 + 2 / (9 * degrees)) / math.sqrt(2 / (9 * degrees)) if degrees > 0 else 0
    fine = z < 4.9 and strange == 0 and (rare_p * total >= 5 or rare_n <= 20)
    REPORT.line(fine, f"{name}: {degrees + 1} outcomes, z = {z:.2f}", f"{strange} strange, rare {rare_n} of {rare_p * total}")


def check_events(name, run, model, labels):
    """What the run file holds."""
    base = sqlite3.connect(f"file:{run}?mode=ro", uri=True)
    rows = {key: (json.loads(shape), run_arrays.unpacked(data, dtype, shape, part)) for
            key, shape, dtype, part, data in
            base.execute("SELECT name, shape, dtype, part, data FROM shapes")}
    base.close()
    n = rows["event"][0][0]
    numbers = struct.unpack(f"<{9 * n}I", rows["event"][1])
    counts = struct.unpack(f"<{n}d", rows["count"][1])
    wanted = {}
    for k, times in model.sizes.items():
        wanted[(0, 0) + (0,) * 6 + (k,)] = times
    kinds = {"height": 1, "slot": 2, "drop": 3, "label": 4}
    for (event, context), outcomes in model.seen.items():
        for outcome, times in outcomes.items():
            if event == "slot":
                outcome = 0 if outcome == "empty" else 1 + 2 * outcome[0] + outcome[1]
            elif event == "label":
                outcome = labels.index(outcome)
            wanted[(0, kinds[event]) + context + (0,) * (6 - len(context)) + (outcome,)] = times
    held = {numbers[9 * i:9 * i + 9]: counts[i] for i in range(n)}
    REPORT.line(held == wanted, f"{name}: {n} events in the run", f"{len(wanted)} wanted")


def check(slots, text, folder):
    name = f"{slots} slots"
    run, path = os.path.join(folder, "a.run"), os.path.join(folder, "a.trees")
    with open(path, "w", encoding="ascii") as out:
        out.write(text + "\n")
    model = Model(slots)
    for line in text.splitlines():
        model.learn(*parse(line))
    for n in range(1, 7 if slots < 3 else 6):
        total = sum(math.exp(model.log_given_size(shape)) for shape in shapes_of(n, slots))
        REPORT.line(abs(total - 1) < 1e-12, f"{name}: shapes of {n} nodes sum to 1", f"{total!r}")
    subprocess.run([PHLOEM, "train", path, "-o", run, "--model", "tf", "--states", "2", "--iterations", "4",
                    "--quiet", "--force"], check=True)
    labels = [row[0] for row in sqlite3.connect(run).execute("SELECT name FROM label ORDER BY id")]
    check_events(name, run, model, labels)
    most = 6 if slots < 3 else 5
    drawn = subprocess.run([PHLOEM, "sample", run, "--trees", str(DRAWN), "--max-nodes", str(most), "--seed", "3",
                            "--quiet", "-o", "-"], check=True, capture_output=True, text=True).stdout
    trees = [parse(line) for line in drawn.splitlines() if line]
    chances = {n: model.size_chance(n) for n in range(1, most + 1)}
    whole = sum(chances.values())
    expected = {shape: chances[n] / whole * math.exp(model.log_given_size(shape))
                for n in chances for shape in shapes_of(n, slots)}
    REPORT.line(len(trees) == DRAWN, f"{name}: {len(trees)} trees")
    check_chances(f"{name}, shapes", expected, Counter(shape for _, shape in trees), len(trees))
    for degree in range(slots + 1):
        own = [label for label, shape in trees if len([c for c in shape if c is not None]) == degree]
        if len(own) >= 500:
            context = (bin_of(degree),)
            p = back_off([model.cells["label", length, context[:length]] for length in (0, 1)],
                         labels + [None], 1 / (len(labels) + 1))
            check_chances(f"{name}, labels of roots with {degree} children", restrict(p, labels), Counter(own), len(own))


for each, trees_of in TREES.items():
    with tempfile.TemporaryDirectory() as place:
        check(each, trees_of, place)

sys.exit(REPORT.end())
