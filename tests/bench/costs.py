#!/usr/bin/python3
"""tests/bench/costs.py PHLOEM - what trainings cost beside what src/train/cost.c expects of them.

An evaluation of several models keeps the seconds of each training and the cost that was expected of
it.  Printed for each data set and candidate: seconds for one expected second, on one thread, and
that divided by the mean over all candidates; then how even 4 pieces of the evaluation are, in
processor seconds.  Data sets that are not there are left out, and named.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

PHLOEM = os.path.abspath(sys.argv[1])
OPTIONS = ["--models", "grammar,tf:5,tf:20,sp:5,sp:20,td:5,td:20,classifier", "--folds", "4",
           "--chains", "2", "--restarts", "2", "--tolerance", "0", "--quiet", "-j", "1"]
SETS = {"inex05": ["inex05/train.elastic.tree", "--limit", "1500"],
        "inex06": ["inex06/train.elastic.tree", "--limit", "1500"],
        "pud": ["pud/upos.train.trees", "--limit", "1500"]}


def evaluate(trees, *words):
    """Processor seconds of an evaluation."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([PHLOEM, "evaluate", *trees, *OPTIONS, *words], check=True,
                   stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(name, trees, folder):
    spent, expected, words = {}, {}, {}
    seconds = []
    for piece in range(4):
        work = os.path.join(folder, f"{name}-{piece}.work")
        seconds.append(evaluate(trees, "--work", work, "--piece", f"{piece + 1}/4"))
        with open(work, encoding="utf-8") as stream:
            lines = [json.loads(line) for line in stream]
        folds = lines[0]["fold_trees"]
        for line in lines[1:-1]:
            number, fold = divmod(line["trial"], len(folds))
            candidate = lines[0]["candidates"][number]
            words[number] = f"{candidate['model']} {candidate['states']}"
            spent[number] = spent.get(number, 0) + line["seconds"]
            share = 1 - folds[fold] / lines[0]["n_trees"]
            expected[number] = expected.get(number, 0) + candidate["cost"] * share
    whole = sum(spent.values()) / sum(expected.values())
    print(f"{name}: {sum(spent.values()):.1f} s, {whole:.2f} s for one expected second")
    for number in sorted(words):
        pace = spent[number] / expected[number]
        print(f"  {words[number]:12} {spent[number]:7.2f} s  {pace:6.2f}  {pace / whole:6.2f} of the mean")
    mean = sum(seconds) / len(seconds)
    print(f"  4 pieces: {', '.join(f'{s:.2f}' for s in seconds)} s of processor, the longest "
          f"{max(seconds) / mean:.2f} of the mean", flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        documents = os.path.join(folder, "documents.trees")
        subprocess.run([PHLOEM, "generate", "documents", "-o", documents, "--quiet"], check=True)
        measure("documents", [documents], folder)
        for name, (path, *words) in SETS.items():
            path = os.path.join(harness.data_sets.FOLDER, path)
            if os.path.exists(path):
                measure(name, [path, *words], folder)
            else:
                print(f"{name}: skipped: no data")


if __name__ == "__main__":
    main()
