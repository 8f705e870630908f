"""What every part of the benchmark uses: the machine, the cost of a command, and the list of figures.

Two programs are compared by running them in turns, A B A B ..., pinned to one core, and dividing the
shortest processor times: what else the machine does hits both, and waiting for it is not counted.
"""
import json
import os
import platform
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(1, os.path.join(ROOT, "tools"))
import data_sets  # noqa: E402
MEGABYTE = 1000000


# ---- the machine -----------------------------------------------------------------------------------

def first_line(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              stdin=subprocess.DEVNULL, check=False)
    except OSError:
        return ""
    lines = done.stdout.splitlines()
    return lines[0].strip() if lines else ""


def field(path, name):
    with open(path, encoding="utf-8") as stream:
        for line in stream:
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return ""


def package(name):
    return first_line("dpkg-query", "-W", "-f=${Version}", name)


def describe_machine(phloem):
    return {
        "cpu": field("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mb": int(field("/proc/meminfo", "MemTotal").split()[0]) // 1000,
        "system": f"{platform.system()} {platform.release()}",
        "compiler": first_line(os.environ.get("CC", "cc"), "--version"),
        "md5sum": first_line("md5sum", "--version"),
        "xmlwf": first_line("xmlwf", "-v"),
        "python": platform.python_version(),
        "numpy": package("python3-numpy"),
        "jags": package("jags"),
        "phloem": first_line(phloem, "--version"),
        "load_at_start": round(os.getloadavg()[0], 2),
    }


# ---- what a command costs --------------------------------------------------------------------------

CORE = max(os.sched_getaffinity(0))


def pin():
    os.sched_setaffinity(0, {CORE})


class Cost:
    """What one run of a command took.  It gets chunks on standard input; its output is not kept, nor are
    its complaints when it is to be silent."""
    def __init__(self, command, folder=None, chunks=(), silent=False):
        command = [str(word) for word in command]
        began = time.perf_counter()
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=folder,
                              stderr=subprocess.DEVNULL if silent else None, preexec_fn=pin) as child:
            try:
                for chunk in chunks:
                    child.stdin.write(chunk)
                child.stdin.close()
            except BrokenPipeError:
                pass  # it failed: see below
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise SystemExit(f"bench: {command[0]} failed with exit code {child.returncode}")
        self.elapsed = time.perf_counter() - began
        self.seconds = usage.ru_utime + usage.ru_stime  # of the processor
        self.peak = usage.ru_maxrss * 1024 / MEGABYTE


def in_turns(ours, yardstick, times, folder=None):
    """The cheapest runs of both, run in turns."""
    runs = [(Cost(ours, folder), Cost(yardstick, folder)) for _ in range(times)]
    return [min(side, key=lambda cost: cost.seconds) for side in zip(*runs)]


# ---- the figures -----------------------------------------------------------------------------------

def row(figure):
    value = figure["value"]
    digits = 3 if abs(value) < 1 else 2 if abs(value) < 100 else 0
    shown = f"{value:,.{digits}f} {figure['unit']}"
    bound = ""
    if figure["target"] is not None:
        bound = f"{'>=' if figure['better'] == 'higher' else '<='} {figure['target']:g}"
    verdict = {None: "", True: "met", False: "MISSED"}[figure["met"]]
    return f"  {figure['name']:<62} {shown:>10} {bound:>8} {verdict:<6}  {figure['note']}".rstrip()


class Bench:
    """A run of the benchmark: where its programs, data and scratch folder are, and what it found."""
    def __init__(self, build, folder, quick=False):
        self.phloem = os.path.join(build, "cli", "phloem")
        self.helpers = os.path.join(build, "bench")
        self.folder = folder
        self.quick = quick
        self.subject = ""
        self.figures = []
        self.inex = not quick and os.path.isdir(data_sets.path("inex05"))

    # Programs and files

    def helper(self, name):
        return os.path.join(self.helpers, name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments):
        subprocess.run([self.phloem, *map(str, arguments), "--quiet"], check=True)

    @staticmethod
    def parse(text):
        return json.loads(text)

    def json(self, name, *arguments):
        """What a program of bench/ prints."""
        done = subprocess.run([self.helper(name), *map(str, arguments)], check=True,
                              stdout=subprocess.PIPE, preexec_fn=pin)
        return self.parse(done.stdout)

    # Data

    def sets(self):
        """Names, training and test files of the data sets."""
        if self.inex:
            return [(name.upper(), *(data_sets.path(f"{name}/{part}.elastic.tree")
                                     for part in ("train", "test")))
                    for name in ("inex05", "inex06")]
        files = []
        for seed, part in enumerate(("train", "test"), 1):
            files.append(self.path(part + ".trees"))
            if not os.path.exists(files[-1]):
                self.run("generate", "documents", "--trees-per-class", 30 if self.quick else 1200,
                         "--seed", seed, "-o", files[-1])
        return [("documents", *files)]

    def generate_ten_million(self, path):
        """The command that makes documents of ten million nodes."""
        return [self.phloem, "generate", "documents", "--trees-per-class",
                100 if self.quick else 64000, "-o", path, "--quiet"]

    def ten_million(self):
        path = self.path("ten.trees")
        if not os.path.exists(path):
            Cost(self.generate_ten_million(path))
        return path

    # Figures

    def begin(self, subject, title):
        self.subject = subject
        print(f"\n{title} [{subject}]", flush=True)

    def add(self, name, value, unit, target=None, higher=False, note="", steady=True, exact=False,
            **details):
        """A figure; `target` is its upper bound, or lower bound when higher is better.  Not `steady`:
        --compare does not look for changes.  `exact`: the target holds for a quick run too.  The note
        goes onto the terminal, details only into the results."""
        met = None
        if target is not None and (exact or not self.quick):
            met = bool(value >= target if higher else value <= target)
        self.figures.append({"subject": self.subject, "name": name, "value": value, "unit": unit,
                             "target": target, "better": "higher" if higher else "lower", "met": met,
                             "steady": steady, "note": note, **details})
        print(row(self.figures[-1]), flush=True)

    def ratio(self, name, one, other, target=None, higher=False, **details):
        """The ratio of two times in seconds."""
        self.add(name, one / other, "x", target, higher, note=f"{one:.3g} / {other:.3g} s",
                 seconds=one, yardstick_seconds=other, **details)

    def compare(self, name, ours, yardstick, times, target=None, folder=None):
        """The ratio of the times of two commands."""
        mine, other = in_turns(ours, yardstick, 1 if self.quick else times, folder)
        self.ratio(name, mine.seconds, other.seconds, target, elapsed=mine.elapsed, peak_mb=mine.peak)
