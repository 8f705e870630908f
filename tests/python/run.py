#!/usr/bin/python3
"""run.py PHLOEM [pytest's arguments] - the tests of the Python package, each reported as TAP.

The package is taken from PYTHONPATH, the program PHLOEM is what its numbers are compared with.
"""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))


def missing():
    """What is not there, in Debian's words, or None."""
    for module, package in (("cffi", "python3-cffi"), ("numpy", "python3-numpy"),
                            ("pytest", "python3-pytest"), ("sklearn", "python3-sklearn"),
                            ("phloem", "package phloem, which needs python3-cffi and python3-dev "
                                       "when it is built")):
        try:
            __import__(module)
        except ImportError:
            return package
    return None


class Tap:
    """A line for each test, as it ends."""

    def __init__(self):
        self.count = self.failed = 0
        self.out = os.fdopen(os.dup(1), "w", encoding="utf-8")

    def say(self, text):
        print(text, file=self.out, flush=True)

    def line(self, good, name, note=""):
        self.count += 1
        self.failed += not good
        name = name.replace("#", "").replace("\n", " ")
        self.say(f"{'ok' if good else 'not ok'} {self.count} - {name}{note}")

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.rpartition("/")[2]
        if report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else "no reason given"
            self.line(True, name, f" # SKIP {reason.replace('Skipped: ', '')}")
        elif report.failed:
            self.line(False, f"{name} ({report.when})")
            self.say("\n".join(f"# {line}" for line in str(report.longrepr).splitlines()))
        elif report.when == "call":
            self.line(True, name)

    def pytest_collectreport(self, report):
        if report.failed:
            self.line(False, f"{report.nodeid} (collection)")
            self.say("\n".join(f"# {line}" for line in str(report.longrepr).splitlines()))


def main():
    absent = missing()
    if absent:
        print(f"skipped: no {absent}")
        return 77
    import pytest
    os.environ["PHLOEM"] = os.path.abspath(sys.argv[1])
    tap = Tap()
    words = sys.argv[2:] or [HERE]
    # Ctrl-C of the tests goes to the tests; what they print is kept back.
    with open(os.devnull, "w", encoding="utf-8") as sys.stdout:  # pytest's own report
        code = pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", HERE, *words],
                           plugins=[tap])
    sys.stdout = sys.__stdout__
    tap.say(f"1..{tap.count}")
    tap.out.close()
    return 1 if tap.failed or code not in (0, 1) or tap.count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
