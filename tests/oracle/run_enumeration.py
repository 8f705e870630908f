#!/usr/bin/python3
"""run_enumeration.py DUMP_INFERENCE [--seed N] [--models N] [--keep FILE] [--from FILE] - the library
against exact enumeration, reported as TAP.

Runs dump_inference (random models of every kind on all shapes of up to 5 nodes) and compares every
number with enumerate.py.  --keep stores what dump_inference wrote, --from reads such a file instead.

  show --json                 every number of every table, exactly; the model is read from it
  score.py                    the other oracle, for large trees, is held against this one
  probabilities and counts    1e-12 relative; where the exact value is 0, at most 1e-15
  log-probabilities           1e-12, relative or, below 1, absolute; -inf exactly where p = 0
  most probable states        the value is compared, and that the states reach it: ties exist
  drawn states                chi-square on the joint states of a tree, false-alarm rate 1e-6 a tree for a
                              fresh seed; a probability that is off by a fifth at 0.05, or by a
                              tenth at 0.2, is found with power > 1/2; states of probability 0 never occur

A NaN fails whatever it stands in for.
"""
import argparse
import math
import json
import os
import subprocess
import sys
from itertools import combinations, product

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from enumerate import Answer, Model, Tree, log_shape, shape_outcomes  # noqa: E402
from score import Scorer  # noqa: E402

RELATIVE = 1e-12
FLOOR = 1e-15       # for what should be 0
CHANCE = 1e-6       # false alarms of one chi-square
KINDS = ("sp", "full", "tf hard", "tf soft", "td")
QUANTITIES = ("show --json", "score.py", "log-likelihood", "state marginals", "label predictives", "pair marginals",
              "most probable states", "expected counts", "shape term", "shape counts",
              "sum over all labels", "drawn states")
LEAST = 20          # times every shape has to occur
DRAWN_TREES = 5     # at least, a kind


class Check:
    """One line of TAP: many comparisons of one quantity of one kind."""

    def __init__(self, name):
        self.name, self.compared, self.bad, self.worst, self.notes = name, 0, 0, 0.0, []

    def fail(self, note):
        self.bad += 1
        if len(self.notes) < 5:
            self.notes.append(note)

    def near(self, actual, expected, where, scale=None, floor=FLOOR):
        """|actual - expected| <= 1e-12 * scale; scale: |expected| unless given."""
        self.compared += 1
        if actual == expected:
            return
        scale = abs(expected) if scale is None else scale
        gap = abs(actual - expected) if math.isfinite(actual) and math.isfinite(expected) else math.inf
        if scale > 0 and math.isfinite(gap):
            self.worst = max(self.worst, gap / scale)
        if not gap <= RELATIVE * scale and not (expected == 0 and gap <= floor):
            self.fail(f"{where}: {actual!r}, expected {expected!r}")

    def near_log(self, actual, expected, where):
        self.near(actual, expected, where, scale=max(1.0, abs(expected)))

    def same(self, actual, expected, where):
        self.compared += 1
        if actual != expected:
            self.fail(f"{where}: {actual!r}, expected {expected!r}")

    def true(self, good, where):
        self.compared += 1
        if not good:
            self.fail(where)


# ---- Chi-square ------------------------------------------------------------------------------------

def gamma_tail(a, x):
    """Q(a, x), the upper tail of the gamma distribution, by series or continued fraction."""
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        n = 0
        while term > 1e-17 * total:
            n += 1
            term *= x / (a + n)
            total += term
        return 1 - front * total
    b, c = x + 1 - a, 1e300
    d = 1 / b
    h = d
    for i in range(1, 10000):
        an = -i * (i - a)
        b += 2
        d = 1 / (an * d + b)
        c = b + an / c
        step = d * c
        h *= step
        if abs(step - 1) < 1e-15:
            break
    return front * h


def chi_square(observed, expected):
    """p-value; cells of small expectation are joined until each has at least 10."""
    cells = []
    o_sum = e_sum = 0.0
    for e, o in sorted(zip(expected, observed)):
        o_sum, e_sum = o_sum + o, e_sum + e
        if e_sum >= 10:
            cells.append((o_sum, e_sum))
            o_sum = e_sum = 0.0
    if e_sum > 0 and cells:
        o, e = cells.pop(0)
        cells.append((o + o_sum, e + e_sum))
    if len(cells) < 2:
        return 1.0
    value = math.fsum((o - e) ** 2 / e for o, e in cells)
    return gamma_tail((len(cells) - 1) / 2, value / 2)


# ---- Comparing one model ---------------------------------------------------------------------------

def compare_tree(check, model, tree, answer, result, where):
    if math.isnan(result["log_likelihood"]):
        check["log-likelihood"].fail(f"{where}: NaN")
    check["log-likelihood"].near_log(result["log_likelihood"], answer.log_likelihood, where)
    check["log-likelihood"].same(result["possible"], answer.possible, f"{where} possible")
    check["most probable states"].same(result["decodable"], answer.possible, f"{where} decodable")
    shape = log_shape(model, tree)
    if shape is None:
        check["shape term"].true(result["log_shape"] <= 0, f"{where}: {result['log_shape']}")
    else:
        check["shape term"].near_log(result["log_shape"], shape, where)
    if not (answer.possible and result["possible"] and result["decodable"]):
        return
    near = check["state marginals"].near
    for node in range(tree.size):
        for state in range(model.states):
            near(result["marginals"][node][state], answer.marginal[node][state],
                 (where, "node", node, "state", state))
    near = check["label predictives"].near
    for node in range(tree.size):
        for label in range(len(model.labels) + 1):
            near(result["predictive"][node][label], answer.predictive[node][label],
                 (where, "node", node, "label", label))
    near = check["pair marginals"].near
    for node in range(1, tree.size):
        for i, q in product(range(model.states), repeat=2):
            near(result["pairs"][node - 1][i][q], answer.pair[node][i][q],
                 (where, "node", node, "states", i, q))
    decoded = check["most probable states"]
    decoded.near_log(result["log_joint"], answer.log_peak, where)
    decoded.near_log(answer.log_joint(result["states"]), answer.log_peak,
                     f"{where}: value of states {result['states']}")


def compare_table(check, actual, expected, where, scale):
    if isinstance(expected, list):
        check.same(len(actual), len(expected), f"{where} length")
        for number, (a, e) in enumerate(zip(actual, expected)):
            compare_table(check, a, e, where + (number,), scale)
    else:
        check.near(actual, expected, where, floor=FLOOR * scale)


def compare_counts(check, model, trees, answers, weights, counts, where):
    """Counts have the layout of the model's own tables."""
    C, L, M = model.states, model.slots, len(model.labels)
    totals = {}
    shape_totals = {("shape_prior", slot, k): 0.0 for slot in range(L) for k in range(3)}
    shape_totals.update({("root_kind", k): 0.0 for k in range(2)})
    for tree, answer, weight in zip(trees, answers, weights):
        if answer.possible:
            answer.counts(lambda cell, amount: totals.setdefault(cell, []).append(weight * amount))
        shape_totals["root_kind", 1 if tree.children[0] else 0] += weight
        for node in range(tree.size):
            if tree.children[node]:
                for slot, outcome in shape_outcomes(model, tree, node)[0]:
                    shape_totals["shape_prior", slot, outcome] += weight

    def total(*cell):
        return math.fsum(totals.get(cell, []))

    found = check["expected counts"]
    scale = max(1.0, math.fsum(weights) * 5)
    compare_table(found, [row + [unseen] for row, unseen in zip(counts["emission"], counts["unseen"])],
                  [[total("emission", j, d) for d in range(M + 1)] for j in range(C)],
                  (where, "emission"), scale)
    if model.kind != "td":
        compare_table(found, counts["prior"],
                      [[total("prior", l, j) for j in range(C)] for l in range(L)],
                      (where, "prior"), scale)
    if model.kind == "td":
        compare_table(found, counts["root"], [total("root", j) for j in range(C)], (where, "root"),
                      scale)
    if model.kind == "sp":
        compare_table(found, counts["switch"], [total("switch", l) for l in range(L)],
                      (where, "switch"), scale)
    if model.kind in ("sp", "td"):
        rows = C + 1 if model.kind == "sp" else C
        compare_table(found, counts["transition"],
                      [[[total("transition", l, q, j) for j in range(C)] for q in range(rows)]
                       for l in range(L)], (where, "transition"), scale)
    if model.kind in ("tf", "full"):
        compare_table(found, counts["core"]["data"], [total("core", cell) for cell in model.core],
                      (where, "core"), scale)
        if model.soft:
            for mode in counts["mode"]:
                slot = mode["slot"]
                k = len(model.modes[slot][0])
                compare_table(found, mode["matrix"],
                              [[total("mode", slot, q, z) for z in range(k)] for q in range(C + 1)],
                              (where, "mode of slot", slot), scale)
    shapes = check["shape counts"]
    for (name, *path), value in shape_totals.items():
        actual = counts[name]
        for step in path:
            actual = actual[step]
        shapes.near(actual, value, (where, name, path))


def compare_draws(check, model, answer, drawn, where):
    """drawn: how often each joint state was seen, states as digits in base C."""
    if not answer.possible:
        check.fail(f"{where}: drew states of an impossible tree")
        return
    exact = answer.posterior()
    total = sum(drawn)
    expected, observed = [], []
    for number, states in enumerate(product(range(model.states), repeat=answer.tree.size)):
        if states in exact:
            expected.append(total * exact[states])
            observed.append(drawn[number])
        else:
            check.true(drawn[number] == 0, f"{where}: drew {states}, which has probability 0")
    p = chi_square(observed, expected)
    check.true(p >= CHANCE, f"{where}: chi-square p = {p:.3g} over {len(expected)} joint states")


def compare_model(checks, line, shapes_seen):
    model = Model(line["model"])
    check = {quantity: checks[line["kind"], quantity] for quantity in QUANTITIES}
    draw = line["model"]["classes"][0]["draws"][0]
    for name, table in line["tables"].items():
        check["show --json"].same(draw.get(name), table, f"model {line['number']} {name}")
    extra = set(draw) - set(line["tables"])
    check["show --json"].same(extra, {"chain", "iteration"}, f"model {line['number']} members")
    trees = [Tree(flat) for flat in line["trees"]]
    answers = []
    scorer = Scorer(model)
    for number, (tree, result) in enumerate(zip(trees, line["results"], strict=True)):
        where = f"model {line['number']} tree {number}"
        answer = Answer(model, tree)
        answers.append(answer)
        compare_tree(check, model, tree, answer, result, where)
        check["score.py"].near_log(scorer.log_likelihood(tree), answer.log_likelihood, where)
        if number < line["inside"]:
            key = (tuple(tree.parent), tuple(tree.slot))
            shapes_seen[key] = shapes_seen.get(key, 0) + 1
    where = f"model {line['number']}"
    compare_counts(check, model, trees, answers, line["weights"], line["counts"], where)
    for entry in line["sums"]:
        check["sum over all labels"].near(entry["sum"], 1.0,
                                          f"{where} parents {entry['parent']} slots {entry['slot']}")
    if line["draws"] is not None:
        number = line["draws"]["tree"]
        compare_draws(check["drawn states"], model, answers[number], line["draws"]["counts"],
                      f"{where} tree {number}")


def all_shapes(nodes, slots):
    """(parents, slots) in pre-order of every tree of up to `nodes` nodes: written as a recursion over
    subtrees, unlike dump_inference.c."""
    def below(budget):
        """Lists of children of one node: [(slot, subtree)], using exactly `budget` nodes."""
        if budget == 0:
            yield ()
            return
        for count in range(1, min(slots, budget) + 1):
            for chosen in combinations(range(1, slots + 1), count):
                for sizes in product(range(1, budget + 1), repeat=count):
                    if sum(sizes) == budget:
                        for subtrees in product(*(list(below(size - 1)) for size in sizes)):
                            yield tuple(zip(chosen, subtrees))

    def flatten(children, parents, slots_used, parent):
        for slot, grandchildren in children:
            number = len(parents)
            parents.append(parent)
            slots_used.append(slot)
            flatten(grandchildren, parents, slots_used, number)

    for size in range(1, nodes + 1):
        for children in below(size - 1):
            parents, slots_used = [-1], [1]
            flatten(children, parents, slots_used, 0)
            yield tuple(parents), tuple(slots_used)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=20190714)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--keep")
    parser.add_argument("--from", dest="source")
    options = parser.parse_args()
    print(f"# seed {options.seed}, {options.models} models")
    sys.stdout.flush()
    checks = {(kind, quantity): Check(f"{kind}: {quantity}")
              for kind in KINDS for quantity in QUANTITIES}
    shapes_seen = {}
    models = peppered = trees = impossible = 0
    command = ["cat", options.source] if options.source else \
        [options.program, str(options.seed), str(options.models)]
    keep = open(options.keep, "w", encoding="utf-8") if options.keep else None
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for text in process.stdout:
            if keep:
                keep.write(text)
            try:
                line = json.loads(text)
            except ValueError as fault:  # the program died in the middle of a line
                print(f"# model {models}: {fault}")
                break
            compare_model(checks, line, shapes_seen)
            models += 1
            peppered += line["rows"] == 1
            trees += len(line["trees"])
            impossible += sum(not result["possible"] for result in line["results"])
        process.stdout.close()
        code = process.wait()
    if keep:
        keep.close()

    lines = []
    for check in checks.values():
        least = DRAWN_TREES if check.name.endswith("drawn states") else 100
        enough = check.compared >= least
        note = f"{check.compared} compared, worst {check.worst:.1e}, {check.bad} wrong"
        lines.append((enough and not check.bad, f"{check.name} ({note})", check.notes))
    everything = list(all_shapes(5, 3))
    rarest = min(shapes_seen.get(shape, 0) for shape in everything)
    lines.append((rarest >= LEAST and set(shapes_seen) == set(everything),
                  f"all {len(everything)} shapes occur, the rarest {rarest} times", []))
    lines.append((code == 0 and models == options.models,
                  f"{models} models ({peppered} with zeros), {trees} trees ({impossible} impossible), "
                  f"exit code {code}", []))
    report = harness.Report()
    for good, name, notes in lines:
        report.line(good, name, *notes)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
