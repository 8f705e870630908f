"""runs.py - what the tests of this folder share: the program, its run files and what is in them."""
import os
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

PHLOEM = os.path.abspath(sys.argv[1])
tap = harness.Report()
report = tap.line


def phloem(*words, **options):
    return subprocess.run([PHLOEM, *words], capture_output=True, text=True, **options)


def begin(words):
    return subprocess.Popen([PHLOEM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def preloaded(library, **settings):
    """The environment of a program with a library before all others."""
    return dict(os.environ, LD_PRELOAD=library, **settings,
                ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")


def rows(path, query, mode="ro"):
    run = sqlite3.connect(f"file:{path}?mode={mode}", uri=True)
    try:
        return run.execute(query).fetchall()
    finally:
        run.close()


CONTENT = [
    "SELECT id, name, trees, weight, iterations, stop_reason FROM class ORDER BY id",
    "SELECT * FROM model ORDER BY id",
    "SELECT model, name, slot, part, dtype, shape, checksum, data FROM tensor "
    "ORDER BY model, name, slot, part",
    "SELECT id, class, chain, iteration, temperature, log_likelihood, log_joint, active, sum_size, "
    "moves FROM trace ORDER BY id",
    "SELECT * FROM label ORDER BY id",
    "SELECT * FROM checkpoint ORDER BY class, chain, name, slot, part",
]


def content(path, mode="ro"):
    """Everything but the facts and the seconds."""
    return [rows(path, query, mode) for query in CONTENT]


def beside(path):
    """Other files of the folder that belong to the run, temporary ones too."""
    folder, name = os.path.split(path)
    return sorted(entry for entry in os.listdir(folder)
                  if entry.startswith((name, "." + name)) and entry != name)


def remove(run):
    for name in [os.path.basename(run)] + beside(run):
        path = os.path.join(os.path.dirname(run), name)
        if os.path.exists(path):
            os.remove(path)
