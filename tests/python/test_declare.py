"""The declarations are phloem.h's, all of it."""
import importlib.util
import os
import re

import pytest

from phloem._native import ffi, lib


@pytest.fixture(scope="module")
def declare(root):
    spec = importlib.util.spec_from_file_location("declare", os.path.join(root, "python/declare.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def header(root):
    with open(os.path.join(root, "include/phloem.h"), encoding="utf-8") as stream:
        return stream.read()


def test_every_call_is_there(header):
    calls = re.findall(r"^PHL_API [^;(]*?\b(phl_\w+)\(", header, re.M)
    assert len(calls) > 100
    assert [name for name in calls if not hasattr(lib, name)] == []


def test_every_type_is_there(header):
    types = re.findall(r"^\} (phl_\w+);|^typedef struct \w+ (phl_\w+);|\(\*(phl_\w+_fn)\)", header,
                       re.M)
    names = {name for group in types for name in group if name}
    assert len(names) > 60
    for name in names:
        ffi.typeof(name)


def test_every_constant_is_there(header):
    names = re.findall(r"^#define (PHL_(?:MOST|NO|UN|DEF|TENSOR)\w*) ", header, re.M)
    names += re.findall(r"^    (PHL_\w+)(?: = [^,\n]*)?,? ", header, re.M)
    assert len(names) > 40
    assert [name for name in names if not hasattr(lib, name)] == []


def test_every_member_is_there(header):
    found = dict(ffi.typeof("phl_train_options").fields)
    for name in ("size", "kind", "states", "sizes", "n_sizes", "phi", "delta", "context"):
        assert name in found
    assert [name for name, _ in ffi.typeof("phl_train_options").fields][0] == "size"


def test_every_callback_has_a_function(declare, header):
    declared = declare.declare([header])
    for name in re.findall(r"\(\*phl_(\w+)_fn\)", header):
        assert f"phlpy_on_{name}(" in declared
        assert hasattr(lib, f"phlpy_on_{name}")


def test_what_is_added_to_a_header_is_declared(declare):
    text = '''
/* phl_not_this(void); */
#ifdef __cplusplus
extern "C" {
#endif
#define PHL_API __attribute__((x))
#define PHL_PRINTF(a, b)
#define PHL_SEVEN 7 /* seven */
#define PHL_MINUS (-1)
#define PHL_MOST SIZE_MAX
#define phl_new_options_init(o)                                  \\
    phl_new_options_init_sized((o), sizeof *(o))
typedef struct phl_new {
    int a; // one
    double b[PHL_SEVEN];
} phl_new;
typedef bool (*phl_new_fn)(const phl_new *it,
                           void *context);
PHL_API int phl_new_call(phl_new *it, const char *format, ...) PHL_PRINTF(2, 3);
#ifdef __cplusplus
}
#endif
'''
    found = declare.declare([text])
    assert "phl_not_this" not in found and "PHL_API" not in found and "__attribute__" not in found
    assert "#define PHL_SEVEN 7\n" in found and "#define PHL_MINUS -1\n" in found
    assert "#define PHL_MOST ...\n" in found
    assert "phl_new_options_init" not in found and "PHL_PRINTF" not in found
    assert "int phl_new_call(phl_new *it, const char *format, ...) ;" in found.replace("...)", "...) ") \
        or "int phl_new_call(phl_new *it, const char *format, ...)" in found
    assert 'extern "Python" bool phlpy_on_new(const phl_new *it, void *context);' in found
    import cffi
    ffi_new = cffi.FFI()
    ffi_new.cdef(found)
    assert ffi_new.typeof("phl_new").fields[1][1].type.length == 7


def test_constants_have_their_values():
    assert lib.PHL_UNKNOWN == -1 and lib.PHL_MOST_ACTIVE == 64 and lib.PHL_ERR_CANCELLED == -13000
    assert lib.PHL_DEFAULT == 2 ** (8 * ffi.sizeof("size_t")) - 1
