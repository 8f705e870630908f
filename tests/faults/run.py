#!/usr/bin/python3
"""tests/faults/run.py SOURCE [NAME ...] - faults planted in the blocked sampler; each must be caught.

SOURCE is the root of the source tree.  For every fault src/ is copied to a temporary folder, the
fault is planted there by replacing a piece of text (which must be found exactly once), the tests
partition_kernel, gibbs_sharing and gibbs_invariance are built against it and run, and at least one
must fail.  A run without any fault must pass.  Names choose faults.  TAP on standard output, then a
table; needs gcc (or $CC) and the libraries of the tests.  $JOBS faults are tried at once (default:
all cores); CFLAGS=-DWORLDS=7500 makes the invariance test a quarter as long, and weaker.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

WORLD = ["world", "world_checks", "world_features"]
TESTS = ["partition_kernel", "gibbs_sharing", "gibbs_invariance"]
LAYERS = ["base", "forest", "model"]
LEARN = ["rows", "partitions", "partition_moves", "gibbs", "split"]
FLAGS = ["-std=c11", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fopenmp",
         "-D_POSIX_C_SOURCE=200809L", "-D_XOPEN_SOURCE=700"]
LIBRARIES = ["-fopenmp", "-lcmocka", "-lexpat", "-ljansson", "-lz", "-lzstd", "-lm"]
PROPORTIONAL = """
    int64_t all = 0, left = part;
    for (uint32_t i = 0; i < length; i++) { all += have[i]; }
    for (uint32_t i = 0; i < length; i++) { taken[i] = have[i] * part / all; left -= taken[i]; }
    for (uint32_t i = 0; i < length; i++) {
        while (left > 0 && taken[i] < have[i]) { taken[i]++; left--; }
    }
"""

# Name, then for each edit: file, text, text in its place.  White space may differ.
FAULTS = [
    # The eleven classic ones.
    ("a label not counted",
     ("learn/split.c", "n > 0 && label >= 0", "n > 0 && label >= 1")),
    ("children swapped in lambda counts",
     ("learn/partitions.c", "phl_rows_some_value(partitions->rows, row, e);",
      "phl_rows_some_value(partitions->rows, row, partitions->n_eligible - 1 - e);")),
    ("a prior off by 0.3",
     ("learn/gibbs.c", "parameters[i] = concentration + (double)counts[i * count_stride];",
      "parameters[i] = concentration + 0.3 + (double)counts[i * count_stride];")),
    ("CRT off by one",
     ("learn/gibbs.c", "double drawn = (double)phl_crt_draw_log(",
      "double drawn = 1.0 + (double)phl_crt_draw_log(")),
    ("emissions ignored",
     ("model/upward.c", "beta[j] = emission[j] * inside[j];", "beta[j] = inside[j] + 0 * emission[j];")),
    ("lambda before lambda0",
     ("learn/gibbs.c", "draw_base(gibbs); draw_core(gibbs);", "draw_core(gibbs); draw_base(gibbs);")),
    ("wrong slot in pi",
     ("learn/split.c", "gibbs->counts.prior[phl_leaf_row(params, forest->leaf_slot[s]) * c + j] += n;",
      "gibbs->counts.prior[(forest->leaf_slot[s] % params->slots) * c + j] += n;")),
    ("alpha/C instead of alpha lambda0",
     ("learn/gibbs.c", "double base = log(gibbs->alpha) + gibbs->log_lambda0[j];",
      "double base = log(gibbs->alpha) - log((double)c);")),
    ("1 % of moves wrong",
     ("learn/partition_moves.c", "return total >= 0.0 ||",
      "return phl_rng_bounded(rng, 100) == 0 || total >= 0.0 ||")),
    ("the parent factor omitted at one slot",
     ("learn/split.c", "draw_margin(gibbs, forest->links[k].child, mode, z, n, rng, margin);",
      "draw_margin(gibbs, forest->links[k].child, slot == 2 ? NULL : mode, z, n, rng, margin);")),
    ("stale counts",
     ("learn/partition_moves.c", "} else if (!has_rows) {", "} else if (!has_rows || value == 1) {")),
    # More.
    ("1 % of reassignments wrong",
     ("learn/partition_moves.c", "bool has_rows = partitions->n_touched > 0; forget_gathered(partitions); "
      "if (place == PHL_NO_OUTCOME",
      "bool has_rows = partitions->n_touched > 0; forget_gathered(partitions); "
      "if (!alone && phl_rng_bounded(rng, 100) == 0) { place = phl_rng_bounded(rng, size); } "
      "if (place == PHL_NO_OUTCOME")),
    ("Stirling numbers forgotten",
     ("learn/partitions.c", "-partitions->prior.phi * size - phl_stirling_get(",
      "-partitions->prior.phi * size - 0 * phl_stirling_get(")),
    ("wrong Hastings factor in split",
     ("learn/partition_moves.c", "accept(split_gain(partitions, e, y), (members - 2) * log(2.0)",
      "accept(split_gain(partitions, e, y), (members - 1) * log(2.0)")),
    ("margins dealt in proportion",
     ("learn/rows.c", "phl_multivariate_hypergeometric_draw(rng, have, length, part, taken);",
      "(void)rng;" + PROPORTIONAL)),
    ("bottom value ignored",
     ("learn/partition_moves.c", "if (count == 0) { continue;",
      "if (count == 0 || value == partitions->states) { continue;")),
    ("layout of the core reversed",
     ("learn/partitions.c",
      "for (uint32_t e = partitions->n_eligible; e-- > 0;) { partitions->stride[e]",
      "for (uint32_t e = 0; e < partitions->n_eligible; e++) { partitions->stride[e]")),
    ("proposals tempered too",
     ("learn/partition_moves.c", "log_ratio / temperature + log_proposal",
      "(log_ratio + log_proposal) / temperature")),
    ("occurrences of a subtree in one state",
     ("learn/split.c", "if (n == 1) {", "if (n >= 1) {"),
     ("learn/split.c", "counts[phl_categorical_draw(rng, weights, c)] = 1;",
      "counts[phl_categorical_draw(rng, weights, c)] = n;")),
    ("most active slots not heeded",
     ("learn/partitions.c", "active >= prior->slots_min && active <= prior->slots_max &&",
      "active >= prior->slots_min &&")),
    ("rejected shapes not added",
     ("learn/gibbs.c", "(k == 0 ? rejected : 0.0)", "(k == 0 ? 0.0 * rejected : 0.0)")),
    ("alpha: Beta(alpha, n)",
     ("learn/gibbs.c", "phl_log_beta_draw(&rng, gibbs->alpha + 1.0, total,",
      "phl_log_beta_draw(&rng, gibbs->alpha, total,")),
    ("alpha0: Jacobian forgotten",
     ("learn/gibbs.c", "- alpha0 + log_alpha0;", "- alpha0;")),
    ("soft: empty slots not counted",
     ("learn/split.c",
      "gibbs->counts.mode[cells->free[f].mode][c * mode->size + cells->free[f].digit] += n;",
      "gibbs->counts.mode[cells->free[f].mode][c * mode->size] += n;")),
    ("soft: delta instead of delta/k",
     ("learn/gibbs.c", "gibbs->options.delta / mode->size,", "gibbs->options.delta,")),
    ("carry without the choice of slots",
     ("learn/partition_moves.c", "pick_slot(partitions, false, phl_rng_bounded(rng, inactive));",
      "pick_slot(partitions, false, 0 * phl_rng_bounded(rng, inactive));")),
]


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def compile_source(source, output, includes):
    done = run([os.environ.get("CC", "gcc"), *FLAGS, *os.environ.get("CFLAGS", "").split(),
                '-DPHL_VERSION="0"', *includes, "-c", source, "-o", output])
    if done.returncode != 0:
        sys.exit(f"cannot compile {source}:\n{done.stderr}")


def compile_all(folder, jobs):
    """Objects of the library and of the tests."""
    library, tests = {}, {}
    includes = ["-I", f"{folder}/include", "-I", f"{folder}/src", "-I", f"{folder}/tests/unit"]
    for layer in LAYERS:
        for name in sorted(os.listdir(f"{folder}/src/{layer}")):
            if name.endswith(".c"):
                library[f"{layer}/{name}"] = f"{folder}/{layer}_{name}.o"
    for name in LEARN:
        library[f"learn/{name}.c"] = f"{folder}/learn_{name}.c.o"
    for name in ["check", "models", *WORLD] + ["test_" + name for name in TESTS]:
        tests[name] = f"{folder}/{name}.o"
    work = [(f"{folder}/src/{source}", output) for source, output in library.items()]
    work += [(f"{folder}/tests/unit/{name}.c", output) for name, output in tests.items()]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda item: compile_source(*item, includes), work))
    return library, tests, includes


def plant(text, old, new, what):
    pattern = r"\s+".join(re.escape(word) for word in old.split())
    if len(re.findall(pattern, text)) != 1:
        sys.exit(f"fault '{what}': found {len(re.findall(pattern, text))} times, expected once: {old}")
    return re.sub(pattern, lambda _: new, text)


def summary(done):
    """What a test said, in a few words."""
    if done.returncode == 0:
        return "passed"
    text = done.stdout + done.stderr
    if done.returncode < 0:
        return f"crashed (signal {-done.returncode})"
    zs = [(abs(float(z)), feature, kernel) for kernel, feature, z in
          re.findall(r"^  \w+, ([^:]+): feature '([^']+)' z = (-?[\d.]+)", text, re.M)]
    faults = sum(int(n) for n in re.findall(r"(\d+) states of the sampler were inconsistent", text))
    words = [f"|z| {max(zs)[0]:.0f} ({max(zs)[2]}: {max(zs)[1]})"] if zs else []
    words += [f"{faults} inconsistent states"] if faults else []
    errors = re.findall(r"^(?:\[ +ERROR +\] --- |ERROR: )(?!\[)(.*\S)$", text, re.M)
    errors = [re.sub(r"^.*(chance [^ ,]+|which is impossible)$", r"\1", line) for line in errors]
    return "; ".join(words) or (errors or (done.stderr.splitlines() or ["failed"])[-1:])[0][:70]


def try_fault(base, objects, name, edits):
    library, tests, includes = objects
    with tempfile.TemporaryDirectory(prefix="phloem-fault-") as folder:
        shutil.copytree(f"{base}/src", f"{folder}/src")
        library = dict(library)
        includes = [f"{folder}/src" if item == f"{base}/src" else item for item in includes]
        for file, old, new in edits:
            path = f"{folder}/src/{file}"
            with open(path, encoding="utf-8") as stream:
                text = plant(stream.read(), old, new, name)
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
        for file in {edit[0] for edit in edits}:
            library[file] = f"{folder}/{file.replace('/', '_')}.o"
            compile_source(f"{folder}/src/{file}", library[file], includes)
        said = []
        for test in TESTS:
            program = f"{folder}/{test}"
            linked = run([os.environ.get("CC", "gcc"), "-o", program, tests["test_" + test], tests["check"],
                          tests["models"], *(tests[name] for name in WORLD), *library.values(), *LIBRARIES])
            if linked.returncode != 0:
                sys.exit(f"cannot link {test}:\n{linked.stderr}")
            try:
                said.append(summary(run([program], timeout=1200)))
            except subprocess.TimeoutExpired:
                said.append("timed out")
        return name, said


def main():
    root = os.path.abspath(sys.argv[1])
    chosen = [fault for fault in FAULTS if not sys.argv[2:] or fault[0] in sys.argv[2:]]
    jobs = int(os.environ.get("JOBS", os.cpu_count()))
    with tempfile.TemporaryDirectory(prefix="phloem-faults-") as base:
        for part in ["src", "include", "tests/unit"]:  # the source may change while this runs
            shutil.copytree(f"{root}/{part}", f"{base}/{part}")
        for name, *edits in chosen:  # all patterns first: they are stale as soon as the source changes
            for file, old, new in edits:
                with open(f"{base}/src/{file}", encoding="utf-8") as stream:
                    plant(stream.read(), old, new, name)
        objects = compile_all(base, jobs)
        table = []
        print(f"1..{len(chosen) + 1}", flush=True)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            tries = [pool.submit(try_fault, base, objects, "no fault", [])]
            tries += [pool.submit(try_fault, base, objects, name, edits) for name, *edits in chosen]
            for number, done in enumerate(tries, 1):
                name, said = done.result()
                caught = any(words != "passed" for words in said)
                good = caught == (name != "no fault")
                table.append((name, "caught" if caught else "passed", *said))
                print(f"{'ok' if good else 'not ok'} {number} - {name}: {' | '.join(said)}", flush=True)
    table.insert(0, ("fault", "", *TESTS))
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    for row in table:
        print("# " + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths)).rstrip())


if __name__ == "__main__":
    main()
