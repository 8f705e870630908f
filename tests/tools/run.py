#!/usr/bin/python3
"""run.py - the checks of `make lint` and the counting of tests, tried on planted faults; TAP."""
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
LAYERS = os.path.join(ROOT, "tools", "check-layers")
HOUSE = os.path.join(ROOT, "tools", "check-house")
RUN_TESTS = os.path.join(ROOT, "tools", "run-tests")
SETUP = os.path.join(ROOT, "tools", "setup")

# A small project without fault; each case adds or replaces one file.
SOUND = {
    "include/phloem.h": "#include <stddef.h>\nint phl_forest_size(void);\n"
                        "void *phl_memory_get(size_t n);\n",
    "src/base/memory.h": '#include "phloem.h"\n',
    "src/base/memory.c": '#include "base/memory.h"\n#include <stdlib.h>\n'
                         "void *phl_memory_get(size_t n)\n{\n    return malloc(n);\n}\n",
    "src/forest/forest.h": '#include "base/memory.h"\n',
    "src/forest/forest.c": '#include "forest/forest.h"\n#include <string.h>\n'
                           "static const char *const names[] = {\"a\", \"b\"};\n"
                           "int phl_forest_size(void)\n{\n    return (int)strlen(names[0]);\n}\n",
    "src/model/model.h": '#include "forest/forest.h"\n',
    "cli/cli.h": '#include "phloem.h"\n',
    "cli/main.c": '#include "cli.h"\n#include <stdio.h>\nstatic int seen;\n'
                  'int main(void)\n{\n    seen++;\n    return printf("%d", phl_forest_size());\n}\n',
}



def rungs(n):
    """A function of two lines of head and n rungs."""
    return ("enum { PHL_OK };\nint x(int status,\n      int y);\nint x(int status,\n      int y)\n{\n"
            + "    if (status == PHL_OK) {\n        status = y;\n    }\n" * n
            + "    return status;\n}\n")


# name, file, content, what the check says (None: nothing)
LAYER_CASES = [
    ("a sound project passes", None, None, None),
    ("base must not include forest", "src/base/up.c", '#include "forest/forest.h"\n',
     "src/base/up.c:1: base is below forest"),
    ("forest must not include model", "src/forest/up.h", '\n#include <model/model.h>\n',
     "src/forest/up.h:2: forest is below model"),
    ("a path with .. does not get round it", "src/base/up.c", '#include "../forest/forest.h"\n',
     "src/base/up.c:1: base is below forest"),
    ("a commented include is none", "src/base/up.c", '/*\n#include "forest/forest.h"\n*/\n', None),
    ("base knows no trees", "src/base/tree.h", "struct phl_forest;\n", "base knows no trees"),
    ("a folder that is no layer", "src/extra/x.c", "int x;\n", "not in one of the layers"),
    ("the command line must not include the library's insides", "cli/x.c",
     '#include "forest/forest.h"\n', "cli/x.c:1: cli uses phloem.h"),
    ("nor by angle brackets", "cli/x.c", "#include <forest/forest.h>\n", "cli/x.c:1: cli uses phloem.h"),
    ("it may include the base", "cli/x.c", '#include "base/memory.h"\n', None),
    ("and headers from its own root", "cli/sub/x.c", '#include "cli.h"\n', None),
    ("an example must not include the base", "examples/x.c", '#include "base/memory.h"\n',
     "examples/x.c:1: examples uses phloem.h"),
    ("the public header stands alone", "include/phloem.h", '#include "base/memory.h"\n',
     "include/phloem.h:1: phloem.h includes the C library alone"),
]
HOUSE_CASES = [
    ("a sound project passes", None, None, None),
    ("malloc outside memory.c", "src/forest/x.c",
     "#include <stdlib.h>\nvoid *x(void);\nvoid *x(void)\n{\n    return malloc(1);\n}\n", "calls malloc"),
    ("printing", "src/forest/x.c",
     '#include <stdio.h>\nvoid x(void);\nvoid x(void)\n{\n    printf("x\\n");\n}\n', "uses puts"),
    ("exiting", "src/forest/x.c",
     "#include <stdlib.h>\nvoid x(void);\nvoid x(void)\n{\n    exit(1);\n}\n", "uses exit"),
    ("a global", "src/forest/x.c", "extern int count;\nint count;\n", "'count' outlives a call"),
    ("a static in a function", "src/forest/x.c",
     "int x(void);\nint x(void)\n{\n    static int calls = 1;\n    return calls++;\n}\n", "outlives a call"),
    ("direct recursion", "src/forest/x.c",
     "int x(int n);\nint x(int n)\n{\n    return n == 0 ? 0 : 1 + x(n - 1);\n}\n", "recursion: x"),
    ("recursion through a static function", "cli/x.c",
     "int x(int n);\nstatic int y(int n)\n{\n    return x(n - 1);\n}\n"
     "int x(int n)\n{\n    return n == 0 ? 0 : y(n);\n}\n", "recursion: "),
    ("a name that leads elsewhere", "src/forest/x.c", "int y(void);\nint y(void)\n{\n    return 1;\n}\n",
     "y does not lead to its file: phl_x_..."),
    ("a name that only begins like its file", "src/forest/x.c",
     "int phl_xs_y(void);\nint phl_xs_y(void)\n{\n    return 1;\n}\n", "does not lead to its file"),
    ("a name that leads to its file in the singular", "src/forest/xs.c",
     "int phl_x_y(void);\nint phl_x_y(void)\n{\n    return 1;\n}\n", None),
    ("a name in the command line", "cli/x.c", "int y(void);\nint y(void)\n{\n    return 1;\n}\n",
     "y does not lead to its file: x_..."),
    ("a name elsewhere that no function has", "tools/names.txt", "src/forest/forest.c phl_x\n",
     "no function needs 'phl_x'"),
    ("a file of names elsewhere that there is not", "tools/names.txt", "src/forest/x.c phl_x\n",
     "there is no such file"),
    ("goto", "src/forest/x.c", "int phl_x(void);\nint phl_x(void)\n{\n    goto out;\nout:\n    return 1;\n}\n",
     "src/forest/x.c:4: goto"),
    ("seven rungs", "cli/x.c", rungs(7), "cli/x.c: x has 7 rungs"),
    ("six rungs", "cli/x.c", rungs(6), None),
    ("a note to oneself", "docs/x.md", "TO" "DO: write this\n", "finish it"),
    ("a long file", "src/forest/x.c", "\n" * 901, "901 lines"),
]
CMOCKA = ("[==========] Running 3 test(s).\n[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n"
          "[  FAILED  ] b\n[ RUN      ] c\n[  SKIPPED ] c\n[==========] 3 test(s) run.\n"
          "[  PASSED  ] 1 test(s).\n[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] b\n\n"
          " 1 FAILED TEST(S)\n")
# name, entry of meson's log, outcomes
COUNT_CASES = [
    ("a program without report counts as one", {"result": "OK", "stdout": "hello\n"}, ["passed"]),
    ("and fails as one", {"result": "TIMEOUT", "stdout": ""}, ["failed"]),
    ("TAP", {"result": "FAIL", "stdout": "1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no data\n"},
     ["passed", "failed", "skipped"]),
    ("TAP that stops early", {"result": "ERROR", "stdout": "1..3\nok 1 - a\n"}, ["passed", "failed"]),
    ("all good but the exit code", {"result": "FAIL", "returncode": 99, "stdout": "1..1\nok 1 - a\n"},
     ["passed", "failed"]),
    ("cmocka's own output", {"result": "FAIL", "stdout": CMOCKA}, ["passed", "failed", "skipped"]),
    ("skipped as a whole", {"result": "SKIP", "stdout": "skipped: no data\n"}, ["skipped"]),
]

tap = harness.Report()


def report(name, problem):
    tap.line(not problem, name, problem)


def plant(folder, file, content):
    files = dict(SOUND)
    if file:
        files[file] = content
    for name, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
            stream.write(text)
    commands = [{"directory": folder, "file": name, "command": f"cc -Iinclude -Isrc -O2 -c {name}"}
                for name in files if name.endswith(".c")]
    with open(os.path.join(folder, "compile_commands.json"), "w", encoding="utf-8") as stream:
        json.dump(commands, stream)


def try_check(command, name, file, content, expected):
    with tempfile.TemporaryDirectory(prefix="phloem-tools-") as folder:
        plant(folder, file, content)
        done = subprocess.run([word.replace("FOLDER", folder) for word in command],
                              capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    good = done.returncode == 0 if expected is None else done.returncode == 1 and expected in said
    report(f"{os.path.basename(command[0])}: {name}",
           "" if good else f"exit code {done.returncode}, expected to say {expected!r}, said:\n{said}")


def load(name, path):
    """A program of tools/ as a module."""
    loader = importlib.machinery.SourceFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def try_counting():
    module = load("run_tests", RUN_TESTS)
    for name, entry, expected in COUNT_CASES:
        found = sorted(outcome for outcome, _, _ in module.judge({"name": "t", **entry}))
        report(f"run-tests: {name}", "" if found == sorted(expected) else f"counted {found}")


def try_coverage():
    """A program that runs one of two functions, one folder each; and a file that nothing uses."""
    module = load("coverage", os.path.join(ROOT, "tools", "coverage.py"))
    with tempfile.TemporaryDirectory(prefix="phloem-tools-") as folder:
        def put(name, text):
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
                stream.write(text)

        put("src/run/a.c", "int a(int n);\nint a(int n)\n{\n    return n + 1;\n}\n")
        put("src/idle/b.c", "int b(int n);\nint b(int n)\n{\n    return n + 1;\n}\n")
        put("cli/main.c", "int a(int n);\nint main(void)\n{\n    return a(-1);\n}\n")
        for name in ("src/run/a", "src/idle/b", "cli/main"):
            subprocess.run(["gcc", "--coverage", "-c", f"{name}.c", "-o", f"{name}.o"], cwd=folder,
                           check=True)
        subprocess.run(["gcc", "--coverage", "src/run/a.o", "cli/main.o", "-o", "program"],
                       cwd=folder, check=True)
        subprocess.run(["./program"], cwd=folder, check=True)
        found = module.report(folder, folder)
        module.forget(folder)
        after = module.report(folder, folder)
    expected = [(True, "coverage of cli: 100.0 % of 2 lines"),
                (False, "coverage of src/idle: 0.0 % of 2 lines"),
                (True, "coverage of src/run: 100.0 % of 2 lines"),
                (True, "coverage of all: 66.7 % of 6 lines")]
    report("coverage: a folder that is not run is found", "" if found == expected else str(found))
    report("coverage: earlier runs are forgotten",
           "" if not any(good for good, _ in after[:3]) else str(after))


def try_setup():
    """With a dpkg-query that knows no package, an id that is not root and no sudo."""
    with tempfile.TemporaryDirectory(prefix="phloem-tools-") as folder:
        for name, text in (("dpkg-query", "exit 1"), ("id", "echo 1000"), ("apt-get", "exit 9")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
                stream.write(f"#!/bin/sh\n{text}\n")
            os.chmod(os.path.join(folder, name), 0o755)
        for name in ("head", "tr", "mktemp", "rm", "cat", "env"):
            os.symlink(os.path.join("/usr/bin", name), os.path.join(folder, name))
        for user, expected in (("1000", "apt-get update && apt-get install -y --no-install-recommends gcc "),
                               ("0", "apt-get update failed")):
            with open(os.path.join(folder, "id"), "w", encoding="utf-8") as stream:
                stream.write(f"#!/bin/sh\necho {user}\n")
            done = subprocess.run(["/bin/sh", SETUP, "build"], capture_output=True, text=True,
                                  env={"PATH": folder}, stdin=subprocess.DEVNULL, check=False)
            good = done.returncode == 4 and expected in done.stderr and "missing Debian" in done.stderr
            report(f"setup: user {user}, nothing installed, exit code 4",
                   "" if good else f"exit code {done.returncode}\n{done.stderr}")
        with open(os.path.join(folder, "dpkg-query"), "w", encoding="utf-8") as stream:
            stream.write("#!/bin/sh\nprintf installed\n")
        done = subprocess.run(["/bin/sh", SETUP, "build", "test", "lint", "long", "bench"],
                              capture_output=True, text=True, env={"PATH": folder}, check=False)
        report("setup: silent when nothing is missing",
               "" if done.returncode == 0 and not done.stdout + done.stderr
               else f"exit code {done.returncode}\n{done.stdout}{done.stderr}")


def main():
    for name, file, content, expected in LAYER_CASES:
        try_check([LAYERS, "FOLDER"], name, file, content, expected)
    for name, file, content, expected in HOUSE_CASES:
        try_check([HOUSE, "FOLDER", "FOLDER"], name, file, content, expected)
    try_counting()
    try_coverage()
    try_setup()
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
