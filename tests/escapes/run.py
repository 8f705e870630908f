#!/usr/bin/python3
"""run.py PHLOEM - what people read holds no hidden character, what programs read is exact; TAP.

Labels, classes, ids, files and words of the command line hold terminal escapes, C1 controls, marks
of direction, line separators, bytes that are no UTF-8, and 10,000 characters.  Every command is run
on them, its output to a pipe and, for progress, to a terminal.
"""
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import xml.dom.minidom

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

HIDDEN = [chr(c) for first, last in (
    (0x01, 0x1F), (0x7F, 0x9F), (0x61C, 0x61C), (0x200B, 0x200B), (0x200E, 0x200F), (0x2028, 0x202E),
    (0x2060, 0x206F), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xFFFE, 0xFFFF), (0xE0000, 0xE0001),
    (0xE007F, 0xE007F)) for c in range(first, last + 1)]
NASTY = "x\x01read.force\x02\x1b[2J\x1b]0;title\x07\x9b31m\x85\u202egnp\u2066\u2028\u200b\ufffe\\n"
SHOWN = "p\u200cq \u00e9\u4e2d\U0001F600"  # to be left alone: a joiner inside a word, letters, a picture
LONG = "n" * 9990 + "\x1b\u202e" + "z" * 8
NAMES = ["left\x1b[31m", "right\u202e\\", LONG, "\x85?", SHOWN]
ESCAPE = re.compile(r"\\(?:([tnr\\?])|x([0-9a-f]{2})|u\{([0-9a-f]+)\})")


def unescape(cell):
    """What stood in a cell of TSV, as bytes."""
    def one(match):
        letter, byte, point = match.groups()
        if letter:
            return {"t": "\t", "n": "\n", "r": "\r"}.get(letter, letter)
        return bytes([int(byte, 16)]).decode("utf-8", "surrogateescape") if byte else chr(int(point, 16))
    return ESCAPE.sub(one, cell).encode("utf-8", "surrogateescape")


class Escapes:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.tap = harness.Report()

    def report(self, fault, what):
        self.tap.line(not fault, what, str(fault)[:900].encode("unicode_escape").decode())

    def run(self, *words):
        done = subprocess.run([self.program, *words], cwd=self.folder, capture_output=True,
                              check=False, stdin=subprocess.DEVNULL, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def path(self, name):
        return os.path.join(self.folder, name)


def fault_of(data, allowed="\n"):
    """The first hidden character, or why this is no text; None if all is well."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as reason:
        return reason
    for at, character in enumerate(text):
        if character in HIDDEN and character not in allowed:
            return f"U+{ord(character):04X} in {text[max(0, at - 60):at + 60]!r}"
    return None


def trees():
    """Lines of JSON: classes of four names, labels of all kinds."""
    labels = [NASTY, SHOWN, LONG, *HIDDEN, "a\tb\nc\rd", "?", "back\\slash"]
    for i in range(40):
        some = [labels[(7 * i + j) % len(labels)] for j in range(12)]
        yield {"id": NASTY + str(i), "class": NAMES[i % 4], "label": ["root", *some],
               "parent": [-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]}
    yield {"class": NAMES[0], "label": ["root", *labels], "parent": [-1] + [0] * len(labels)}


def commands(run, data):
    """Every command, in words and as TSV or JSON; the last two columns: is it TSV, is it JSON?"""
    few = ["--limit", "6", data]
    yield ["stats", data], False, False
    yield ["stats", "--json", data], False, True
    for words in (["show"], ["diagnose", "--allow-few"]):
        yield [*words, run], False, False
        yield [*words, "--json", run], False, True
        yield [*words, run, "--class", NAMES[0]], False, False
        yield [*words, run, "--class", "none such " + NASTY], False, False
    for words in (["score"], ["score", "--per-node"], ["decode"], ["decode", "--marginals"]):
        yield [*words, run, *few], True, False
        yield [*words, "--json", run, *few], False, True
    yield ["classify", run, data], False, False
    yield ["classify", "--json", run, data], False, True
    yield ["classify", run, "--no-class", *few], True, False
    yield ["classify", "--json", "--no-class", run, *few], False, True
    yield ["label", "--hide", "all", run, *few], False, False
    yield ["label", "--hide", "all", "--json", run, *few], False, True
    yield ["label", "--hide", "all", "-p", "rows.tsv", "--probabilities", run, *few], False, False
    yield ["sample", run, "--trees", "2", "--class", NAMES[0], "-o", "-", "--to", "json", "--quiet"], False, False
    yield ["sample", run, "--trees", "2", "--class", NASTY, "-o", "-"], False, False
    yield ["report", run, "--test", data, "-o", "page.html"], False, False
    yield ["report", "--json", run, "--test", data], False, True
    yield ["report", run, "--test", b"bytes\xff\x9b.trees", "-o", "no" + NASTY + "/such"], False, False
    yield ["evaluate", "--model", "sp", "--states", "1", "-k", "2", "-i", "2", data], False, False
    yield ["evaluate", "--model", "sp", "--states", "1", "-k", "2", "-i", "2", "--json", data], False, True
    yield ["resume", run, "--iterations", "3"], False, False
    yield ["convert", data, "--to", "brackets", "-o", "-", "--no-class", "--quiet"], False, False
    yield ["convert", data, "--to", "json", "-o", "-", "--quiet"], False, False
    yield ["convert", data, "--to", "elastic", "-o", "-"], False, False
    yield ["convert", data, "-o", "no" + NASTY + "/such"], False, False
    yield ["stats", "missing" + NASTY], False, False
    yield ["score", "missing" + NASTY, data], False, False
    yield ["stats", "--class-by-folder", "bad" + NASTY + ".trees"], False, False
    yield ["stats", "--skip-bad", "bad" + NASTY + ".trees"], False, False
    yield ["stats", b"bytes\xff\x9b.trees"], False, False
    yield ["score", run, b"bytes\xff\x9b.trees"], True, False
    yield ["score", "--json", run, b"bytes\xff\x9b.trees"], False, True
    for word in (NASTY, LONG, b"\xff\x9b"):
        yield [word], False, False
        yield ["stats", data, "--" + word if isinstance(word, str) else b"--" + word], False, False
        yield ["stats", data, "--limit", word], False, False
        yield ["stats", data, "--only-class", word], False, False
        yield ["train", data, "-o", "x.run", "--model", word], False, False
        yield ["show", run, "--class", word], False, False
        yield ["label", run, data, "--class", word], True, False


def try_commands(e, run, data):
    for words, tsv, as_json in commands(run, data):
        code, out, err = e.run(*words)
        shown = " ".join(w if isinstance(w, str) else repr(w) for w in words).encode("unicode_escape")
        fault = fault_of(err) or fault_of(out, "\t\n" if tsv else "\n")
        if not fault and (code < 0 or code == 5):
            fault = f"exit {code}"
        if not fault and as_json and code in (0, 1):
            try:
                json.loads(out)
            except ValueError as reason:
                fault = reason
        e.report(fault, shown.decode()[:120])


def try_round_trips(e, run, data, originals):
    """TSV and JSON give back the names as they were."""
    labels = originals[-1]["label"]
    with open(e.path("one.jsonl"), "w", encoding="utf-8") as stream:
        stream.write(json.dumps(originals[-1]) + "\n")
    _, out, _ = e.run("decode", run, "one.jsonl")
    rows = [line.split("\t") for line in out.decode("utf-8").split("\n")[1:-1]]
    column = out.decode("utf-8").split("\n")[0].split("\t").index("label")
    found = [unescape(row[column]).decode("utf-8", "surrogateescape") for row in rows]
    e.report(found != labels and (found, labels), "labels of decode come back from TSV")
    _, out, _ = e.run("decode", "--json", run, "one.jsonl")
    found = [row["label"] for row in json.loads(out)]
    e.report(found != labels and (found, labels), "labels of decode come back from JSON")
    for form in ("json", "brackets"):
        e.run("convert", data, "--to", form, "-o", "again." + form, "--quiet")
        prints = [json.loads(e.run("stats", "--json", "--from", f, n)[1])["fingerprint"]
                  for f, n in (("json", data), (form, "again." + form))]
        with open(e.path("again." + form), "rb") as stream:
            e.report(prints[0] != prints[1] or fault_of(stream.read(), "\t\n"), f"trees come back from {form}")
    _, out, _ = e.run("score", run, b"bytes\xff\x9b.trees")
    cell = out.decode("utf-8", "replace").split("\n")[1].split("\t")[1]
    e.report(unescape(cell) != b"bytes\xff\x9b.trees:1" and cell, "a file name that is no UTF-8 comes back")
    _, out, _ = e.run("stats", data)
    e.report(SHOWN.encode() not in e.run("show", run, "--top", "200")[1] and "escaped",
             "letters, joiners and pictures stand as they are")


def try_terminal(e, data):
    """Progress on a terminal: beside our own moves of the cursor nothing commands it."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen([e.program, "train", data, "-o", "t.run", "--per-class", "--model", "tf",
                                "--states", "2", "-i", "10000000", "--chains", "2", "--force"], cwd=e.folder,
                               stdout=terminal, stderr=terminal, env=dict(os.environ, TERM="xterm"))
    os.close(terminal)
    seen = b""
    while True:
        try:
            piece = os.read(controller, 65536)
        except OSError:
            break
        if not piece:
            break
        if b"\x1b[J" not in seen and b"\x1b[J" in seen + piece:
            process.send_signal(signal.SIGINT)  # the table is there, and that is enough of it
        seen += piece
    process.wait()
    os.close(controller)
    rest = re.sub(rb"\r|\x1b\[(?:K|J|[0-9]+A)", b"", seen)
    e.report(fault_of(rest) or (b"\x1b[J" not in seen and "no table was shown"), "progress on a terminal")


def try_pictures(e, data):
    """Pictures are well-formed XML, whatever the labels are."""
    os.makedirs(e.path("paper/symm"))
    with open(e.path(data), encoding="utf-8") as stream:
        lines = stream.read()
    for name in ("train.trees", "test.trees"):
        with open(e.path("again.json"), "w", encoding="utf-8") as stream:
            stream.write(lines)
        e.run("convert", "again.json", "--to", "brackets", "-o", "paper/symm/" + name, "--quiet")
    code, out, err = e.run("reproduce", "labelling", "--data", "paper", "-o", "made", "--runs", "1", "-i", "2",
                           "--states", "2", "--models", "sp")
    e.report(code and err or fault_of(out) or fault_of(err), "reproduce")
    pictures = [name for name in os.listdir(e.path("made")) if name.endswith(".svg")]
    fault = "no picture" if not pictures else None
    for name in pictures:
        with open(e.path("made/" + name), "rb") as stream:
            text = stream.read()
        fault = fault or fault_of(text)
        try:
            xml.dom.minidom.parseString(text)
        except Exception as reason:  # whatever the parser says
            fault = fault or f"{name}: {reason}"
    e.report(fault, f"{len(pictures)} pictures")
    with open(e.path("made/table.md"), "rb") as stream:
        e.report(fault_of(stream.read()), "table.md")


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory(prefix="phloem-escapes-") as folder:
        e = Escapes(os.path.abspath(sys.argv[1]), folder)
        originals = list(trees())
        with open(e.path("data.jsonl"), "w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(tree) + "\n" for tree in originals)
        for name in ("bad" + NASTY + ".trees", b"bytes\xff\x9b.trees"):
            with open(os.path.join(os.fsencode(folder), os.fsencode(name)), "wb") as stream:
                stream.write(b"(root (a))\n" if isinstance(name, bytes) else b"(\x1b[31m\n(a))\n")
        code, out, err = e.run("train", "data.jsonl", "--per-class", "--model", "sp", "--states", "2", "-i", "2",
                               "-o", "r\u202e.run")
        e.report((code and err) or fault_of(out + err), "train")
        try_commands(e, "r\u202e.run", "data.jsonl")
        try_round_trips(e, "r\u202e.run", "data.jsonl", originals)
        try_terminal(e, "data.jsonl")
        try_pictures(e, "data.jsonl")
    return e.tap.end()


if __name__ == "__main__":
    sys.exit(main())
