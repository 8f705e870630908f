#!/usr/bin/python3
"""rebuild.py - report/page.html is what report/src gives, to the byte; the lock file has hashes and no addresses; TAP.

Where Node or its modules are not there (`tools/setup browser` installs them), building is skipped, visibly.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

FOLDER = os.path.join(harness.ROOT, "report")


def read(name, folder=FOLDER):
    with open(os.path.join(folder, name), "rb") as stream:
        return stream.read()


def check_lock(report):
    text = read("package-lock.json").decode()
    lock, asked = json.loads(text), json.loads(read("package.json"))
    packages = {path: found for path, found in lock["packages"].items() if path}
    report.line(packages and all(re.match(r"sha512-", found["integrity"]) and found["version"] for found in packages.values()),
                "the lock file has a version and a hash of each package")
    report.line("resolved" not in text and "://" not in re.sub(r'"url": "[^"]*"', "", text), "the lock file has no addresses")
    wanted = {**asked["dependencies"], **asked["devDependencies"]}
    report.line(all(packages[f"node_modules/{name}"]["version"] == version for name, version in wanted.items()),
                "versions that are asked for are those of the lock file")
    return packages


def check_licences(report, packages):
    """Whatever is named in the page comes with a version that is locked, and with its licence."""
    page = read("page.html").decode()
    notes = page[page.index("<!--\nThe script of this page contains:"):]
    named = re.findall(r"^(@?[a-z0-9/-]+) (\d+\.\d+\.\d+) \(([A-Za-z0-9.-]+)\)$", notes, re.M)
    report.line(len(named) > 10 and {"@observablehq/plot", "d3-hierarchy", "d3-scale"} <= {name for name, _, _ in named}
                and all(packages[f"node_modules/{name}"]["version"] == version for name, version, _ in named),
                f"licences of {len(named)} packages are in the page", named)
    parts = notes.split("\n====\n")
    report.line(len(parts) == len(named) and all("Copyright" in part and "AS IS" in part.upper() for part in parts),
                "each with its text", len(parts), len(named))


def check_bytes(report):
    if not shutil.which("node") or not os.path.isdir(os.path.join(FOLDER, "node_modules", "esbuild")):
        report.skip("the page is what its sources give", "no modules of Node")
        return
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["node", os.path.join(FOLDER, "build.mjs"), os.path.join(folder, "page.html")],
                              capture_output=True, text=True, check=False)
        good = done.returncode == 0 and read("page.html", folder) == read("page.html")
        report.line(good, "the page is what its sources give, to the byte",
                    "after a change of report/src: npm run build, in report/", done.stderr)


def main():
    report = harness.Report()
    packages = check_lock(report)
    check_licences(report, packages)
    check_bytes(report)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
