"""run_arrays.py - the arrays of a run file as docs/run-file.md describes them: packed or plain.

    import run_arrays              # with tests/ in sys.path
    bytes = run_arrays.unpacked(data, dtype, shape, part)
"""
import json
import math

import zstandard

WIDTH = {"uint8": 1, "int32": 4, "uint32": 4, "float32": 4, "uint64": 8, "float64": 8}
PART = 1 << 26  # bytes of a part, unpacked
TABLES = ("tensor", "forest", "checkpoint", "head", "expert", "members", "shapes")


def unpacked(data, dtype, shape, part=0):
    """The bytes of the numbers of one part."""
    length = min(math.prod(json.loads(shape)) * WIDTH[dtype] - part * PART, PART)
    return data if len(data) == length else zstandard.ZstdDecompressor().decompress(data, length)


def as_text(value):
    """Whether a connection gives text or bytes."""
    return value.decode() if isinstance(value, bytes) else value


def unpack_run(run):
    """Store the arrays of a run, an open connection, as they are, none packed; digests stay as they are."""
    for table in TABLES:
        for row, dtype, shape, part, data in run.execute(
                f"SELECT rowid, dtype, shape, part, data FROM {table}").fetchall():
            plain = unpacked(data, as_text(dtype), as_text(shape), part)
            if plain is not data:
                run.execute(f"UPDATE {table} SET data = ? WHERE rowid = ?", (plain, row))
