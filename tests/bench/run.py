#!/usr/bin/python3
"""run.py BUILD - the benchmark itself: that it runs, that comparing results finds what changed, and that
the library's upward pass equals the one written in NumPy; TAP."""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
RUN = os.path.join(ROOT, "bench", "run")
REFERENCE = os.path.join(ROOT, "bench", "upward_reference.py")
RESULTS = os.path.join(ROOT, "bench", "results.json")

CASES = []


def case(function):
    CASES.append(function)
    return function


class Place:
    def __init__(self, build, folder):
        self.build = os.path.abspath(build)
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as stream:
            stream.write(text)
        return self.path(name)

    def helper(self, name, *arguments):
        """What a program of bench/ prints."""
        done = run(os.path.join(self.build, "bench", name), *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **more)


# ---- comparing -------------------------------------------------------------------------------------

def figure(name, value, better="lower", **more):
    return {"subject": "reading", "name": name, "value": value, "unit": "x", "target": None,
            "better": better, "met": None, "steady": True, "note": "", **more}


def results(place, name, *figures):
    content = {"format": 2, "machine": {"cpu": "a"}, "quick": False, "figures": figures}
    return place.write(name, json.dumps(content))


def compared(place, old, new):
    done = run(RUN, "--compare", results(place, "old.json", *old), results(place, "new.json", *new))
    return done.returncode, done.stdout, done.stderr


@case
def equal_results_are_no_worse(place):
    same = [figure("a", 2.0), figure("b", 3.0, "higher")]
    code, out, _ = compared(place, same, same)
    assert code == 0 and "nothing became worse" in out and "WORSE" not in out, out


@case
def a_regression_is_found(place):
    code, out, _ = compared(place, [figure("a", 2.0), figure("b", 2.0)], [figure("a", 3.0), figure("b", 2.1)])
    assert code == 1 and "1 became worse" in out, out
    assert [line.split()[0] for line in out.splitlines() if "WORSE" in line] == ["a"], out


@case
def less_of_what_should_be_high_is_a_regression(place):
    code, out, _ = compared(place, [figure("a", 9.0, "higher")], [figure("a", 6.0, "higher")])
    assert code == 1 and "WORSE" in out, out


@case
def an_improvement_is_found(place):
    code, out, _ = compared(place, [figure("a", 2.0), figure("b", 2.0, "higher")],
                            [figure("a", 1.0), figure("b", 4.0, "higher")])
    assert code == 0 and out.count("better") == 2, out


@case
def figures_on_one_side_only_are_named(place):
    code, out, _ = compared(place, [figure("a", 2.0), figure("gone", 2.0)],
                            [figure("a", 2.0), figure("fresh", 2.0)])
    assert code == 0, out
    assert "reading: gone: no longer measured" in out and "reading: fresh: new" in out, out


@case
def an_unsteady_figure_matters_when_its_target_is_missed(place):
    def z(value, met):
        return figure("z", value, steady=False, target=4, met=met)
    code, out, _ = compared(place, [z(0.1, True)], [z(3.9, True)])
    assert code == 0, out
    code, out, _ = compared(place, [z(0.1, True)], [z(5.0, False)])
    assert code == 1 and "MISSED" in out, out


@case
def two_machines_are_spoken_of(place):
    results(place, "here.json", figure("a", 1.0))
    there = place.write("there.json", json.dumps({"machine": {"cpu": "b"}, "figures": []}))
    done = run(RUN, "--compare", there, place.path("here.json"))
    assert done.returncode == 0 and "two machines: b, then a" in done.stdout, done.stdout


@case
def other_files_are_refused(place):
    broken = place.write("broken.json", '{"figures": 1}')
    done = run(RUN, "--compare", broken, broken)
    assert done.returncode != 0 and "no results of bench/run" in done.stderr, done.stderr


@case
def make_bench_compare_takes_files(place):
    old = results(place, "old.json", figure("a", 2.0))
    new = results(place, "new.json", figure("a", 3.0))
    for words in ((old, new), (f"OLD={old} {new}",)):
        done = run("make", "-C", ROOT, "bench-compare", *words)
        assert done.returncode == 2 and "1 became worse" in done.stdout, done.stdout + done.stderr
    done = run("make", "-C", ROOT, "bench-compare")
    assert done.returncode == 2 and "give older results" in done.stderr, done.stderr


# ---- running ---------------------------------------------------------------------------------------

@case
def a_quick_run_of_some_subjects(place):
    before = os.stat(RESULTS).st_mtime_ns if os.path.exists(RESULTS) else None
    output = place.path("quick.json")
    done = run(RUN, place.build, "--quick", "--only", "xml,classification,phases,em,upward,memory",
               "--output", output)
    assert done.returncode == 0, done.stdout + done.stderr
    with open(output, encoding="utf-8") as stream:
        found = json.load(stream)
    subjects = list(dict.fromkeys(figure["subject"] for figure in found["figures"]))
    assert subjects == ["xml", "classification", "phases", "em", "upward", "memory"], subjects
    assert found["quick"] and found["machine"]["cpu"] and found["machine"]["compiler"], found["machine"]
    assert all(figure["value"] == figure["value"] for figure in found["figures"])  # no NaN
    assert all(f"[{name}]" in done.stdout for name in subjects), done.stdout
    after = os.stat(RESULTS).st_mtime_ns if os.path.exists(RESULTS) else None
    assert before == after, "bench/results.json was written"


@case
def an_unknown_subject_is_refused(place):
    done = run(RUN, place.build, "--quick", "--only", "nonsense")
    assert done.returncode != 0 and "no subject named nonsense" in done.stderr, done.stderr


@case
def a_missing_program_is_named(place):
    done = run(RUN, place.folder, "--quick", "--only", "em")
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert done.stderr.startswith("bench: ") and "phloem" in done.stderr, done.stderr


# ---- programs --------------------------------------------------------------------------------------

def random_tree(rng, depth=0):
    """Brackets with empty slots and unknown labels."""
    label = rng.choice("abcde?")
    children = []
    if depth < 5:
        children = [random_tree(rng, depth + 1) if rng.random() < 0.45 else "_"
                    for _ in range(rng.choice((0, 1, 3, 4, 5)))]
    while children and children[-1] == "_":
        children.pop()
    return f"({' '.join([label, *children])})"


def random_forest(place, name, trees, seed):
    rng = random.Random(seed)
    return place.write(name, "".join(f"{rng.choice('xy')}\t{random_tree(rng)}\n" for _ in range(trees)))


def reference(dump):
    done = run(REFERENCE, dump)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@case
def the_upward_pass_equals_numpy(place):
    for seed, states in ((1, 10), (2, 3), (3, 1), (4, 17)):
        trees = random_forest(place, "small.trees", 60, seed)
        dump = place.path("dump.json")
        found = place.helper("upward_pass", "--states", states, "--seconds", 0, "--dump", dump, trees)
        compared_with = reference(dump)
        assert compared_with["trees"] == 60 and compared_with["subtrees"] == found["subtrees"]
        assert compared_with["largest_difference"] < 1e-10, (seed, states, compared_with)


@case
def numpy_would_notice(place):
    trees = random_forest(place, "small.trees", 60, 1)
    dump = place.path("dump.json")
    place.helper("upward_pass", "--seconds", 0, "--dump", dump, trees)
    with open(dump, encoding="utf-8") as stream:
        content = json.load(stream)
    content["core"][3][2] *= 1 + 1e-6
    place.write("dump.json", json.dumps(content))
    assert reference(dump)["largest_difference"] > 1e-10


@case
def repeated_and_unshared_forests_have_the_right_sizes(place):
    trees = random_forest(place, "small.trees", 40, 5)
    few = ("--iterations", 4, "--warmup", 2, "--states", 3)
    once = place.helper("gibbs_phases", *few, trees)
    many = place.helper("gibbs_phases", *few, "--repeat", 3, trees)
    every = place.helper("gibbs_phases", *few, "--no-sharing", trees)
    assert once["classes"] == 2 and once["trees"] == 40, once
    assert many["nodes"] == 3 * once["nodes"] and many["trees"] == 120, many
    assert many["distinct_subtrees"] == once["distinct_subtrees"], many
    assert every["distinct_subtrees"] == every["nodes"] == once["nodes"], every
    parts = sum(once[part + "_seconds"] for part in ("states", "partitions", "parameters"))
    assert 0 < parts and 0 <= once["partitions_share"] <= 1, once


@case
def effective_sizes_are_told_apart(place):
    rng = random.Random(1)
    steady, slow, lines = 0.0, 0.0, []
    for _ in range(4000):
        steady = rng.gauss(0, 1)
        slow = 0.9 * slow + rng.gauss(0, 1)
        lines.append(f"{steady} {slow}")
    done = run(os.path.join(place.build, "bench", "effective_size"), 2, input="\n".join(lines))
    independent, dependent = json.loads(done.stdout)
    assert 3200 < independent["ess_bulk"] < 4800, independent
    assert 4000 / 19 / 2 < dependent["ess_bulk"] < 4000 / 19 * 2, dependent  # (1 - r) / (1 + r) = 1 / 19


def main():
    report = harness.Report()
    for test in CASES:
        fault = None
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(Place(sys.argv[1], folder))
            except AssertionError as found:
                fault = found
        report.line(fault is None, test.__name__.replace("_", " "), fault)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
