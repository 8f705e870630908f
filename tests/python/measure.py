#!/usr/bin/python3
"""measure.py PHLOEM - what the Python package costs, beside the program.

Needs the package in PYTHONPATH; INEX05 from the data sets.  Prints processor seconds (user and
system) and ratios; run it on a quiet machine.
"""
import os
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import data_sets  # noqa: E402

from phloem import Forest, TreeClassifier  # noqa: E402


def of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def program_seconds(*words):
    before = of_children()
    subprocess.run([sys.argv[1], *map(str, words)], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return of_children() - before


def seconds(action):
    before = time.process_time()
    result = action()
    return time.process_time() - before, result


def overhead():
    train = data_sets.path("inex05/train.elastic.tree")
    test = data_sets.path("inex05/test.elastic.tree")
    if not os.path.exists(train):
        print("skipped: no data")
        return
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "a.run")
        for name, words, est in (
                ("linear", ["--classifier"], TreeClassifier(n_jobs=-1)),
                ("generative, 10 states", ["--per-class", "--model", "tf"],
                 TreeClassifier(method="generative", model="tf", n_jobs=-1))):
            reading = program_seconds("stats", train, test)
            trained = program_seconds("train", train, *words, "-o", run, "--quiet", "--force")
            classified = program_seconds("classify", run, test, "--predictions",
                                         os.path.join(folder, "p.tsv"))
            made, (X, Y) = seconds(lambda: (Forest.read(train), Forest.read(test)))
            fitted, _ = seconds(lambda: est.fit(X, X.y))
            predicted, _ = seconds(lambda: est.predict_proba(Y))
            print(f"INEX05, {name}: program train {trained:.2f} + classify {classified:.2f} s "
                  f"(reading alone {reading:.2f}); TreeClassifier fit {fitted:.2f} + predict_proba "
                  f"{predicted:.2f} s (forests {made:.2f}); ratio "
                  f"{(fitted + predicted) / (trained + classified):.3f}", flush=True)


def building():
    try:
        import nltk  # noqa: F401
    except ImportError:
        print("skipped: no NLTK")
        return
    forest = Forest.generate_documents(trees_per_class=2500)
    trees, text = forest.to_nltk(), forest.with_classes([None] * len(forest)).to_text()
    parsed = min(seconds(lambda: Forest.parse(text, "brackets"))[0] for _ in range(7))
    built = min(seconds(lambda: Forest(trees))[0] for _ in range(7))
    print(f"10,000 NLTK trees ({forest.stats()['nodes']:,} nodes): {built:.3f} s, their text parsed "
          f"in {parsed:.3f} s; ratio {built / parsed:.2f}")


def leaks():
    os.environ["PHLOEM_TEST_ROUNDS"] = "1000"
    sys.path.insert(0, os.path.join(ROOT, "tests", "python"))
    import test_memory
    test_memory.test_fit_and_predict()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__)
        sys.exit(2)
    building()
    overhead()
    leaks()
