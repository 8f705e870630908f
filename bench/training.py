"""Training and scoring: against a sampler without sharing, by its parts, with two threads."""
import subprocess

ITERATIONS = 100


def turns(bench, *runs, times=2):
    """Each run (a function) in turns; of each the result with the smallest first member."""
    found = [[run() for run in runs] for _ in range(1 if bench.quick else times)]
    return [min(side, key=lambda result: result[0]) for side in zip(*found)]


def total(result):
    return result["training_seconds"] + result["scoring_seconds"], result


def classification(bench):
    """Classification: one tf model per class with C=10, one chain, 100 iterations, and the test set scored"""
    iterations = 6 if bench.quick else ITERATIONS
    bounds = {"INEX05": (8, 1.3, 2), "INEX06": (None, None, 4)}
    for name, train, test in bench.sets():
        over_plain, off_plain, over_off = bounds.get(name, (None, None, None))

        def ours(*options):
            return lambda: total(bench.json("train_score", "--iterations", iterations, *options, train, test))

        def plain():
            return total(bench.json("plain", train, test, "-C", 10, "-i", iterations, "--seed", 42))

        (on, shared), (off, unshared), (by_node, plainly) = turns(
            bench, ours(), ours("--no-sharing"), plain)
        bench.ratio(f"{name}: bench/plain / ours", by_node, on, over_plain, higher=True,
                    ours=shared, plain=plainly)
        bench.ratio(f"{name}: sharing off / bench/plain", off, by_node, off_plain, ours=unshared)
        bench.ratio(f"{name}: sharing off / on", off, on, over_off, higher=True)
        bench.add(f"{name}: accuracy, ours - bench/plain",
                  100 * (shared["accuracy"] - plainly["accuracy"]), "%", higher=True, steady=False,
                  note=f"{100 * shared['accuracy']:.1f} and {100 * plainly['accuracy']:.1f} %")


def phases(bench):
    """The parts of an iteration, after the warm-up"""
    iterations = 8 if bench.quick else ITERATIONS
    for name, train, _ in bench.sets():
        found = bench.json("gibbs_phases", "--iterations", iterations, "--warmup", iterations // 2, train)
        parts = {part: found[part + "_seconds"] for part in ("states", "partitions", "parameters")}
        bench.add(f"{name}: partition step / iteration", found["partitions_share"], "x", 0.5,
                  note=", ".join(f"{part} {1000 * seconds:.2f} ms" for part, seconds in parts.items()),
                  **found)


def threads(bench):
    """Two threads: training with C=10, four chains per class"""
    iterations = 4 if bench.quick else ITERATIONS
    name, train, _ = bench.sets()[0]
    command = [bench.helper("train_score"), "--chains", "4", "--iterations", str(iterations)]

    def elapsed(processes, threads_each):
        """The longest of some trainings at once."""
        running = [subprocess.Popen([*command, "--threads", str(threads_each), train], text=True,
                                    stdout=subprocess.PIPE) for _ in range(processes)]
        texts = [child.communicate()[0] for child in running]
        if any(child.returncode != 0 for child in running):
            raise SystemExit("bench: train_score failed")
        return (max(bench.parse(text)["training_elapsed"] for text in texts),)

    (one,), (two,), (beside,) = turns(bench, lambda: elapsed(1, 1), lambda: elapsed(1, 2),
                                      lambda: elapsed(2, 1), times=3)
    gain, gain_beside = one / two, 2 * one / beside
    bench.add(f"{name}: one thread / two threads", gain, "x", higher=True,
              note=f"{one:.3g} / {two:.3g} s elapsed")
    bench.add(f"{name}: gain of two threads / of two processes", gain / gain_beside, "x", 0.85, higher=True,
              note=f"{gain:.2f} and {gain_beside:.2f}", one_thread=one, two_threads=two, two_processes=beside)


def em(bench):
    """EM of sp with C=10: one iteration"""
    times = 3 if bench.quick else 60
    bounds = {"INEX05": 4, "INEX06": 8}
    for name, train, _ in bench.sets():
        found = bench.json("em_sharing", "--times", times, train)
        bench.ratio(f"{name}: sharing off / on", found["other_seconds"], found["seconds"], bounds.get(name),
                    higher=True, nodes=found["nodes"], distinct_subtrees=found["distinct_subtrees"])
        bench.add(f"{name}: difference off, on / 1e-12", found["largest_difference"] / 1e-12, "x", target=1,
                  steady=False, exact=True)
