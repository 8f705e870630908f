#!/usr/bin/python3
"""tests/hostile/run.py PHLOEM - run files made by an enemy, one fault or trick each.

Runs of every kind are trained, changed by SQL or page by page, and their digests made good again.
Whatever is asked of such a file, the answer takes 2 seconds of processor time and 256 MB at most,
as a result or as a refusal in words: exit code 0 to 4, no internal error, nothing from a sanitizer.
A resumed training that has more to do than that is interrupted and ends with exit code 130.
PHLOEM_TEST_SLOW is a factor for the time, for builds with sanitizers, whose memory is not measured.
Then trees of a few bytes that ask for much, and how time grows with classes and restarts.
TAP on standard output.
"""
import json
import math
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import zstandard

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402  # pylint: disable=wrong-import-position
import run_arrays  # noqa: E402  # pylint: disable=wrong-import-position
import run_files  # pylint: disable=wrong-import-position

PHLOEM = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
SLOW = float(os.environ.get("PHLOEM_TEST_SLOW", "1"))
SECONDS = 2.0 * SLOW
MEGABYTES = 256
ENVIRONMENT = dict(os.environ, UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
                   ASAN_OPTIONS="allocator_may_return_null=1")
REPORT = harness.Report()


class Answer:
    """What a command said, and what it took."""

    def __init__(self, words):
        self.words = words
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            began = time.monotonic()
            process = subprocess.Popen([PHLOEM, *words], stdout=out, stderr=err, env=ENVIRONMENT)
            self.interrupted = False
            while True:
                done, status, usage = os.wait4(process.pid, os.WNOHANG)
                self.seconds = time.monotonic() - began
                if done != 0:
                    break
                if self.seconds > 1 and not self.interrupted and words[0] == "resume":
                    process.send_signal(signal.SIGINT)  # a training that has much to do
                    self.interrupted = True
                elif self.seconds > 20 * SECONDS:
                    process.kill()
                time.sleep(0.002)
            process.returncode = self.code = os.waitstatus_to_exitcode(status)
            self.seconds = usage.ru_utime + usage.ru_stime  # whoever else works on this machine
            self.megabytes = usage.ru_maxrss / 1024
            err.seek(0)
            self.error = err.read().decode("utf-8", "replace")

    def trouble(self):
        """What is wrong with it; None: nothing."""
        if self.code not in ((0, 2, 3, 4, 130) if self.interrupted else (0, 1, 2, 3, 4)):
            return f"exit code {self.code}"
        if "Sanitizer" in self.error or "runtime error" in self.error:
            return "a sanitizer found something"
        if "internal" in self.error or "please report" in self.error:
            return "an internal error"
        if self.code in (2, 3, 4) and "phloem: " not in self.error:
            return "no words"
        if self.seconds > (4 * SECONDS if self.interrupted else SECONDS):
            return f"{self.seconds:.1f} s"
        if SLOW == 1 and self.megabytes > MEGABYTES:
            return f"{self.megabytes:.0f} MB"
        return None


def copy(source, target):
    for ending in ("", "-wal", "-shm", "-journal"):
        if os.path.lexists(target + ending):
            os.unlink(target + ending)
        if os.path.exists(source + ending):
            shutil.copy(source + ending, target + ending)


# Every use of a run.  Where `show` refuses it the others read it in the same way.
USES = [["show", "RUN"], ["show", "--json", "RUN"], ["score", "RUN", "new.trees"],
        ["decode", "RUN", "new.trees"], ["label", "RUN", "new.trees", "--hide", "0.5"],
        ["classify", "RUN", "new.trees"], ["sample", "RUN", "--trees", "2", "-o", "-"],
        ["diagnose", "RUN"], ["diagnose", "RUN", "--json"]]
TRAININGS = [["resume", "RUN", "--quiet"], ["resume", "RUN", "--quiet", "--iterations", "40"]]


def use(path, name, expected=None):
    """All uses of a run file; `expected`: words of which one refusal must have some."""
    answers = []
    for words in USES:
        answers.append(Answer([path if word == "RUN" else word for word in words]))
        if answers[0].code != 0:
            break
    for words in TRAININGS:
        copy(path, "resumed.run")
        answers.append(Answer(["resumed.run" if word == "RUN" else word for word in words]))
    bad = [(a, a.trouble()) for a in answers if a.trouble() is not None]
    said = any(expected is None or expected in a.error for a in answers)
    REPORT.line(not bad and said, f"{name}: {' '.join(str(a.code) for a in answers)}",
                *[f"{trouble}: {' '.join(a.words)}: {a.error[-1500:]}" for a, trouble in bad],
                *([] if said else [f"expected: {expected}"] + [a.error for a in answers]))


def case(name, kind, change, expected=None, mend=True, plain=True):
    """A run of this kind, changed by SQL or by a function of a connection.  plain: its arrays are not compressed."""
    copy(f"{kind}.run", "case.run")
    run = run_files.connect("case.run")
    if plain:
        run_arrays.unpack_run(run)
    if callable(change):
        change(run)
    else:
        run.executescript(change)
    if mend:
        run_files.mend(run)
    run.close()
    use("case.run", f"{kind}, {name}", expected)


def pages(name, kind, change, expected=None):
    """The same for a change of the file itself."""
    copy(f"{kind}.run", "case.run")
    change("case.run")
    use("case.run", f"{kind}, {name}", expected)


def make_runs():
    for file in ("train.trees", "new.trees"):
        shutil.copy(os.path.join(HERE, "..", "old-runs", file), file)
    means = {
        "tf": ["--chains", "2", "--keep", "3"],
        "soft": ["--chains", "1", "--keep", "2", "--clustering", "soft"],
        "paper": ["--chains", "1", "--keep", "2", "--sampler", "paper"],
        "sp": ["--model", "sp", "--restarts", "2"],
        "td": ["--model", "td"],
        "full": ["--model", "full", "--states", "2"],
        "classes": ["--chains", "2", "--keep", "2", "--per-class"],
        "grammar": ["--model", "grammar", "--restarts", "2", "--per-class"],
    }
    for name, options in means.items():
        subprocess.run([PHLOEM, "train", "--model", "tf", "train.trees", "-o", f"{name}.run", "--quiet", "--states",
                        "3", "--iterations", "8", "--seed", "5", *options], check=True)


INTERRUPTED = "UPDATE class SET stop_reason = 'interrupted';"


# ---- Schema ----------------------------------------------------------------------------------------

def schema_cases():
    case("a view for a table", "tf", "ALTER TABLE label RENAME TO other;"
         "CREATE VIEW label AS SELECT * FROM other;", "not as it should be")
    case("triggers", "tf", INTERRUPTED +
         "CREATE TRIGGER a AFTER UPDATE ON class BEGIN DELETE FROM tensor; END;"
         "CREATE TRIGGER b AFTER INSERT ON trace BEGIN DELETE FROM label; END;"
         "CREATE TRIGGER c BEFORE DELETE ON checkpoint BEGIN SELECT raise(abort, 'no'); END;")
    case("a table and a view more", "tf", INTERRUPTED + "CREATE VIEW v AS SELECT * FROM tensor;"
         "CREATE TABLE t (a, b); INSERT INTO t VALUES (zeroblob(100000), 1);")
    case("an index more", "tf", INTERRUPTED + "CREATE INDEX i ON tensor (checksum);",
         "an index of its own")
    case("a partial index", "tf", "CREATE INDEX i ON label (name) WHERE id > 100;",
         "an index of its own")
    case("an index under a false name", "tf", "CREATE INDEX i ON label (id);"
         "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET tbl_name = 'other' WHERE name = 'i'")
    case("a virtual table", "tf", "CREATE VIRTUAL TABLE f USING fts5 (x);")
    case("a generated column", "tf", "DROP TABLE label;"
         "CREATE TABLE label (id INTEGER PRIMARY KEY, name TEXT AS (upper('x')));",
         "not as it should be")
    forge = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = {} WHERE name = '{}';"
    trace = "(SELECT rootpage FROM sqlite_schema WHERE name = 'trace')"
    for name, root in (("sqlite_autoindex_label_1", trace), ("label", trace), ("label", "1"),
                       ("label", "2000000000"), ("tensor", "0"), ("meta", trace),
                       ("sqlite_autoindex_tensor_1", trace), ("section", trace)):
        case(f"root of {name} at {root[:9]}", "tf", INTERRUPTED + forge.format(root, name),
             mend=False)
    case("a newer format", "tf", "PRAGMA user_version = 3", "newer version")
    case("a format below 0", "tf", "PRAGMA user_version = -1", "newer version")
    case("format 1 with sections", "tf", "PRAGMA user_version = 1", "digest does not match",
         mend=False)
    case("a section of a newer version", "tf",
         "INSERT INTO section VALUES ('newer', 1, 1, zeroblob(32))", "section 'newer', which phloem")
    case("a section that may be passed over", "tf",
         "INSERT INTO section VALUES ('notes', 7, 0, x'00')")
    case("a newer known section", "tf", "UPDATE section SET version = 3 WHERE name = 'models'",
         "version 3 of section 'models'")
    case("many sections", "tf", lambda run: run.executemany(
        "INSERT INTO section VALUES (?, 1, 0, x'00')", [(f"s{i}",) for i in range(100000)]))
    case("no sections", "tf", "DELETE FROM section", "lacks a section")


# ---- Pages -----------------------------------------------------------------------------------------

def page_cases():
    for name in ("meta", "label", "class", "model", "trace", "section", "sqlite_autoindex_label_1",
                 "sqlite_autoindex_class_1", "sqlite_autoindex_tensor_1", "sqlite_autoindex_forest_1",
                 "tensor", "forest"):
        def change(path, name=name):
            connection = run_files.connect(path)
            connection.executescript(INTERRUPTED)
            if name == "sqlite_autoindex_class_1":
                connection.execute("UPDATE class SET name = NULL")
            if name in ("tensor", "forest", "sqlite_autoindex_tensor_1"):  # one page must do
                connection.execute("DELETE FROM tensor WHERE rowid > 4")
                connection.execute("DELETE FROM forest WHERE rowid > 4")
                connection.execute("VACUUM")
            run_files.mend(connection)
            connection.close()
            run_files.bomb(path, name)
        pages(f"pages of {name} that lead to one", "sp", change)
    pages("pages of the schema that lead to one", "sp", lambda path: run_files.bomb(path, "trace", 40))
    for name in ("trace", "label", "sqlite_autoindex_label_1"):
        pages(f"{name} of 5,000 levels", "sp", lambda path, name=name: run_files.chain(path, name, 5000))

    def log_of_many_pages(path):
        """A write-ahead log that says the database has 4 billion pages."""
        size = run_files.read_pages(path)[1]
        run_files.bomb(path, "trace")
        content, _ = run_files.read_pages(path)
        content[18] = content[19] = 2
        run_files.write_pages(path, content, size)
        salt = b"12345678"
        head = struct.pack(">IIII", 0x377f0683, 3007000, size, 0) + salt

        def checksum(data, a=0, b=0):
            words = struct.unpack(f">{len(data) // 4}I", data)
            for i in range(0, len(words), 2):
                a = (a + words[i] + b) & 0xffffffff
                b = (b + words[i + 1] + a) & 0xffffffff
            return a, b
        sums = checksum(head)
        log = head + struct.pack(">II", *sums)
        page = bytearray(content[:size])
        struct.pack_into(">I", page, 28, 0xfffffffe)
        frame = struct.pack(">II", 1, 0xfffffffe)
        sums = checksum(frame + bytes(page), *sums)
        log += frame + salt + struct.pack(">II", *sums) + bytes(page)
        with open(path + "-wal", "wb") as file:
            file.write(log)
    pages("a log that says there are 4 billion pages", "sp", log_of_many_pages)


# ---- Numbers ---------------------------------------------------------------------------------------

def configure(**changes):
    def change(run):
        row = run.execute("SELECT value FROM meta WHERE key = 'config'").fetchone()
        config = json.loads(run_files.text(row[0]))
        config.update(changes)
        run.execute("UPDATE meta SET value = ? WHERE key = 'config'", (json.dumps(config),))
        run.execute(INTERRUPTED)
    return change


def number_cases():
    huge = 2**63 - 1
    for states in ("0", "100001", "4294967294", "99999999999999999999"):
        case(f"{states} states", "sp", f"UPDATE meta SET value = '{states}' WHERE key = 'states'")
    for slots in ("0", "100000000", "4294967294"):
        for kind in ("td", "tf", "sp"):
            case(f"{slots} slots", kind, f"UPDATE meta SET value = '{slots}' WHERE key = 'slots';" +
                 INTERRUPTED)
            case(f"{slots} slots, no draws", kind, "DELETE FROM tensor; DELETE FROM model;"
                 "DELETE FROM checkpoint;"
                 f"UPDATE meta SET value = '{slots}' WHERE key = 'slots';" + INTERRUPTED)
    case("weights below 0", "sp", "UPDATE class SET weight = -0.0, trees = 0;" + INTERRUPTED)
    case("many trees", "sp", f"UPDATE class SET trees = {huge}, weight = 1e308;" + INTERRUPTED)
    case("many iterations", "tf", f"UPDATE class SET iterations = {huge};"
         f"UPDATE trace SET iteration = {huge};" + INTERRUPTED)
    case("a late draw", "tf", f"UPDATE model SET iteration = {huge}, chain = 4294967295;" +
         INTERRUPTED)
    case("a chain for every row", "tf", "UPDATE trace SET chain = 4294967295 - id;" + INTERRUPTED)
    case("traces of nothing", "tf", "UPDATE trace SET log_likelihood = NULL, log_joint = NULL, "
         "temperature = NULL, seconds = NULL;" + INTERRUPTED)
    case("infinite traces", "tf", "UPDATE trace SET log_likelihood = 9e999, log_joint = -9e999, "
         "seconds = 9e999;" + INTERRUPTED)
    for table in ("trace", "checkpoint", "label", "forest"):
        case(f"no {table}", "tf", f"DELETE FROM {table};" + INTERRUPTED)
    case("no draws", "tf", "DELETE FROM tensor; DELETE FROM model;" + INTERRUPTED)

    def many(sql, count, row):
        def change(run):
            run.execute("BEGIN")
            run.executemany(sql, (row(i) for i in range(count)))
            run.execute(INTERRUPTED)
            run.execute("COMMIT")
        return change
    case("3,000 draws without tensors", "tf", many(
        "INSERT INTO model VALUES ((SELECT max(id) + 1 FROM model), ?, 0, 1, 'tf', 0, 1.0, 1.0)",
        3000, lambda i: (0,)))
    case("100,000 tensors nobody knows", "tf", many(
        "INSERT INTO tensor VALUES (0, ?, ?, 0, 'float64', '[1]', x'00', zeroblob(8))", 100000,
        lambda i: (f"z{i % 50}", i)))
    case("200,000 facts", "tf", many("INSERT INTO meta VALUES (?, 'v')", 200000,
                                     lambda i: (f"k{i}",)))
    case("100,000 rows of trace", "tf", many(
        "INSERT INTO trace VALUES ((SELECT max(id) + 1 FROM trace), 0, ?, ?, 1.0, -1.0, -1.0, 1.0, "
        "0, 0, NULL)", 100000, lambda i: (i % 1000, i)))
    case("labels without emissions", "tf", many(
        "INSERT INTO label VALUES ((SELECT max(id) + 1 FROM label), ?)", 100,
        lambda i: ("e\u0301" * i + f"\x1b[2J{i}",)))

    def many_parts(run):
        row = run.execute("SELECT shape, data FROM tensor WHERE name = 'emission' AND model = 0")
        shape, data = row.fetchone()
        run.execute("DELETE FROM tensor WHERE model = 0 AND name = 'emission'")
        run.execute("BEGIN")
        for i in range(100000):
            run.execute("INSERT INTO tensor VALUES (0, 'emission', 0, ?, 'float64', ?, x'00', ?)",
                        (i, run_files.text(shape), data[8 * i:8 * i + 8]))
        run.execute("COMMIT")
    case("emissions in 100,000 parts", "tf", many_parts, "emission has shape")

    def state_numbers(name, numbers):
        return lambda run: run.execute(
            "UPDATE checkpoint SET data = ? WHERE name = ?",
            (struct.pack(f"<{len(numbers)}d", *numbers), name)) and run.executescript(INTERRUPTED)
    not_such = "the base of the core in the checkpoint is not such"
    for kind in ("tf", "paper"):
        for alpha, alpha0 in ((1, -math.inf), (1, math.nan), (0, 1), (2, 1), (math.inf, 1), (-1, 1)):
            case(f"a state with concentrations {alpha} and {alpha0}", kind,
                 state_numbers("reals", (alpha, alpha0, 0)), not_such)
        for base in ((-math.inf, -math.inf, -math.inf), (math.nan, 0, 0), (0, 0, 0), (math.inf, 0, 0)):
            case(f"a state with base {base}", kind, state_numbers("log_lambda0", base), not_such)
    for previous in (math.nan, math.inf, -math.inf, 1e308):
        case(f"a state whose log-likelihood was {previous}", "sp",
             state_numbers("reals", (0, 0, previous)))

    outside = "its configuration is impossible"
    for kind, changes, expected in (
            ("classes", {"chains": 2**63}, "configuration"),
            ("classes", {"chains": 2**62}, "configuration"),
            ("classes", {"chains": 2**52}, outside), ("tf", {"chains": 100001}, outside),
            ("tf", {"chains": 0}, outside), ("tf", {"chains": 3}, None),
            ("tf", {"chains": 100000}, None),
            ("tf", {"keep": 2**52}, outside), ("tf", {"keep": 0}, outside),
            ("tf", {"iterations": 2**52}, outside), ("tf", {"iterations": 10**9}, None),
            ("tf", {"iterations": 10**9, "chains": 100000, "keep": 10**6}, "the limit is"),
            ("tf", {"warmup": 0}, None), ("tf", {"slots_min": 64, "slots_max": 64}, None),
            ("tf", {"slots_max": 4294967294}, outside), ("tf", {"core_max": 1}, None),
            ("tf", {"core_max": 4294967295}, None), ("tf", {"phi": 1e308}, None),
            ("tf", {"alpha": 1e100, "alpha0": 1e100}, None),
            ("tf", {"alpha": 1e-100, "alpha0": 1e-100, "beta": 1e-100}, None),
            ("tf", {"gamma": 1e-320}, outside), ("tf", {"update_concentration": True}, None),
            ("tf", {"anneal": [1e308, 2]}, None), ("tf", {"anneal": [1, 0]}, None),
            ("tf", {"k": [1] * 100000}, None), ("tf", {"k": [3, 3, 3]}, None),
            ("tf", {"k": [10**6]}, outside),
            ("tf", {"earlier": list(range(1, 6)), "iterations": 10}, None),
            ("tf", {"earlier": list(range(1, 100000)), "iterations": 10**6}, None),
            ("tf", {"slot_support": 0}, None), ("tf", {"slot_support": 1}, None),
            ("tf", {"sampler": "paper"}, None), ("tf", {"sampler": "seed"}, None),
            ("tf", {"clustering": "soft"}, None), ("tf", {"learner": "em"}, None),
            ("paper", {"sampler": "blocked"}, None), ("soft", {"clustering": "hard"}, None),
            ("soft", {"sampler": "paper"}, outside),
            ("sp", {"restarts": 5000}, None), ("sp", {"restarts": 30000000}, outside),
            ("sp", {"restarts": 0}, outside), ("sp", {"tolerance": 0, "iterations": 10**9}, None),
            ("sp", {"smoothing": 1e8}, None), ("sp", {"smoothing": 0}, None),
            ("sp", {"gamma": 1e100}, None), ("sp", {"learner": "gibbs"}, "configuration"),
            ("sp", {"states": 4}, "that of another run")):
        words = ", ".join(f"{key} {str(value)[:20]}" for key, value in changes.items())
        case(words, kind, configure(**changes), expected)
    set_config = "UPDATE meta SET value = {} WHERE key = 'config';" + INTERRUPTED
    case("a deep configuration", "tf", set_config.format("printf('%.*c', 20000, '[')"))
    case("a long configuration", "tf", set_config.format(
        "'{\"a\":\"' || printf('%.*c', 1000000, 'x') || '\"}'"))
    case("a strange seed", "tf", "UPDATE meta SET value = '-5xyz' WHERE key = 'seed';" + INTERRUPTED)
    case("a hostile partition", "tf", "INSERT INTO meta VALUES ('partition', "
         "'[{\"slot\":1,\"blocks\":[0,0,4294967295]}]');" + INTERRUPTED)
    case("a deep partition", "tf", "INSERT INTO meta VALUES ('partition', "
         "printf('%.*c', 100000, '['));" + INTERRUPTED)


# ---- Compressed arrays -----------------------------------------------------------------------------

def packed_cases():
    """Arrays that say they are compressed."""
    def put(table, name, data, shape=None, dtype=None):
        def edit(run):
            for column, value in (("data", data), ("shape", shape), ("dtype", dtype)):
                if value is not None:
                    run.execute(f"UPDATE {table} SET {column} = ? WHERE name = ?", (value, name))
            run.execute(INTERRUPTED)
        return edit

    def pack(length, level=3, **options):
        """A frame of zeros, made bit by bit: what this program takes counts as taken by what it starts."""
        frame = zstandard.ZstdCompressor(level=level, **options).compressobj(size=length)
        step = bytes(1 << 20)
        parts = [frame.compress(step[:min(length - at, len(step))]) for at in range(0, length, len(step))]
        return b"".join(parts) + frame.flush()

    emission = "emission has shape"
    case("nothing changed", "tf", "SELECT 1", plain=False)
    for table, name, kind in (("tensor", "emission", "tf"), ("forest", "link", "tf"),
                              ("checkpoint", "emission", "tf"), ("tensor", "counts", "grammar")):
        for length in (1 << 26, 1 << 30, 1 << 36, 1 << 62, 10 ** 30):
            case(f"{name} of {table}: {length} numbers in 3 KB", kind,
                 put(table, name, pack(1 << 25)[:3000], f"[{length}]"), "in ", plain=False)
    case("a bomb of 128 MB in 4 KB", "tf", put("tensor", "emission", pack(1 << 27), f"[{1 << 24}]"), emission,
         plain=False)
    case("a bomb of 64 MB filled up to 2 MB", "tf",
         put("tensor", "emission", pack(1 << 26) + bytes((1 << 21) + 9), f"[{1 << 23}]"), emission, plain=False)
    shape = "(SELECT shape FROM tensor WHERE name = 'emission' AND model = 0)"

    def same_shape(make):
        """The counts of the first class: what make gives for their length."""
        def edit(run):
            text = run_files.text(run.execute(
                "SELECT shape FROM tensor WHERE name = 'counts' AND model = 0").fetchone()[0])
            run.execute("UPDATE tensor SET data = ? WHERE name = 'counts' AND model = 0",
                        (make(8 * math.prod(json.loads(text))),))
        return edit

    def noise(length):
        """A frame of bytes that do not become small."""
        return zstandard.ZstdCompressor().compress(bytes(random.Random(length).choices(range(8), k=length)))
    cannot = "counts cannot be unpacked"
    case("a frame of zeros", "grammar", same_shape(pack), "in ", plain=False)
    case("a frame of noise", "grammar", same_shape(noise), plain=False)
    case("a frame that is cut", "grammar", same_shape(lambda n: noise(n)[:-4]), cannot, plain=False)
    case("a frame too long", "grammar", same_shape(lambda n: noise(n + 1)), cannot, plain=False)
    case("a frame too short", "grammar", same_shape(lambda n: noise(n - 1)), cannot, plain=False)
    case("a frame twice too long", "grammar", same_shape(lambda n: noise(2 * n)), cannot, plain=False)
    case("a frame with a wide window", "grammar", same_shape(lambda n: zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=27, write_content_size=False))
        .compressobj().compress(bytes(n)) + bytes(40)), cannot, plain=False)
    case("a frame that is to be skipped", "grammar",
         same_shape(lambda n: struct.pack("<II", 0x184D2A50, n // 16) + bytes(n // 16)), cannot, plain=False)
    case("no frame", "grammar", same_shape(lambda n: b"x" * (n // 2)), cannot, plain=False)
    for word, number in (("zeros", 0.0), ("infinite", math.inf), ("no numbers", math.nan), ("negative", -1.0),
                         ("tiny", 1e-45)):
        def floats(run, number=number):
            text = run_files.text(run.execute(f"SELECT {shape}").fetchone()[0])
            count = math.prod(json.loads(text))
            put("tensor", "emission", struct.pack(f"<{count}f", *[number] * count), None, "float32")(run)
        case(f"floats: {word}", "tf", floats, plain=False)
    for bad in ("", "[]", "[3", "[3,]", "[,3]", "[-1]", "[1e3]", "3", "[3]x", "[[3]]", "[ 3]", "[99999999999999999999]"):
        case(f"shape {bad!r}", "tf", put("tensor", "emission", None, bad), "emission has", plain=False)


# ---- Grammars --------------------------------------------------------------------------------------

def grammar_cases():
    """Arrays of a tree grammar, each with something that cannot be."""
    def numbers(name, letter, change):
        def edit(run):
            for row, data in run.execute("SELECT rowid, data FROM tensor WHERE name = ?", (name,)).fetchall():
                values = list(struct.unpack(f"<{len(data) // struct.calcsize(letter)}{letter}", data))
                values = change(values)
                run.execute("UPDATE tensor SET data = ?, shape = ? WHERE rowid = ?",
                            (struct.pack(f"<{len(values)}{letter}", *values),
                             f"[{len(values) // 3},3]" if name == "rules" else f"[{len(values)}]", row))
            run.execute(INTERRUPTED)
        return edit

    def put(at, value):
        return lambda values: values[:at] + [value] + values[at + 1:]
    for at, value in ((0, 0.5), (1, 0.0), (1, -1.0), (2, math.nan), (3, 1e300), (4, -0.1), (4, 1.5), (5, -1.0),
                      (5, math.inf), (6, math.nan), (7, math.inf)):
        case(f"number {at} is {value}", "grammar", numbers("numbers", "d", put(at, value)),
             "a grammar with impossible numbers")
    for value in (0, -1, 65, 2**31 - 1):
        case(f"{value} annotations", "grammar", numbers("annotations", "i", put(0, value)), "annotations")
    case("annotations without counts", "grammar", numbers("annotations", "i", put(0, 64)), "do not fit")
    case("annotations of the end", "grammar", numbers("annotations", "i", put(-4, 2)), "annotations")
    case("a label more", "grammar", numbers("annotations", "i", lambda v: v + [1]), "a grammar of other labels")
    for value in (-1, 1000, 2**31 - 1):
        case(f"a rule of symbol {value}", "grammar", numbers("rules", "i", put(0, value)), "a rule that cannot be")
    case("a rule twice", "grammar", numbers("rules", "i", lambda v: v[:3] + v[:3] + v[6:]), "occurs twice")
    case("a rule less", "grammar", numbers("rules", "i", lambda v: v[3:]), "do not fit")
    case("no rules", "grammar", numbers("rules", "i", lambda v: []), "do not fit")
    for value in (-1.0, math.nan, math.inf, 1e200):
        case(f"a count of {value}", "grammar", numbers("counts", "d", put(0, value)), "an impossible count")
    case("counts of 1e100", "grammar", numbers("counts", "d", lambda v: [1e100] * len(v)))
    case("counts of 0", "grammar", numbers("counts", "d", lambda v: [0.0] * len(v)))
    case("one count of 1e100", "grammar", numbers("counts", "d", lambda v: [1e100] + [0.0] * (len(v) - 1)))
    for value in (math.nan, math.inf, 1.0, -math.inf):
        case(f"a score of {value}", "grammar", numbers("held_out", "d", lambda v, x=value: [x] + v[1:]),
             "an impossible score")
    case("fewer trees held out", "grammar", numbers("held_out", "d", lambda v: v[1:]), "trees held out")
    case("more trees held out", "grammar", numbers("held_out", "d", lambda v: v + [-1.0]), "trees held out")

    def one_class(run):
        """The classes of one start do not belong together."""
        row, data = run.execute("SELECT rowid, data FROM tensor WHERE name = 'numbers'").fetchone()
        values = list(struct.unpack("<9d", data))
        values[1] *= 2
        run.execute("UPDATE tensor SET data = ? WHERE rowid = ?", (struct.pack("<9d", *values), row))
    case("classes that do not belong together", "grammar", one_class, "belong together")
    for key, value in (("temperature", "nan"), ("temperature", "0"), ("temperature", "x"), ("form", "other")):
        case(f"{key} {value}", "grammar", f"UPDATE meta SET value = '{value}' WHERE key = '{key}'")


# ---- Trees -----------------------------------------------------------------------------------------

def tree_cases():
    """A few bytes that ask for tables of any size."""
    def refused(name, text, options, expected):
        with open("few.jsonl", "w", encoding="utf-8") as file:
            file.write(text)
        answer = Answer(["train", "--model", "tf", "few.jsonl", "-o", "few.run", "--quiet", *options])
        REPORT.line(answer.trouble() is None and answer.code == 3 and expected in answer.error and
                    not os.path.exists("few.run"), name, answer.trouble(), answer.error)
    slot = '{"label":["a","b"],"parent":[-1,0],"slot":[1,10000000]}\n'
    for model in ("tf", "sp", "td"):
        refused(f"slot 10,000,000 in {len(slot)} bytes, {model}", slot, ["--model", model],
                "there is a slot 10000000, but no more than 2 different slots")
        refused(f"the same within a limit, {model}", slot,
                ["--model", model, "--memory-limit", "100M"], "the limit is 0.0977 GiB")
    refused("the same, full", slot, ["--model", "full"], "a model of kind full")
    pair = '{"label":["a"],"parent":[-1],"class":"a"}\n{"label":["a"],"parent":[-1],"class":"b"}\n'
    refused("100,000 chains of 1,000,000 draws", pair,
            ["--chains", "100000", "--keep", "1000000", "--iterations", "1000000000",
             "--per-class"], "2 classes of 100000 chains with 1000000 draws each")
    for weight in ("1e308", "1.7e308", "6e99"):
        refused(f"two weights of {weight}", 2 * f'{{"label":["a"],"parent":[-1],"weight":{weight}}}\n',
                ["--model", "sp"], "the weights of the trees are too large")


# ---- Growth ----------------------------------------------------------------------------------------

def growth_cases():
    """Eight times the classes or restarts take eight times as long, not sixty-four; and no more
    memory than a few kilobytes each."""
    def measure(name, few, many, command):
        if SLOW != 1:
            return
        small, large = min((Answer(command(few)) for _ in range(3)), key=lambda a: a.seconds), \
            Answer(command(many))
        factor = large.seconds / max(small.seconds, 0.02)
        each = (large.megabytes - small.megabytes) * 1024 / (many - few)
        REPORT.line(small.code == 0 and large.code == 0 and factor < 2.5 * many / few and each < 40,
                    f"{many} {name}: {large.seconds:.2f} s, {large.megabytes:.0f} MB; {few}: "
                    f"{small.seconds:.2f} s, {small.megabytes:.0f} MB", large.error)

    def by_class(count):
        with open("classes.trees", "w", encoding="utf-8") as file:
            file.writelines(f"c{i}\t(a (b) (c))\n" for i in range(count))
        return ["train", "classes.trees", "-o", "grown.run", "--force", "--quiet", "--model", "sp",
                "--states", "2", "--iterations", "3", "--per-class"]

    def by_restart(count):
        return ["train", "train.trees", "-o", "grown.run", "--force", "--quiet", "--model", "sp",
                "--states", "2", "--iterations", "3", "--restarts", str(count)]
    measure("classes", 256, 2048, by_class)
    measure("restarts", 250, 2000, by_restart)


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_runs()
        for kind in ("tf", "soft", "paper", "sp", "td", "full", "classes", "grammar"):
            use(f"{kind}.run", f"{kind}, as it was")
        for cases in (schema_cases, page_cases, number_cases, packed_cases, grammar_cases, tree_cases,
                      growth_cases):
            cases()
        os.chdir("/")
    return REPORT.end()


if __name__ == "__main__":
    sys.exit(main())
