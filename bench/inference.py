"""One upward pass, against NumPy and against its own arithmetic on contiguous data."""
import json
import os
import subprocess
import sys

import measure


def upward(bench):
    """One upward pass of tf, C=10, k=2,2,2, over the distinct subtrees"""
    name, train, _ = bench.sets()[0]
    path = bench.path("dump.json")
    ours = bench.json("upward_pass", "--seconds", 0.05 if bench.quick else 3, "--dump", path, train)
    done = subprocess.run([sys.executable, os.path.join(measure.HERE, "upward_reference.py"), path],
                          check=True, stdout=subprocess.PIPE, preexec_fn=measure.pin)
    reference = json.loads(done.stdout)
    bench.ratio(f"{name}: NumPy, subtree by subtree / ours", reference["seconds"], ours["pass_seconds"], 100,
                higher=True, **{key: ours[key] for key in ("subtrees", "internal", "links", "slots")})
    bench.ratio(f"{name}: ours / the same arithmetic side by side", ours["pass_seconds"],
                ours["kernel_seconds"], 4, active_pairs=ours["active_pairs"],
                with_logarithms=ours["pass_seconds"] / ours["kernel_logs_seconds"])
    bench.add(f"{name}: difference to NumPy / 1e-10", reference["largest_difference"] / 1e-10, "x", 1,
              steady=False, exact=True, trees=reference["trees"])
