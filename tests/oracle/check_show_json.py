#!/usr/bin/python3
"""check_show_json.py SHOW.json [RUN] - is it what `show --json` promises, and what the run holds?

Written from docs/run-file.md alone, with nothing but Python's standard library.  SHOW.json is checked
for its form: members, sizes, distributions.  RUN is opened with the sqlite3 module; its digests and
checksums are computed anew, and its tensors must equal the numbers of SHOW.json to the bit.
Exit code 1, with a message, if anything is wrong.
"""
import hashlib
import json
import math
import os
import sqlite3
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
import run_arrays  # noqa: E402  # pylint: disable=wrong-import-position

FORMATS = {"float32": "f", "float64": "d", "int32": "i", "uint32": "I", "uint64": "Q", "uint8": "B"}


def demand(condition, message):
    if not condition:
        raise SystemExit(f"check_show_json: {message}")


def check_table(table, sizes, what, distributions=True):
    """Nested lists of these sizes; innermost lists are distributions."""
    demand(isinstance(table, list) and len(table) == sizes[0], f"{what}: expected {sizes}")
    if len(sizes) > 1:
        for row in table:
            check_table(row, sizes[1:], what, distributions)
        return
    for number in table:
        demand(isinstance(number, (int, float)) and not isinstance(number, bool) and
               0 <= number <= 1 + 1e-9, f"{what}: {number!r} is no probability")
    if distributions:
        demand(abs(math.fsum(table) - 1) < 1e-8, f"{what}: a row sums to {math.fsum(table)!r}")


def check_partition(partition, states, slots, full):
    listed = [mode["slot"] for mode in partition]
    demand(listed == sorted(set(listed)) and all(1 <= slot <= slots for slot in listed), "slots")
    for mode in partition:
        demand(list(mode) == ["slot", "blocks"], f"members of a partition: {list(mode)}")
        blocks = mode["blocks"]
        demand(len(blocks) == states + 1 and set(blocks) == set(range(max(blocks) + 1)), "blocks")
        demand(not full or blocks == list(range(states + 1)), "full has the identity partition")
    demand(not full or listed == list(range(1, slots + 1)), "full has every slot active")
    return [max(mode["blocks"]) + 1 for mode in partition]


def check_draw(draw, kind, states, slots, labels):
    tables = {
        "sp": ["prior", "emission", "unseen", "switch", "transition"],
        "td": ["emission", "unseen", "transition", "root"],
        "full": ["prior", "emission", "unseen", "partition", "core"],
        "tf": ["prior", "emission", "unseen", "mode" if "mode" in draw else "partition", "core"],
    }[kind]
    demand(list(draw) == ["chain", "iteration"] + tables + ["root_kind", "shape_prior"],
           f"members of a draw: {list(draw)}")
    demand(draw["chain"] >= 0 and draw["iteration"] >= 0, "chain or iteration")
    if kind != "td":
        check_table(draw["prior"], [slots, states], "prior")
    check_table(draw["emission"], [states, labels], "emission", False)
    check_table(draw["unseen"], [states], "unseen", False)
    check_table([row + [u] for row, u in zip(draw["emission"], draw["unseen"])],
                [states, labels + 1], "emission with unseen")
    check_table(draw["root_kind"], [2], "root_kind")
    check_table(draw["shape_prior"], [slots, 3], "shape_prior")
    if kind == "sp":
        check_table(draw["switch"], [slots], "switch")
        check_table(draw["transition"], [slots, states + 1, states], "transition")
    elif kind == "td":
        check_table(draw["root"], [states], "root")
        check_table(draw["transition"], [slots, states, states], "transition")
    else:
        if "mode" in draw:
            sizes = []
            for mode in draw["mode"]:
                demand(list(mode) == ["slot", "matrix"], f"members of a mode: {list(mode)}")
                sizes.append(len(mode["matrix"][0]))
                check_table(mode["matrix"], [states + 1, sizes[-1]], "mode")
        else:
            sizes = check_partition(draw["partition"], states, slots, kind == "full")
        core = draw["core"]
        demand(list(core) == ["shape", "data"] and core["shape"] == sizes + [states], "core")
        data = core["data"]
        check_table([data[at:at + states] for at in range(0, len(data), states)],
                    [math.prod(sizes), states], "core")


def check_form(show):
    demand(list(show) == ["format", "model", "states", "slots", "labels", "classes"],
           f"members: {list(show)}")
    demand(show["format"] == 1 and show["model"] in ("sp", "td", "full", "tf"), "format or model")
    demand(all(isinstance(label, str) for label in show["labels"]), "labels are strings")
    demand(len(set(show["labels"])) == len(show["labels"]), "labels are different")
    demand(len(show["classes"]) > 0, "there is a class")
    for entry in show["classes"]:
        demand(list(entry) == ["class", "trees", "draws"], f"members of a class: {list(entry)}")
        demand(isinstance(entry["class"], str) or len(show["classes"]) == 1, "class names")
        for draw in entry["draws"]:
            check_draw(draw, show["model"], show["states"], show["slots"], len(show["labels"]))


# ---- The run file, as docs/run-file.md describes it ------------------------------------------------

def value_bytes(value):
    if value is None:
        return b"n"
    if isinstance(value, int):
        return b"i" + struct.pack("<q", value)
    if isinstance(value, float):
        return b"r" + struct.pack("<d", value)
    tag = b"t" if isinstance(value, str) else b"b"
    value = value.encode() if isinstance(value, str) else value
    return tag + struct.pack("<q", len(value)) + value


SECTIONS = {
    "models": [
        ("meta", "SELECT key, value FROM meta"),
        ("label", "SELECT id, name FROM label"),
        ("class", "SELECT id, name, trees, weight, iterations, stop_reason FROM class"),
        ("model", "SELECT id, class, chain, iteration, kind, soft, log_likelihood, log_joint "
                  "FROM model"),
        ("tensor", "SELECT model, name, slot, part, dtype, shape, checksum FROM tensor")],
    "trace": [("trace", "SELECT id, class, chain, iteration, temperature, log_likelihood, "
                        "log_joint, seconds, active, sum_size, moves FROM trace")],
    "forest": [("forest", "SELECT 0, name, 0, part, dtype, shape, checksum FROM forest")],
    "checkpoint": [("checkpoint", "SELECT class << 32 | chain, name, slot, part, dtype, shape, "
                                  "checksum FROM checkpoint")],
    "head": [("head", "SELECT 0, name, 0, part, dtype, shape, checksum FROM head")],
    "expert": [("expert", "SELECT 0, name, 0, part, dtype, shape, checksum FROM expert")],
    "members": [("members", "SELECT 0, name, 0, part, dtype, shape, checksum FROM members")],
    "shapes": [("shapes", "SELECT 0, name, 0, part, dtype, shape, checksum FROM shapes")],
}


def digest(run, tables):
    total = 0
    for name, query in tables:
        for row in run.execute(query):
            text = b"T" + struct.pack("<q", len(name)) + name.encode()
            text += b"".join(value_bytes(value) for value in row)
            total += int.from_bytes(hashlib.sha256(text).digest(), "little")
    return (total % 2**256).to_bytes(32, "little")


def check_digests(run):
    rows = run.execute("SELECT name, version, required, digest FROM section ORDER BY name")
    demand([row[:3] for row in rows] ==
           [("checkpoint", 2, 0), ("expert", 2, 1), ("forest", 2, 0), ("head", 2, 1), ("members", 2, 1),
            ("models", 2, 1), ("shapes", 2, 1), ("trace", 1, 0)], "sections")
    for name, stored in run.execute("SELECT name, digest FROM section"):
        demand(digest(run, SECTIONS[name]) == stored, f"digest of section {name}")
    for table in ("tensor", "forest", "checkpoint", "head", "expert", "members", "shapes"):
        for name, checksum, *array in run.execute(
                f"SELECT name, checksum, data, dtype, shape, part FROM {table}"):
            demand(hashlib.sha256(run_arrays.unpacked(*array)).digest() == checksum, f"checksum of {name}")


def nest(numbers, sizes):
    if len(sizes) == 1:
        return numbers
    step = len(numbers) // sizes[0] if sizes[0] else 0
    return [nest(numbers[i * step:(i + 1) * step], sizes[1:]) for i in range(sizes[0])]


def tensors(run, model):
    """{(name, slot): (shape, numbers)} of one model."""
    found = {}
    narrow = set()
    for name, slot, dtype, shape, part, data in run.execute(
            "SELECT name, slot, dtype, shape, part, data FROM tensor WHERE model = ? "
            "ORDER BY name, slot, part", [model]):
        letter = FORMATS[dtype]
        data = run_arrays.unpacked(data, dtype, shape, part)
        if dtype == "float32":
            narrow.add((name, slot))
        numbers = struct.unpack(f"<{len(data) // struct.calcsize(letter)}{letter}", data)
        found.setdefault((name, slot), (json.loads(shape), []))[1].extend(numbers)
    for key in narrow:  # each row is divided by its sum
        shape, numbers = found[key]
        for i in range(0, len(numbers), shape[-1]):
            row = numbers[i:i + shape[-1]]
            total = 0.0
            for number in row:
                total += number
            numbers[i:i + shape[-1]] = [number / total for number in row]
    for key, (shape, numbers) in found.items():
        demand(math.prod(shape) == len(numbers), f"{key}: shape {shape}, {len(numbers)} numbers")
    return found


def compare_draw(draw, stored, soft):
    names = {"switch", "root", "prior", "transition", "root_kind", "shape_prior"}
    for (name, slot), (shape, numbers) in stored.items():
        if name == "emission":
            rows = nest(numbers, shape)
            demand([row[:-1] for row in rows] == draw["emission"] and
                   [row[-1] for row in rows] == draw["unseen"], "emission differs")
        elif name == "core":
            demand(draw["core"] == {"shape": shape, "data": numbers}, "core differs")
        elif name in ("partition", "mode"):
            inner = "blocks" if name == "partition" else "matrix"
            shown = [mode[inner] for mode in draw[name] if mode["slot"] == slot]
            demand(shown == [nest(numbers, shape)], f"{name} of slot {slot} differs")
        else:
            demand(name in names and nest(numbers, shape) == draw[name], f"{name} differs")
    listed = {name for name, _ in stored}
    shown = set(draw) - {"chain", "iteration", "unseen"}
    optional = {"mode" if soft else "partition"}  # there may be no active slot
    demand(listed | optional == shown | optional, f"tensors {listed}, shown {shown}")
    modes = draw.get("mode" if soft else "partition", [])
    demand(len(modes) == sum(name in ("partition", "mode") for name, _ in stored), "active slots")


def check_run(show, path):
    run = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    demand(run.execute("PRAGMA application_id").fetchone()[0] == 0x50484C4D, "application_id")
    demand(run.execute("PRAGMA user_version").fetchone()[0] == 2, "user_version")
    demand(run.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "integrity_check")
    demand(run.execute("PRAGMA foreign_key_check").fetchall() == [], "foreign_key_check")
    meta = dict(run.execute("SELECT key, value FROM meta"))
    check_digests(run)
    demand((meta["model"], int(meta["states"]), int(meta["slots"])) ==
           (show["model"], show["states"], show["slots"]), "model, states or slots")
    demand([name for name, in run.execute("SELECT name FROM label ORDER BY id")] == show["labels"],
           "labels")
    classes = run.execute("SELECT id, name, trees FROM class ORDER BY id").fetchall()
    demand([(i, entry["class"], entry["trees"]) for i, entry in enumerate(show["classes"])] ==
           classes, "classes")
    demand((meta["per_class"] == "1") == (classes[0][1] is not None), "per_class")
    for number, entry in enumerate(show["classes"]):
        models = run.execute("SELECT id, chain, iteration, kind, soft FROM model WHERE class = ? "
                             "ORDER BY id", [number]).fetchall()
        demand(len(models) == len(entry["draws"]), "draws")
        for (model, chain, iteration, kind, soft), draw in zip(models, entry["draws"]):
            demand((chain, iteration, kind) == (draw["chain"], draw["iteration"], show["model"]) and
                   (soft == 1) == ("mode" in draw), "a draw's place or kind")
            compare_draw(draw, tensors(run, model), soft == 1)


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__.strip())
        return 2
    with open(sys.argv[1], encoding="utf-8") as stream:
        show = json.load(stream)
    check_form(show)
    if len(sys.argv) == 3:
        check_run(show, sys.argv[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
