#!/usr/bin/python3
"""run.py PHLOEM FAILING_MALLOC POINTS - commands that run out of memory anywhere; TAP.

FAILING_MALLOC is preloaded (failing_malloc.c): the n-th allocation of the whole process fails, the C
library's and other libraries' own included, once or from there on.  For POINTS values of n, spread
evenly (0: for every n), the command ends with exit code 4 and says why, or, where it can do without
that memory, gives what it always gives.  Run files are never left in pieces.
"""
import os
import subprocess
import sys
import tempfile

TREES = "".join(f"{'xy'[i % 2]}\t(a (b (c{i % 3})) _ (d{i % 4}))\n" for i in range(12))


class Memory:
    def __init__(self, program, library, points, folder):
        self.program, self.library, self.points, self.folder = program, library, points, folder
        self.number = 0
        self.failed = False

    def run(self, words, **variables):
        environment = dict(os.environ, LD_PRELOAD=self.library, **variables)
        environment.pop("LSAN_OPTIONS", None)
        done = subprocess.run([self.program, *words], cwd=self.folder, capture_output=True, env=environment,
                              check=False, timeout=120)
        return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")

    def counts(self, words):
        """Allocations of the command, and what it prints when there is memory."""
        path = os.path.join(self.folder, "count")
        code, out, err = self.run(words, FAIL_COUNT=path)
        if code not in (0, 1):
            raise SystemExit(f"{words}: exit {code}: {err}")
        with open(path, encoding="ascii") as stream:
            return int(stream.read()), code, out

    def fault(self, words, at, for_ever, code, out):
        more = {"FAIL_FOR_EVER": "1"} if for_ever else {}
        found, printed, err = self.run(words, FAIL_AT=str(at), **more)
        where = f"allocation {at} failing {'for ever' if for_ever else 'once'}: "
        if found == code and printed == out:
            return None
        if found != 4:
            return f"{where}exit {found}: {err}"
        return None if err.startswith("phloem: ") or for_ever else f"{where}nothing was said: {err}"

    def try_command(self, words, prepare=None, check=None):
        if prepare:
            prepare()
        n, code, out = self.counts(words)
        step = max(1, n // self.points) if self.points else 1
        faults = []
        for for_ever in (False, True):
            for at in range(1, n + 1, step):
                if prepare:
                    prepare()
                fault = self.fault(words, at, for_ever, code, out)
                fault = fault or (check and check())
                if fault:
                    faults.append(fault)
        self.number += 1
        self.failed |= bool(faults)
        print(f"{'not ok' if faults else 'ok'} {self.number} - {' '.join(words)}: {n} allocations", flush=True)
        for fault in faults[:5]:
            print("# " + fault.strip().replace("\n", "\n# "), flush=True)


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory(prefix="phloem-memory-") as folder:
        memory = Memory(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3]), folder)
        place = lambda name: os.path.join(folder, name)
        for name, text in (("in.trees", TREES), ("blocks.json", '[{"slot":1,"blocks":[0,1,0]}]\n'),
                           ("in.jsonl", '{"class":"x","label":["a","b"],"parent":[-1,0]}\n'),
                           ("in.xml", "<a><b/></a>\n")):
            with open(place(name), "w", encoding="utf-8") as stream:
                stream.write(text)
        training = ["train", "in.trees", "--per-class", "--states", "2", "-i", "3", "-j", "1", "--quiet"]
        for words in (["--model", "tf", "--partition", "blocks.json", "-o", "em.run"],
                      ["--model", "tf", "--chains", "2", "-o", "gibbs.run"]):
            code, _, err = memory.run([*training, *words])
            if code:
                raise SystemExit(err)
        with open(place("em.run"), "rb") as stream:
            kept = stream.read()

        def old_run():
            for name in os.listdir(folder):
                if name.startswith((".", "new.run")):
                    os.remove(place(name))
            with open(place("new.run"), "wb") as stream:
                stream.write(kept)

        def still_a_run():
            done = subprocess.run([memory.program, "show", "new.run"], cwd=folder, capture_output=True,
                                  check=False)
            return done.returncode and f"the run is gone: {done.stderr.decode()}"

        memory.try_command(["stats", "in.trees"])
        memory.try_command(["convert", "in.jsonl", "--no-class", "--to", "xml", "-o", "-"])
        memory.try_command(["convert", "in.xml", "--to", "json", "-o", "-"])
        for run in ("em.run", "gibbs.run"):
            memory.try_command(["show", run])
            memory.try_command(["show", run, "--json"])
            memory.try_command(["diagnose", run, "--allow-few"])
            memory.try_command(["score", run, "in.trees", "-j", "1"])
            memory.try_command(["classify", run, "in.trees", "-j", "1"])
            memory.try_command(["decode", run, "in.trees", "-j", "1"])
            memory.try_command(["label", "--hide", "all", run, "in.trees", "-j", "1"])
            memory.try_command(["sample", run, "--trees", "2", "-o", "-", "-j", "1"])
        memory.try_command([*training, "--model", "tf", "--partition", "blocks.json", "-o", "new.run", "--force"],
                           old_run, still_a_run)
        memory.try_command(["resume", "new.run", "-i", "5", "-j", "1"], old_run, still_a_run)
    print(f"1..{memory.number}")
    return int(memory.failed)


if __name__ == "__main__":
    sys.exit(main())
