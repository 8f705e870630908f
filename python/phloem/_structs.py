"""Structs of the library: options from keyword arguments, results as Python values."""
import difflib
import math
import os
from functools import lru_cache

import numpy as np

from ._native import ffi, lib
from .errors import render, text_of

CALLBACKS = {"progress", "report", "cancel", "context"}
SILENT = CALLBACKS | {"size"}


# ---- enumerations ----

@lru_cache(None)
def names_of(enum):
    """{number: name} of an enumeration: PHL_LEARNER_GIBBS is "gibbs", PHL_TF "tf"."""
    names = [name for _, name in sorted(enum.elements.items())]
    prefix = os.path.commonprefix(names)
    prefix = prefix[:prefix.rfind("_") + 1] if "_" in prefix else ""
    return {number: name[len(prefix):].lower() for number, name in sorted(enum.elements.items())}


def enum_number(enum, value, keyword):
    names = names_of(enum)
    if isinstance(value, str):
        for number, name in names.items():
            if name == value.lower():
                return number
        raise ValueError(f"{keyword}: found {value!r}, expected one of "
                         f"{', '.join(map(repr, names.values()))}")
    if value not in names:
        raise ValueError(f"{keyword}: found {value!r}, expected one of "
                         f"{', '.join(map(repr, names.values()))}")
    return value


# ---- options ----

class Options:
    """An options struct, filled by its init call and by keywords named like its members."""

    def __init__(self, name):
        self.type = ffi.typeof(f"phl_{name}_options")
        self.name = name
        self.c = ffi.new(f"phl_{name}_options *")
        getattr(lib, f"phl_{name}_options_init_sized")(self.c, ffi.sizeof(self.type))
        self.fields = dict(self.type.fields)
        self._kept = []  # what members point to

    def keywords(self):
        """Names that `set` takes: members, but not callbacks and lengths of arrays."""
        return [name for name in self.fields if name not in SILENT
                and not (name.startswith("n_") and name[2:] in self.fields)]

    def keep(self, thing):
        self._kept.append(thing)
        return thing

    def set(self, keyword, value):
        """One member; None leaves the default."""
        if value is None:
            return
        kind = self.fields[keyword].type
        if keyword == "groups":
            value = feature_groups(value)
        if kind.kind == "enum":
            value = enum_number(kind, value, keyword)
        elif kind.kind == "pointer":
            value = self._pointer(keyword, kind, value)
        elif kind.cname == "double":
            value = _real(keyword, value)
        elif kind.cname == "_Bool":
            value = bool(value)
        else:
            value = _whole(keyword, value)
        try:
            setattr(self.c, keyword, value)
        except OverflowError:
            raise ValueError(f"{keyword}: {value} is out of range") from None

    def _pointer(self, keyword, kind, value):
        item = kind.item.cname
        if item == "char":
            return self.keep(c_string(value, keyword))
        if item == "char *":
            items = [self.keep(c_string(v, keyword)) for v in
                     ([value] if isinstance(value, str) else value)]
            made = self.keep(ffi.new("char *[]", items))
        elif item in ("uint32_t", "double", "uint64_t"):
            items = np.ascontiguousarray(value)
            if items.ndim != 1 or (items.size and items.dtype.kind not in "iuf"):
                raise TypeError(f"{keyword}: expected a list of numbers")
            if items.dtype.kind in "iu" and items.size and items.min() < 0:
                raise ValueError(f"{keyword}: found {items.min()}, expected no negative number")
            items = self.keep(items.astype({"uint32_t": "u4", "double": "f8",
                                            "uint64_t": "u8"}[item], casting="same_kind"
                                           if item == "double" else "unsafe"))
            made = ffi.cast(f"{item} *", ffi.from_buffer(items))
        elif kind.item.kind == "enum":
            items = [enum_number(kind.item, v, keyword) for v in
                     ([value] if isinstance(value, str) else value)]
            made = self.keep(ffi.new(f"{item}[]", items))
        elif isinstance(value, Options):
            return self.keep(value).c
        elif hasattr(value, "_c"):
            return self.keep(value)._c
        else:
            raise TypeError(f"{keyword}: cannot be set from {type(value).__name__}")
        if f"n_{keyword}" in self.fields:
            setattr(self.c, f"n_{keyword}", len(items))
        return made


def fill(keywords, *structs):
    """Give each keyword to the first struct that has it; a clear TypeError if none has."""
    for keyword, value in keywords.items():
        for struct in structs:
            if keyword in struct.keywords():
                struct.set(keyword, value)
                break
        else:
            known = [name for struct in structs for name in struct.keywords()]
            close = difflib.get_close_matches(keyword, known, 1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
            raise TypeError(f"unknown option {keyword!r}; {hint}")
    return structs[0]


def c_string(value, what):
    """A C string; the caller keeps it."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        try:
            value = value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(f"{what}: {value[:50]!r} cannot be written as UTF-8") from None
    if not isinstance(value, bytes):
        raise TypeError(f"{what}: found {type(value).__name__}, expected a string")
    if b"\0" in value:
        raise ValueError(f"{what}: found a NUL character in {value[:50]!r}")
    return ffi.new("char[]", value)


def c_path(path):
    """A path, whatever its bytes."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"expected a path, found {type(path).__name__}")
    return c_string(os.fsencode(path), "path")


def _whole(keyword, value):
    try:
        return int(value.__index__())
    except AttributeError:
        if isinstance(value, float) and value.is_integer():
            return int(value)
        raise TypeError(f"{keyword}: found {value!r}, expected a whole number") from None


def _real(keyword, value):
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{keyword}: found {value!r}, expected a number") from None
    if math.isnan(value):
        raise ValueError(f"{keyword}: found NaN, expected a number")
    return value


def feature_groups(value):
    """"S+B", ["S", "B"] or a number."""
    if isinstance(value, str):
        value = value.replace(",", "+").split("+")
    if isinstance(value, (list, tuple, set, frozenset)):
        known = {name: getattr(lib, f"PHL_FEATURE_{name}") for name in ("S", "B", "BG", "L", "P1")}
        total = 0
        for name in value:
            if str(name).strip() not in known:
                raise ValueError(f"groups: found {name!r}, expected some of {', '.join(known)}")
            total |= known[str(name).strip()]
        return total
    return value


# ---- results ----

# Arrays of structs whose length is not n_NAME.
LENGTHS = {
    "phl_chain_diagnosis.slots": ("n_slots",),
    "phl_chain_diagnosis.sizes": ("n_slots",),
    "phl_stats.slot_filled": ("max_slot",),
    "phl_evaluation.names": ("n_names",),
    "phl_choice_result.folds": (),
}


def to_dict(struct, **lengths):
    """A struct as a dict: enumerations by name, strings as str, arrays of numbers as copies.

    lengths: of arrays that the struct does not tell, by member."""
    if ffi.typeof(struct).kind == "pointer":
        struct = struct[0]
    kind = ffi.typeof(struct)
    own = kind.cname.replace("struct ", "")
    found = {}
    for name, field in kind.fields:
        if name in SILENT or (name.startswith("n_") and name[2:] in dict(kind.fields)):
            continue
        value = getattr(struct, name)
        found[name] = _value(own, name, field.type, value, struct, lengths)
    return found


def _value(owner, name, kind, value, struct, lengths):
    if kind.kind == "enum":
        return names_of(kind).get(int(value), int(value))
    if kind.kind == "primitive":
        return value
    if kind.kind == "struct":
        return to_dict(value, **lengths)
    if kind.kind == "array":
        if kind.item.cname == "char":
            return render(text_of(value))
        if kind.item.kind == "struct":
            return [to_dict(item) for item in value]
        return list(value)
    if kind.kind == "function" or value == ffi.NULL:
        return None
    if kind.item.cname == "char":
        return render(text_of(value))
    length = lengths.get(name)
    if length is None:
        member = LENGTHS.get(f"{owner}.{name}", (f"n_{name}",))
        length = getattr(struct, member[0]) if member and hasattr(struct, member[0]) else None
    if kind.item.kind == "struct" and length is None:
        return to_dict(value, **lengths) if kind.item.fields is not None else None
    if length is None:
        return None
    if kind.item.kind == "struct":
        return [to_dict(value[i]) for i in range(length)]
    if kind.item.cname == "char *":
        return [text_of(value[i]) for i in range(length)]
    return array(value, length).copy()


DTYPES = {"double": "f8", "int32_t": "i4", "uint32_t": "u4", "int64_t": "i8", "uint64_t": "u8",
          "uint8_t": "u1", "_Bool": "?", "size_t": "u8", "unsigned long": "u8", "long": "i8",
          "int": "i4", "unsigned int": "u4", "unsigned char": "u1"}


class _Owned:
    """A destructor that does nothing but hold on to what the memory belongs to."""

    def __init__(self, owner):
        self.owner = owner

    def __call__(self, _):
        self.owner = None


def array(pointer, shape, owner=None, dtype=None):
    """A read-only NumPy view of C memory; `owner` lives as long as the view."""
    shape = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    dtype = np.dtype(dtype or DTYPES[ffi.typeof(pointer).item.cname])
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size == 0 or pointer == ffi.NULL:
        return np.empty(shape, dtype)
    if owner is not None:
        pointer = ffi.gc(ffi.cast("void *", pointer), _Owned(owner))
    found = np.frombuffer(ffi.buffer(ffi.cast("char *", pointer) if owner is None else pointer,
                                     size), dtype).reshape(shape)
    found.flags.writeable = False
    return found
