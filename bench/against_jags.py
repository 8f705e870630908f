"""Effective samples a second on a tiny tf model: ours against JAGS, a general Gibbs sampler.

The same trees, partitions and priors on both sides (jags/tiny.bug).  From the draws of (lambda0, pi, b,
lambda) of either, the functions here compute the log-likelihood, hidden states summed out, and three
moments that do not change when states are renamed; `effective_size` tells how many independent draws
each series is worth.  Compiling the model and the warm-up are not counted against JAGS, and it starts
close to the mode.

Two sets of trees.  One is small and has all its labels: both samplers explore it well, and the posterior
means must agree.  The other is what a sampler of single states finds hard: long chains with hidden
states that hardly change from node to node, and eight labels of nine unknown.
"""
import itertools
import json
import os
import random
import subprocess

import numpy as np

import measure

STATES, LABELS = 2, "ab"
BLOCKS = ((0, 1, 2), (0, 0, 1))  # by slot, of states 0, 1 and the empty slot
ALPHA = ALPHA0 = BETA = GAMMA = 1.0
MODEL = os.path.join(measure.HERE, "jags", "tiny.bug")
QUANTITIES = ("log-likelihood", "p(first label at a leaf)", "sum of b squared", "sum of lambda0 squared")
LARGEST_Z = 4.5  # of four means; a sound pair of samplers is above it once in 40,000 runs


# ---- trees: (label or None, child or None, child or None) ------------------------------------------

def draw_tree(rng, depth, every, keep, purity):
    """A chain of `depth` links with a second leaf now and then.  A node has the state of the node below
    with probability `keep`; every so many nodes have a label, which tells the state with probability
    `purity`."""
    def label(state):
        return state if rng.random() < purity else 1 - state

    state = 0 if rng.random() < 0.6 else 1
    tree = (label(state), None, None)
    for height in range(1, depth + 1):
        second = (label(rng.randrange(2)), None, None) if height == depth and rng.random() < 0.3 else None
        state = state if rng.random() < keep else 1 - state
        tree = (label(state) if height % every == 0 else None, tree, second)
        if height == 1 and rng.random() < 0.1:
            tree = (tree[0], None, tree[1])  # the leaf goes to the second slot
    return tree


def brackets(tree):
    label, *children = tree
    while children and children[-1] is None:
        children.pop()
    words = ["?" if label is None else LABELS[label]]
    return "(" + " ".join(words + ["_" if child is None else brackets(child) for child in children]) + ")"


# ---- JAGS ------------------------------------------------------------------------------------------

def number_nodes(trees):
    """Leaves (label, slot) and internal nodes (label, first, second) of all trees, children before
    parents; a child is a pair of its list and its number there, from 1."""
    leaves, internal = [], []

    def visit(tree, slot):
        if tree is None:
            return None
        label, first, second = tree
        if first is None and second is None:
            leaves.append((label, slot))
            return leaves, len(leaves)
        below = visit(first, 1), visit(second, 2)
        internal.append((label, *below))
        return internal, len(internal)

    for tree in trees:
        visit(tree, 1)
    return leaves, internal


def r_text(values):
    """Data as JAGS reads them."""
    text = ""
    for name, value in values.items():
        shown = f"c({', '.join(map(str, value))})" if isinstance(value, list) else value
        text += f"{name} <- {shown}\n"
    return text


def array(shape, value):
    """An array by its indices, the first one running fastest."""
    indices = itertools.product(*map(range, reversed(shape)))
    values = ", ".join(str(value(*reversed(index))) for index in indices)
    return f"structure(c({values}), .Dim = c({', '.join(map(str, shape))}))"


def jags_start(leaves, internal):
    """Where JAGS starts, which from uniform tables may not find the mode: labels tell states, states
    stay, and every node has the state of its label or of its child."""
    symbols = len(LABELS) + 1
    states = [label for label, _ in leaves]
    for label, first, second in internal:
        kind, number = first or second
        below = states[number - 1 if kind is leaves else len(leaves) + number - 1]
        states.append(below if label is None else label)
    return {
        "Q": [state + 1 for state in states] + ["NA"],  # the last one is no variable
        "b": array([STATES, symbols], lambda state, label: 0.8 if state == label else 0.2 / (symbols - 1)),
        "lambda": array([STATES + 1, 2, STATES],
                        lambda child, _, state: 0.5 if child == STATES else 0.9 if state == child else 0.1),
        ".RNG.name": '"base::Mersenne-Twister"', ".RNG.seed": 1,
    }


def jags_data(trees):
    """What JAGS gets: data, where to start, and the number of nodes."""
    leaves, internal = number_nodes(trees)
    nodes = len(leaves) + len(internal)

    def number(child):
        if child is None:
            return nodes + 1
        kind, within = child
        return within if kind is leaves else len(leaves) + within

    labels = {number + 1: node[0] for number, node in enumerate(leaves + internal) if node[0] is not None}
    values = {
        "C": STATES, "M": len(LABELS), "leaves": len(leaves), "N": nodes, "labelled": len(labels),
        "slot": [slot for _, slot in leaves],
        "first": [0] * len(leaves) + [number(first) for _, first, _ in internal],  # leaves have none
        "second": [0] * len(leaves) + [2 if second is None else 1 for _, _, second in internal],
        "node": list(labels), "x": [label + 1 for label in labels.values()],
        "alpha": ALPHA, "base": [ALPHA0 / STATES] * STATES,
        "beta": [BETA] * (len(LABELS) + 1), "gamma": [GAMMA] * STATES,
    }
    return r_text(values), r_text(jags_start(leaves, internal)), nodes


def run_jags(folder, warmup, draws):
    """Processor seconds of a run; the draws go to files in the folder."""
    script = (f'model in "{MODEL}"\ndata in "data.R"\ncompile\nparameters in "start.R"\n'
              f"initialize\nupdate {warmup}\n")
    if draws > 0:
        script += "".join(f"monitor {name}\n" for name in ("lambda0", "pi", "b", "lambda"))
        script += f"update {draws}\ncoda *, stem(jags)\n"
    with open(os.path.join(folder, "script"), "w", encoding="utf-8") as stream:
        stream.write(script)
    return measure.Cost(["jags", "script"], folder=folder, silent=True).seconds


def read_jags(folder, draws):
    """lambda0 [S][C], pi [S][2][C], b [S][C][M + 1], lambda [S][k][k][C]"""
    series = np.loadtxt(os.path.join(folder, "jagschain1.txt"), usecols=1).reshape(-1, draws)
    found = {}
    with open(os.path.join(folder, "jagsindex.txt"), encoding="utf-8") as stream:
        for row, line in enumerate(stream):
            name, _, indices = line.split()[0].rstrip("]").partition("[")
            found.setdefault(name, {})[tuple(int(i) - 1 for i in indices.split(","))] = series[row]
    tables = []
    for name in ("lambda0", "pi", "b", "lambda"):
        table = np.empty([draws] + [max(index) + 1 for index in zip(*found[name])])
        for place, values in found[name].items():
            table[(slice(None), *place)] = values
        tables.append(table)
    return tables


def sample_jags(bench, trees, warmup, draws):
    data, start, nodes = jags_data(trees)
    for name, content in (("data.R", data), ("start.R", start)):
        with open(bench.path(name), "w", encoding="utf-8") as stream:
            stream.write(content)
    before = run_jags(bench.folder, warmup, 0)
    seconds = max(run_jags(bench.folder, warmup, draws) - before, 1e-6)
    return read_jags(bench.folder, draws), seconds, nodes


# ---- ours ------------------------------------------------------------------------------------------

def sample_ours(bench, trees, warmup, draws):
    path = bench.path("tiny.trees")
    with open(path, "w", encoding="utf-8") as stream:
        stream.writelines(brackets(tree) + "\n" for tree in trees)
    blocks = ",".join(str(block) for slot in BLOCKS for block in slot)
    found = bench.json("tiny_tf", "--states", STATES, "--iterations", warmup + draws, "--warmup", warmup,
                       "--alpha", ALPHA, "--alpha0", ALPHA0, "--beta", BETA, "--gamma", GAMMA,
                       "--blocks", blocks, "--draws", bench.path("ours.txt"), path)
    flat = np.loadtxt(bench.path("ours.txt"))
    ends = np.cumsum([STATES, 2 * STATES, STATES * (len(LABELS) + 1)])
    lambda0, pi, b, core = np.split(flat, ends, axis=1)
    order = [found["labels"].index(label) for label in LABELS] + [len(LABELS)]
    sizes = [max(blocks) + 1 for blocks in BLOCKS]
    return [lambda0, pi.reshape(draws, 2, STATES), b.reshape(draws, STATES, -1)[:, :, order],
            core.reshape([draws] + sizes + [STATES])], found["seconds"]


# ---- both ------------------------------------------------------------------------------------------

def log_likelihood(trees, pi, b, core):
    """log p(labels) of all trees, one number per draw: the upward pass, each distinct subtree once."""
    known = {}

    def block_sums(tree, slot):
        """m(z) [S][k] of a child, or of the empty slot"""
        blocks = BLOCKS[slot - 1]
        sums = np.zeros((len(pi), max(blocks) + 1))
        if tree is None:
            sums[:, blocks[STATES]] = 1
        else:
            beta, _ = upward(tree, slot)
            for state in range(STATES):
                sums[:, blocks[state]] += beta[:, state]
        return sums

    def upward(tree, slot):
        """beta [S][C] and log p(labels below) [S]"""
        label, first, second = tree
        is_leaf = first is None and second is None
        key = tree, slot if is_leaf else 0
        if key not in known:
            joint, below = pi[:, slot - 1], 0
            if not is_leaf:
                joint = np.einsum("sa,sb,sabj->sj", block_sums(first, 1), block_sums(second, 2), core)
                below = sum(upward(child, number)[1] for child, number in ((first, 1), (second, 2))
                            if child is not None)
            if label is not None:
                joint = joint * b[:, :, label]
            norm = joint.sum(axis=1, keepdims=True)
            known[key] = joint / norm, np.log(norm[:, 0]) + below
        return known[key]

    return sum(upward(tree, 1)[1] for tree in trees)


def quantities(bench, trees, tables):
    """Mean, its error and the effective size of each of QUANTITIES."""
    lambda0, pi, b, core = tables
    series = [log_likelihood(trees, pi, b, core), (pi[:, 0] * b[:, :, 0]).sum(axis=1),
              (b ** 2).sum(axis=(1, 2)), (lambda0 ** 2).sum(axis=1)]
    text = "\n".join(" ".join(map(repr, draw)) for draw in np.stack(series, axis=1).tolist())
    done = subprocess.run([bench.helper("effective_size"), str(len(series))], check=True, text=True,
                          input=text, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def sample_both(bench, trees, warmups, draws):
    """A row for each of QUANTITIES, what the slowest of them is worth a second on either side, and the
    number of nodes; warm-ups and draws are those of JAGS, then ours."""
    theirs, their_seconds, nodes = sample_jags(bench, trees, warmups[0], draws[0])
    ours, our_seconds = sample_ours(bench, trees, warmups[1], draws[1])
    rows = []
    for name, mine, other in zip(QUANTITIES, quantities(bench, trees, ours),
                                 quantities(bench, trees, theirs)):
        error = (mine["mcse"] ** 2 + other["mcse"] ** 2) ** 0.5
        rows.append({"quantity": name, "z": (mine["mean"] - other["mean"]) / error, "ours": mine,
                     "jags": other})
    rates = [min(row[side]["ess_bulk"] for row in rows) / seconds
             for side, seconds in (("ours", our_seconds), ("jags", their_seconds))]
    details = {"nodes": nodes, "trees": len(trees), "a_second": rates, "quantities": rows,
               "iterations_a_second": [draws[1] / our_seconds, draws[0] / their_seconds]}
    note = f"{rates[0]:,.0f} / {rates[1]:,.3g}; {nodes:,} nodes"
    return rows, rates[0] / rates[1], note, details


def easy_trees(bench):
    rng = random.Random(1)
    trees = [draw_tree(rng, 3, 1, 0.9, 0.9) for _ in range(20 if bench.quick else 60)]
    draws = 2000 if bench.quick else 20000
    rows, ratio, note, details = sample_both(bench, trees, [draws // 4] * 2, [draws] * 2)
    bench.add("all labels known: largest |z| between posterior means", max(abs(row["z"]) for row in rows), "",
              LARGEST_Z, steady=False)
    bench.add("all labels known: effective samples a second, ours / JAGS", ratio, "x", higher=True, note=note,
              **details)


def hard_trees(bench):
    rng = random.Random(1)
    trees = [draw_tree(rng, 27, 9, 0.99, 0.95) for _ in range(20 if bench.quick else 100)]
    # Ours starts from uniform tables, and is given more time to leave them.
    _, ratio, note, details = sample_both(bench, trees, *(((100, 1000), (400, 2000)) if bench.quick else
                                                          ((2000, 20000), (25000, 20000))))
    bench.add("few labels known: effective samples a second, ours / JAGS", ratio, "x", 1000, higher=True,
              note=note, **details)


def against_jags(bench):
    """A tiny tf model, against JAGS"""
    easy_trees(bench)
    hard_trees(bench)
