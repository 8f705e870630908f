#!/usr/bin/python3
"""run.py PHLOEM - the edges of what can be read and written, reported as TAP.

Very deep and very wide trees under a stack of 256 KiB, odd files, pipes, full disks, interrupts,
XML files made to hurt, each read or refused within 2 s and 256 MB, and more trees than are held.
"""
import json
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from itertools import chain

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

HUGE = 1000000
STACK = 256 << 10
SLOW = float(os.environ.get("PHLOEM_TEST_SLOW", "1"))  # sanitizers: more time, more memory
NOBODY = 65534


class Edges:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.tap = harness.Report()
        self.report = self.tap.line

    def path(self, name):
        return os.path.join(self.folder, name)

    def put(self, name, content):
        with open(self.path(name), "wb") as stream:
            if isinstance(content, bytes):
                stream.write(content)
            else:
                stream.writelines(content)
        return self.path(name)

    def run(self, *words, stdin=b"", stack=None, memory=None, user=None, processes=None, seconds=120,
            stdout=None, **variables):
        """Exit code (negative: signal), stdout, stderr."""
        def limits():
            if stack:
                resource.setrlimit(resource.RLIMIT_STACK, (stack, stack))
            if memory:
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            if processes:
                resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
            if user:
                os.setgid(user)
                os.setuid(user)
        environment = dict(os.environ, LC_ALL="C.UTF-8", **variables)
        program = self.for_others() if user else self.program
        done = subprocess.run([program, *words], input=stdin, timeout=seconds, check=False,
                              stdout=stdout or subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=limits, env=environment)
        return (done.returncode, done.stdout or b"",
                done.stderr.decode("utf-8", "backslashreplace"))

    def for_others(self):
        """The program where every user can run it: the build may lie in a folder of root's."""
        place = self.path("for-others")
        for part in ("cli/phloem", "src/libphloem.so.0"):
            source = os.path.join(os.path.dirname(self.program), "..", part)
            os.makedirs(os.path.dirname(f"{place}/{part}"), exist_ok=True)
            if os.path.exists(source) and not os.path.exists(f"{place}/{part}"):
                shutil.copy(source, f"{place}/{part}")
        return f"{place}/cli/phloem"

    def stats(self, *words, **limits):
        code, out, err = self.run("stats", "--json", *words, **limits)
        if code != 0:
            raise RuntimeError(f"exit code {code}: {err[:300]}")
        return json.loads(out)

    def expect(self, what, code, message, *words, **options):
        """A run with this exit code whose stderr begins with this message."""
        found, out, err = self.run(*words, **options)
        good = found == code and (err.startswith("phloem: " + message) if message else err == "")
        if code != 0:
            good = good and out == b"" and err.count("\n") <= 2
        self.report(good, what, f"exit code {found}, expected {code}", f"found {err!r}",
                    f"expected {message!r}")

    def same(self, what, first, second, *options, stack=None):
        """Two files with the same trees."""
        try:
            a = self.stats(first, stack=stack)
            b = self.stats(second, *options, stack=stack)
            self.report(a["fingerprint"] == b["fingerprint"], what, a["fingerprint"],
                        b["fingerprint"])
        except (RuntimeError, subprocess.TimeoutExpired) as problem:
            self.report(False, what, problem)


# ---- any number of trees -----------------------------------------------------------------------

def different_trees(count):
    """Lines of trees that have no more in common than their labels, in larger pieces."""
    for first in range(0, count, 1000):
        lines = []
        for number in range(first, first + 1000):
            chain_of = "".join("(" + "abc"[number // 3 ** digit % 3] for digit in range(12))
            lines.append(f"{'left' if number % 2 else 'right'}\t{chain_of}{')' * 12}\n")
        yield "".join(lines).encode()


def peak(edges, *words):
    """Exit code and peak of memory in bytes."""
    with subprocess.Popen([edges.program, *words], stdout=subprocess.DEVNULL) as running:
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    return running.returncode, usage.ru_maxrss * 1024


def streams(edges):
    """Trees come in blocks: memory does not grow with their number, rows come as trees do."""
    run, rows = edges.path("stream.run"), edges.path("rows.tsv")
    hidden, filled = edges.path("hidden.tsv"), edges.path("filled.trees")
    few = edges.put("few.trees", different_trees(10000))
    many = edges.put("many.trees", different_trees(80000))
    edges.run("train", "--model", "sp", "--states", "2", "--iterations", "2", "--per-class", "--quiet",
              "--limit", "1000", few, "-o", run)
    for words in (("score",), ("score", "--per-node", "--json"), ("decode",), ("classify", "-p", rows),
                  ("classify", "--no-class"),
                  ("label", "--hide=0.3", "-p", hidden, "--drawn", "-o", filled)):
        before, after = (peak(edges, *words, "--block", "1000", "--threads", "1", run, path)
                         for path in (few, many))
        good = before[0] == after[0] == 0 and after[1] < SLOW * (1.05 * before[1] + (1 << 20))
        edges.report(good, f"{' '.join(words[:2])}: as much memory for eight times the trees", before,
                     after)
    edges.report(sum(1 for _ in open(rows, "rb")) == 80001, "classify: a row for each tree")
    edges.report(sum(1 for _ in open(filled, "rb")) == 80000, "label: every tree is written")
    share = sum(1 for _ in open(hidden, "rb")) / (12 * 80000)
    edges.report(0.295 < share < 0.305, "label: a row for each label hidden", share)
    for path in (rows, hidden, filled):
        os.unlink(path)
    with subprocess.Popen([edges.program, "score", "--block", "1", "--from", "brackets", run, "-"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        found = []
        for tree, lines in ((b"(a)\n", 3), (b"(b (c))\n", 2)):  # a header, a row for each class
            running.stdin.write(tree)
            running.stdin.flush()
            found += [running.stdout.readline() for _ in range(lines)]
        running.stdin.close()
        good = running.wait(60) == 0 and [line[:1] for line in found] == [b"t", b"0", b"0", b"1", b"1"]
        edges.report(good, "score --block 1: rows come as trees do", found)
    with subprocess.Popen([edges.program, "label", "--block", "1", "--from", "brackets", run, "-"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        found = []
        for tree, lines in ((b"left\t(?)\n", 2), (b"right\t(b (?))\n", 1)):
            running.stdin.write(tree)
            running.stdin.flush()
            found += [running.stdout.readline() for _ in range(lines)]
        running.stdin.close()
        good = running.wait(60) == 0 and [line[:1] for line in found] == [b"t", b"0", b"1"]
        edges.report(good, "label --block 1: rows come as trees do", found)
    new = edges.put("new.trees", b"(a)\n")
    nowhere = edges.path("nowhere")
    edges.expect("classify: no folder for rows that wait", 4,
                 f"cannot keep the predictions in a temporary file in {nowhere}: No such file or "
                 "directory; set TMPDIR, or use --no-class or -p", "classify", run, new, TMPDIR=nowhere)
    edges.expect("classify --no-class: none is needed", 0, None, "classify", "--no-class", run, new,
                 TMPDIR=nowhere)
    for end in (signal.SIGINT, None):  # None: a bad tree
        with subprocess.Popen([edges.program, "classify", "--block", "1", "--from", "brackets", run, "-",
                               "-p", rows], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as running:
            running.stdin.write(b"left\t(a)\n")
            running.stdin.flush()
            begun = time.monotonic()
            while running.poll() is None and time.monotonic() < begun + 60 and \
                    not any(name.startswith(".rows.tsv.") for name in os.listdir(edges.folder)):
                time.sleep(0.01)
            if end:
                running.send_signal(end)
            running.stdin.write(b"left\t(a)\n" if end else b"left\t(a\n")
            out, err = running.communicate()
        left = [name for name in os.listdir(edges.folder) if "rows.tsv" in name]
        told = err == b"phloem: interrupted, nothing was written\n" or not end
        edges.report(running.returncode == (130 if end else 3) and not left and out == b"" and told,
                     f"classify -p: {'interrupted' if end else 'a bad tree'}, nothing is left",
                     running.returncode, left, out, err)


# ---- deep and wide -----------------------------------------------------------------------------

def deep_and_wide(edges):
    line = edges.put("chain.trees", [b"a\t", b"(x " * (HUGE - 1), b"(y)", b")" * (HUGE - 1), b"\n"])
    wide = edges.put("wide.trees", [b"(x", b" (y)" * HUGE, b")\n"])
    for name, path, depth, slot, distinct in (("chain", line, HUGE - 1, 1, HUGE),
                                              ("wide", wide, 1, HUGE, HUGE + 1)):
        try:
            found = edges.stats(path, stack=STACK)
            figures = (found["trees"], found["nodes"], found["depth"]["max"], found["max_slot"],
                       found["distinct_subtrees"])
            expected = (1, HUGE + (name == "wide"), depth, slot, distinct)
            edges.report(figures == expected, f"{name}: counted", figures, expected)
        except (RuntimeError, subprocess.TimeoutExpired) as problem:
            edges.report(False, f"{name}: counted", problem)
        xml = edges.path("a" if name == "chain" else ".") + f"/{name}.xml"
        os.makedirs(os.path.dirname(xml), exist_ok=True)
        steps = ((path, edges.path(name + ".jsonl")),
                 (edges.path(name + ".jsonl"), edges.path(name + ".again.trees")),
                 (path, edges.path(name + ".elastic.tree")), (path, xml))
        for source, target in steps:
            code, _, err = edges.run("convert", "--quiet", source, "-o", target, stack=STACK)
            if code != 0:
                edges.report(False, f"{name}: to {os.path.basename(target)}", code, err)
                continue
            options = ["--max-depth", str(2 * HUGE)] if target.endswith(".xml") else []
            if target.endswith(".xml") and name == "wide":
                options += ["--no-class"]
            edges.same(f"{name}: to {os.path.basename(target)} and read again", path, target,
                       *options, stack=STACK)
    with open(line, "rb") as first, open(edges.path("chain.again.trees"), "rb") as second:
        edges.report(first.read() == second.read(), "chain: the same bytes after json and back")
    edges.expect("chain: XML refuses such depth unless told otherwise", 3,
                 edges.path("a/chain.xml") + ":10002:1: elements nested", "stats",
                 edges.path("a/chain.xml"), stack=STACK)
    upside_down = edges.put("down.jsonl", [
        b'{"class":"a","label":["y",', b'"x",' * (HUGE - 2), b'"x"],"parent":[',
        ",".join(map(str, range(1, HUGE))).encode(), b',-1]}\n'])
    edges.same("chain: json with the root last", line, upside_down, stack=STACK)
    conllu = edges.put("deep.conllu", [b"%d\t_\t_\tX\t_\t_\t%d\t_\t_\t_\n" % (i, i - 1)
                                       for i in range(1, HUGE // 4 + 1)])
    edges.report(edges.stats(conllu, stack=STACK)["depth"]["max"] == HUGE // 4 - 1,
                 "conllu: a chain of words")
    ptb = edges.put("deep.ptb", [b"(X " * HUGE, b"w", b")" * HUGE, b"\n"])
    edges.report(edges.stats(ptb, stack=STACK)["depth"]["max"] == HUGE, "ptb: a deep parse tree")
    for name in os.listdir(edges.folder):
        if os.path.isfile(edges.path(name)):
            os.remove(edges.path(name))


# ---- odd files ---------------------------------------------------------------------------------

def odd_files(edges):
    def counts(what, name, content, trees, nodes):
        path = edges.put(name, content)
        try:
            found = edges.stats(path)
            edges.report((found["trees"], found["nodes"]) == (trees, nodes), what, found["trees"],
                         found["nodes"])
        except RuntimeError as problem:
            edges.report(False, what, problem)
    counts("an empty file", "empty.trees", b"", 0, 0)
    counts("an empty file of no known format", "empty", b"", 0, 0)
    counts("an empty file of json", "empty.jsonl", b"", 0, 0)
    counts("an empty file of elastic", "empty.elastic.tree", b"", 0, 0)
    counts("blank lines only", "blank.trees", b"\n\r\n  \n", 0, 0)
    counts("one node without line end", "one.trees", b"(a)", 1, 1)
    counts("a byte order mark", "bom.trees", b"\xef\xbb\xbf(a)\n", 1, 1)
    counts("a byte order mark alone", "bom-alone.trees", b"\xef\xbb\xbf", 0, 0)
    counts("a byte order mark, format by content", "bom.dat", b"\xef\xbb\xbfc\t(a (b))\n", 1, 2)
    counts("CRLF", "crlf.trees", b"c\t(a (b))\r\n(c)\r\n", 2, 3)
    counts("CRLF in elastic", "crlf.elastic.tree", b"c:a(b($))\r\nc($)\r\n", 2, 3)
    counts("CRLF in json", "crlf.jsonl", b'{"label":["a"],"parent":[-1]}\r\n\r\n', 1, 1)
    edges.expect("NUL bytes", 3, edges.path("nul.trees") + ":1:3: found a NUL byte", "stats",
                 edges.put("nul.trees", b"(a\0)\n"))
    edges.expect("a file of NUL bytes", 3, edges.path("nuls.trees") + ":1:1: found a NUL byte",
                 "stats", edges.put("nuls.trees", b"\0" * 2000000))
    edges.expect("a missing file", 4, edges.path("missing.trees") + ": cannot open", "stats",
                 edges.path("missing.trees"))
    os.mkdir(edges.path("folder"))
    edges.expect("a folder without trees", 4, edges.path("folder") + ": no files with trees",
                 "stats", edges.path("folder"))
    edges.put("folder/.hidden.trees", b"(a)\n")
    edges.put("folder/readme.txt", b"(a)\n")
    edges.expect("a folder with hidden and other files only", 4,
                 edges.path("folder") + ": no files with trees", "stats", edges.path("folder"))
    unreadable = edges.put("unreadable.trees", b"(a)\n")
    os.chmod(unreadable, 0)
    edges.expect("a file that may not be read", 4, unreadable + ": cannot open", "stats",
                 unreadable, user=NOBODY if os.getuid() == 0 else None)
    fifo = edges.path("fifo.trees")
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: edges.put("fifo.trees", b"(a)\n(b (c))\n"))
    writer.start()
    found = edges.stats(fifo)
    writer.join()
    edges.report((found["trees"], found["nodes"]) == (2, 3), "a FIFO as input")
    _, out, _ = edges.run("convert", "-", "-o", "-", stdin=b"(a)\n(b)\n")
    edges.report(out == b"(a)\n(b)\n", "from standard input to standard output", out)


# ---- folders -----------------------------------------------------------------------------------

def deep_folder(place):
    """Folders below `place` until a file in them has a path that no call takes; its path."""
    before, name = os.getcwd(), "d" * 200
    os.chdir(place)
    for _ in range(25):
        os.mkdir(name)
        os.chdir(name)
    with open("far.trees", "wb") as stream:
        stream.write(b"(far)\n")
    os.chdir(before)


def folder_entries(edges):
    """What should be read below a folder and cannot be is told, not passed over in silence."""
    def socket_at(path):
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path)

    def unreadable(path):
        os.mkdir(path) if path.endswith("sub") else open(path, "wb").close()
        os.chmod(path, 0)

    kinds = [
        ("a link that leads nowhere", "gone.trees", "cannot follow the link: No such file",
         lambda path: os.symlink("nowhere", path)),
        ("links in a circle", "circle.xml", "cannot follow the link: Too many levels",
         lambda path: os.symlink("circle.xml", path)),
        ("a path that is too long", "", "cannot open: File name too long", deep_folder),
        ("a pipe", "pipe.jsonl", "but this is not a file", os.mkfifo),
        ("a socket", "socket.ptb", "but this is not a file", socket_at),
        ("a file that may not be read", "closed.trees", "cannot open: Permission denied", unreadable),
        ("a folder that may not be opened", "sub", "cannot open the folder: Permission denied",
         unreadable),
    ]
    for number, (what, name, message, make) in enumerate(kinds):
        place = edges.path(f"entries-{number}")
        os.mkdir(place)
        edges.put(f"entries-{number}/good.trees", b"(good)\n(as (gold))\n")
        edges.put(f"entries-{number}/readme.txt", b"no trees")
        os.symlink("nowhere", f"{place}/no-ending")  # of no format: none of our business
        make(os.path.join(place, name) if name else place)
        user = NOBODY if os.getuid() == 0 and make is unreadable else None
        path = os.path.join(place, name) if name else place + "/ddd"
        code, out, err = edges.run("stats", place, user=user)
        edges.report(code == 4 and not out and path in err and message in err,
                     "in a folder: " + what, code, err)
        code, out, err = edges.run("convert", place, "--skip-bad", "-o", "-", user=user)
        edges.report(code == 0 and out == b"(good)\n(as (gold))\n" and path in err and message in err
                     and "1 bad tree skipped" in err, "passed over with --skip-bad: " + what, code, err)
        if not name:
            shutil.rmtree(place)
    place = edges.path("entries-links")
    os.makedirs(place + "/sub")
    edges.put("entries-links/sub/a.trees", b"(a)\n")
    os.symlink("../sub", place + "/sub/again")
    code, out, err = edges.run("convert", place, "-o", "-")
    edges.report(code == 0 and out == b"(a)\n" and "sub/again: a link to a folder is not followed" in err,
                 "a link to a folder is told of", code, err)
    os.symlink(".", place + "/dot.trees")
    code, out, err = edges.run("convert", place, "-o", "-")
    edges.report(code == 0 and out == b"(a)\n" and "2 links to folders" in err, "two links to folders",
                 code, err)


# ---- threads -----------------------------------------------------------------------------------

def threads(edges):
    """Where threads cannot be made the work is done by those there are."""
    trees = edges.put("threads.trees", b"".join(b"c%d\t(a%d (b%d (c%d)) (d%d (e)))\n" %
                                                (i % 2, i % 5, i % 70, i % 300, i % 7)
                                                for i in range(3000)))
    run = edges.path("threads.run")
    train = ["train", trees, "--per-class", "--model", "sp", "--states", "2", "-i", "3", "--quiet"]
    edges.run(*train, "--restarts", "4", "-j", "1", "-o", run)
    plain = edges.run("score", run, trees, "-j", "1")
    user = NOBODY if os.getuid() == 0 else None
    os.chmod(run, 0o644)
    alone = edges.run("score", run, trees, "-j", "8", user=user, processes=1)
    edges.report(plain[0] == 0 and alone == plain, "score without threads", alone[0], alone[2])
    place = edges.path("threads")
    os.mkdir(place)
    os.chmod(place, 0o777)
    code, _, err = edges.run(*train, "--restarts", "4", "-j", "8", "-o", place + "/t.run", user=user, processes=1)
    shown = [edges.run("show", path, "--json")[1] for path in (run, place + "/t.run")]
    edges.report(code == 0 and shown[0] == shown[1], "train without threads", code, err)


# ---- outputs -----------------------------------------------------------------------------------

def outputs(edges):
    big = edges.put("big.trees", b"".join(b"c%d\t(l%d (m%d) (n))\n" % (i % 7, i % 1000, i % 777)
                                          for i in range(300000)))
    environment = dict(os.environ, PHLOEM=edges.program, BIG=big)
    done = subprocess.run(["bash", "-c", '"$PHLOEM" convert "$BIG" -o - | head -n 1; '
                           'echo "${PIPESTATUS[0]}"'], capture_output=True, env=environment,
                          timeout=60, check=False)
    first, code = done.stdout.split(b"\n")[:2]
    edges.report(first == b"c0\t(l0 (m0) (n))" and done.stderr == b"" and
                 code in (b"0", b"141"), "a closed pipe ends it quietly", done.stdout[-200:],
                 done.stderr)
    with open("/dev/full", "wb") as full:
        edges.expect("a full disk under standard output", 4,
                     "<stdout>: cannot write: No space left", "convert", big, "-o", "-", stdout=full)
        code, _, err = edges.run("stats", big, stdout=full)
        edges.report(code == 4 and "No space left" in err, "stats on a full disk", code, err)
        run = edges.path("small.run")
        few = edges.put("few.trees", b"(a (b) (c))\n(a (b))\n")
        edges.run("train", "--model", "tf", few, "--states", "2", "-i", "4", "-o", run, "--quiet")
        code, out, _ = edges.run("diagnose", run)
        edges.report(code == 1 and out, "a diagnosis of trouble", code)
        code, _, err = edges.run("diagnose", run, stdout=full)
        edges.report(code == 4 and "No space left" in err, "a diagnosis of trouble on a full disk", code, err)
    edges.expect("a full disk as output", 4, "/dev/full: cannot write: No space left", "convert",
                 big, "--to", "brackets", "-o", "/dev/full")
    os.mkdir(edges.path("readonly"))
    os.chmod(edges.path("readonly"), 0o555)
    user = NOBODY if os.getuid() == 0 else None
    edges.expect("output into a read-only folder", 4,
                 edges.path("readonly/out.trees") + ": cannot write: Permission denied", "convert",
                 big, "-o", edges.path("readonly/out.trees"), user=user)
    edges.expect("output into a folder that is not there", 4,
                 edges.path("nowhere/out.trees") + ": cannot write: No such file", "convert", big,
                 "-o", edges.path("nowhere/out.trees"))
    edges.expect("a folder as output", 4, edges.path("readonly") + ": cannot write", "convert",
                 big, "--to", "brackets", "-o", edges.path("readonly"))
    interrupted(edges, big)


def interrupted(edges, big):
    """Ctrl-C in a long conversion: exit 130, the old file as it was, nothing beside it."""
    place = edges.path("interrupt")
    os.mkdir(place)
    out = os.path.join(place, "out.jsonl.gz")
    for delay in (0.05, 0.2, 0.5):
        with open(out, "wb") as stream:
            stream.write(b"old")
        os.chmod(out, 0o640)
        with subprocess.Popen([edges.program, "convert", *[big] * 40, "-o", out],
                              stderr=subprocess.PIPE) as running:
            time.sleep(delay)
            running.send_signal(signal.SIGINT)
            err = running.stderr.read()
            code = running.wait(60)
        with open(out, "rb") as stream:
            content = stream.read(4)
        left = os.listdir(place)
        good = code == 130 and content == b"old" and left == ["out.jsonl.gz"]
        edges.report(good, f"interrupted after {delay} s", f"exit code {code}", content, left, err)
    code, _, err = edges.run("convert", "--quiet", big, "-o", out)
    mode = stat.S_IMODE(os.stat(out).st_mode)
    edges.report(code == 0 and mode == 0o640 and edges.stats(out)["trees"] == 300000,
                 "a complete output replaces the old file and keeps its permissions", code, err,
                 oct(mode))


# ---- XML made to hurt --------------------------------------------------------------------------
#
# A child's peak of memory begins with that of its parent, so large files are written in pieces and
# this part comes first.

def times(piece, count):
    """Many copies of a few bytes, in larger pieces."""
    block = piece * 4096
    for _ in range(count // 4096):
        yield block
    yield piece * (count % 4096)


def attack(edges, what, content, codes, *options):
    path = edges.put("attack.xml", content)
    before = time.monotonic()
    with subprocess.Popen([edges.program, "stats", "--no-class", *options, path],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        err = running.stderr.read().decode("utf-8", "backslashreplace")
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - before
    megabytes = usage.ru_maxrss / 1024
    good = running.returncode in codes and usage.ru_utime + usage.ru_stime < 2 * SLOW and \
        megabytes < 256 * SLOW
    if running.returncode == 3:
        good = good and err.startswith(f"phloem: {path}:") and err.count("\n") == 1 and \
            len(err) < 1200
    edges.report(good, f"xml: {what}", f"exit code {running.returncode}",
                 f"{seconds:.2f} s, {megabytes:.0f} MB", err)
    os.remove(path)


def attacks(edges):
    mega = 60 << 20
    laughs = b"<!DOCTYPE r [\n<!ENTITY a0 \"ha\">\n" + \
        b"".join(b'<!ENTITY a%d "%s">\n' % (i, b"&a%d;" % (i - 1) * 10) for i in range(1, 12)) + \
        b"]>\n<r>&a11;</r>\n"
    attack(edges, "a billion laughs", laughs, {3})
    attack(edges, "quadratic entities", [b'<!DOCTYPE r [<!ENTITY a "', *times(b"x", 1000000),
                                         b'">]><r>', *times(b"&a;", 100000), b"</r>"], {3})
    attack(edges, "parameter entities", b'<!DOCTYPE r [<!ENTITY % a "<!ENTITY b \'c\'>"> %a;]><r/>',
           {3})
    attack(edges, "an external entity", b'<!DOCTYPE r [<!ENTITY a SYSTEM "/etc/passwd">]><r>&a;</r>',
           {0, 3}, "--text")
    attack(edges, "an external document type", b'<!DOCTYPE r SYSTEM "/dev/zero"><r/>', {0, 3})
    deep = b"<a>" * 100000 + b"</a>" * 100000
    attack(edges, "100,000 elements deep", deep, {3})
    attack(edges, "100,000 elements deep, allowed", deep, {0}, "--max-depth", "200000")
    many = b"<a " + b" ".join(b'a%d="x"' % i for i in range(200000)) + b"/>"
    attack(edges, "200,000 attributes", many, {3})
    attack(edges, "200,000 attributes, allowed", many, {0}, "--max-attributes", "300000")
    attack(edges, "a name of 60 MB", chain([b"<"], times(b"a", mega), [b"/>"]), {3})
    attack(edges, "an attribute of 60 MB", chain([b'<a b="'], times(b"c", mega), [b'"/>']), {3})
    attack(edges, "a comment of 60 MB", chain([b"<a><!--"], times(b"c", mega), [b"--></a>"]), {0, 3})
    attack(edges, "text of 60 MB", chain([b"<a>"], times(b"c", mega), [b"</a>"]), {0}, "--text")
    attack(edges, "declared attributes times elements", b"<!DOCTYPE r [<!ATTLIST a " +
           b" ".join(b"b%d CDATA 'x'" % i for i in range(9000)) + b">]><r>" + b"<a/>" * 200000 +
           b"</r>", {3})
    attack(edges, "an unfinished tag of 60 MB",
           chain([b"<a"], (b" b%d='%s'" % (i, b"c" * 1000) for i in range(60000))), {3})
    attack(edges, "wrong encoding", '<?xml version="1.0" encoding="UTF-16"?><r/>'.encode(), {3})
    attack(edges, "Latin-1 called UTF-8", '<?xml version="1.0" encoding="UTF-8"?><r>é</r>'
           .encode("latin-1"), {3})
    attack(edges, "Latin-1 called Latin-1", '<?xml version="1.0" encoding="ISO-8859-1"?><é/>'
           .encode("latin-1"), {0})
    attack(edges, "UTF-16", '<?xml version="1.0" encoding="UTF-16"?><é/>'.encode("utf-16"), {0})
    attack(edges, "UTF-32", "<r/>".encode("utf-32"), {3})
    attack(edges, "half a character", b"<r>\xe2\x82</r>", {3})
    attack(edges, "1,000,000 children", chain([b"<r>"], times(b"<a/>", 1000000), [b"</r>"]), {0})


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip())
        return 2
    with tempfile.TemporaryDirectory(prefix="phloem-edges-") as folder:
        os.chmod(folder, 0o755)  # for other users
        edges = Edges(os.path.abspath(sys.argv[1]), folder)
        for part in (attacks, streams, deep_and_wide, odd_files, folder_entries, threads, outputs):
            part(edges)
        return edges.tap.end()


if __name__ == "__main__":
    sys.exit(main())
