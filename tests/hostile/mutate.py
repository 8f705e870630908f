#!/usr/bin/python3
"""tests/hostile/mutate.py PHLOEM USE_RUNS COUNT [FOLDER] - COUNT run files changed at random.

Runs of every kind that PHLOEM trains, and those of tests/old-runs, are changed by SQL: numbers of
arrays, their shapes, types and lengths, members of the configuration, columns of rows, rows that
come or go; checksums and digests are made to fit, and mostly fingerprints too, so that the change
reaches what lies behind them.  USE_RUNS (use_runs.c) then does with each what can be done with a
run.  Nothing may crash, take more than 4 seconds of processor time or give figures that are none.
What goes wrong is left in FOLDER (or a new one that is named).  TAP on standard output; the seed is
printed and can be given as PHLOEM_TEST_SEED, PHLOEM_TEST_SLOW is a factor for the time.
"""
import json
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import run_files  # noqa: E402

SEED = int(os.environ.get("PHLOEM_TEST_SEED", time.time_ns() % 1000000))
SLOW = float(os.environ.get("PHLOEM_TEST_SLOW", "1"))
SECONDS = 4.0 * SLOW
LETTERS = {"uint8": "B", "int32": "i", "uint32": "I", "uint64": "Q", "float64": "d"}
REALS = [float("nan"), float("inf"), float("-inf"), -1.0, -0.0, 0.0, 5e-324, 1e-310, 1e-300, 1e-9,
         -1e-9, 0.5, 1.0, 1 + 1e-9, 1 + 2e-9, 2.0, 1e100, 1e300, 1e308]
INTEGERS = [0, 1, -1, 2, 3, 4, 5, 7, 255, 100000, 100001, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1,
            2**32, 2**40, 2**52 - 1, 2**52, 2**53, 2**62, 2**63 - 1, -2**63]
TEXTS = ["", "a", "x", "?", "_", "0", "1", "2", "3", "-1", "100000", "4294967294", "4294967295",
         "18446744073709551616", "interrupted", "iterations", "tolerance", "tf", "td", "sp", "full",
         "left", "right", "\x1b[31m", "\u202e", "e\u0301", "../../x", "<script>", "a" * 70000]
SHAPES = ["", "[]", "[0]", "[1]", "[-1]", "[1,", "[18446744073709551615,2]",
          "[4294967296,4294967296]", "[" + "9" * 5000]


class Mutator:
    """Changes to one run, drawn at random and noted."""

    def __init__(self, path, rng):
        self.run = run_files.connect(path)
        self.rng = rng
        self.done = []

    def note(self, *what):
        self.done.append(" ".join(str(word)[:40] for word in what))

    def integer(self, letter="q"):
        value = self.rng.choice(INTEGERS)
        low, high = {"B": (0, 2**8), "i": (-2**31, 2**31), "I": (0, 2**32), "Q": (0, 2**64),
                     "q": (-2**63, 2**63)}[letter]
        return value if low <= value < high else (value - low) % (high - low) + low

    def row_of(self, table, columns):
        """Some row of a table: its key and the columns."""
        rows = self.run.execute(f"SELECT rowid, {columns} FROM {table}").fetchall()
        return self.rng.choice(rows) if rows else None

    # -- Arrays --

    def change_numbers(self, name, letter, numbers, width):
        """Some numbers of an array; often a row stays a distribution."""
        for _ in range(self.rng.choice([1, 1, 1, 2, 5])):
            at = self.rng.randrange(len(numbers))
            if letter != "d":
                numbers[at] = self.integer(letter)
                if self.rng.random() < 0.5:
                    numbers[at] = self.rng.randrange(len(numbers) + 3) % (256 if letter == "B" else 2**31)
                continue
            first = at // width * width
            row = range(first, min(first + width, len(numbers)))
            kind = self.rng.randrange(7) if name not in ("reals", "log_lambda0", "tree_weight") else 6
            if kind < 3:  # all on one outcome
                for i in row:
                    numbers[i] = (0.0, 5e-324, -0.0)[kind]
                numbers[at] = 1.0
            elif kind == 3:
                for i in row:
                    numbers[i] = 1.0 / len(row)
            else:
                numbers[at] = self.rng.choice(REALS)

    def change_array(self, table):
        found = self.row_of(table, "name, dtype, shape, data")
        if found is None:
            return self.note("no row in", table)
        row, name, dtype, shape, data = found[0], *map(run_files.text, found[1:4]), found[4]
        letter = LETTERS.get(dtype, "B")
        size = struct.calcsize(letter)
        count = len(data) // size
        self.note(table, name)
        choice = self.rng.random()
        if choice < 0.6 and count > 0:
            numbers = list(struct.unpack(f"<{count}{letter}", data[:count * size]))
            try:
                width = max(1, int(json.loads(shape)[-1]))
            except (ValueError, IndexError, TypeError):
                width = 1
            self.change_numbers(name, letter, numbers, width)
            self.run.execute(f"UPDATE {table} SET data = ? WHERE rowid = ?",
                             (struct.pack(f"<{count}{letter}", *numbers), row))
        elif choice < 0.7:
            shape = self.rng.choice(SHAPES + [f"[{count + 1}]", f"[{max(0, count - 1)}]", shape + " "])
            self.run.execute(f"UPDATE {table} SET shape = ? WHERE rowid = ?", (shape, row))
        elif choice < 0.76:
            self.run.execute(f"UPDATE {table} SET dtype = ? WHERE rowid = ?",
                             (self.rng.choice(list(LETTERS) + ["", "x"]), row))
        elif choice < 0.86:
            length = max(0, self.rng.choice([0, 1, len(data) // 2, len(data) - 1, len(data) + 1,
                                             len(data) - 8, len(data) + 8, 2 * len(data)]))
            data = (data + bytes(length))[:length]
            self.run.execute(f"UPDATE {table} SET data = ? WHERE rowid = ?", (data, row))
            if self.rng.random() < 0.7:
                self.run.execute(f"UPDATE {table} SET shape = ? WHERE rowid = ?",
                                 (f"[{len(data) // size}]", row))
        elif choice < 0.91:
            self.run.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
        elif choice < 0.95:
            column = self.rng.choice(["part", "name"] + (["slot"] if table != "forest" else []))
            value = self.rng.choice(["prior", "mode", "link", "x", ""]) if column == "name" \
                else self.rng.choice(INTEGERS)
            self.run.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE rowid = ?",
                             (value, row))
        else:
            cut = self.rng.choice([0, 1, size, len(data) // 2, len(data)])
            columns = [run_files.text(c[1]) for c in self.run.execute(f"PRAGMA table_info({table})")]
            self.run.execute(f"UPDATE {table} SET data = ? WHERE rowid = ?", (data[:cut], row))
            copied = ", ".join({"part": str(self.rng.choice([1, 1, 2, 2**32])), "data": "?"}.get(c, c)
                               for c in columns)
            self.run.execute(f"INSERT OR IGNORE INTO {table} SELECT {copied} FROM {table} "
                             "WHERE rowid = ?", (data[cut:], row))
        return None

    # -- The configuration --

    def change_config(self):
        row = self.run.execute("SELECT value FROM meta WHERE key = 'config'").fetchone()
        try:
            config = json.loads(run_files.text(row[0]))
            key = self.rng.choice(list(config) + ["k", "earlier", "anneal", "clustering"])
        except (TypeError, ValueError):
            return self.note("no configuration")
        value = self.rng.choice(INTEGERS + REALS[3:] + [
            None, True, False, "x", "seed", "paper", "soft", "gibbs", "em", "tf", "sp", [], {}, [1, 2],
            [0, 0], [1e308, 3], [1, 2**52], [1] * 1000, 64, 65, 31, 32, 2000])
        config[key] = value
        if self.rng.random() < 0.1:
            del config[key]
        self.note("config", key, value)
        self.run.execute("UPDATE meta SET value = ? WHERE key = 'config'", (json.dumps(config),))
        return None

    # -- Rows --

    def change_fact(self):
        keys = [run_files.text(k[0]) for k in self.run.execute("SELECT key FROM meta")]
        if keys:
            key, value = self.rng.choice(keys), self.rng.choice(TEXTS)
            self.note("meta", key, value)
            self.run.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))

    def change_row(self):
        table = self.rng.choice(["label", "class", "class", "model", "model", "trace", "trace"])
        info = [(run_files.text(c[1]), run_files.text(c[2]))
                for c in self.run.execute(f"PRAGMA table_info({table})")]
        found = self.row_of(table, "id")
        if found is None:
            return self.note("no row in", table)
        choice = self.rng.random()
        if choice < 0.12:
            self.note(table, "goes")
            self.run.execute(f"DELETE FROM {table} WHERE id = ?", found[:1])
        elif choice < 0.2:
            self.note(table, "comes")
            copied = ", ".join({"id": f"(SELECT max(id) + 1 FROM {table})", "name": "?2"}.get(c, c)
                               for c, _ in info)
            self.run.execute(f"INSERT OR IGNORE INTO {table} SELECT {copied} FROM {table} "
                             "WHERE id = ?1 AND ?2 IS NOT NULL", (found[0], self.rng.choice(TEXTS)))
        else:
            column, kind = self.rng.choice(info)
            value = self.rng.choice({"TEXT": TEXTS, "REAL": REALS[1:] + [None]}.get(kind, INTEGERS))
            if column == "moves":
                value = self.rng.choice(["[[1,2]]", "[[4294967295,4294967295]]", None, "[",
                                         "[[1,2],[3,4],[5,6],[7,8]]"])
            self.note(table, column, value)
            self.run.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE id = ?",
                             (value, found[0]))
        return None

    def change_section(self):
        column = self.rng.choice(["version", "required", "name"])
        value = self.rng.choice(["newer", "x y", "models"] if column == "name" else INTEGERS)
        self.note("section", column, value)
        self.run.execute(f"UPDATE OR IGNORE section SET {column} = ? WHERE name = ?",
                         (value, self.rng.choice(list(run_files.SECTIONS))))

    def change(self):
        choice = self.rng.random()
        try:
            if choice < 0.22:
                self.change_array("tensor")
            elif choice < 0.42:
                self.change_array("checkpoint")
            elif choice < 0.58:
                self.change_array("forest")
            elif choice < 0.73:
                self.change_config()
            elif choice < 0.79:
                self.change_fact()
            elif choice < 0.98:
                self.change_row()
            else:
                self.change_section()
        except (sqlite3.Error, OverflowError) as refusal:  # SQLite keeps its types
            self.note("refused:", refusal)

    def finish(self):
        if self.rng.random() < 0.6:
            self.run.execute("UPDATE OR IGNORE class SET stop_reason = 'interrupted'")
        run_files.mend(self.run)
        self.run.close()


class User:
    """The program that uses run files; begun anew when it has ended."""

    def __init__(self, program):
        self.program = program
        self.process = None
        self.errors = tempfile.TemporaryFile()

    def ask(self, *words):
        """Its answer; None: it ended."""
        if self.process is None:
            self.errors.seek(0)
            self.errors.truncate()
            environment = dict(os.environ, UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
                               ASAN_OPTIONS="allocator_may_return_null=1:max_allocation_size_mb=4000")
            self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, text=True,
                                            stdout=subprocess.PIPE, stderr=self.errors,
                                            env=environment)
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line == "":
            self.process.wait()
            self.process = None
            return None
        return line.split()

    def last_words(self):
        self.errors.seek(0)
        return self.errors.read().decode("utf-8", "replace")[-3000:]

    def end(self):
        """Its exit code: leaks are told at the end."""
        if self.process is None:
            return 0
        self.process.stdin.close()
        return self.process.wait()


def make_seeds(phloem, folder):
    """Runs to begin with, by name."""
    old = os.path.join(harness.TESTS, "old-runs")
    kinds = {"tf": ["--chains", "2", "--keep", "3"],
             "soft": ["--chains", "1", "--keep", "2", "--clustering", "soft"],
             "paper": ["--chains", "1", "--keep", "2", "--sampler", "paper"],
             "sp": ["--model", "sp", "--restarts", "2"], "td": ["--model", "td"],
             "full": ["--model", "full", "--states", "2"],
             "classes": ["--chains", "2", "--keep", "2", "--per-class"],
             "classes-sp": ["--model", "sp", "--per-class"],
             "grammar": ["--model", "grammar", "--restarts", "2"],
             "classes-grammar": ["--model", "grammar", "--restarts", "2", "--per-class"]}
    seeds = {}
    for name, options in kinds.items():
        seeds[name] = os.path.join(folder, f"{name}.run")
        subprocess.run([phloem, "train", os.path.join(old, "train.trees"), "-o", seeds[name],
                        "--model", "tf", "--quiet", "--states", "3", "--iterations", "8", *options], check=True)
    for name in ("tf", "per-class", "td"):
        seeds[f"old-{name}"] = os.path.join(old, f"{name}.run")
    return seeds


def campaign(phloem, program, count, folder, report):
    rng = random.Random(SEED)
    user = User(program)
    statuses, bad, slowest, began = {}, 0, 0.0, time.monotonic()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as place:
        seeds = make_seeds(phloem, place)
        path, kept = os.path.join(place, "mutant.run"), os.path.join(place, "kept.run")
        for number in range(count):
            for ending in ("", "-wal", "-shm", "-journal"):
                if os.path.exists(path + ending):
                    os.unlink(path + ending)
            kind = rng.choice(sorted(seeds))
            shutil.copyfile(seeds[kind], path)
            mutator = Mutator(path, rng)
            for _ in range(rng.choice([1, 1, 1, 2, 3])):
                mutator.change()
            fit = rng.random() < 0.8 and not kind.startswith("old-")
            mutator.finish()
            shutil.copyfile(path, kept)
            answer = ["1"]
            if fit and any("forest" in words for words in mutator.done):
                answer = user.ask("fit", path)
                shutil.copyfile(path, kept)
            if answer is not None:
                answer = user.ask("use", path)
            seconds = SECONDS if answer is None else float(answer[1])
            slowest = max(slowest, 0.0 if answer is None else seconds)
            if answer is not None:
                statuses[answer[0]] = statuses.get(answer[0], 0) + 1
            if answer is None or seconds > SECONDS:
                bad += 1
                left = os.path.join(folder, f"mutant-{SEED}-{number}.run")
                shutil.copyfile(kept, left)
                what = user.last_words() if answer is None else f"{seconds:.1f} s"
                print(f"# {left}: {kind}: {'; '.join(mutator.done)}\n# " + what.replace("\n", "\n# "))
            if number % 1000 == 999:
                print(f"# {number + 1} of {count}: {bad} bad, {statuses}, slowest {slowest:.2f} s, "
                      f"{time.monotonic() - began:.0f} s", flush=True)
        leaked = user.end()
        words = user.last_words()
    opened = statuses.get("0", 0)
    report.line(bad == 0 and leaked == 0 and opened > count / 20 and opened < count,
                f"{count} mutants, seed {SEED}: {bad} bad, {opened} opened, slowest {slowest:.2f} s",
                f"statuses of opening: {statuses}", words)


def main():
    report = harness.Report()
    folder = sys.argv[4] if len(sys.argv) > 4 else tempfile.mkdtemp(prefix="phloem-mutants-")
    campaign(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3]), folder,
             report)
    if len(sys.argv) <= 4 and not os.listdir(folder):
        os.rmdir(folder)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
