"""How the time of an iteration grows with nodes, states, cells of the core, and slots."""
import math
import subprocess


def iteration(bench, path, *options, schedule=(40, 20)):
    """tf, one chain per class: what gibbs_phases finds."""
    iterations, warmup = (6, 4) if bench.quick else schedule
    return bench.json("gibbs_phases", "--iterations", iterations, "--warmup", warmup, *options, path)


def settled(bench, path, *options):
    """Seconds of an iteration after the warm-up that `phloem train` has by default, mean of some chains: the
    number of blocks, and the time with it, differs from chain to chain."""
    seeds = (42,) if bench.quick else (42, 43, 44)
    return sum(iteration(bench, path, "--seed", seed, *options, schedule=(200, 100))["iteration_seconds"]
               for seed in seeds) / len(seeds)


def curve(bench, name, points, x_name, target=None, fitted=True):
    """points: x, seconds.  The figure is the exponent b of seconds ~ x^b, by least squares on logarithms,
    or seconds at the end over seconds at the beginning."""
    logs = [(math.log(x), math.log(seconds)) for x, seconds in points]
    x_mean, y_mean = (sum(column) / len(logs) for column in zip(*logs))
    slope = (sum((x - x_mean) * (y - y_mean) for x, y in logs) /
             max(sum((x - x_mean) ** 2 for x, _ in logs), 1e-9))
    shown = ", ".join(f"{x:,.0f}: {1000 * seconds:.3g}" for x, seconds in points)
    value, unit = (slope, "") if fitted else (points[-1][1] / points[0][1], "x")
    bench.add(name, value, unit, target, note=f"{x_name}: ms  {shown}", exponent=slope,
              curve=[[x, seconds] for x, seconds in points])


def repetition(bench):
    times = (1, 8) if bench.quick else (1, 4, 16, 64)
    sizes = ("--sizes", "2,2,2")
    for name, train, _ in bench.sets():
        tf = [(copies, settled(bench, train, "--repeat", copies)) for copies in times]
        curve(bench, f"{name} 64 times, tf iteration: x64 / x1", tf, "copies", 2, fitted=False)
        tf = [(copies, settled(bench, train, "--repeat", copies, *sizes)) for copies in times]
        curve(bench, f"{name} 64 times, tf with k=2,2,2: x64 / x1", tf, "copies", fitted=False)
        found = bench.json("em_sharing", "--times", 3 if bench.quick else 40, "--repeat", times[-1], train)
        bench.ratio(f"{name} 64 times, EM iteration of sp: x64 / x1", found["other_seconds"],
                    found["seconds"], 1.2)


def random_trees(bench, nodes, slots=None):
    path = bench.path(f"random-{nodes}-{slots}.trees")
    with open(path, "wb") as stream:
        subprocess.run([bench.helper("random_trees"), f"{nodes}n", *([] if slots is None else [str(slots)])],
                       stdout=stream, check=True)
    return path


def new_trees(bench):
    base, times = (500, (1, 8)) if bench.quick else (4000, (1, 4, 16, 64))
    tf, em = [], []
    for factor in times:
        path = random_trees(bench, base * factor, 10)
        tf.append((base * factor, iteration(bench, path, "--sizes", "2,2,2")["iteration_seconds"]))
        found = bench.json("em_sharing", "--times", 5, "--repeat", 1, path)
        em.append((base * factor, found["seconds"]))
    curve(bench, "new random trees, tf iteration: exponent", tf, "nodes", 1.15)
    curve(bench, "new random trees, EM iteration of sp: exponent", em, "nodes", 1.15)


def states(bench):
    name, train, _ = bench.sets()[0]
    points = [(c, iteration(bench, train, "--states", c)["iteration_seconds"])
              for c in ((2, 4) if bench.quick else (2, 5, 10, 20, 40))]
    curve(bench, f"states C, {name}, tf iteration: exponent", points, "C")


def cells(bench):
    """Four slots of documents, their sizes not learned."""
    path = bench.path("cells.trees")
    bench.run("generate", "documents", "--trees-per-class", 50 if bench.quick else 1000, "-o", path)
    points = []
    for sizes in ("2,2", "4,4") if bench.quick else ("2,2", "2,2,2,2", "4,4,2,2", "4,4,4,4", "8,8,4,4",
                                                     "8,8,8,8"):
        found = iteration(bench, path, "--sizes", sizes)
        points.append((found["core_rows"], found["iteration_seconds"]))
    curve(bench, "prod k from 4 to 4096, documents, tf iteration: exponent", points, "cells")


def slots(bench):
    nodes = 1000 if bench.quick else 20000
    points = []
    for number in (3, 10) if bench.quick else (3, 10, 30, 100):
        path = random_trees(bench, nodes, number)
        points.append((number, iteration(bench, path)["iteration_seconds"]))
    curve(bench, "slots L, random trees, tf iteration: exponent", points, "L")


def growth(bench):
    """Growth of an iteration; all of one chain, on one thread"""
    repetition(bench)
    new_trees(bench)
    states(bench)
    cells(bench)
    slots(bench)
