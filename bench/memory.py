"""Ten million nodes: what the forest takes, training on them, and scoring more than are held."""
import os
import sqlite3
import statistics

import measure
from measure import MEGABYTE

A_SUBTREE, A_LINK, A_TREE = 32, 8, 24  # bytes


def forest(bench, path):
    found = bench.json("forest_bytes", path)
    bound = A_SUBTREE * found["subtrees"] + A_LINK * found["links"] + A_TREE * found["trees"]
    bench.add("bytes of the forest / (32 a subtree + 8 a link + 24 a tree)", found["bytes"] / bound, "x", 1,
              note=f"{found['bytes'] / MEGABYTE:.1f} MB; names {sum(found['tables'].values()):,} bytes",
              **found)


def iteration_seconds(path):
    """Median time from one iteration to the next, summed over the classes, from the trace of a run."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        rows = database.execute("SELECT class, seconds FROM trace ORDER BY class, iteration").fetchall()
    times = {}
    for name, seconds in rows:
        times.setdefault(name, []).append(seconds)
    return sum(statistics.median(after - before for before, after in zip(series, series[1:]))
               for series in times.values())


def training(bench, path):
    run = bench.path("ten.run")
    read = measure.Cost([bench.helper("read_forest"), path])
    cost = measure.Cost([bench.phloem, "train", path, "-o", run, "--model", "tf", "--per-class", "--states", 10, "--chains", 1,
                         "--iterations", 6, "--threads", 1, "--quiet", "--no-embed"])
    seconds = iteration_seconds(run)
    bench.ratio("train, C=10: an iteration / reading", seconds, read.seconds)
    bench.add("train, C=10: peak memory", cost.peak, "MB", note=f"reading alone {read.peak:.0f} MB",
              seconds=cost.seconds, elapsed=cost.elapsed)
    os.unlink(run)


def copies(path, times):
    """The trees of a file several times, in pieces."""
    for _ in range(times):
        with open(path, "rb") as trees:
            while piece := trees.read(1 << 20):
                yield piece


def scoring(bench, path):
    run = bench.path("score.run")
    measure.Cost([bench.phloem, "train", path, "-o", run, "--model", "sp", "--states", 10, "--iterations", 5,
                  "--limit", 1000, "--threads", 1, "--quiet", "--no-embed"])
    once, more = (measure.Cost([bench.phloem, "score", run, "-", "--from", "brackets", "--threads", 1, "--quiet"],
                               chunks=copies(path, times)) for times in (1, 8))
    bench.add("score: peak memory of eight times the trees / once", more.peak / once.peak, "x", 1.1,
              note=f"{once.peak:.0f} and {more.peak:.0f} MB")
    os.unlink(run)


def memory(bench):
    """Ten million nodes of documents"""
    path = bench.ten_million()
    forest(bench, path)
    training(bench, path)
    scoring(bench, path)
