#!/usr/bin/python3
"""tests/kill/mpi.py PHLOEM [long] [NAME=PROGRAM]... - trainings by the ranks of an MPI job.

PROGRAM is phloem-mpi built with the MPI implementation NAME, openmpi or mpich.  Every model, on any
number of ranks, gives the bits of one process; a rank that is killed and Ctrl-C lose nothing that was
written, and any number of ranks goes on; bad input is told once.  With `long`, INEX05.  Skipped where
there is no phloem-mpi or no mpirun.  TAP on standard output; the seed is printed and can be given as
PHLOEM_TEST_SEED.
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from pieces import FACTS, damage  # noqa: E402
from runs import content, harness, phloem, report, rows, tap  # noqa: E402

SEED = int(os.environ.get("PHLOEM_TEST_SEED", time.time_ns() % 1000000))
MODELS = {
    "tf": ["--per-class", "--model", "tf", "--states", "4", "--chains", "3", "-i", "40"],
    "one tf for all trees": ["--model", "tf", "--states", "4", "--chains", "3", "-i", "40"],
    "sp with a linear head": ["--per-class", "--model", "sp", "--states", "3", "--restarts", "3",
                              "--head", "linear"],
    "grammar": ["--per-class", "--model", "grammar", "--restarts", "3"],
    "the default": ["--per-class"],
}
LONG = ["--per-class", "--model", "tf", "--states", "10", "--chains", "3", "-i", "2000", "--checkpoint", "0"]
# One machine, of few cores; root, as in containers.
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_oob_tcp_if_include": "lo",
    "HYDRA_LAUNCHER": "fork", "OMP_NUM_THREADS": "1",
}


class Job:
    """The commands of one implementation."""

    def __init__(self, name, program):
        self.name, self.program = name, os.path.abspath(program)
        self.mpirun = shutil.which(f"mpirun.{name}")

    def begin(self, ranks, *words):
        return subprocess.Popen([self.mpirun, "-n", str(ranks), self.program, *words],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                stdin=subprocess.DEVNULL, env=dict(os.environ, **SETTINGS))

    def run(self, ranks, *words):
        """Exit code and what phloem-mpi said."""
        process = self.begin(ranks, *words)
        said = process.communicate(timeout=1800)[1]
        return process.returncode, said

    def ranks_of(self, process):
        """The processes below mpirun that are phloem-mpi."""
        parents = {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    with open(f"/proc/{entry}/stat", encoding="utf-8") as stream:
                        parents[int(entry)] = int(stream.read().rpartition(")")[2].split()[1])
                except OSError:
                    pass
        below, found = {process.pid}, []
        for _ in range(4):
            below |= {child for child, parent in parents.items() if parent in below}
        for child in sorted(below):
            try:
                if os.path.samefile(f"/proc/{child}/exe", self.program):
                    found.append(child)
            except OSError:
                pass
        return found


def whole_content(run):
    return content(run), rows(run, FACTS), rows(run, "SELECT name, shape, checksum FROM forest")


def lines_of(said):
    return [line for line in said.splitlines() if line.startswith("phloem: ")]


def clean(run):
    shutil.rmtree(run + ".pieces", ignore_errors=True)
    if os.path.exists(run):
        os.remove(run)


def train_whole(inputs, options, folder):
    whole = os.path.join(folder, "whole.run")
    clean(whole)
    done = phloem("train", *inputs, "-o", whole, "--quiet", *options)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return whole_content(whole)


def same(run, expected):
    return os.path.exists(run) and whole_content(run) == expected and not os.path.exists(run + ".pieces")


def test_bits(job, name, inputs, options, numbers, folder):
    expected = train_whole(inputs, options, folder)
    run = os.path.join(folder, "mpi.run")
    for ranks in numbers:
        clean(run)
        code, said = job.run(ranks, "train", *inputs, "-o", run, "--quiet", *options)
        report(code == 0 and same(run, expected), f"{job.name}: {name}: {ranks} ranks, the same bits",
               code, said)


def wait_for_pieces(process, folder, n):
    """Until n pieces are begun, or the end."""
    until = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < until:
        if os.path.isdir(folder) and sum(name.endswith(".run") for name in os.listdir(folder)) >= n:
            return
        time.sleep(0.005)


def stopped(job, run, inputs, options, ranks, n, stop):
    """A training that is stopped while its n-th piece is trained.  Returns what was said, or None when
    it was too fast."""
    clean(run)
    process = job.begin(ranks, "train", *inputs, "-o", run, "--quiet", *options)
    wait_for_pieces(process, run + ".pieces", n)
    stop(process)
    said = process.communicate(timeout=120)[1]
    # mpirun of MPICH ends with 0 after a signal to itself.
    report(process.returncode != 0 or job.name == "mpich", f"{job.name}: {ranks} ranks are stopped", said)
    return said


def test_stops(job, inputs, options, folder, chance):
    """A rank that is killed, Ctrl-C, SIGTERM as of a scheduler; what is there is not trained again."""
    expected = train_whole(inputs, options, folder)
    run = os.path.join(folder, "mpi.run")

    def kill_rank(process):
        ranks = job.ranks_of(process)
        if ranks:
            os.kill(chance.choice(ranks), signal.SIGKILL)

    ways = {"a rank killed": kill_rank, "Ctrl-C": lambda process: process.send_signal(signal.SIGINT),
            "SIGTERM": lambda process: process.send_signal(signal.SIGTERM)}
    for (way, stop), n, before, after in zip(ways.items(), (4, 3, 5), (4, 2, 2), (2, 1, 4)):
        said = stopped(job, run, inputs, options, before, n, stop)
        left = sorted(os.listdir(run + ".pieces")) if os.path.isdir(run + ".pieces") else []
        report(len(left) >= n and not os.path.exists(run), f"{job.name}: {way}: the pieces are there", left,
               said)
        if way == "Ctrl-C":
            told = [line for line in lines_of(said) if "interrupted" in line]
            report(len(told) == 1 and "phloem-mpi resume" in told[0], f"{job.name}: {way} is told once", said)
        code, again = job.run(2, "train", *inputs, "-o", run, *options)
        report(code == 2 and "phloem-mpi resume" in again and sorted(os.listdir(run + ".pieces")) == left,
               f"{job.name}: {way}: a second train refuses to lose the pieces", code, again)
        code, again = job.run(after, "resume", run, "--quiet")
        report(code == 0 and same(run, expected),
               f"{job.name}: {way} of {before} ranks, {after} go on: the same bits", code, again)


def test_alone(job, inputs, options, folder):
    """Without mpirun there is one rank, with an exit code of its own."""
    expected = train_whole(inputs, options, folder)
    run = os.path.join(folder, "mpi.run")
    clean(run)
    process = subprocess.Popen([job.program, "train", *inputs, "-o", run, "--quiet", *options],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, **SETTINGS))
    wait_for_pieces(process, run + ".pieces", 2)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    report(process.returncode == 130 and len(lines_of(said)) == 1, f"{job.name}: Ctrl-C gives exit code 130",
           process.returncode, said)
    code, said = job.run(3, "resume", run, "--quiet")
    report(code == 0 and same(run, expected), f"{job.name}: 3 ranks go on with it: the same bits", code, said)


def test_wrong(job, inputs, options, folder):
    """Bad input and bad pieces: one message of phloem's, nothing written."""
    run = os.path.join(folder, "mpi.run")
    bad = os.path.join(folder, "bad.trees")
    with open(bad, "w", encoding="utf-8") as stream:
        stream.write("x\t(a (b)\n")
    cases = {
        "a missing file": (4, ["train", os.path.join(folder, "none.trees"), "-o", run]),
        "a bad tree": (3, ["train", bad, "-o", run]),
        "a bad option": (2, ["train", *inputs, "-o", run, "--model", "tff"]),
        "standard input": (2, ["train", "-", "-o", run]),
        "an expert": (2, ["train", *inputs, "-o", run, "--members", "tf,expert"]),
        "nothing to resume": (2, ["resume", run]),
        "an output that exists": (2, ["train", *inputs, "-o", inputs[0]]),
    }
    clean(run)
    for name, (expected, words) in cases.items():
        code, said = job.run(3, *words)
        told = [line for line in lines_of(said) if not line.startswith("phloem: try ")]
        report(code == expected and len(told) == 1 and not os.path.exists(run)
               and not os.path.exists(run + ".pieces"), f"{job.name}: {name} is told once", code, said)
    said = stopped(job, run, inputs, options, 2, 4, lambda process: process.send_signal(signal.SIGINT))
    piece = os.path.join(run + ".pieces", "task-000001.run")
    kept = os.path.join(folder, "kept.run")
    shutil.copy(piece, kept)
    damage(piece)
    code, said = job.run(2, "resume", run, "--quiet")
    report(code != 0 and "task-000001.run" in said and not os.path.exists(run),
           f"{job.name}: a damaged piece is named", code, said)
    shutil.copy(kept, piece)
    code, said = job.run(2, "resume", run, "--quiet")
    report(code == 0 and os.path.exists(run), f"{job.name}: once it is mended, the others are used", said)


def test_told(job, inputs, folder):
    """Ranks without work; help and version, without mpirun."""
    run = os.path.join(folder, "mpi.run")
    clean(run)
    code, said = job.run(5, "train", *inputs, "-o", run, "--model", "tf", "-i", "5", "--chains", "2")
    report(code == 0 and "there are more ranks than tasks: 3 ranks have nothing to do" in said,
           f"{job.name}: ranks without work are told", code, said)
    for words in (["--version"], ["--help"], ["train", "--help"], ["help", "resume"]):
        done = subprocess.run([job.program, *words], capture_output=True, text=True)
        report(done.returncode == 0 and done.stdout.startswith("phloem-mpi") and not done.stderr,
               f"{job.name}: phloem-mpi {' '.join(words)}", done.stdout[:200], done.stderr)
    done = subprocess.run(["ldd", sys.argv[1]], capture_output=True, text=True)
    report(not any(line.split()[0].startswith("libmpi") for line in done.stdout.splitlines()),
           "phloem itself needs no MPI", done.stdout)


def main():
    print(f"# seed {SEED}", flush=True)
    chance = random.Random(SEED)
    jobs = [Job(*word.split("=", 1)) for word in sys.argv[2:] if "=" in word]
    for job in jobs:
        if job.mpirun is None:
            tap.skip(f"phloem-mpi by {job.name}", f"no mpirun.{job.name}")
    jobs = [job for job in jobs if job.mpirun]
    if not jobs:
        tap.skip("trainings by MPI", "phloem-mpi is not built, or there is no mpirun")
        return tap.end()
    with tempfile.TemporaryDirectory() as folder:
        trees = os.path.join(folder, "symm.trees")
        phloem("generate", "symm", "--trees-per-class", "12", "-o", trees, "--quiet")
        if "long" in sys.argv[2:]:
            inex = os.path.join(harness.data_sets.FOLDER, "inex05", "train.elastic.tree")
            if not os.path.exists(inex):
                tap.skip("INEX05 by MPI")
                return tap.end()
            options = ["--per-class", "--model", "tf", "-i", "60", "--checkpoint", "1"]
            for job in jobs:
                test_bits(job, "INEX05", [inex], options, (1, 2, 4), folder)
                test_stops(job, [inex], options, folder, chance)
            return tap.end()
        for number, job in enumerate(jobs):
            for name, options in MODELS.items():
                if number == 0 or name == "tf":
                    test_bits(job, name, [trees], options, (1, 2, 4), folder)
            test_stops(job, [trees], LONG, folder, chance)
            test_alone(job, [trees], LONG, folder)
            test_wrong(job, [trees], LONG, folder)
            test_told(job, [trees], folder)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
