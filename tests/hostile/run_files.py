"""run_files.py - run files in the hands of an enemy: opened for changes of any kind, and made to look
whole again.  The digests follow docs/run-file.md, formats 1 and 2."""
import hashlib
import sqlite3

import zstandard
import struct

# The columns of each table that a digest covers, in order.
COLUMNS = {
    "meta": "key, value",
    "label": "id, name",
    "class": "id, name, trees, weight, iterations, stop_reason",
    "model": "id, class, chain, iteration, kind, soft, log_likelihood, log_joint",
    "tensor": "model, name, slot, part, dtype, shape, checksum",
    "trace": "id, class, chain, iteration, temperature, log_likelihood, log_joint, seconds, active, "
             "sum_size, moves",
    "forest": "0, name, 0, part, dtype, shape, checksum",
    "checkpoint": "class << 32 | chain, name, slot, part, dtype, shape, checksum",
}
ORDER = {
    "meta": "key", "label": "id", "class": "id", "model": "id", "trace": "id",
    "tensor": "model, name, slot, part", "forest": "name, part",
    "checkpoint": "class, chain, name, slot, part",
}
SECTIONS = {
    "models": ["meta", "label", "class", "model", "tensor"],
    "trace": ["trace"], "forest": ["forest"], "checkpoint": ["checkpoint"],
}
OLD_KEYS = {"models": "digest", "trace": "digest_trace", "forest": "digest_forest",
            "checkpoint": "digest_checkpoint"}


class Text(bytes):
    """Text of a database, whatever its bytes are."""


def connect(path):
    """A connection that lets everything pass."""
    run = sqlite3.connect(path, isolation_level=None)
    run.text_factory = Text
    for setting in ("foreign_keys = OFF", "synchronous = OFF", "journal_mode = OFF",
                    "cell_size_check = OFF", "ignore_check_constraints = ON"):
        run.execute(f"PRAGMA {setting}").fetchall()
    return run


def text(value):
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def encode(value):
    if value is None:
        return b"n"
    if isinstance(value, int):
        return b"i" + struct.pack("<q", value)
    if isinstance(value, float):
        return b"r" + struct.pack("<d", value)
    if isinstance(value, str):
        value = Text(value.encode("utf-8", "surrogateescape"))
    return (b"t" if isinstance(value, Text) else b"b") + struct.pack("<Q", len(value)) + bytes(value)


def table_name(name):
    return b"T" + struct.pack("<Q", len(name)) + name.encode()


def digest(run, section):
    """Format 2: the sum of the digests of all rows."""
    total = 0
    for table in SECTIONS[section]:
        for row in run.execute(f"SELECT {COLUMNS[table]} FROM {table}"):
            content = table_name(table) + b"".join(map(encode, row))
            total += int.from_bytes(hashlib.sha256(content).digest(), "little")
    return (total % 2**256).to_bytes(32, "little")


def old_digest(run, section):
    """Format 1: one digest over all rows in order."""
    sha = hashlib.sha256()
    for table in SECTIONS[section]:
        sha.update(table_name(table))
        for row in run.execute(f"SELECT {COLUMNS[table]} FROM {table} ORDER BY {ORDER[table]}"):
            if table == "meta" and text(row[0]).split("\0")[0] in OLD_KEYS.values():
                continue
            sha.update(b"".join(map(encode, row)))
    return sha.hexdigest()


def content(data):
    """Of an array: what its frame holds if it is one, or else its bytes."""
    try:
        return zstandard.ZstdDecompressor().decompress(data, 1 << 20)
    except zstandard.ZstdError:
        return data


def mend(run, checksums=True):
    """Make digests (and checksums) fit what is there.  Tables that are gone are passed over."""
    for table in ("tensor", "forest", "checkpoint"):
        try:
            rows = run.execute(f"SELECT rowid, data FROM {table}").fetchall() if checksums else []
            for row, data in rows:
                if isinstance(data, bytes):
                    run.execute(f"UPDATE {table} SET checksum = ? WHERE rowid = ?",
                                (hashlib.sha256(content(data)).digest(), row))
        except sqlite3.Error:
            pass
    version = run.execute("PRAGMA user_version").fetchone()[0]
    for section in SECTIONS:
        try:
            if version == 1:
                run.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)",
                            (OLD_KEYS[section], old_digest(run, section)))
            else:
                run.execute("UPDATE section SET digest = ? WHERE name = ?",
                            (digest(run, section), section))
        except sqlite3.Error:
            pass


# ---- Pages of a database ---------------------------------------------------------------------------

def root_page(path, name):
    run = sqlite3.connect(path)
    found = run.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
    run.close()
    return found[0]


def read_pages(path):
    with open(path, "rb") as file:
        content = bytearray(file.read())
    size = struct.unpack(">H", content[16:18])[0]
    return content, 65536 if size == 1 else size


def write_pages(path, content, size):
    struct.pack_into(">I", content, 28, len(content) // size)
    with open(path, "wb") as file:
        file.write(content)


def header(page, number):
    """Where the b-tree header of a page begins."""
    return 100 if number == 1 else 0


def interior(size, kind, child, count, key):
    """An interior page all of whose `count` cells, and its last pointer, lead to one child."""
    page = bytearray(size)
    end, places = size, []
    for _ in range(count):
        cell = struct.pack(">I", child) + key
        end -= len(cell)
        page[end:end + len(cell)] = cell
        places.append(end)
    page[0] = kind
    struct.pack_into(">HH", page, 3, count, end)
    struct.pack_into(">I", page, 8, child)
    for i, place in enumerate(places):
        struct.pack_into(">H", page, 12 + 2 * i, place)
    return page


def bomb(path, name, depth=15, count=200):
    """The b-tree of a table or index becomes `depth` pages, each of which leads to the next `count`
    times: count ** depth rows in a few pages."""
    content, size = read_pages(path)
    root = root_page(path, name)
    at = (root - 1) * size
    leaf = bytes(content[at:at + size])
    if leaf[0] not in (0x0d, 0x0a):
        raise ValueError(f"{name} has more than one page")
    table = leaf[0] == 0x0d
    if table:
        key = b"\x7f"
    else:  # a cell of an index holds a key: that of the first row, without overflow
        place = struct.unpack(">H", leaf[8:10])[0]
        key = leaf[place:place + 1 + leaf[place]]
        count = min(count, (size - 12) // (len(key) + 6) - 1)
    pages = len(content) // size
    content += leaf
    for level in range(depth):
        content += interior(size, 0x05 if table else 0x02, pages + 1 + level, count, key)
    content[at:at + size] = interior(size, 0x05 if table else 0x02, pages + 1 + depth, count, key)
    write_pages(path, content, size)


def chain(path, name, depth):
    """The b-tree of a table gets `depth` levels with one child each."""
    content, size = read_pages(path)
    root = root_page(path, name)
    at = (root - 1) * size
    leaf = bytes(content[at:at + size])
    pages = len(content) // size
    content += leaf
    kind = 0x05 if leaf[0] in (0x0d, 0x05) else 0x02
    for level in range(depth):
        page = bytearray(size)
        page[0] = kind
        struct.pack_into(">HH", page, 3, 0, 0)
        struct.pack_into(">I", page, 8, pages + 1 + level)
        content += page
    content[at:at + size] = content[-size:]
    write_pages(path, content, size)
