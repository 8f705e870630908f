#!/usr/bin/python3
"""tools/coverage.py BUILD - which lines of the library and the command line the tests have run.

BUILD is a meson folder configured with -Db_coverage=true in which tests were run.  Prints the lines
of each folder and of all, the files that lie below LEAST percent, and exits with 1 if a folder does.  Lines of headers belong to the folder of the header.  Needs gcov, which comes with gcc.
"""
import collections
import concurrent.futures
import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PARTS = ("src/", "cli/")
LEAST = 85.0  # percent of the lines of every folder


def forget(build):
    """Remove what earlier runs have counted."""
    for path in glob.glob(os.path.join(build, "**", "*.gcda"), recursive=True):
        os.remove(path)


def counted(path):
    """gcov's report on one object file."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", path], check=True,
                          capture_output=True, cwd=os.path.dirname(path))
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]


def lines(build, root):
    """{file below the root: {line: was it run}} of all files that were compiled."""
    found = collections.defaultdict(dict)
    paths = glob.glob(os.path.join(os.path.abspath(build), "**", "*.gcno"), recursive=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for reports in pool.map(counted, paths):
            for report in reports:
                for file in report["files"]:
                    place = os.path.join(report["current_working_directory"], file["file"])
                    name = os.path.relpath(os.path.realpath(place), os.path.realpath(root))
                    if name.startswith(PARTS):
                        seen = found[name]
                        for line in file["lines"]:
                            number = line["line_number"]
                            seen[number] = seen.get(number, False) or line["count"] > 0
    return found


def percent(files):
    run = sum(sum(seen.values()) for seen in files)
    total = sum(len(seen) for seen in files)
    return (100.0 * run / total if total else 0.0), total


def report(build, root=ROOT):
    """(good, text) of each folder, and of all together."""
    found = lines(build, root)
    folders = collections.defaultdict(list)
    for name, seen in found.items():
        folders[os.path.dirname(name)].append(seen)
    results = []
    for folder, files in sorted(folders.items()):
        share, total = percent(files)
        results.append((share >= LEAST, f"coverage of {folder}: {share:.1f} % of {total} lines"))
    share, total = percent(found.values())
    results.append((bool(total), f"coverage of all: {share:.1f} % of {total} lines"))
    return results


def behind(build, root=ROOT):
    """Share and name of each file that lies below LEAST, the worst first."""
    shares = sorted((percent([seen])[0], name) for name, seen in lines(build, root).items())
    return [(share, name) for share, name in shares if share < LEAST]


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip())
        return 2
    results = report(sys.argv[1])
    for good, text in results:
        print(text + ("" if good else f", expected {LEAST:.0f} %"))
    for share, name in behind(sys.argv[1]):
        print(f"  {name}: {share:.1f} %")
    return 0 if all(good for good, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
