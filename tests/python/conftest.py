"""What the tests of the Python package share."""
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import data_sets  # noqa: E402

import phloem  # noqa: E402


@pytest.fixture(scope="session")
def program():
    """Runs the command line; returns its standard output."""
    def run(*words, **more):
        done = subprocess.run([os.environ["PHLOEM"], *map(str, words)], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        return done.stdout.decode()
    return run


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def data():
    """The path of a data set; skips the test where it is not there."""
    def path(name):
        found = data_sets.path(name)
        if not os.path.exists(found):
            pytest.skip("no data")
        return found
    return path


@pytest.fixture(scope="session")
def symm():
    return phloem.Forest.generate_symm(trees_per_class=20)


@pytest.fixture(scope="session")
def documents():
    return phloem.Forest.generate_documents(trees_per_class=15, classes=3)
