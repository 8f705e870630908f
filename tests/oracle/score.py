#!/usr/bin/python3
"""score.py MODEL.json TREES.jsonl [--class NAME] [--structure] - log-likelihoods of trees of any size.

MODEL.json is the output of `phloem show --json` (the first draw is used), TREES.jsonl holds trees in the
flat json format (`phloem convert --to json`).  Prints a header and one line per tree and class: tree number, class,
log-likelihood; with the shape term if --structure.  --class scores one class only.

Independent of the library, in plain Python: sums over the states of one node at a time, from the last
node to the first (a parent comes before its children in the file), scaled by the largest term.  That it
equals exact enumeration on small trees is checked by run_enumeration.py.
"""
import argparse
import json
import math
import os
import sys
from itertools import product

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from enumerate import Model, Tree, logarithm, mean, shape_outcomes  # noqa: E402


class Scorer:
    def __init__(self, model):
        self.model = model
        states = range(model.states)
        if model.kind == "td":
            self.beyond = [[mean([table[i][q] for table in model.transition]) for q in states]
                           for i in states]
        else:
            self.beyond = [mean([row[j] for row in model.prior]) for j in states]

    def emission(self, label):
        column = self.model.label_column(label)
        return [1.0 if column is None else row[column] for row in self.model.emission]

    def bottom_up(self, slot, children):
        """p(state) of a node given what its children say: children[slot] = p(their states | labels)."""
        model = self.model
        if not children:
            return self.beyond if slot > model.slots else model.prior[slot - 1]
        bottom = [0.0] * model.states + [1.0]
        value = [children[l] + [0.0] if l in children else bottom for l in range(1, model.slots + 1)]
        if model.kind == "sp":
            return [math.fsum(model.switch[l] * model.transition[l][q][j] * p
                              for l in range(model.slots) for q, p in enumerate(value[l]) if p > 0)
                    for j in range(model.states)]
        seen = []  # of each active slot the probability of each block
        for slot_number, size in zip(model.active, model.sizes):
            blocks = [0.0] * size
            for q, p in enumerate(value[slot_number - 1]):
                for z in range(size):
                    mode = model.modes[slot_number][q]
                    blocks[z] += p * (mode[z] if model.soft else float(mode == z))
            seen.append(blocks)
        sums = [[] for _ in range(model.states)]
        for cell in product(*(range(size) for size in model.sizes)):
            weight = math.prod(blocks[z] for blocks, z in zip(seen, cell))
            if weight > 0:
                for j in range(model.states):
                    sums[j].append(weight * model.core[cell + (j,)])
        return [math.fsum(terms) for terms in sums]

    def log_likelihood(self, tree):
        return self.down(tree) if self.model.kind == "td" else self.up(tree)

    def up(self, tree):
        total = 0.0
        below = [None] * tree.size
        for node in reversed(range(tree.size)):
            children = {slot: below[child] for slot, child in tree.children[node].items()}
            here = [p * b for p, b in zip(self.bottom_up(tree.slot[node], children),
                                          self.emission(tree.label[node]))]
            norm = math.fsum(here)
            if norm == 0:
                return -math.inf
            below[node] = [p / norm for p in here]
            total += math.log(norm)
        return total

    def down(self, tree):
        """td: log p(labels below and at a node | its state), summed from the last node to the first."""
        model = self.model
        states = range(model.states)
        below = [[logarithm(b) for b in self.emission(label)] for label in tree.label]
        for node in reversed(range(1, tree.size)):
            top = max(below[node])
            if top == -math.inf:
                return -math.inf
            terms = [math.exp(value - top) for value in below[node]]
            slot = tree.slot[node]
            table = self.beyond if slot > model.slots else model.transition[slot - 1]
            parent = below[tree.parent[node]]
            for i in states:
                parent[i] += top + logarithm(math.fsum(table[i][q] * terms[q] for q in states))
        top = max(below[0])
        if top == -math.inf:
            return -math.inf
        return top + logarithm(math.fsum(model.root[j] * math.exp(below[0][j] - top) for j in states))

    def log_shape(self, tree):
        model = self.model
        nothing = math.prod(row[0] for row in model.shape_prior)
        total = logarithm(model.root_kind[1 if tree.children[0] else 0])
        for node in range(tree.size):
            if tree.children[node]:
                outcomes, beyond = shape_outcomes(model, tree, node)
                total += math.fsum(logarithm(model.shape_prior[slot][k]) for slot, k in outcomes)
                total -= math.log1p(-nothing) + beyond * math.log(3)
        return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("model")
    parser.add_argument("trees")
    parser.add_argument("--class", dest="class_name")
    parser.add_argument("--structure", action="store_true")
    options = parser.parse_args()
    with open(options.model, encoding="utf-8") as stream:
        show = json.load(stream)
    scorers = [(entry["class"], Scorer(Model(show, number)))
               for number, entry in enumerate(show["classes"])
               if options.class_name in (None, entry["class"])]
    print("tree\tclass\tlog_likelihood")
    with open(options.trees, encoding="utf-8") as stream:
        for number, line in enumerate(stream):
            tree = Tree(json.loads(line))
            for name, scorer in scorers:
                value = scorer.log_likelihood(tree)
                value += scorer.log_shape(tree) if options.structure else 0.0
                print(f"{number}\t{'' if name is None else name}\t{value!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
