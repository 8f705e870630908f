"""The examples of docs/python.md and README.md, and the scripts of examples/, do what they say."""
import doctest
import os
import re
import subprocess
import sys

import pytest

BLOCK = re.compile(r"^```python\n(>>> .*?)^```$", re.M | re.S)


@pytest.mark.parametrize("page", ["docs/python.md", "README.md"])
def test_page(root, page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open(os.path.join(root, page), encoding="utf-8") as stream:
        text = stream.read()
    blocks, names = BLOCK.findall(text), {}
    assert blocks
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said = []
    for block in blocks:
        line = text.count("\n", 0, text.index(block))
        test = doctest.DocTestParser().get_doctest(block, names, page, page, line)
        runner.run(test, out=said.append, clear_globs=False)
        names = test.globs
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


@pytest.mark.parametrize("script", ["classify_documents.py", "odd_trees.py"])
def test_script(root, script, tmp_path):
    done = subprocess.run([sys.executable, os.path.join(root, "examples", script)], cwd=tmp_path,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout.decode()
    assert done.stdout
