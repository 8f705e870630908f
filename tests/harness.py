"""harness.py - what the test programs in Python share: their report as TAP, and the data sets.

    import harness                 # with tests/ in sys.path
    report = harness.Report()
    report.line(good, "what is tested", "why it failed", ...)
    sys.exit(report.end())
"""
import os
import sys

sys.dont_write_bytecode = True  # nothing is to be left beside the sources
TESTS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(TESTS)
sys.path.insert(1, os.path.join(ROOT, "tools"))
import data_sets  # noqa: E402  # pylint: disable=wrong-import-position,unused-import


class Report:
    """Lines of TAP, the plan last."""

    def __init__(self):
        self.number = 0
        self.failed = False

    def line(self, good, what, *why):
        """One test; `why` is printed when it failed."""
        self.number += 1
        self.failed |= not good
        what = str(what).replace("#", "")  # it would begin a directive
        print(f"{'ok' if good else 'not ok'} {self.number} - {what}", flush=True)
        for text in () if good else why:
            print("# " + str(text)[:4000].replace("\n", "\n# "), flush=True)

    def skip(self, what, why="no data"):
        self.number += 1
        print(f"ok {self.number} - {what} # SKIP {why}", flush=True)

    def end(self):
        """The plan; returns the exit code."""
        print(f"1..{self.number}", flush=True)
        return int(self.failed or self.number == 0)
