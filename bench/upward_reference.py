#!/usr/bin/python3
"""upward_reference.py DUMP - the upward pass of tf in plain NumPy, one distinct subtree at a time.

DUMP is what `upward_pass --dump` wrote: subtrees (children before parents), tables, and the
log-likelihood of every tree.  Printed is a line of JSON: the shortest time of the pass, and the largest
relative difference to the log-likelihoods of the dump.  Nothing is shared with the library: this is
written from the equations, and serves as an oracle too.
"""
import json
import math
import sys
import time

import numpy as np


class Model:
    def __init__(self, dump):
        self.states = dump["states"]
        self.prior = np.array(dump["prior"])        # [slots + 1][C]
        self.emission = np.array(dump["emission"])  # [labels + 2][C]; the last row is all 1
        self.slots = [mode["slot"] for mode in dump["modes"]]
        # member[a][z, q]: does block z of active slot a hold child value q; the empty slot is value C
        self.member = []
        for mode in dump["modes"]:
            blocks = np.array(mode["blocks"])
            self.member.append((blocks == np.arange(blocks.max() + 1)[:, None]).astype(float))
        sizes = [len(member) for member in self.member]
        self.core = np.array(dump["core"]).reshape(sizes + [self.states])


def inside_of_node(model, children, beta):
    """g(j) = sum_z lambda_z(j) prod_a m_a(z_a), contracted slot by slot."""
    core = model.core
    for slot, member in zip(model.slots, model.member):
        if slot in children:
            message = member[:, :-1] @ beta[children[slot]]  # sum of beta over each block
        else:
            message = member[:, -1]                          # the block of the empty slot
        core = np.tensordot(message, core, axes=1)
    return core


def upward(model, subtrees):
    """log p(labels of the subtree), for each of them."""
    beta = np.empty((len(subtrees), model.states))
    log_likelihood = np.empty(len(subtrees))
    for s, (label, leaf_slot, children) in enumerate(subtrees):
        inside = model.prior[leaf_slot - 1] if leaf_slot else inside_of_node(model, children, beta)
        joint = model.emission[label] * inside
        norm = joint.sum()
        beta[s] = joint / norm
        below = log_likelihood[list(children.values())].sum()
        log_likelihood[s] = math.log(norm) + below
    return log_likelihood


def read(path):
    with open(path, encoding="utf-8") as stream:
        dump = json.load(stream)
    # links [slot, child, slot, child, ...] -> {slot: child}
    subtrees = [(label, leaf_slot, dict(zip(links[0::2], links[1::2])))
                for label, leaf_slot, links in dump["subtrees"]]
    return dump, Model(dump), subtrees


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    dump, model, subtrees = read(sys.argv[1])
    times = []
    for _ in range(3):
        began = time.process_time()
        log_likelihood = upward(model, subtrees)
        times.append(time.process_time() - began)
    expected = np.array(dump["log_likelihood"])
    difference = np.abs(log_likelihood[dump["roots"]] - expected) / np.maximum(1, np.abs(expected))
    print(json.dumps({"subtrees": len(subtrees), "trees": len(expected), "seconds": min(times),
                      "largest_difference": float(difference.max())}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
