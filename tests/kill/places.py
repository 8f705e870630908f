#!/usr/bin/python3
"""tests/kill/places.py PHLOEM NAME_CALLS PAIRS - how run files and others take their places.

Races: PAIRS pairs of `train --force` are started at the same time on a name without a file, and as many on
one with a run, on the disk and on a file system in memory (/dev/shm).  The run that is left is that of
one of the two, to the bit, and the other one ends with exit code 4 and says why.
Kills: a program is killed at every call that makes, moves or removes a name (NAME_CALLS, the library
made from name_calls.c), one after the other.  There is then the old file or the new one, whole; a run can
be resumed to the same end; whoever writes to the name next removes what was left behind.
Readers: one that keeps the log from being folded as a training ends, one that ends in time, one that
only has the run open; one that meets a new run where it has opened the old one.
Others: a run that goes away while it is written to, a journal that another program left.
TAP on standard output.
"""
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from runs import PHLOEM, begin, beside, content, phloem, preloaded, remove, report, rows, tap  # noqa: E402

NAME_CALLS = os.path.abspath(sys.argv[2])
FAST = ["--model", "sp", "--states", "3", "--tolerance", "0", "--checkpoint", "0", "--quiet", "-j", "1"]
LOST = ("another training is at work", "another program has created this file")


def train(trees, run, seed, iterations, *more):
    return ["train", trees, "-o", run, "--seed", str(seed), "--iterations", str(iterations), *FAST, *more]


def seed_of(run):
    return int(rows(run, "SELECT value FROM meta WHERE key = 'seed'")[0][0])


# ---- Races -----------------------------------------------------------------------------------------


def race(run, data, iterations, expected):
    """What was wrong, or None; and the exit codes."""
    both = [begin(train(data[seed], run, seed, iterations, "--force")) for seed in (0, 1)]
    messages = [process.communicate()[1].decode() for process in both]
    codes = [process.returncode for process in both]
    if sorted(codes) not in ([0, 0], [0, 4]):
        return f"exit {codes}: {messages}", codes
    shown = phloem("show", run)
    if shown.returncode != 0:
        return f"exit {codes}: show: {shown.stderr}{messages}", codes
    seed = seed_of(run)
    if content(run) != expected[seed]:
        return f"exit {codes}: not the run of seed {seed}, which it says it is", codes
    if sorted(codes) == [0, 4]:
        loser = codes.index(4)
        if seed == loser:
            return f"exit {codes}: the run of the one that failed", codes
        if not any(words in messages[loser] for words in LOST) or messages[loser].count("\n") != 1:
            return f"exit {codes}: {messages}", codes
    if beside(run):
        return f"exit {codes}: left {beside(run)}", codes
    return None, codes


def test_races(place, folder, data, pairs):
    iterations = 60
    run = os.path.join(folder, "race.run")
    expected = []
    for seed in (0, 1, 2):
        remove(run)
        phloem(*train(data[seed % 2], run, seed, iterations), check=True)
        expected.append(content(run))
    with open(run, "rb") as stream:
        old = stream.read()
    for there in (False, True):
        bad, alone = [], 0
        for pair in range(pairs):
            remove(run)
            if there:
                with open(run, "wb") as stream:
                    stream.write(old)
            fault, codes = race(run, data, iterations, expected)
            alone += codes == [0, 0]
            if fault:
                bad.append(f"pair {pair}: {fault}")
        kind = "one that exists" if there else "a new file"
        report(not bad and alone <= pairs // 4,
               f"{pairs} pairs of trainings on {kind}, {place}: one of the two runs is there, {pairs - alone} times "
               "the other one said so", f"{len(bad)} wrong, {alone} one after the other", *bad[:5])
    remove(run)


# ---- Kills -----------------------------------------------------------------------------------------


def run_killed(words, folder, at):
    """The program, killed at name-changing call `at`: its exit code and that call, if it came to it."""
    calls = folder + ".calls"
    env = preloaded(NAME_CALLS, NAME_CALLS_IN=folder, NAME_CALLS_AT=str(at), NAME_CALLS_REPORT=calls)
    done = phloem(*words, env=env)
    made = []
    if os.path.exists(calls):
        with open(calls, encoding="utf-8") as stream:
            made = stream.read().splitlines()
        os.remove(calls)
    if done.returncode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"{words}: exit {done.returncode}: {done.stderr}")
    return done.returncode, made[at - 1] if len(made) >= at else None


def put(folder, files):
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as stream:
            stream.write(data)


def get(folder):
    files = {}
    for name in os.listdir(folder):
        if os.path.isfile(os.path.join(folder, name)):
            with open(os.path.join(folder, name), "rb") as stream:
                files[name] = stream.read()
    return files


def kill_everywhere(name, folder, before, words, judge):
    """`words` on the files `before`, killed at every call; judge() tells what is wrong, or None, and which
    file it found."""
    bad, found, at, code = [], {}, 0, None
    while code != 0:
        at += 1
        put(folder, before)
        code, call = run_killed(words, folder, at)
        fault, which = judge()
        found[which] = found.get(which, 0) + 1
        if fault:
            bad.append(f"killed at call {at}, {call}: {fault}" if code else f"not killed: {fault}")
    report(not bad and at > 2, f"killed at {at - 1} calls: {name}: " +
           ", ".join(f"{count} {which}" for which, count in found.items()), *bad)


def judge_run(run, olds, new_words, new):
    """A run file of one of the seeds `olds` (seed: how it ends) or of the new one, or none where that was so."""
    folder = os.path.dirname(run)
    which = "none"
    if os.path.exists(run):
        shown = phloem("show", run)
        if shown.returncode != 0:
            return f"show: exit {shown.returncode}: {shown.stderr}", "unreadable"
        seed = seed_of(run)
        which = "old" if seed in olds else "new"
        done = phloem("resume", run, "--quiet")
        if done.returncode != 0:
            return f"resume: exit {done.returncode}: {done.stderr}", which
        if content(run) != (olds[seed] if seed in olds else new):
            return "resumed to another run", which
    elif olds:
        return "the old run is gone", which
    if which != "new":  # what was left behind goes with the next training
        done = phloem(*new_words)
        if done.returncode != 0 or content(run) != new:
            return f"trained anew: exit {done.returncode}: {done.stderr}", which
    left = os.listdir(folder)
    return None if len(left) == 1 else f"left {left}", which


def size_of(path):
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


def make_unfinished(run, words):
    """A training that was killed with a log beside its file, as soon as there is something in it."""
    log = run + "-wal"
    while True:
        remove(run)
        process = begin(words)
        while size_of(log) == 0 and process.poll() is None:
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if process.returncode != 0 and os.path.exists(run) and size_of(log) > 0:
            return


def test_kills(folder, data):
    folder = os.path.join(os.path.realpath(folder), "names")
    os.mkdir(folder)
    run = os.path.join(folder, "a.run")
    phloem(*train(data[1], run, 1, 8), check=True)
    new, done = content(run), get(folder)
    old_words = train(data[0], run, 0, 60)
    remove(run)
    phloem(*old_words, check=True)
    old, finished = content(run), get(folder)
    make_unfinished(run, old_words)
    unfinished = get(folder)
    words = train(data[1], run, 1, 8, "--force")

    def judge(olds=(), new_words=words):
        return judge_run(run, dict.fromkeys(olds, old), new_words, new)

    kill_everywhere("a new run", folder, {}, words, judge)
    kill_everywhere("over a finished run", folder, finished, words, lambda: judge([0]))
    kill_everywhere("over a run with a log", folder, unfinished, words, lambda: judge([0]))
    log = {name: bytes_ for name, bytes_ in unfinished.items() if name != "a.run"}
    kill_everywhere("a new run where the log of another one lies", folder, log, words, judge)
    kill_everywhere("resume", folder, unfinished, ["resume", run, "--quiet", "--checkpoint", "0"],
                    lambda: judge([0]))
    test_killed_output(folder, data, done)


def test_killed_output(folder, data, run):
    """Other outputs: the old bytes or the new ones."""
    put(folder + "-model", run)
    model = os.path.join(folder + "-model", "a.run")
    out = os.path.join(folder, "out")
    for name, words in [("convert", ["convert", data[0], "-o", out, "--to", "json", "--quiet"]),
                        ("predictions", ["label", model, data[0], "--predictions", out, "--quiet"])]:
        put(folder, {})
        phloem(*words, check=True)
        new = get(folder)["out"]
        for before in ({}, {"out": b"old"}):
            def judge():
                found = get(folder).get("out")
                which = "new" if found == new else "old" if found == before.get("out") else "torn"
                if which == "torn":
                    return f"{found[:40]}", which
                again = phloem(*words)
                files = get(folder)
                return (None if files == {"out": new} else
                        f"again: exit {again.returncode}, {sorted(files)}: {again.stderr}"), which
            kill_everywhere(f"{name}, {'over a file' if before else 'a new file'}", folder, before, words, judge)


# ---- Readers ---------------------------------------------------------------------------------------


def train_with_reader(words, run, transaction):
    """A training, begun, and a reader of its run."""
    remove(run)
    process = begin(words)
    while not os.path.exists(run + "-wal"):
        time.sleep(0.002)
    reader = None
    while reader is None:
        try:
            reader = sqlite3.connect(f"file:{run}?mode=ro", uri=True, isolation_level=None)
            if transaction:
                reader.execute("BEGIN")
            seen = reader.execute("SELECT count(*) FROM trace").fetchone()[0]
        except sqlite3.OperationalError:
            reader = None
    if process.poll() is not None:
        raise RuntimeError("the training was too quick for its reader")
    return process, reader, seen


def test_readers(folder, data):
    run, copy = os.path.join(folder, "read.run"), os.path.join(folder, "copy.run")
    words = train(data[0], run, 0, 600)
    phloem(*words, check=True)
    expected = content(run)

    process, reader, seen = train_with_reader(words, run, True)
    message = process.communicate()[1].decode()
    report(process.returncode == 4 and "read.run-wal" in message and "phloem resume" in message and
           message.count("\n") == 1, "a reader at the end: exit 4, and what to do", process.returncode, message)
    report(content(run) == expected and phloem("show", run).returncode == 0,
           "the file and its log are the whole run")
    waiting = phloem("resume", run)
    report(waiting.returncode == 4 and "read.run-wal" in waiting.stderr,
           "resume while it is still read: exit 4", waiting.returncode, waiting.stderr)
    same = reader.execute("SELECT count(*) FROM trace").fetchone()[0] == seen
    reader.close()
    report(same, "the reader saw one state all the time")
    done = phloem("resume", run)
    report(done.returncode == 0 and not beside(run) and content(run) == expected,
           "resume when nobody reads any more: one file", done.returncode, done.stderr, beside(run))

    process, reader, _ = train_with_reader(words, run, True)
    end = time.monotonic() + 30  # until only the folding is left to do: the last state is there
    while time.monotonic() < end and rows(run, "SELECT stop_reason FROM class") != [("iterations",)]:
        time.sleep(0.01)
    time.sleep(0.3)
    waited = process.poll() is None
    reader.close()
    message = process.communicate()[1].decode()
    report(waited and process.returncode == 0 and not beside(run) and content(run) == expected,
           "a reader that ends soon is waited for", waited, process.returncode, message, beside(run))

    process, reader, _ = train_with_reader(words, run, False)
    message = process.communicate()[1].decode()
    shutil.copyfile(run, copy)
    reader.close()
    shown = phloem("show", copy)
    report(process.returncode == 0 and shown.returncode == 0 and content(run) == expected and
           rows(copy, CLASSES) == expected[0],
           "one that only has it open: everything is in the file", process.returncode, message, shown.stderr)

    make_unfinished(run, words)
    reader = sqlite3.connect(run)
    before = reader.execute(CLASSES).fetchall()
    done = phloem(*train(data[1], run, 1, 8, "--force"))
    report(done.returncode == 4 and "another program has it open" in done.stderr and
           reader.execute(CLASSES).fetchall() == before and seed_of(run) == 0,
           "a run with a log that another program has open is not replaced", done.returncode, done.stderr)
    reader.close()
    done = phloem(*train(data[1], run, 1, 8, "--force"))
    report(done.returncode == 0 and seed_of(run) == 1 and not beside(run),
           "and is when it is closed", done.returncode, done.stderr)
    os.remove(copy)


CLASSES = "SELECT id, name, trees, weight, iterations, stop_reason FROM class ORDER BY id"


def test_reader_and_replacement(folder, data):
    """Runs shown again and again while they are replaced: always one of them."""
    run = os.path.join(folder, "again.run")
    phloem(*train(data[0], run, 0, 5), check=True)
    writer = subprocess.Popen(["sh", "-c", 'for i in $(seq 25); do "$@" || exit 1; done', "sh", PHLOEM,
                               *train(data[1], run, 1, 5, "--force")], stderr=subprocess.PIPE)
    bad, shown = [], 0
    while writer.poll() is None:
        done = phloem("show", run)
        shown += 1
        if done.returncode != 0:
            bad.append(done.stderr)
    message = writer.communicate()[1].decode()
    report(not bad and shown > 0 and writer.returncode == 0, "runs shown while they are replaced", message,
           f"{len(bad)} of {shown}", *bad[:5])


# ---- Others ----------------------------------------------------------------------------------------


def test_run_gone(folder, data):
    run, away = os.path.join(folder, "gone.run"), os.path.join(folder, "away.run")
    for name, act in [("removed", lambda: os.remove(run)), ("moved", lambda: os.rename(run, away)),
                      ("replaced", lambda: shutil.copyfile(run, away) and os.replace(away, run))]:
        remove(run)
        process = begin(train(data[0], run, 0, 100000))
        while not os.path.exists(run + "-wal"):
            time.sleep(0.005)
        time.sleep(0.1)
        act()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:  # it writes to a file without a name
            process.send_signal(signal.SIGKILL)
        message = process.communicate()[1].decode()
        report(process.returncode == 4 and "moved, removed or replaced" in message,
               f"a run that is {name} while it is written to: exit 4", process.returncode, message)


def test_stray_journal(folder, data):
    """A program that changed the run was stopped: the advice of the message leads out of it."""
    run = os.path.join(folder, "journal.run")
    phloem(*train(data[0], run, 0, 5), check=True)
    expected = content(run)
    subprocess.run([sys.executable, "-c", "import os, signal, sqlite3, sys\n"
                    "run = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
                    "run.execute('PRAGMA cache_size = 1')\n"
                    "run.execute('BEGIN EXCLUSIVE')\n"
                    "run.execute('UPDATE tensor SET data = zeroblob(length(data))')\n"
                    "run.execute('UPDATE forest SET data = zeroblob(length(data))')\n"
                    "os.kill(os.getpid(), signal.SIGKILL)\n", run], check=False)
    hot = get(folder)["journal.run-journal"]
    bad = []
    for words in (["show", run], ["resume", run]):
        done = phloem(*words)
        if done.returncode != 4 or "journal.run-journal" not in done.stderr:
            bad.append(f"{words}: exit {done.returncode}: {done.stderr}")
    advice = done.stderr.split("undo that change with: ")[-1].split()
    undone = subprocess.run(advice, capture_output=True, check=False) if advice[0] == "sqlite3" else None
    shown = phloem("show", run)
    report(len(hot) > 512 and not bad and undone and undone.returncode == 0 and shown.returncode == 0 and
           content(run) == expected and not beside(run),
           "a journal that another program left: the message says what undoes it", *bad, advice, shown.stderr,
           beside(run))


def main():
    pairs = int(sys.argv[3])
    memory = "/dev/shm"
    with tempfile.TemporaryDirectory(prefix="phloem-places-") as folder:
        base = os.path.join(folder, "base.trees")
        phloem("generate", "symm", "--trees-per-class", "20", "-o", base, "--quiet", check=True)
        with open(base, encoding="utf-8") as stream:
            trees = stream.read()
        data = [os.path.join(folder, name) for name in ("first.trees", "second.trees")]
        for path, tree in zip(data, ("(0 (1) (2) (3))\n", "(3 (2) (1) (0))\n")):  # labels in another order
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(tree + trees.replace("\tleft", "").replace("left\t", ""))
        test_races("on disk", folder, data, pairs)
        if os.access(memory, os.W_OK):
            with tempfile.TemporaryDirectory(prefix="phloem-places-", dir=memory) as there:
                test_races("in memory", there, data, pairs)
        else:
            tap.skip("pairs of trainings in memory", f"no {memory}")
        test_kills(folder, data)
        test_readers(folder, data)
        test_reader_and_replacement(folder, data)
        test_run_gone(folder, data)
        test_stray_journal(folder, data)
    return tap.end()


sys.exit(main())
