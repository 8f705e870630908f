#!/usr/bin/python3
"""tests/kill/pieces.py PHLOEM [long] - trainings in pieces: merged, they are one training, to the bit.

Every model is trained whole and in pieces, on other numbers of threads, one piece killed and
resumed, and merged in some order.  Pieces that do not belong together are refused by name and
nothing is written.  With `long`, INEX05 in 1, 3 and 7 pieces, how even pieces of INEX06 are and what
merging costs.  TAP on standard output; the seed is printed and can be given as PHLOEM_TEST_SEED.
"""
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from runs import begin, beside, content, harness, phloem, remove, report, rows, tap  # noqa: E402

SEED = int(os.environ.get("PHLOEM_TEST_SEED", time.time_ns() % 1000000))
MODELS = {
    "tf": ["--model", "tf", "--states", "4", "--chains", "3", "-i", "40"],
    "soft tf": ["--model", "tf", "--states", "3", "--chains", "3", "-i", "40", "--clustering", "soft"],
    "tf by the paper's sampler": ["--model", "tf", "--states", "3", "--chains", "3", "-i", "10",
                                  "--sampler", "paper"],
    "sp": ["--model", "sp", "--states", "3", "--restarts", "3"],
    "grammar": ["--model", "grammar", "--restarts", "3"],
    "sp with a linear head": ["--model", "sp", "--states", "3", "--restarts", "3", "--head", "linear"],
}
FACTS = "SELECT key, value FROM meta WHERE key != 'command' ORDER BY key"


def whole_content(run):
    return content(run), rows(run, FACTS), rows(run, "SELECT name, shape, checksum FROM forest")


def train(path, inputs, options, *more):
    remove(path)
    done = phloem("train", *inputs, "-o", path, "--quiet", *options, *more)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return path


def seconds_of(*words):
    """Processor seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = phloem(*words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def train_killed(path, words, chance, most):
    """A piece that is killed on its way, if it is slow enough, and resumed."""
    remove(path)
    process = begin(["train", *words, "-o", path, "--checkpoint", "0", "--quiet"])
    try:
        process.wait(chance.uniform(0.0, most))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    process.communicate()
    killed = process.returncode != 0
    words = ["resume", path] if os.path.exists(path) else ["train", *words, "-o", path]
    done = phloem(*words, "--quiet", "-j", "2")
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return killed


def test_bits(name, inputs, options, numbers, folder, chance, most=0.3):
    whole = train(os.path.join(folder, "whole.run"), inputs, options)
    expected = whole_content(whole)
    for n in numbers:
        paths, killed = [], False
        victim = chance.randrange(n)
        for i in range(n):
            path = os.path.join(folder, f"piece-{i + 1}.run")
            words = ["--piece", f"{i + 1}/{n}", "-j", str(1 + i % 3)]
            if i == victim:
                killed = train_killed(path, [*inputs, *options, *words], chance, most)
            else:
                train(path, inputs, options, *words)
            paths.append(path)
        chance.shuffle(paths)
        merged = os.path.join(folder, "merged.run")
        remove(merged)
        done = phloem("merge", *paths, "-o", merged, "--quiet")
        same = done.returncode == 0 and whole_content(merged) == expected and not beside(merged)
        report(same, f"{name}: {n} pieces{', one killed and resumed' if killed else ''}, the same bits",
               done.stderr)


def test_choices(inputs, folder):
    """Pieces by class and chain; what is missing is trained from a partial merge."""
    options = ["--per-class", *MODELS["tf"]]
    whole = train(os.path.join(folder, "whole.run"), inputs, options)
    expected = whole_content(whole)
    one = train(os.path.join(folder, "one.run"), inputs, options, "--piece-classes", "left,right")
    two = train(os.path.join(folder, "two.run"), inputs, options, "--piece-classes", "symmetric",
                "--piece-chains", "1:2")
    merged = os.path.join(folder, "merged.run")
    for run in (one, two):
        used = phloem("classify", run, *inputs)
        report(used.returncode == 2 and "merge" in used.stderr, "a piece is not used to classify",
               used.stderr)
    remove(merged)
    missing = phloem("merge", one, two, "-o", merged)
    report(missing.returncode == 2 and "class symmetric, chain or restart 3" in missing.stderr
           and not os.path.exists(merged), "a task that is missing is named", missing.stderr)
    partial = phloem("merge", "--partial", two, one, "-o", merged, "--quiet")
    resumed = phloem("resume", merged, "--quiet")
    report(partial.returncode == 0 and resumed.returncode == 0 and whole_content(merged) == expected,
           "a partial merge, resumed, is the whole training", partial.stderr, resumed.stderr)


def damage(path):
    """One bit of a table."""
    data = rows(path, "SELECT data FROM tensor WHERE name = 'emission'")[0][0]
    with open(path, "r+b") as file:
        at = file.read().index(data[:64]) + 7
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def test_wrong(inputs, folder):
    """What is no piece of the training is refused by its name, and nothing is written."""
    options = ["--per-class", *MODELS["sp"]]
    good = train(os.path.join(folder, "good.run"), inputs, options, "--piece", "1/2")
    other = os.path.join(folder, "other.run")
    out = os.path.join(folder, "out.run")
    trees = os.path.join(folder, "other.trees")
    phloem("generate", "symm", "--trees-per-class", "9", "-o", trees, "--quiet")
    version = "UPDATE meta SET value = '0.0.9' WHERE key = 'version'"
    cases = {
        "another seed": lambda: train(other, inputs, options, "--piece", "2/2", "--seed", "7"),
        "other trees": lambda: train(other, [trees], options, "--piece", "2/2"),
        "other options": lambda: train(other, inputs, options, "--piece", "2/2", "--tolerance", "0"),
        "a whole run": lambda: train(other, inputs, options),
        "the same piece twice": lambda: shutil.copy(good, other),
        "a damaged piece": lambda: damage(train(other, inputs, options, "--piece", "2/2")),
        "no run": lambda: shutil.copy(trees, other),
        "no file": lambda: None,
    }
    for name, make in cases.items():
        remove(other)
        make()
        done = phloem("merge", good, other, "-o", out)
        written = os.path.exists(out)
        remove(out)
        report(done.returncode in (2, 3, 4) and "other.run" in done.stderr and not written
               and len(done.stderr.splitlines()) <= 2, f"{name} is refused by name", done.stderr)
    train(other, inputs, options, "--piece", "2/2")
    changed = sqlite3.connect(other)
    changed.execute(version)
    changed.commit()
    changed.close()
    done = phloem("merge", good, other, "-o", out)
    report(done.returncode == 3 and "other.run" in done.stderr and not os.path.exists(out),
           "a piece whose facts were changed is refused", done.stderr)
    train(other, inputs, options, "--piece", "2/2")
    for path in (good, other):
        done = phloem("merge", good, other, "-o", path, "--force")
        report(done.returncode == 2, "the output is none of the pieces", done.stderr)


def test_costs(data, folder):
    """How even the pieces are, and what merging costs."""
    inputs = [os.path.join(data, "inex06", "train.elastic.tree")]
    options = ["--per-class", "--model", "tf", "--states", "10", "-j", "1"]
    paths = [os.path.join(folder, f"cost-{i}.run") for i in range(4)]
    spent = []
    for i, path in enumerate(paths):
        remove(path)
        spent.append(seconds_of("train", *inputs, "-o", path, *options, "--quiet", "--piece", f"{i + 1}/4"))
    mean = sum(spent) / len(spent)
    report(max(spent) <= 1.15 * mean, "INEX06: the longest of 4 pieces takes "
           f"{max(spent) / mean:.3f} of the mean ({', '.join(f'{s:.2f}' for s in spent)} s)")
    merged = os.path.join(folder, "merged.run")
    remove(merged)
    merging = seconds_of("merge", *paths, "-o", merged, "--quiet", "-j", "1")
    report(merging <= 0.25 * sum(spent), f"INEX06: merging takes {merging:.2f} s, "
           f"{100 * merging / sum(spent):.1f} % of the training", "expected at most a quarter")


def main():
    print(f"# seed {SEED}", flush=True)
    chance = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        trees = os.path.join(folder, "symm.trees")
        phloem("generate", "symm", "--trees-per-class", "12", "-o", trees, "--quiet")
        if "long" in sys.argv[2:]:
            data = harness.data_sets.FOLDER
            inex = os.path.join(data, "inex05", "train.elastic.tree")
            if os.path.exists(inex):
                test_bits("INEX05", [inex], ["--per-class", "--model", "tf", "-i", "60"], (1, 3, 7), folder,
                          chance, 2.0)
                test_costs(data, folder)
            else:
                tap.skip("INEX05 in pieces")
        else:
            for name, options in MODELS.items():
                test_bits(name, [trees], ["--per-class", *options], (1, 3), folder, chance)
            test_bits("one model for all trees", [trees], MODELS["tf"], (3,), folder, chance)
            test_choices([trees], folder)
            test_wrong([trees], folder)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
