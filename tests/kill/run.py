#!/usr/bin/python3
"""tests/kill/run.py PHLOEM SHORT_WRITES KILLS [INEX_KILLS] - trainings killed and resumed.

A tf training with a checkpoint after every iteration, and one of a tree grammar, whose starts are
kept one by one, get SIGKILL, KILLS times on generated trees
and INEX_KILLS times on INEX05 (skipped when it is not there), at random moments spread evenly over
the training.  What it leaves can be read; every second time the resumed training is killed as well;
resumed to the end, on another number of threads, it has the same classes, draws, tensors and traces
(but for seconds) as an undisturbed training.  Of 100 kills or more 9 of 10 go on from an iteration
above 0, of fewer 7 of 10: the others came while the trees were read.
Then the ways in which writing fails: a full disk, failing system calls (strace), writes of fewer
bytes than asked (SHORT_WRITES, the library made from short_writes.c), two at a time.
TAP on standard output; the seed is printed and can be given as PHLOEM_TEST_SEED.
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
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hostile"))
import run_files  # noqa: E402
from runs import PHLOEM, begin, beside, content, harness, phloem, preloaded, remove, report, rows, tap  # noqa: E402

SHORT_WRITES = os.path.abspath(sys.argv[2])
SEED = int(os.environ.get("PHLOEM_TEST_SEED", time.time_ns() % 1000000))


GRAMMAR = ["--model", "grammar", "--per-class", "--restarts", "24", "--states", "4", "--iterations", "6"]


def kill_after(words, seconds):
    """True when the program was killed, False when it had ended well before."""
    process = begin(words)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    message = process.communicate()[1]
    if process.returncode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"{words}: exit {process.returncode}: {message.decode()}")
    return process.returncode != 0


def test_kills(name, inputs, options, kills, folder, chance):
    run = os.path.join(folder, "killed.run")
    remove(run)
    train = ["train", *inputs, "-o", run, "--checkpoint", "0", "--quiet", *options]
    began = time.monotonic()
    done = phloem(*train)
    seconds = time.monotonic() - began
    if done.returncode != 0:
        report(False, f"{name}: undisturbed training", done.stderr)
        return
    expected = content(run)
    above, unlike, unread, none, ended = 0, [], [], 0, 0
    for attempt in range(kills):
        killed = False
        while not killed:  # the moment is drawn until the program has not ended before
            remove(run)
            began = time.monotonic()
            moment = (attempt + chance.uniform(0.0, 1.0)) / kills  # spread evenly over the training
            killed = kill_after(train, moment * seconds)
            if not killed:
                ended += 1
                seconds = min(seconds, time.monotonic() - began)
        if not os.path.exists(run):
            none += 1  # before the first iteration was done
            if kill_after(train, 1e6) or content(run) != expected:
                unlike.append(f"kill {attempt}: trained anew")
            continue
        reached = rows(run, "SELECT max(iteration) FROM trace")[0][0]
        above += (reached or 0) > 0
        shown = phloem("show", run)
        if shown.returncode != 0:
            unread.append(f"kill {attempt}: {shown.stderr}")
        resume = ["resume", run, "--quiet", "--checkpoint", "0", "-j", str(1 + attempt % 3)]
        if attempt % 2 == 1:
            kill_after(resume, chance.uniform(0.0, seconds))
        done = phloem(*resume)
        if done.returncode != 0 or content(run) != expected:
            unlike.append(f"kill {attempt} after iteration {reached}: exit {done.returncode} "
                          f"{done.stderr}")
        elif beside(run):
            unlike.append(f"kill {attempt}: left {beside(run)}")
    report(not unlike, f"{name}: {kills} kills, resumed to the same run",
           f"undisturbed {seconds:.2f} s, {ended} had ended before, {none} had not begun", *unlike)
    report(not unread, f"{name}: what was left can be read", *unread)
    report(above >= (0.9 if kills >= 100 else 0.7) * kills, f"{name}: {above} of {kills} went on from an iteration above 0")


def test_part_of_start(trees, folder):
    """Between two classes of a start of a grammar: the start is learned again, to the same run."""
    run = os.path.join(folder, "part.run")
    phloem("train", trees, "-o", run, "--quiet", "-j", "1", "--checkpoint", "0", *GRAMMAR, check=True)
    expected, bad = content(run), []
    connection = sqlite3.connect(run, isolation_level=None)
    last = connection.execute("SELECT max(class), max(chain) FROM model").fetchone()
    for table in ("tensor", "model", "trace", "checkpoint"):
        connection.execute("DELETE FROM tensor WHERE model = (SELECT max(id) FROM model)" if table == "tensor"
                           else f"DELETE FROM {table} WHERE (class, chain) = (?, ?)",
                           () if table == "tensor" else last)
    connection.execute("UPDATE class SET stop_reason = 'interrupted'")
    run_files.mend(connection)
    connection.close()
    for words in (["classify", run, trees], ["resume", run, "--quiet"]):
        done = phloem(*words)
        bad += [done.stderr] if done.returncode != 0 else []
    bad += [] if content(run) == expected else ["another run"]
    report(not bad, "a start of a grammar that is there in part is learned again", *bad)


def test_signals(inputs, folder):
    """Ctrl-C: a checkpoint and 130.  Another training is refused meanwhile, reading is not."""
    run = os.path.join(folder, "signal.run")
    options = ["--model", "tf", "--states", "3", "--chains", "2", "--iterations", "100000", "-j", "1"]
    train = ["train", *inputs, "-o", run, *options, "--checkpoint", "0"]
    process = begin(train)
    while not os.path.exists(run) or not rows(run, "SELECT count(*) FROM trace")[0][0]:
        time.sleep(0.02)
    shown = phloem("show", run)
    report(shown.returncode == 0, "a run in progress can be shown", shown.stderr)
    second = phloem("resume", run)
    report(second.returncode == 4 and "another training is at work" in second.stderr,
           "resume of a run in progress is refused", second.stderr)
    second = phloem(*train, "--force")
    report(second.returncode == 4 and "another training is at work" in second.stderr,
           "train --force over a run in progress is refused", second.stderr)
    process.send_signal(signal.SIGINT)
    message = process.communicate()[1].decode()
    report(process.returncode == 130 and "phloem resume" in message and not beside(run),
           "Ctrl-C: checkpoint, exit 130, one file", message.splitlines()[-1:])
    reached = rows(run, "SELECT max(iteration) FROM trace")[0][0]
    process = begin(["resume", run, "--quiet"])
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    more = rows(run, "SELECT max(iteration) FROM trace")[0][0]
    report(process.returncode == 130 and more > reached, "resume, SIGTERM: it went on, exit 130",
           f"from {reached} to {more}")
    process = begin(["resume", run, "--quiet"])
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    process.communicate()
    shown = phloem("show", run)
    report(process.returncode == 130 and shown.returncode == 0, "Ctrl-C twice does no damage",
           shown.stderr)


def test_full_disk(inputs, options, folder):
    """A limit on the size of files stands for a full disk."""
    run = os.path.join(folder, "full.run")
    train = ["train", *inputs, "-o", run, "--checkpoint", "0", "--quiet", *options]
    phloem(*train)
    expected = content(run)
    bad, resumed, done = [], 0, None
    room = 4096
    while done is None or done.returncode != 0:  # until there is room enough
        os.remove(run)
        room = int(room * 1.25) + 20000
        done = phloem(*train, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                     (room, room)))
        if done.returncode == 0:
            break
        if done.returncode != 4 or "cannot write" not in done.stderr:
            bad.append(f"{room} bytes: exit {done.returncode}: {done.stderr}")
        if os.path.exists(run):
            resumed += 1
            again = phloem("resume", run, "--quiet")
            if again.returncode != 0 or content(run) != expected:
                bad.append(f"{room} bytes: resume: exit {again.returncode}: {again.stderr}")
        else:  # an empty one, for the next turn
            open(run, "w").close()
    report(not bad and resumed > 0, f"no room on the disk: {resumed} resumed", *bad)


def test_failing_calls(inputs, options, folder):
    """The n-th write or sync fails, once: exit 4 with the reason, or nothing was lost."""
    if shutil.which("strace") is None or phloem("--version").returncode != 0 or subprocess.run(
            ["strace", "-o", "/dev/null", "true"], capture_output=True).returncode != 0:
        tap.skip("failing calls", "strace cannot be used here")
        return
    run = os.path.join(folder, "failing.run")
    train = ["train", *inputs, "-o", run, "--checkpoint", "0", "--quiet", "-j", "1", *options]
    phloem(*train)
    expected = content(run)
    bad, failed, resumed = [], 0, 0
    faults = [("pwrite64", "EIO", n) for n in (1, 5, 20, 60, 150, 400, 800)]
    faults += [("pwrite64", "ENOSPC", n) for n in (3, 40, 300)]
    faults += [("fdatasync,fsync", "EIO", n) for n in (1, 2, 5, 12, 25)]
    for call, fault, n in faults:
        remove(run)
        done = subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", f"trace={call}", "-e",
                               f"inject={call}:error={fault}:when={n}", PHLOEM, *train],
                              capture_output=True, text=True)
        where = f"{call} number {n}: {fault}"
        if done.returncode not in (0, 4) or (done.returncode == 4 and
                                             "cannot write" not in done.stderr):
            bad.append(f"{where}: exit {done.returncode}: {done.stderr}")
        failed += done.returncode == 4
        if done.returncode == 4 and os.path.exists(run):
            resumed += 1
            again = phloem("resume", run, "--quiet")
            if again.returncode != 0:
                bad.append(f"{where}: resume: exit {again.returncode}: {again.stderr}")
        if os.path.exists(run) and content(run) != expected:
            bad.append(f"{where}: another run")
    report(not bad and failed > 0, f"failing calls: {failed} failures, {resumed} resumed", *bad)


def with_short_write(words, run, at, then):
    """The program with write number `at` of the run file, or of those beside it, cut in half: what came
    of it, how many writes there were, how many short ones, how many failed."""
    folder = os.path.dirname(run)
    counts = folder + ".counts"
    env = preloaded(SHORT_WRITES, SHORT_WRITES_IN=folder, SHORT_WRITES_AT=str(at),
                    SHORT_WRITES_THEN=then, SHORT_WRITES_REPORT=counts)
    done = phloem(*words, env=env)
    with open(counts, encoding="ascii") as stream:
        numbers = [int(word) for word in stream.read().split()]
    os.remove(counts)
    return done, *numbers


def short_write_fault(train, run, at, then, old, expected):
    """What was wrong, or None; and what came of it: the training "went on" to its end, it was "resumed",
    or the old run was "kept"."""
    done, _, shortened, failed = with_short_write(train, run, at, then)
    if shortened != 1 or (failed > 0) != (then != "go on"):
        return f"{shortened} short writes, {failed} failed", None
    shown = phloem("show", run)
    if shown.returncode != 0 or shown.stderr:
        return f"show: exit {shown.returncode}: {shown.stderr}", None
    if done.returncode == 0:  # also when only the last folding of the log had failed
        good = not done.stderr and content(run, "rw") == expected
        return None if good else f"{failed} failed, another run: {done.stderr}", "went on"
    if done.returncode != 4 or "cannot write" not in done.stderr or done.stderr.count("\n") != 1:
        return f"exit {done.returncode}: {done.stderr}", None
    with open(run, "rb") as stream:
        if stream.read() == old:
            left = os.listdir(os.path.dirname(run))
            return None if len(left) == 1 else f"left {left}", "kept"
    resume = ["resume", run, "--quiet", "--checkpoint", "0"]
    first = with_short_write(resume, run, 1 + at % 12, then)[0]  # once more, where it begins to write
    if first.returncode not in (0, 4) or phloem("show", run).returncode != 0:
        return f"resume with a fault: exit {first.returncode}: {first.stderr}", None
    again = with_short_write(resume, run, at, "go on")[0]
    left = os.listdir(os.path.dirname(run))
    good = again.returncode == 0 and not again.stderr and content(run) == expected and len(left) == 1
    return None if good else f"resume: exit {again.returncode}, left {left}: {again.stderr}", "resumed"


def test_short_writes(inputs, options, folder, points):
    """The n-th write writes half of its bytes; then all goes well, or the next one fails, or all."""
    place = os.path.join(os.path.realpath(folder), "short")
    run = os.path.join(place, "short.run")
    train = ["train", *inputs, "-o", run, "--force", "--checkpoint", "0", "--quiet", "-j", "1",
             *options]
    os.mkdir(place)
    phloem("train", *inputs, "-o", run, "--quiet", "--model", "sp", "--iterations", "3", check=True)
    with open(run, "rb") as stream:
        old = stream.read()
    done, writes, shortened, _ = with_short_write(train, run, 0, "go on")
    report(done.returncode == 0 and writes > 0 and shortened == 0,
           f"short writes: {writes} writes of a run", done.stderr)
    expected = content(run)
    points = min(points, writes)
    for then in ("go on", "EIO", "ENOSPC"):
        bad, came = [], {"went on": 0, "resumed": 0, "kept": 0}
        for point in range(points):
            at = 1 + point * (writes - 1) // (points - 1)
            shutil.rmtree(place)
            os.mkdir(place)
            with open(run, "wb") as stream:
                stream.write(old)
            fault, outcome = short_write_fault(train, run, at, then, old, expected)
            if fault:
                bad.append(f"write {at} of {writes}: {fault}")
            else:
                came[outcome] += 1
        as_it_should = came["went on"] == points if then == "go on" else \
            came["kept"] > 0 and came["resumed"] > points / 2
        report(not bad and as_it_should, f"short writes, then {then}: " +
               ", ".join(f"{count} {outcome}" for outcome, count in came.items()), *bad)


def main():
    kills = int(sys.argv[3])
    inex_kills = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    chance = random.Random(SEED)
    print(f"# seed {SEED}")
    options = ["--model", "tf", "--states", "4", "--chains", "2", "--iterations", str(80 if kills < 20 else 150), "--keep", "5"]
    with tempfile.TemporaryDirectory(prefix="phloem-kill-") as folder:
        trees = os.path.join(folder, "symm.trees")
        phloem("generate", "symm", "-o", trees, "--quiet", check=True)
        test_kills("symm", [trees], options, kills, folder, chance)
        test_kills("grammar", [trees], GRAMMAR, kills if kills >= 20 else (kills + 1) // 2, folder, chance)
        test_part_of_start(trees, folder)
        small = ["--model", "tf", "--states", "3", "--chains", "1", "--iterations", "12", "--keep", "3"]
        test_signals([trees], folder)
        few = os.path.join(folder, "few.trees")
        phloem("generate", "symm", "--trees-per-class", "8", "-o", few, "--quiet", check=True)
        test_full_disk([few], ["--model", "tf", "--states", "8", "--iterations", "60"], folder)
        test_failing_calls([few], small, folder)
        test_short_writes([few], small, folder, 40 if kills < 20 else 400)
        if inex_kills:
            inex = harness.data_sets.path("inex05/train.elastic.tree")
            if os.path.exists(inex):
                test_kills("INEX05", [inex], ["--model", "tf", "--per-class", "--states", "4", "--chains", "1",
                                              "--iterations", "60", "--keep", "3"],
                           inex_kills, folder, chance)
            else:
                tap.skip("kills on INEX05")
    return tap.end()


sys.exit(main())
