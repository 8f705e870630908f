#!/usr/bin/python3
"""enumerate.py MODEL.json TREES.jsonl - exact answers by listing every hidden configuration.

MODEL.json is the output of `phloem show --json` (the first draw of the first class is used), TREES.jsonl
holds trees in the flat json format.  Prints one object per tree.

Written from the definitions of docs/design.md alone, without a look at the library and without any of
its recursions, so that a mistake there is not repeated here.  A tree is a list of nodes; a node's state
depends on the states of a few other nodes, its scope:

  bottom-up, leaf         itself                     pi^slot
  bottom-up, internal     itself and its children    A(. | child values), bottom for an empty slot
  top-down                itself and its parent      rho at the root, else A^slot(. | parent)

What a node does given its scope is a list of alternatives, each with its probability and with the
cells of the parameter tables it uses: sp has one alternative a switch position, soft tf one for each
choice of blocks, the others a single one.  Everything else is sums and maxima over all states.  Terms are
not negative, so sums lose nothing; they are made with math.fsum.
"""
import json
import math
import sys
from fractions import Fraction
from itertools import product


class Model:
    """One draw of `show --json`."""

    def __init__(self, show, class_number=0, draw=0):
        self.kind = show["model"]
        self.states = show["states"]
        self.slots = show["slots"]
        self.labels = {name: number for number, name in enumerate(show["labels"])}
        tables = show["classes"][class_number]["draws"][draw]
        self.emission = [row + [unseen] for row, unseen in zip(tables["emission"], tables["unseen"])]
        self.root_kind = tables["root_kind"]
        self.shape_prior = tables["shape_prior"]
        if self.kind == "td":
            self.root = tables["root"]
        else:
            self.prior = tables["prior"]
        if self.kind in ("sp", "td"):
            self.transition = tables["transition"]
        if self.kind == "sp":
            self.switch = tables["switch"]
        if self.kind in ("tf", "full"):
            self.soft = "mode" in tables
            # Active slot -> of each child value, bottom last: soft, its probability of each block;
            # hard, its block.
            if self.soft:
                self.modes = {mode["slot"]: mode["matrix"] for mode in tables["mode"]}
                sizes = [len(self.modes[slot][0]) for slot in sorted(self.modes)]
            else:
                self.modes = {mode["slot"]: mode["blocks"] for mode in tables["partition"]}
                sizes = [max(self.modes[slot]) + 1 for slot in sorted(self.modes)]
            self.active = sorted(self.modes)
            *self.sizes, last = tables["core"]["shape"]
            assert last == self.states and self.sizes == sizes
            self.core = {}
            cells = product(*(range(size) for size in self.sizes), range(self.states))
            for cell, value in zip(cells, tables["core"]["data"], strict=True):
                self.core[cell] = value

    def label_column(self, label):
        """Column of `emission`, the last one for a label outside the alphabet; None if unknown."""
        return None if label is None else self.labels.get(label, len(self.labels))


def mean(values):
    return math.fsum(values) / len(values)


class Tree:
    """Nodes in the order of the file, parents before children."""

    def __init__(self, flat):
        self.label = flat["label"]
        self.parent = flat["parent"]
        self.slot = flat["slot"]
        self.size = len(self.label)
        self.children = [{} for _ in self.label]  # slot -> node
        for node, parent in enumerate(self.parent):
            if parent >= 0:
                self.children[parent][self.slot[node]] = node


def alternatives_bottom_up(model, slot, filled, state, child_state):
    """[(probability, cells)] of a node taking `state`.  filled: whether it has children at all;
    child_state: slot -> state, for occupied slots up to L."""
    if not filled:
        if slot > model.slots:
            return [(mean([row[state] for row in model.prior]), [])]
        return [(model.prior[slot - 1][state], [("prior", slot - 1, state)])]
    value = [child_state.get(l, model.states) for l in range(1, model.slots + 1)]
    if model.kind == "sp":
        return [(model.switch[l] * model.transition[l][value[l]][state],
                 [("switch", l), ("transition", l, value[l], state)])
                for l in range(model.slots)]
    seen = [(l, value[l - 1]) for l in model.active]
    if not model.soft:
        cell = tuple(model.modes[l][q] for l, q in seen) + (state,)
        return [(model.core[cell], [("core", cell)])]
    found = []
    for blocks in product(*(range(size) for size in model.sizes)):
        cell = blocks + (state,)
        p = model.core[cell]
        for (l, q), z in zip(seen, blocks):
            p *= model.modes[l][q][z]
        found.append((p, [("core", cell)] + [("mode", l, q, z) for (l, q), z in zip(seen, blocks)]))
    return found


def alternatives_top_down(model, slot, state, parent_state):
    if parent_state is None:
        return [(model.root[state], [("root", state)])]
    if slot > model.slots:
        return [(mean([table[parent_state][state] for table in model.transition]), [])]
    return [(model.transition[slot - 1][parent_state][state],
             [("transition", slot - 1, parent_state, state)])]


class Family:
    """A node and its scope: alternatives for every choice of states, by their number in base C."""

    def __init__(self, model, tree, node):
        if model.kind == "td":
            parent = tree.parent[node]
            self.scope = [node] + ([parent] if parent >= 0 else [])
            self.table = [alternatives_top_down(model, tree.slot[node], states[0],
                                                states[1] if parent >= 0 else None)
                          for states in product(range(model.states), repeat=len(self.scope))]
        else:
            inside = sorted(l for l in tree.children[node] if l <= model.slots)
            self.scope = [node] + [tree.children[node][l] for l in inside]
            self.table = [alternatives_bottom_up(model, tree.slot[node], bool(tree.children[node]),
                                                 states[0], dict(zip(inside, states[1:])))
                          for states in product(range(model.states), repeat=len(self.scope))]
        self.sums = [math.fsum(p for p, _ in row) for row in self.table]
        self.peaks = [max(p for p, _ in row) for row in self.table]

    def number(self, states, base):
        number = 0
        for node in self.scope:
            number = number * base + states[node]
        return number


def logarithm(p):
    return math.log(p) if p > 0 else -math.inf


class Answer:
    """Everything about one tree.  `possible` is false when p(labels) = 0; then only log_likelihood."""

    def __init__(self, model, tree):
        C, n = model.states, tree.size
        nodes = range(n)
        families = [Family(model, tree, node) for node in nodes]
        columns = [model.label_column(label) for label in tree.label]
        ones = [1.0] * C
        emission = [ones if d is None else [row[d] for row in model.emission] for d in columns]

        weight = []                                     # p(states, labels)
        by_pair = [[[] for _ in range(C * C)] for _ in nodes]
        by_family = [[[] for _ in family.table] for family in families]
        without = [[[] for _ in range(C)] for _ in nodes]  # p(states, labels but that of the node)
        self.peak = 0.0
        self.model, self.tree, self.families, self.emission = model, tree, families, emission
        for states in product(range(C), repeat=n):
            numbers = []
            hidden = peak = 1.0
            for family in families:
                number = 0
                for node in family.scope:
                    number = number * C + states[node]
                numbers.append(number)
                hidden *= family.sums[number]
                peak *= family.peaks[number]
            if hidden == 0:
                continue
            factors = [emission[node][states[node]] for node in nodes]
            before = [1.0]
            for factor in factors:
                before.append(before[-1] * factor)
            behind = hidden
            for node in reversed(nodes):
                without[node][states[node]].append(before[node] * behind)
                behind *= factors[node]
            p = hidden * before[n]
            if p == 0:
                continue
            weight.append(p)
            self.peak = max(self.peak, peak * before[n])
            for node in nodes:
                by_family[node][numbers[node]].append(p)
                if node:
                    by_pair[node][states[tree.parent[node]] * C + states[node]].append(p)
        self.total = math.fsum(weight)
        self.log_likelihood = logarithm(self.total)
        self.possible = self.total > 0
        if not self.possible:
            return
        self.log_peak = logarithm(self.peak)
        self.family = [[math.fsum(cell) / self.total for cell in cells] for cells in by_family]
        # The node itself comes first in its scope: its state is the leading digit.
        self.marginal = []
        for cells in self.family:
            width = len(cells) // C
            self.marginal.append([math.fsum(cells[q * width:(q + 1) * width]) for q in range(C)])
        self.pair = [None] + [[[math.fsum(by_pair[node][i * C + q]) / self.total for q in range(C)]
                               for i in range(C)] for node in range(1, n)]
        self.predictive = []
        for node in nodes:
            cavity = [math.fsum(terms) for terms in without[node]]
            whole = math.fsum(cavity)
            self.predictive.append([math.fsum(c / whole * row[d] for c, row in zip(cavity, model.emission))
                                    for d in range(len(model.labels) + 1)])

    def counts(self, add):
        """Expected number of uses of every cell: add(cell, amount)."""
        for node, (family, cells) in enumerate(zip(self.families, self.family)):
            for posterior, whole, row in zip(cells, family.sums, family.table):
                if posterior > 0:
                    for p, used in row:
                        for cell in used:
                            add(cell, posterior * (p / whole))
            column = self.model.label_column(self.tree.label[node])
            if column is not None:
                for state, p in enumerate(self.marginal[node]):
                    add(("emission", state, column), p)

    def log_joint(self, states):
        """Highest log-probability of the labels, these states, and some switches or blocks."""
        p = 1.0
        for node, family in enumerate(self.families):
            p *= family.peaks[family.number(states, self.model.states)]
            p *= self.emission[node][states[node]]
        return logarithm(p)

    def posterior(self):
        """states -> p(states | labels), those of probability 0 left out."""
        found = {}
        for states in product(range(self.model.states), repeat=self.tree.size):
            p = 1.0
            for node, family in enumerate(self.families):
                p *= family.sums[family.number(states, self.model.states)]
                p *= self.emission[node][states[node]]
            if p > 0:
                found[states] = p / self.total
        return found


ABSENT, LEAF, INTERNAL = 0, 1, 2


def shape_outcomes(model, tree, node):
    """[(slot - 1, outcome)] of the slots up to L of an internal node, and occupied slots beyond."""
    outcomes = []
    for slot in range(1, model.slots + 1):
        child = tree.children[node].get(slot)
        outcomes.append((slot - 1, ABSENT if child is None else
                         INTERNAL if tree.children[child] else LEAF))
    return outcomes, sum(slot > model.slots for slot in tree.children[node])


def log_shape(model, tree):
    """log p(shape); None where the definition leaves it open: a node whose children all lie beyond L
    though an internal node has no child up to L with probability 1 (0 / 0)."""
    p = Fraction(model.root_kind[1 if tree.children[0] else 0])
    extra = 0
    nothing = Fraction(1)
    for row in model.shape_prior:
        nothing *= Fraction(row[ABSENT])
    for node in range(tree.size):
        if tree.children[node]:
            outcomes, beyond = shape_outcomes(model, tree, node)
            extra += beyond
            here = Fraction(1)
            for slot, outcome in outcomes:
                here *= Fraction(model.shape_prior[slot][outcome])
            if here == 0:
                p = Fraction(0)
            elif nothing >= 1:
                return None
            else:
                p *= here / (1 - nothing)
    return logarithm(float(p)) - extra * math.log(3)


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip())
        return 2
    with open(sys.argv[1], encoding="utf-8") as stream:
        model = Model(json.load(stream))
    with open(sys.argv[2], encoding="utf-8") as stream:
        for line in stream:
            if not line.strip():
                continue
            tree = Tree(json.loads(line))
            answer = Answer(model, tree)
            result = {"log_likelihood": answer.log_likelihood, "log_shape": log_shape(model, tree)}
            if answer.possible:
                result.update(marginals=answer.marginal, predictive=answer.predictive,
                              pairs=answer.pair, log_joint=answer.log_peak)
            print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
