#!/usr/bin/python3
"""export.py PHLOEM [--with-r] - the files of `phloem export`; TAP.

R-hat, ESS and MCSE are computed from every kind of file, in plain NumPy as Vehtari et al. (2021) give
them, and held against `phloem diagnose` to 1e-8.  --with-r has the R package posterior do the same.
"""
import csv
import glob
import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import numpy as np
from scipy.stats import norm, rankdata

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
QUANTITIES = ["log_joint", "log_likelihood", "active", "sum_size"]
REPORT = harness.Report()


def phloem(*words, codes=(0,)):
    done = subprocess.run([PROGRAM, *words], capture_output=True, check=False)
    if done.returncode not in codes:
        raise SystemExit(f"phloem {words}: exit code {done.returncode}: {done.stderr.decode('utf-8', 'replace')}")
    return done


# ---- the measures; x is [draws][chains] ----

def split(x):
    half = x.shape[0] / 2
    return np.hstack([x[:math.floor(half)], x[math.ceil(half):]])


def ranked(x):
    ranks = rankdata(x, method="average").reshape(x.shape)
    return norm.ppf((ranks - 3 / 8) / (x.size + 1 / 4))


def plain_rhat(x):
    n = x.shape[0]
    within = x.var(axis=0, ddof=1).mean()
    between = n * x.mean(axis=0).var(ddof=1)
    return math.sqrt((between / within + n - 1) / n) if within > 0 else math.nan


def plain_ess(x):
    n, chains = x.shape
    if np.ptp(x) == 0:
        return math.nan
    centred = x - x.mean(axis=0)
    covariance = np.array([np.correlate(c, c, "full")[n - 1:] / n for c in centred.T]).mean(axis=0)
    within = covariance[0] * n / (n - 1)
    total = within * (n - 1) / n + (x.mean(axis=0).var(ddof=1) if chains > 1 else 0)
    rho = np.zeros(n + 2)
    rho[0] = even = 1.0
    rho[1] = odd = 1 - (within - covariance[1]) / total
    t = 0
    while t < n - 5 and even + odd > 0:
        t += 2
        even = 1 - (within - covariance[t]) / total
        odd = 1 - (within - covariance[t + 1]) / total
        if even + odd >= 0:
            rho[t], rho[t + 1] = even, odd
    most = t
    if even > 0:
        rho[most] = even
    for t in range(2, most - 1, 2):
        if rho[t] + rho[t + 1] > rho[t - 2] + rho[t - 1]:
            rho[t] = rho[t + 1] = (rho[t - 2] + rho[t - 1]) / 2
    tau = max(-1 + 2 * rho[:most].sum() + rho[most], 1 / math.log10(n * chains))
    return n * chains / tau


def measures(x):
    folded = plain_rhat(ranked(split(np.abs(x - np.median(x)))))
    rhat = plain_rhat(ranked(split(x)))
    tails = [plain_ess(split((x <= np.quantile(x, q)).astype(float))) for q in (0.05, 0.95)]
    return {"rhat": rhat if math.isnan(folded) else max(rhat, folded), "ess_bulk": plain_ess(ranked(split(x))),
            "ess_tail": math.nan if any(map(math.isnan, tails)) else min(tails),
            "mcse": x.std(ddof=1) / math.sqrt(plain_ess(split(x))), "mean": x.mean()}


# ---- readers ----

def of_csv(folder, stem):
    """{quantity: [draws][chains]} after the warm-up, as CmdStan's readers take the comments."""
    chains = []
    for path in sorted(glob.glob(os.path.join(folder, f"{stem}-*.csv"))):
        with open(path, encoding="utf-8") as stream:
            lines = stream.read().splitlines()
        facts = dict(line.lstrip("# ").split(" = ", 1) for line in lines if line.startswith("#") and " = " in line)
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
        warm, n = int(facts["num_warmup"]), int(facts["num_samples"])
        if len(rows) != warm + n or any(row["lp__"] != row["log_joint"] for row in rows):
            raise SystemExit(f"{path}: rows are not warm-up and draws")
        chains.append(rows[warm:])
    return {q: np.array([[float(row[q]) for row in chain] for chain in chains]).T for q in QUANTITIES}


def of_json(folder, stem):
    with open(os.path.join(folder, f"{stem}.json"), encoding="utf-8") as stream:
        chains = json.load(stream)["chains"]
    return {q: np.array([chain[q][chain["warmup"]:] for chain in chains]).T for q in QUANTITIES}


def of_netcdf(folder, stem):
    import netCDF4  # pylint: disable=import-outside-toplevel
    with netCDF4.Dataset(os.path.join(folder, f"{stem}.nc")) as file:
        groups = set(file.groups)
        if groups != {"posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats"}:
            raise SystemExit(f"groups are {groups}")
        posterior, stats = file.groups["posterior"], file.groups["sample_stats"]
        same = np.array_equal(stats.variables["lp"][:], posterior.variables["log_joint"][:])
        if posterior.variables["log_joint"].dimensions != ("chain", "draw") or not same or "temperature" not in stats.variables:
            raise SystemExit("the groups are not ArviZ's")
        return {q: np.array(posterior.variables[q][:]).T for q in QUANTITIES}


# ---- comparisons ----

def compare(found, diagnosis, what):
    worst, n = 0.0, 0
    for quantity in diagnosis["quantities"]:
        for key, value in found[quantity["name"]].items():
            if quantity[key] is not None and not (value is None or math.isnan(value)):
                worst = max(worst, abs(value - quantity[key]) / max(1.0, abs(quantity[key])))
                n += 1
    REPORT.line(worst <= 1e-8 and n >= 12, f"{what}: {n} figures of diagnose, at most {worst:.1e} away")


def by_r(folder, stem):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "posterior.R")
    files = sorted(glob.glob(os.path.join(folder, f"{stem}-*.csv")))
    done = subprocess.run(["Rscript", script, *files], capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        quantity, key, value = line.split()
        found.setdefault(quantity, {})[key] = math.nan if value == "NA" else float(value)
    return found


def check_run(folder, run, stem, index):
    diagnosis = json.loads(phloem("diagnose", "--json", run, codes=(0, 1)).stdout)["classes"][index]
    name = f"{os.path.basename(run)}, {stem}"
    for form, reader in (("stan-csv", of_csv), ("json", of_json), ("netcdf", of_netcdf)):
        out = os.path.join(folder, f"{os.path.basename(run)}-{form}")
        if not os.path.isdir(out):
            done = phloem("export", run, "--to", form, "-o", out, "--quiet", codes=(0, 2))
            if b"built without NetCDF" in done.stderr:
                REPORT.skip(f"{name}: netcdf", "no libnetcdf")
                continue
        try:
            draws = reader(out, stem)
        except ImportError:
            REPORT.skip(f"{name}: netcdf", "no netCDF4 for Python")
            continue
        if "--with-r" not in sys.argv:
            compare({q: measures(draws[q]) for q in QUANTITIES}, diagnosis, f"{name}, {form}")
        elif form == "stan-csv":
            compare(by_r(out, stem), diagnosis, f"{name}, R's posterior")


def check_rows(folder, run, stem):
    """Everything in the trace is in the file, to the bit."""
    with open(os.path.join(folder, f"{os.path.basename(run)}-json", f"{stem}.json"), encoding="utf-8") as stream:
        exported = json.load(stream)
    rows = []
    for chain in exported["chains"]:
        for i, iteration in enumerate(chain["iteration"]):
            moves = [[chain[f"{move}_tried"][i], chain[f"{move}_changed"][i]] for move in ("reassign", "split", "merge", "carry")]
            rows.append((chain["chain"], iteration, *[chain[q][i] for q in QUANTITIES], chain["temperature"][i], chain["seconds"][i], moves))
    with sqlite3.connect(f"file:{run}?mode=ro", uri=True) as database:
        expected = [(*row[:-1], json.loads(row[-1])) for row in database.execute(
            "SELECT chain, iteration, log_joint, log_likelihood, active, sum_size, temperature, seconds, moves FROM trace "
            "WHERE class = 0 ORDER BY chain, iteration")]
    REPORT.line(rows == expected, "json: all rows of the trace, to the bit", rows[:1], expected[:1])
    REPORT.line(len(exported["kept"]) == 40 and all(d["slots"] == sorted(d["slots"], key=lambda s: s["slot"]) for d in exported["kept"]),
                "json: the draws that were kept")


def main():
    if "--with-r" in sys.argv and not shutil.which("Rscript"):
        REPORT.skip("R's posterior", "no R")
        return REPORT.end()
    with tempfile.TemporaryDirectory() as folder:
        trees, one, classes = (os.path.join(folder, name) for name in ("a.trees", "one.run", "classes.run"))
        phloem("generate", "symm", "--trees-per-class", "30", "-o", trees, "--quiet")
        phloem("train", trees, "--model", "tf", "--states", "4", "--iterations", "240", "-o", one, "--quiet")
        phloem("train", trees, "--model", "tf", "--states", "3", "--chains", "3", "--iterations", "101", "--per-class", "-o", classes, "--quiet")
        check_run(folder, one, "all", 0)
        for i, stem in enumerate(("001-left", "002-symmetric", "003-right")):
            check_run(folder, classes, stem, i)
        if "--with-r" not in sys.argv:
            check_rows(folder, one, "all")
    return REPORT.end()


if __name__ == "__main__":
    sys.exit(main())
