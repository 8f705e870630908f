#!/usr/bin/python3
"""declare.py HEADER... -o MODULE.c [--declarations FILE] - phloem.h, for Python.

Turns the headers (phloem.h and binding.h) into declarations that cffi understands, and those into
the C source of the module phloem._native.  Nothing of phloem.h is repeated by hand: what is added
there is there in Python as well.

Every type of callback phl_NAME_fn gets a function that is written in Python, phlpy_on_NAME.
"""
import argparse
import re

CALLBACK = re.compile(r"typedef\s+([\w ]+?\s*\**)\s*\(\*(phl_(\w+)_fn)\)\s*\(([^;]*)\);")
CONSTANT = re.compile(r"^#define\s+(PHL\w+)\s+(\S.*)$")
NUMBER = re.compile(r"^\(?(-?(?:0x[0-9a-fA-F]+|\d+))[uUlL]*\)?$")
# What the preprocessor would have left out or put in.  A brace that stands alone in its line is that
# of extern "C": those of types are followed by a name or a semicolon.
DROPPED = re.compile(r'\bPHL_API\b\s*|\bPHL_PRINTF\([^)]*\)|^extern "C" \{\s*$|^\}\s*$', re.M)


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def constants(lines):
    """`#define PHL_NAME number`: the number as it stands, or "..." for the compiler to find."""
    for line in lines:
        match = CONSTANT.match(line)
        if match and not line.startswith(f"#define {match.group(1)}("):
            number = NUMBER.match(match.group(2).strip())
            # What attributes and the like stand for is no number.
            if number or match.group(2).strip() == "SIZE_MAX":
                yield f"#define {match.group(1)} {number.group(1) if number else '...'}"


def declarations(header):
    """The text of a header as cffi wants it: constants, types and calls; no directives."""
    text = without_comments(header).replace("\\\n", " ")
    lines = text.splitlines()
    named = list(constants(lines))
    plain = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    plain = DROPPED.sub("", plain)
    plain = re.sub(r"[ \t]+\n", "\n", plain)
    plain = re.sub(r"\n{2,}", "\n", plain)
    return "\n".join(named) + "\n" + plain.strip() + "\n"


def callbacks(declared):
    """One function in Python for each type of callback."""
    lines = []
    for result, _, name, arguments in CALLBACK.findall(declared):
        arguments = re.sub(r"\s+", " ", arguments)
        lines.append(f'extern "Python" {result.strip()} phlpy_on_{name}({arguments});')
    return "\n".join(lines) + "\n"


def declare(headers):
    text = "\n".join(declarations(header) for header in headers)
    return text + callbacks(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("headers", nargs="+")
    parser.add_argument("-o", dest="output", required=True)
    parser.add_argument("--declarations", help="write the declarations there, too")
    words = parser.parse_args()
    texts = []
    for path in words.headers:
        with open(path, encoding="utf-8") as stream:
            texts.append(stream.read())
    declared = declare(texts)
    if words.declarations:
        with open(words.declarations, "w", encoding="utf-8") as stream:
            stream.write(declared)
    import cffi  # pylint: disable=import-outside-toplevel  (the tests of declare() need none)
    ffi = cffi.FFI()
    ffi.cdef(declared)
    ffi.set_source("phloem._native", '#include "binding.h"\n', py_limited_api=True)
    ffi.emit_c_code(words.output)


if __name__ == "__main__":
    main()
