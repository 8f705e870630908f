#!/usr/bin/python3
"""wheel.py SOURCE - sdist and wheel are made, and the wheel works where the library is not; TAP.

The wheel is installed into a fresh virtual environment that sees the system's packages, for cffi and
NumPy.
"""
import glob
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

USE = """
import phloem
trees = phloem.Forest.generate_symm(trees_per_class=10)
print(phloem.__file__, len(phloem.Run.train(trees, kind='tf', states=2, iterations=5, chains=1).draws))
"""


def main():
    source = os.path.abspath(sys.argv[1])
    report = harness.Report()
    with tempfile.TemporaryDirectory() as top:
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

        def run(*words):
            return subprocess.run(words, cwd=top, env=env, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False)
        copy = os.path.join(top, "source")  # the backend writes beside the sources
        done = run("git", "clone", "-q", source, copy)
        report.line(done.returncode == 0, "a clean copy of the sources", done.stdout)
        done = run(sys.executable, "-m", "build", "--no-isolation", "-o", top, copy)
        report.line(done.returncode == 0, "python3 -m build --no-isolation", done.stdout[-3000:])
        archives, wheels = glob.glob(f"{top}/*.tar.gz"), glob.glob(f"{top}/*.whl")
        report.line(len(archives) == len(wheels) == 1, "an sdist and a wheel")
        with tarfile.open(archives[0]) as archive:
            names = archive.getnames()
        report.line(any(name.endswith("include/phloem.h") for name in names), "the sdist has the C code")
        with zipfile.ZipFile(wheels[0]) as wheel:
            names = wheel.namelist()
        strange = [name for name in names if not name.startswith("phloem")]
        report.line("phloem/_native.abi3.so" in names and not strange,
                    "the wheel has the package and nothing else", *strange)
        run(sys.executable, "-m", "venv", "--system-site-packages", f"{top}/venv")
        done = run(f"{top}/venv/bin/pip", "install", "-q", "--no-deps", "--no-index", wheels[0])
        report.line(done.returncode == 0, "it is installed", done.stdout)
        done = run(f"{top}/venv/bin/python", "-c", USE)
        report.line(done.returncode == 0 and f"{top}/venv" in done.stdout, "it trains", done.stdout)
        module = glob.glob(f"{top}/venv/lib/*/site-packages/phloem/_native.abi3.so")
        done = run("ldd", module[0])
        report.line("libphloem" not in done.stdout, "the library is inside", done.stdout)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
