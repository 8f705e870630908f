#!/usr/bin/python3
"""browser.py PHLOEM [--need] - the page of `phloem report` in a real browser; TAP.

Makes runs and pages in a folder of its own, then has browser.mjs look at them with Chromium.  Where there
is no browser, no Node or no modules (`tools/setup browser` installs them), it says `skipped: no browser`;
with --need that is a failure.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
BROWSER = "/usr/bin/chromium"
NASTY = ["<script>alert(1)</script><img src=x onerror=alert(2)>", "\"'\\ ]]>,;", "\x1b[31mred\x07", "\u202eabc\u2066",
         "\u0645\u0631\u062d\u0628\u0627", "&amp;<!--", "=1+1", "line\u2028end", "l" * 10000]


def phloem(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"phloem {words}: exit code {done.returncode}: {done.stderr.decode('utf-8', 'replace')}")
    return done.stdout.decode()


def make_documents(at):
    """Documents of four kinds, half of them to test with; runs of several models on them."""
    phloem("generate", "documents", "--trees-per-class", "60", "-o", at("all.trees"), "--quiet")
    with open(at("all.trees"), encoding="utf-8") as stream:
        lines = stream.readlines()
    for name, part in (("train", lines[::2]), ("test", lines[1::2])):
        with open(at(f"{name}.trees"), "w", encoding="utf-8") as stream:
            stream.writelines(part)
    train = ["train", at("train.trees"), "--quiet", "-o"]
    phloem(*train, at("default.run"), "--per-class")
    phloem(*train, at("tf.run"), "--per-class", "--model", "tf", "--states", "3", "--chains", "3", "--iterations", "60")
    phloem(*train, at("sp.run"), "--model", "sp", "--states", "3", "--restarts", "2", "--iterations", "700", "--tolerance", "0")
    phloem(*train, at("linear.run"), "--classifier")
    phloem("report", at("default.run"), "--test", at("test.trees"), "--hide", "0.2", "-o", at("default.html"), "--quiet")
    phloem("report", at("tf.run"), at("default.run"), at("linear.run"), "--test", at("test.trees"), "-o", at("several.html"), "--quiet")
    phloem("report", at("sp.run"), "--test", at("test.trees"), "-o", at("sp.html"), "--quiet")
    phloem("report", at("tf.run"), "-o", at("tf.html"), "--quiet")
    phloem("convert", at("test.trees"), "-o", at("test.jsonl"), "--quiet")


def make_nasty(at):
    """Classes and labels that are no good to any page."""
    with open(at("nasty.trees"), "w", encoding="utf-8") as stream:
        for name in NASTY:
            for other in NASTY:
                stream.write(f"{json.dumps(name)}\t({json.dumps(name)} ({json.dumps(other)}) _ (?))\n")
    phloem("train", "--per-class", "--model", "tf", "--states", "2", "--iterations", "10", at("nasty.trees"), "-o", at("nasty.run"), "--quiet")
    phloem("report", at("nasty.run"), "--test", at("nasty.trees"), "--hide", "0.5", "-o", at("nasty.html"), "--quiet")
    phloem("train", "--per-class", at("nasty.trees"), "-o", at("nasty-grammar.run"), "--quiet")
    phloem("report", at("nasty-grammar.run"), "--test", at("nasty.trees"), "-o", at("nasty-grammar.html"), "--quiet")


def main():
    modules = os.path.join(harness.ROOT, "report", "node_modules", "playwright-core")
    if not (os.path.exists(BROWSER) and shutil.which("node") and os.path.isdir(modules)):
        report = harness.Report()
        if "--need" in sys.argv:
            report.line(False, "a browser and modules of Node", "tools/setup browser installs them")
        else:
            report.skip("the page in a browser", "no browser")
        return report.end()
    with tempfile.TemporaryDirectory() as folder:
        def at(name):
            return os.path.join(folder, name)

        make_documents(at)
        make_nasty(at)
        return subprocess.run(["node", os.path.join(HERE, "browser.mjs"), folder, BROWSER], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
