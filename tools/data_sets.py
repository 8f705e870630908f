#!/usr/bin/python3
"""data_sets.py - where the data sets lie: in $PHLOEM_DATA, else in the folder below.

They are no part of the project.  Tests that need one which is not there are skipped and say so.
Run as a program it prints the folder.
"""
import os

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.realpath(os.environ.get("PHLOEM_DATA") or os.path.join(ROOT, "../shared/data"))


def path(name):
    """Of a file or folder that may be missing."""
    return os.path.join(FOLDER, name)


if __name__ == "__main__":
    print(FOLDER)
