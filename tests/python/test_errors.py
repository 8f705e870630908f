"""Errors are exceptions, with place and remedy, in Python's words."""
import pickle

import pytest

import phloem
from phloem import Forest, Run


def test_data_have_a_place():
    with pytest.raises(phloem.DataError) as caught:
        Forest.parse("(a)\n(a (b)\n", "brackets", name="mine")
    error = caught.value
    assert (error.file, error.line, error.column) == ("mine", 2, 7)
    assert "expected a child" in error.message and "every (" in error.remedy
    assert str(error).startswith("mine:2:7: found") and isinstance(error, ValueError)


def test_files_are_os_errors(tmp_path):
    with pytest.raises(OSError) as caught:
        Forest.read(tmp_path / "none.trees")
    assert isinstance(caught.value, phloem.FileError) and "none.trees" in str(caught.value)
    with pytest.raises(phloem.FileError):
        Forest(["(a)"]).write(tmp_path / "no" / "such" / "folder.trees")


def test_full_disk():
    with pytest.raises(phloem.FileError, match="(?i)space|full"):
        Forest(["(a (b))"]).write("/dev/full")


def test_options_are_named_as_in_python(symm):
    with pytest.raises(phloem.ArgumentError) as caught:
        Run.train(symm, states=0)
    assert "states must be" in str(caught.value) and "--" not in str(caught.value)
    with pytest.raises(phloem.Error) as caught:
        Forest.parse("(%s)" % ("a" * 100), "brackets", max_name=10)
    assert "max_name=" in caught.value.remedy and "\x01" not in str(caught.value)


def test_calls_are_named_as_in_python():
    assert phloem.errors.render("use \x01phl_resume\x02, \x01train.learner=em\x02, "
                                "\x01read.max_name=\x02, \x01train.states=4\x02, \x01train.n_sizes\x02") \
        == "use Run.resume(), learner='em', max_name=..., states=4, sizes"


@pytest.mark.parametrize("options, kind, text", [
    ({"statse": 3}, TypeError, "did you mean states"),
    ({"states": "three"}, TypeError, "states: found 'three', expected a whole number"),
    ({"states": 2.5}, TypeError, "whole number"),
    ({"states": -1}, ValueError, "states: -1 is out of range"),
    ({"learner": "best"}, ValueError, "'auto', 'em', 'gibbs'"),
    ({"phi": float("nan")}, ValueError, "phi: found NaN"),
    ({"phi": "x"}, TypeError, "phi: found 'x', expected a number"),
    ({"sizes": "ab"}, TypeError, "list of numbers"),
    ({"partition": 3}, TypeError, "expected a string"),
    ({"replace": True}, TypeError, "unknown option 'replace'"),
])
def test_wrong_options(symm, options, kind, text):
    with pytest.raises(kind, match=text):
        Run.train(symm, **options)


def test_errors_can_be_pickled():
    with pytest.raises(phloem.DataError) as caught:
        Forest.parse("(a", "brackets")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is phloem.DataError and str(again) == str(caught.value)
    assert again.line == 1


def test_bad_trees_that_are_skipped_are_warnings():
    with pytest.warns(phloem.Note, match="skipped: text:2:"):
        forest = Forest.parse("(a)\n(b\n(c)\n", "brackets", skip_bad=True)
    assert len(forest) == 2


def test_warnings_name_the_line_of_the_program():
    with pytest.warns(phloem.Note) as caught:
        Forest.parse("(a)\n(b\n", "brackets", skip_bad=True)
    assert caught[0].filename == __file__


def test_a_run_that_is_none(tmp_path):
    path = tmp_path / "no.run"
    path.write_text("this is no run")
    with pytest.raises(phloem.Error, match="no.run"):
        Run.open(path)
    with pytest.raises(TypeError, match="Run.train"):
        Run()
