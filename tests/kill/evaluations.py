#!/usr/bin/python3
"""tests/kill/evaluations.py PHLOEM - evaluations that are killed, or done in pieces, end the same.

An evaluation is killed again and again at random moments, by each of the signals, and the same
command goes on on other numbers of threads: figures and run are those of one that was never
interrupted, and nothing else is left behind.  The same in pieces, one of them killed, merged in some
order.  Files of other evaluations, damaged and hostile ones are refused by name.  TAP on standard
output; the seed is printed and can be given as PHLOEM_TEST_SEED.
"""
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from runs import PHLOEM, beside, content, phloem, remove, report, tap  # noqa: E402

SEED = int(os.environ.get("PHLOEM_TEST_SEED", time.time_ns() % 1000000))
OPTIONS = ["--models", "tf:3,td,classifier", "--states", "2,4", "--heads", "none,linear", "--folds", "3",
           "--class-priors", "uniform,chosen", "-i", "60", "--chains", "2", "--choose", "best",
           "--quiet", "--json"]
PLAIN = ["--models", "tf:3,td:2", "--folds", "3", "-i", "30", "--chains", "2", "--quiet", "--json"]


def evaluate(trees, *words):
    return phloem("evaluate", trees, *words)


def run_killed(words, chance, most, until=None):
    """The command once, killed at some moment, or when a file is there; None: it was too fast."""
    process = subprocess.Popen([PHLOEM, "evaluate", *words], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + chance.uniform(0.0, most)
    while process.poll() is None and time.monotonic() < deadline and \
            not (until is not None and os.path.exists(until)):
        time.sleep(0.002)
    which = chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    if process.poll() is None:
        process.send_signal(which)
    out, problem = process.communicate()
    if process.returncode == 0:
        return out
    if process.returncode not in (130, 143, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT):
        raise RuntimeError(f"exit code {process.returncode}: {problem}")
    return None


def test_killed(name, trees, options, folder, chance, rounds, in_refit):
    """Moments are drawn from the time that the same evaluation takes here, so that they are in it."""
    begin = time.monotonic()
    expected = evaluate(trees, *options, "-o", os.path.join(folder, "ref.run"), "-j", "2")
    took = time.monotonic() - begin
    wanted = content(os.path.join(folder, "ref.run"))
    run = os.path.join(folder, "killed.run")
    kills = 0
    for _ in range(rounds):
        remove(run)
        found, tries = None, 0
        while found is None:
            tries += 1
            words = [trees, *options, "-o", run, "-j", str(1 + tries % 3)]
            if tries < 8:
                most = 2.0 * took if in_refit else 0.7 * took
                found = run_killed(words, chance, most, run if in_refit else None)
                kills += found is None
            else:
                found = evaluate(*words).stdout
        same = found == expected.stdout and content(run) == wanted and not beside(run)
        report(same, f"{name}: killed and gone on with, the same", found[:300], str(beside(run)))
    report(kills > 0, f"{name}: {kills} kills")
    remove(run)
    remove(os.path.join(folder, "ref.run"))


def make_pieces(trees, options, n, folder, chance):
    """Pieces in files, one of which is killed on its way, if it is slow enough."""
    paths = [os.path.join(folder, f"piece-{i + 1}.work") for i in range(n)]
    for i, path in enumerate(paths):
        remove(path)
        words = [trees, *options, "--work", path, "--piece", f"{i + 1}/{n}", "-j", str(1 + i % 2)]
        if i == 0:
            run_killed(words, chance, 0.2)
        done = evaluate(*words)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
    return paths


def test_pieces(trees, folder, chance):
    expected = evaluate(trees, *PLAIN).stdout
    for n in (1, 2, 4):
        paths = make_pieces(trees, PLAIN, n, folder, chance)
        chance.shuffle(paths)
        whole = os.path.join(folder, "whole.work")
        remove(whole)
        done = phloem("merge", *paths, "-o", whole, "--json")
        report(done.returncode == 0 and done.stdout == expected, f"{n} pieces: the same table",
               done.stderr)
    run = os.path.join(folder, "best.run")
    alone = os.path.join(folder, "alone.run")
    done = evaluate(trees, *PLAIN, "--work", whole, "-o", run)
    evaluate(trees, *PLAIN, "-o", alone)
    report(done.stdout == expected and content(run) == content(alone) and os.path.exists(whole),
           "what was merged is gone on with: its choice becomes a run", done.stderr)
    part = os.path.join(folder, "part.work")
    partial = phloem("merge", "--partial", *paths[:2], "-o", part)
    done = evaluate(trees, *PLAIN, "--work", part)
    report(partial.returncode == 0 and done.stdout == expected, "a part of the pieces is gone on with",
           partial.stderr, done.stderr)
    return sorted(paths)


def sealed(text):
    """Lines with the digest that belongs to them."""
    body = text[:text.rindex('{"sha256"')]
    return body + '{"sha256":"%s"}\n' % hashlib.sha256(body.encode()).hexdigest()


def read(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)


def test_wrong(trees, folder, paths):
    """What does not belong together is refused by its name, and nothing is written."""
    good, rest = paths[0], paths[1:]
    other, out = os.path.join(folder, "other.work"), os.path.join(folder, "out.work")
    trees2 = os.path.join(folder, "other.trees")
    phloem("generate", "documents", "--trees-per-class", "7", "-o", trees2, "--quiet")
    piece = ["--piece", "1/4"]

    def make(source, *words):
        remove(other)
        done = evaluate(source, *PLAIN, *piece, "--work", other, *words)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)

    cases = {
        "another seed": lambda: make(trees, "--seed", "7"),
        "other trees": lambda: make(trees2),
        "other options": lambda: make(trees, "--keep", "3"),
        "the same piece twice": lambda: shutil.copy(rest[0], other),
        "a damaged piece": lambda: write(other, read(good).replace('"trees":', '"trees": ', 1)),
        "a piece cut off": lambda: write(other, read(good)[:-90]),
        "another version": lambda: write(other, sealed(re.sub('"version":"[^"]*"', '"version":"0.0.9"',
                                                              read(good)))),
        "a piece that is not finished": lambda: write(other, sealed("\n".join(
            read(good).splitlines()[:1] + read(good).splitlines()[2:]) + "\n")),
        "no piece": lambda: shutil.copy(trees, other),
        "no file": lambda: None,
        "a folder": lambda: os.mkdir(other),
    }
    for name, prepare in cases.items():
        if os.path.isdir(other):
            os.rmdir(other)
        remove(other)
        prepare()
        done = phloem("merge", *rest, other, "-o", out)
        report(done.returncode in (2, 3, 4) and "other.work" in done.stderr and not os.path.exists(out)
               and len(done.stderr.splitlines()) <= 2, f"{name} is refused by name", done.stderr)
    os.rmdir(other)
    for name, words in {"another seed": ["--seed", "7"], "other options": ["-i", "31"],
                        "other folds": ["--folds", "4"], "other models": ["--models", "tf:3"],
                        "another piece": ["--piece", "2/4"]}.items():
        before = read(good)
        done = evaluate(trees, *PLAIN, *words, "--work", good)
        report(done.returncode == 3 and os.path.basename(good) in done.stderr and read(good) == before,
               f"{name}: not gone on with", done.stderr)
    missing = phloem("merge", *rest, "-o", out)
    report(missing.returncode == 2 and "fold" in missing.stderr and not os.path.exists(out),
           "what is missing is named", missing.stderr)
    for path in ("/dev/full", "/dev/zero", folder, os.path.join(folder, "no", "such.work")):
        done = evaluate(trees, *PLAIN, "--work", path)
        report(done.returncode in (2, 3, 4) and len(done.stderr.splitlines()) <= 2,
               f"work in {os.path.relpath(path, folder)} is refused", done.stderr)
    run = os.path.join(folder, "kept.run")
    shutil.copy(trees, run)
    done = evaluate(trees, *PLAIN, "-o", run)
    report(done.returncode == 2 and "--force" in done.stderr and read(run) == read(trees),
           "a file is not replaced without --force", done.stderr)


def test_two(trees, folder):
    """Of two evaluations on one file the second is refused while the first is at work."""
    path = os.path.join(folder, "two.work")
    slow = [*PLAIN, "-i", "4000", "-j", "1", "--work", path]
    process = subprocess.Popen([PHLOEM, "evaluate", trees, *slow], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    while process.poll() is None and not os.path.exists(path):
        time.sleep(0.005)
    second = evaluate(trees, *slow)
    process.send_signal(signal.SIGTERM)
    process.wait()
    report(second.returncode == 4 and "at work" in second.stderr, "one at a time", second.stderr)


def test_hostile(folder, paths, chance):
    """Files whose digest is right hold anything: they are taken or refused, and nothing breaks."""
    other, out = os.path.join(folder, "hostile.work"), os.path.join(folder, "hostile.out")
    text = read(paths[0])
    words = ["-1", "1e300", "0", "99999999999", "null", "[]", "{}", '"inf"', "true", "[0]", "1.5", "9e15"]
    taken = refused = 0
    for _ in range(250):
        numbers = [match.span() for match in re.finditer(r"(?<=[\[,:])(-?[0-9.e+-]+|null|\[[^\[\]]*\])", text)]
        changed = text
        for begin, end in sorted(chance.sample(numbers, chance.choice([1, 1, 2])), reverse=True):
            changed = changed[:begin] + chance.choice(words) + changed[end:]
        write(other, sealed(changed))
        done = phloem("merge", other, "--partial", "-o", out, "--force")
        if done.returncode not in (0, 2, 3):
            report(False, "a hostile file", f"exit code {done.returncode}", done.stderr)
            return
        taken += done.returncode == 0
        refused += done.returncode != 0
    report(refused > 50, f"hostile files: {taken} taken, {refused} refused, none breaks anything")


def main():
    print(f"# seed {SEED}", flush=True)
    chance = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        trees = os.path.join(folder, "documents.trees")
        phloem("generate", "documents", "--trees-per-class", "15", "-o", trees, "--quiet")
        test_killed("several models", trees, OPTIONS, folder, chance, 3, False)
        big = os.path.join(folder, "big.trees")
        phloem("generate", "documents", "--trees-per-class", "40", "-o", big, "--quiet")
        test_killed("what is chosen", big, [*PLAIN, "--models", "tf:8,td:1", "--folds", "2", "-i", "300"],
                    folder, chance, 2, True)
        test_wrong(trees, folder, test_pieces(trees, folder, chance))
        test_two(trees, folder)
        test_hostile(folder, make_pieces(trees, PLAIN, 2, folder, chance), chance)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
