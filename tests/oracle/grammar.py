#!/usr/bin/python3
"""grammar.py - tree grammars in plain Python, by enumeration; see run_grammar.py.

Written from docs/maths.md alone.  A model is read from `phloem show --json`; a tree is nested tuples
(label, children), a child None for an empty slot, a label None for an unknown one.  The probability
of a tree is the sum over all annotations and unknown labels of its nodes, one by one.
"""
import itertools
import json
import math
from collections import defaultdict

UNSEEN, EMPTY, STOP, BEGIN, ROOT, ANY = "unseen", "empty", "stop", "begin", "root", "any"
SPECIALS = [UNSEEN, EMPTY, STOP, BEGIN, ROOT, ANY]


class Counts:
    """Counts of (parent state, left state, symbol state) and every sum of them that is looked at."""

    def __init__(self):
        self.unseen = 0.0
        self.sums = defaultdict(float)

    def add(self, parent, left, symbol, n):
        (p, _), (l, _), (x, _) = parent, left, symbol
        for key in (("all",), ("x", x), ("X", symbol), ("p", p), ("px", p, x), ("pl", p, l), ("plx", p, l, x),
                    ("Pl", parent, l), ("Plx", parent, l, x), ("pL", p, left), ("pLx", p, left, x),
                    ("PL", parent, left), ("PLx", parent, left, x), ("Px", parent, x),
                    ("PX", parent, symbol), ("Lx", left, x), ("LX", left, symbol),
                    ("PLX", parent, left, symbol)):
            self.sums[key] += n

    def __call__(self, *key):
        extra = self.unseen if key in (("all",), ("x", UNSEEN)) else 0.0
        return self.sums.get(key, 0.0) + extra


class Grammar:
    """One start: `classes` are those of show --json, `start` the number of the draw."""

    def __init__(self, run, start):
        self.labels = run["labels"]
        self.names = [("label", i) for i in range(len(self.labels))] + SPECIALS
        draws = [c["draws"][start] for c in run["classes"]]
        first = draws[0]["numbers"]
        self.pair = first[0] == 1
        self.strength_label, self.strength_state, self.strength_annotation, self.share = first[1:5]
        self.sizes = dict(zip(self.names, draws[0]["annotations"]))
        self.rules = [{tuple(self.names[s] for s in rule) for rule in draw["rules"]} for draw in draws]
        self.counts = [self.read(draw) for draw in draws]
        self.pool = None
        if len(draws) > 1 and self.share > 0:
            self.pool = Counts()
            for counts in self.counts:
                self.pool.unseen += counts.unseen
                for key, value in counts.sums.items():
                    self.pool.sums[key] += value
        self.memory = {}

    def read(self, draw):
        counts, at = Counts(), 0
        counts.unseen = draw["numbers"][5]
        for rule in draw["rules"]:
            symbols = [self.names[s] for s in rule]
            for states in itertools.product(*([(s, a) for a in range(self.sizes[s])] for s in symbols)):
                counts.add(*states, draw["counts"][at])
                at += 1
        assert at == len(draw["counts"])
        return counts

    def symbols(self, parent, left):
        """What may come there."""
        first = [("label", i) for i in range(len(self.labels))] + [UNSEEN]
        if parent == ROOT:
            return first
        return first + [EMPTY] if left == EMPTY else first + [EMPTY, STOP]

    def occurred(self, number, p, l, x):
        """Has the rule an entry, in the class `number` (None: in the pool) or in the pool?"""
        own = set().union(*self.rules) if number is None or self.pool else self.rules[number]
        return (p, l, x) in own

    def levels(self, number, n, above, parent, left, symbol):
        """The estimates at each level, by name; `above` are those of the pool, or None."""
        (p, _), (l, _), (x, _) = parent, left, symbol
        share = self.share if above else 0.0
        out = {}

        def smooth(name, count, total, strength, base):
            if above:
                base = (1 - share) * base + share * above[name]
            out[name] = (count + strength * base) / (total + strength)

        def base(symbol):
            even = 1 / (len(self.labels) + 3)
            value = (n("x", symbol) + even) / (n("all") + 1)
            if p == ROOT:
                value /= 1 - sum((n("x", s) + even) / (n("all") + 1) for s in (EMPTY, STOP))
            return value

        ax, al, aa = self.strength_label, self.strength_state, self.strength_annotation
        smooth("stop", n("px", p, STOP), n("p", p), ax, base(STOP))
        smooth("px", n("px", p, x), n("p", p), ax, base(x))
        given = out["px"] / (1 - out["stop"]) if l == EMPTY else out["px"]
        smooth("plx", n("plx", p, l, x), n("pl", p, l), ax, given)
        smooth("Plx", n("Plx", parent, l, x), n("Pl", parent, l), al, out["plx"])
        smooth("pLx", n("pLx", p, left, x), n("pL", p, left), al, out["plx"])
        is_label = [isinstance(s, tuple) for s in (p, l)]
        weight = 0.0 if not is_label[0] else 1.0 if not is_label[1] else 0.5
        smooth("PLx", n("PLx", parent, left, x), n("PL", parent, left), al,
               weight * out["Plx"] + (1 - weight) * out["pLx"])
        smooth("X", n("X", symbol), sum(n("X", (x, a)) for a in range(self.sizes[x])), aa,
               1 / self.sizes[x])
        smooth("PX", n("PX", parent, symbol), n("Px", parent, x), aa, out["X"])
        smooth("LX", n("LX", left, symbol), n("Lx", left, x), aa, out["X"])
        weight = weight if self.occurred(number, p, l, x) else 1.0
        smooth("PLX", n("PLX", parent, left, symbol), n("PLx", parent, left, x), aa,
               weight * out["PX"] + (1 - weight) * out["LX"])
        return out

    def probability(self, number, parent, left, symbol):
        """P(symbol state | parent's state, left sibling's state) in class `number`."""
        key = (number, parent, left, symbol)
        if key not in self.memory:
            above = self.levels(None, self.pool, None, parent, left, symbol) if self.pool else None
            found = self.levels(number, self.counts[number], above, parent, left, symbol)
            self.memory[key] = found["PLx"] * found["PLX"]
        return self.memory[key]

    def states(self, label):
        """States that a node may have."""
        if label is None:
            symbols = [("label", i) for i in range(len(self.labels))] + [UNSEEN]
        else:
            symbols = [("label", self.labels.index(label)) if label in self.labels else UNSEEN]
        return [(s, a) for s in symbols for a in range(self.sizes[s])]

    def tree(self, number, tree):
        """p(tree), by enumeration."""
        return math.fsum(p for _, p in self.joint(number, tree))

    def joint(self, number, tree):
        """Every choice of states for the nodes in pre-order, and p(tree, states)."""
        nodes = []

        def number_nodes(node):
            nodes.append(node[0])
            return (len(nodes) - 1, [None if c is None else number_nodes(c) for c in node[1]])

        def product(node, chosen):
            at, children = node
            left, p = (BEGIN, 0), 1.0
            for child in children:
                seen = chosen[at] if self.pair or left == (BEGIN, 0) else (ANY, 0)
                state = (EMPTY, 0) if child is None else chosen[child[0]]
                p *= self.probability(number, seen, left, state)
                p *= 1.0 if child is None else product(child, chosen)
                left = state
            seen = chosen[at] if self.pair or left == (BEGIN, 0) else (ANY, 0)
            return p * self.probability(number, seen, left, (STOP, 0))

        root = number_nodes(tree)
        for chosen in itertools.product(*(self.states(x) for x in nodes)):
            yield chosen, self.probability(number, (ROOT, 0), (BEGIN, 0), chosen[0]) * product(root, chosen)

    def drawn(self, number, tree):
        """p(tree) when every step is drawn among what is no unseen label; all labels are known."""
        def step(parent, left, symbol):
            symbols = [x for x in self.symbols(parent[0], left[0]) if x != UNSEEN]
            total = math.fsum(self.probability(number, parent, left, (x, a))
                              for x in symbols for a in range(self.sizes[x]))
            return self.probability(number, parent, left, symbol) / total

        def node(tree, parent, left, state):
            """Of a node in that state and everything below it."""
            return step(parent, left, state) * rest(tree[1], state, (BEGIN, 0))

        def rest(children, parent, left):
            seen = parent if self.pair or left == (BEGIN, 0) else (ANY, 0)
            if not children:
                return step(seen, left, (STOP, 0))
            if children[0] is None:
                return step(seen, left, (EMPTY, 0)) * rest(children[1:], parent, (EMPTY, 0))
            return math.fsum(node(children[0], seen, left, q) * rest(children[1:], parent, q)
                             for q in self.states(children[0][0]))

        return math.fsum(node(tree, (ROOT, 0), (BEGIN, 0), q) for q in self.states(tree[0]))

    def mass(self, number, most):
        """p of all trees with at most so many nodes and empty slots together, shape by shape without any
        label: a sum over states from the leaves up."""
        def lists(parent, left, room):
            """What may follow `left` below `parent`, by how much of the room it takes."""
            key = ("lists", number, parent, left, room)
            if key not in self.memory:
                seen = parent if self.pair or left == (BEGIN, 0) else (ANY, 0)
                found = [0.0] * (room + 1)
                if left[0] != EMPTY:
                    found[0] = self.probability(number, seen, left, (STOP, 0))
                for state in self.states(None) + [(EMPTY, 0)] if room > 0 else []:
                    p = self.probability(number, seen, left, state)
                    inner = [1.0] if state[0] == EMPTY else lists(state, (BEGIN, 0), room - 1)
                    for i, x in enumerate(inner):
                        for j, y in enumerate(lists(parent, state, room - 1 - i)):
                            found[1 + i + j] += p * x * y
                self.memory[key] = found
            return self.memory[key]

        return math.fsum(self.probability(number, (ROOT, 0), (BEGIN, 0), q) * x
                         for q in self.states(None) for x in lists(q, (BEGIN, 0), most - 1))


def trees_of(size, labels):
    """All trees with exactly `size` nodes and empty slots together."""
    def lists(room, left_empty):
        if room == 0:
            return [] if left_empty else [[]]
        found = [[None] + rest for rest in lists(room - 1, True)]
        for inner in range(1, room + 1):
            for child in trees_of(inner, labels):
                found += [[child] + rest for rest in lists(room - inner, False)]
        return found

    return [(x, children) for x in labels for children in lists(size - 1, False)]


def write(tree):
    """In brackets."""
    label = "?" if tree[0] is None else tree[0]
    return "(" + " ".join([label] + ["_" if c is None else write(c) for c in tree[1]]) + ")"


def load(text):
    return json.loads(text)
