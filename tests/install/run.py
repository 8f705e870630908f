#!/usr/bin/python3
"""Install into a temporary prefix and use what is there as a stranger would: build the example program
with nothing but pkg-config, run it, run the installed command, read its man page.

Usage: run.py BUILD SOURCE.  Prints TAP."""
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402


def main():
    build, source = map(os.path.abspath, sys.argv[1:3])
    report = harness.Report()

    def test(name, passed, detail=""):
        report.line(passed, name, detail)

    with tempfile.TemporaryDirectory() as top:
        def run(command, **environment):
            return subprocess.run(command, cwd=top, env={**os.environ, **environment}, text=True,
                                  capture_output=True)

        done = run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", top])
        test("meson install", done.returncode == 0, done.stdout + done.stderr)
        found = glob.glob(f"{top}/**/phloem.pc", recursive=True)
        test("the pkg-config file is installed", len(found) == 1, str(found))
        prefix = os.path.dirname(os.path.dirname(os.path.dirname(found[0])))
        libraries = os.path.dirname(os.path.dirname(found[0]))
        # What was meant for / lies below a temporary folder: tell pkg-config.
        flags = run(["pkg-config", "--cflags", "--libs", "phloem"],
                    PKG_CONFIG_PATH=os.path.dirname(found[0]), PKG_CONFIG_SYSROOT_DIR=top)
        test("pkg-config knows phloem", flags.returncode == 0, flags.stderr)
        done = run(["cc", "-Wall", "-Werror", f"{source}/examples/classify.c", "-o", "classify",
                    *flags.stdout.split()])
        test("the example builds with pkg-config alone", done.returncode == 0, done.stderr)
        program = glob.glob(f"{top}/**/bin/phloem", recursive=True)
        test("the command is installed", len(program) == 1, str(program))
        here = {"LD_LIBRARY_PATH": libraries}
        os.mkdir(os.path.join(top, "new"))
        for seed, name in (("1", "train.trees"), ("2", "new/test.trees")):
            done = run([program[0], "generate", "symm", "--trees-per-class", "30", "--seed", seed,
                        "-o", name, "--quiet"], **here)
            test(f"the installed command makes {name}", done.returncode == 0, done.stderr)
        done = run(["./classify", "train.trees", "new"], **here)
        slots = r"slot [1-3] matters in \d+ % of draws\n"
        match = re.fullmatch(rf"([0-9.]+) % of 90 trees\n(?:{slots}){{3}}", done.stdout)
        test("the example trains, classifies and finds slots", bool(match) and float(match[1]) > 95,
             done.stdout + done.stderr)
        done = run(["./classify", "train.trees", "missing.trees"], **here)
        test("its errors have the exit code of a failure and name the file",
             done.returncode == 1 and "missing.trees" in done.stderr, done.stderr)
        with open(f"{source}/examples/classify.c", encoding="utf-8") as stream:
            test("it has 40 lines at most", len(stream.readlines()) <= 40, "")
        package = glob.glob(f"{top}/**/phloem/_native.abi3.so", recursive=True)
        if package:
            done = run([sys.executable, "-c", "import phloem; print(len(phloem.Forest(['(a)'])))"],
                       PYTHONPATH=os.path.dirname(os.path.dirname(package[0])), **here)
            test("the Python package is installed", done.stdout == "1\n", done.stderr)
        pages = glob.glob(f"{top}/**/man1/phloem*.1*", recursive=True)
        test("man pages are installed", len(pages) > 5, str(pages))
    return report.end()


sys.exit(main())
