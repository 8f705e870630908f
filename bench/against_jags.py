"""Effective samples per second on a tiny tf model: ours against JAGS, a general Gibbs sampler.

The same trees, partitions and priors on both sides.  From the draws of (lambda0, pi, b, lambda) of
either, the same functions here compute the log-likelihood, hidden states summed out, and three
moments that do not change when states are renamed; `effective_size` tells how many independent draws
each series is worth.  That both posteriors have the same means is checked as well.
"""
import json
import os
import random
import subprocess

import numpy as np

import measure

STATES, LABELS = 3, "abcd"
BLOCKS = ((0, 1, 1, 2), (0, 0, 1, 1))  # by slot, of states 0, 1, 2 and the empty slot
ALPHA, ALPHA0, BETA, GAMMA = 4.0, 4.0, 1.0, 1.0
MODEL = os.path.join(measure.HERE, "jags", "tiny.bug")
QUANTITIES = ("log-likelihood", "p(first label at a leaf)", "sum of b squared", "sum of lambda0 squared")
LARGEST_Z = 4.5  # of four means; a sound pair of samplers passes it once in 40,000 runs


# ---- trees: (label, child or None, child or None) ---------------------------------------------------

def draw_tree(rng, depth, slot):
    """A tree of depth at most 3, and its hidden state: labels tell states, four times out of five."""
    children = [None, None]
    if depth < 3 and rng.random() < 0.6:
        children = [draw_tree(rng, depth + 1, 1), draw_tree(rng, depth + 1, 2)]
        empty = rng.randrange(4)
        if empty < 2:
            children[empty] = None
    if children == [None, None]:
        state = rng.choices(range(STATES), (4, 2, 1) if slot == 1 else (1, 2, 4))[0]
    else:
        cell = [block[STATES if child is None else child[1]] for block, child in zip(BLOCKS, children)]
        state = (2 * cell[0] + cell[1]) % STATES if rng.random() < 0.8 else rng.randrange(STATES)
    label = state if rng.random() < 0.8 else rng.randrange(len(LABELS))
    below = [child and child[0] for child in children]
    return (label, *below), state


def brackets(tree):
    label, *children = tree
    while children and children[-1] is None:
        children.pop()
    return "(" + " ".join([LABELS[label], *("_" if c is None else brackets(c) for c in children)]) + ")"


# ---- JAGS -------------------------------------------------------------------------------------------

def number_nodes(trees):
    """Leaves and internal nodes of all trees, children before parents."""
    leaves, internal = [], []

    def visit(tree, slot):
        if tree is None:
            return None
        label, *children = tree
        if children == [None, None]:
            leaves.append((label, slot))
            return "leaf", len(leaves)
        numbers = [visit(child, number + 1) for number, child in enumerate(children)]
        internal.append((label, *numbers))
        return "internal", len(internal)

    for tree in trees:
        visit(tree, 1)
    return leaves, internal


def jags_data(trees):
    leaves, internal = number_nodes(trees)
    nodes = len(leaves) + len(internal)

    def number(node):
        if node is None:
            return nodes + 1
        kind, within = node
        return within if kind == "leaf" else len(leaves) + within

    unused = [nodes + 1] * len(leaves)  # leaves have no children
    values = {
        "leaves": len(leaves), "N": nodes, "C": STATES, "M": len(LABELS),
        "k1": max(BLOCKS[0]) + 1, "k2": max(BLOCKS[1]) + 1, "alpha": ALPHA,
        "x": [node[0] + 1 for node in leaves + internal], "slot": [slot for _, slot in leaves],
        "child1": unused + [number(node[1]) for node in internal],
        "child2": unused + [number(node[2]) for node in internal],
        "block1": [block + 1 for block in BLOCKS[0]], "block2": [block + 1 for block in BLOCKS[1]],
        "gamma": [GAMMA] * STATES, "beta": [BETA] * (len(LABELS) + 1), "base": [ALPHA0 / STATES] * STATES,
    }
    text = ""
    for name, value in values.items():
        shown = f"c({', '.join(map(str, value))})" if isinstance(value, list) else value
        text += f"{name} <- {shown}\n"
    return text, nodes


def run_jags(folder, warmup, draws):
    """Processor seconds of a run; the draws go to files in the folder."""
    monitors = "".join(f"monitor {name}\n" for name in ("lambda0", "pi", "b", "lambda"))
    script = (f'model in "{MODEL}"\ndata in "data.R"\ncompile\nparameters in "start.R"\n'
              f"initialize\nupdate {warmup}\n")
    if draws > 0:
        script += f"{monitors}update {draws}\ncoda *, stem(jags)\n"
    with open(os.path.join(folder, "script"), "w", encoding="utf-8") as stream:
        stream.write(script)
    cost = measure.Cost(["jags", "script"], folder=folder)
    return cost.seconds


def read_jags(folder, draws):
    """lambda0 [S][C], pi [S][2][C], b [S][C][M + 1], lambda [S][cells][C]"""
    series = np.loadtxt(os.path.join(folder, "jagschain1.txt"), usecols=1).reshape(-1, draws)
    found = {}
    with open(os.path.join(folder, "jagsindex.txt"), encoding="utf-8") as stream:
        for row, line in enumerate(stream):
            name, _, indices = line.split()[0].rstrip("]").partition("[")
            found.setdefault(name, {})[tuple(int(i) - 1 for i in indices.split(","))] = series[row]
    tables = []
    for name in ("lambda0", "pi", "b", "lambda"):
        shape = [max(place) + 1 for place in zip(*found[name])]
        table = np.empty([draws] + shape)
        for place, values in found[name].items():
            table[(slice(None), *place)] = values
        tables.append(table)
    return tables


# ---- ours -------------------------------------------------------------------------------------------

def run_ours(bench, trees, warmup, draws):
    blocks = ",".join(str(block) for slot in BLOCKS for block in slot)
    found = bench.json("tiny_tf", "--states", STATES, "--iterations", warmup + draws, "--warmup", warmup,
                       "--alpha", ALPHA, "--alpha0", ALPHA0, "--beta", BETA, "--gamma", GAMMA,
                       "--blocks", blocks, "--draws", bench.path("ours.txt"), trees)
    flat = np.loadtxt(bench.path("ours.txt"))
    places = np.cumsum([0, STATES, 2 * STATES, STATES * (len(LABELS) + 1)])
    lambda0, pi, b, core = np.split(flat, places[1:], axis=1)
    order = [found["labels"].index(label) for label in LABELS] + [len(LABELS)]
    b = b.reshape(draws, STATES, -1)[:, :, order]
    return [lambda0, pi.reshape(draws, 2, STATES), b, core.reshape(draws, -1, STATES)], found["seconds"]


# ---- both -------------------------------------------------------------------------------------------

def log_likelihood(trees, pi, b, core):
    """log p(labels) of all trees, one number a draw: the upward pass, each distinct subtree once."""
    known = {}
    k2 = max(BLOCKS[1]) + 1

    def block_sums(tree, slot):
        """m(z) [S][k] of a child, or of the empty slot"""
        blocks = np.array(BLOCKS[slot - 1])
        sums = np.zeros((len(pi), blocks.max() + 1))
        if tree is None:
            sums[:, blocks[STATES]] = 1
        else:
            beta, _ = upward(tree, slot)
            for state in range(STATES):
                sums[:, blocks[state]] += beta[:, state]
        return sums

    def upward(tree, slot):
        label, left, right = tree
        leaf = left is None and right is None
        key = (tree, slot if leaf else 0)
        if key not in known:
            if leaf:
                inside, below = pi[:, slot - 1], 0
            else:
                first, second = block_sums(left, 1), block_sums(right, 2)
                inside = np.einsum("sa,sb,sabj->sj", first, second, core.reshape(len(pi), -1, k2, STATES))
                below = sum(upward(child, number)[1] for number, child in ((1, left), (2, right))
                            if child is not None)
            joint = inside * b[:, :, label]
            norm = joint.sum(axis=1, keepdims=True)
            known[key] = joint / norm, np.log(norm[:, 0]) + below
        return known[key]

    return sum(upward(tree, 1)[1] for tree in trees)


def quantities(trees, tables):
    """[S][4]: see QUANTITIES"""
    lambda0, pi, b, core = tables
    return np.stack([log_likelihood(trees, pi, b, core), (pi[:, 0] * b[:, :, 0]).sum(axis=1),
                     (b ** 2).sum(axis=(1, 2)), (lambda0 ** 2).sum(axis=1)], axis=1)


def effective(bench, series):
    done = subprocess.run([bench.helper("effective_size"), str(series.shape[1])], check=True, text=True,
                          input="\n".join(" ".join(map(repr, row)) for row in series.tolist()),
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def against_jags(bench):
    """JAGS: effective samples per second on a tiny model"""
    n_trees, warmup, jags_draws, our_draws = (40, 100, 400, 400) if bench.quick else (200, 2000, 20000, 20000)
    rng = random.Random(1)
    trees = [draw_tree(rng, 0, 1)[0] for _ in range(n_trees)]
    with open(bench.path("tiny.trees"), "w", encoding="utf-8") as stream:
        stream.writelines(brackets(tree) + "\n" for tree in trees)
    text, nodes = jags_data(trees)
    for name, content in (("data.R", text),
                          ("start.R", '.RNG.name <- "base::Mersenne-Twister"\n.RNG.seed <- 1\n')):
        with open(bench.path(name), "w", encoding="utf-8") as stream:
            stream.write(content)

    without = run_jags(bench.folder, warmup, 0)
    seconds = run_jags(bench.folder, warmup, jags_draws) - without
    theirs = effective(bench, quantities(trees, read_jags(bench.folder, jags_draws)))
    tables, our_seconds = run_ours(bench, bench.path("tiny.trees"), warmup, our_draws)
    ours = effective(bench, quantities(trees, tables))

    rows = []
    for name, mine, other in zip(QUANTITIES, ours, theirs):
        z = (mine["mean"] - other["mean"]) / (mine["mcse"] ** 2 + other["mcse"] ** 2) ** 0.5
        rows.append({"quantity": name, "z": z, "ours_a_second": mine["ess_bulk"] / our_seconds,
                     "jags_a_second": other["ess_bulk"] / seconds, "mean": mine["mean"],
                     "jags_mean": other["mean"], "ess": mine["ess_bulk"], "jags_ess": other["ess_bulk"]})
    our_rate = min(row["ours_a_second"] for row in rows)
    their_rate = min(row["jags_a_second"] for row in rows)
    bench.add("effective samples a second: ours / JAGS", our_rate / their_rate, "x", 1000, higher=True,
              nodes=nodes, trees=n_trees, ours_a_second=our_rate, jags_a_second=their_rate,
              iterations_a_second=our_draws / our_seconds, jags_iterations_a_second=jags_draws / seconds,
              quantities=rows)
    bench.add("largest |z| between the posterior means", max(abs(row["z"]) for row in rows), "", LARGEST_Z)
