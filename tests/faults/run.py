#!/usr/bin/python3
"""tests/faults/run.py SOURCE [NAME ...] - faults planted in the blocked sampler; each must be caught.

SOURCE is the root of the source tree; how the tests of the sampler (TESTS) are compiled and linked is
taken from a configured meson folder, SOURCE/build or the one after --build, which is brought up to
date first.  For every fault of faults.py the text is planted in a copy of the sources, what it changes
is compiled and linked to the objects of that folder, and a test must fail.  Tests without any fault
must pass.  Names choose faults.  TAP on standard output, then a table.

The file caught-by.json says which test caught a fault the last time, and which part of it.  That
part alone runs first, and if it fails the fault is caught.  If it passes, all tests run, the quick
ones first, until one fails, and a note says that the file is out of date; --update writes it.
The parts named there also run alone without any fault.  A test is stopped as soon as a part of it
has failed.

$JOBS faults are tried at once (default: all cores).  --all runs every test to its end, for a table of
what each of them sees.  --fit only checks that all texts are found, and that every fault has its line
in caught-by.json.
"""
import concurrent.futures
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from faults import FAULTS

HERE = os.path.dirname(os.path.abspath(__file__))
CAUGHT_BY = f"{HERE}/caught-by.json"
# Test and the flags it is compiled with; the quick ones first.
TESTS = {"state_recycle": ("state_recycle", []),
         "gibbs_sharing": ("gibbs_sharing", []),
         "label_swap": ("label_swap", []),
         "few worlds": ("gibbs_invariance", ["-DWORLDS=2000"]),
         "slot_view": ("slot_view", []),
         "partition_chain": ("partition_chain", []),
         "hidden_states": ("hidden_states", []),
         "partition_moves": ("partition_moves", []),
         "gibbs_invariance": ("gibbs_invariance", [])}
SECONDS = 60  # of work, however busy the machine is; a test needs twenty


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def must(command, what, **options):
    done = run(command, **options)
    if done.returncode != 0:
        sys.exit(f"cannot {what}:\n{done.stdout}{done.stderr}")
    return done.stdout


def plant(text, old, new, what):
    pattern = r"\s+".join(re.escape(word) for word in old.split())
    if len(re.findall(pattern, text)) != 1:
        sys.exit(f"fault '{what}': found {len(re.findall(pattern, text))} times, expected once: {old}")
    return re.sub(pattern, lambda _: new, text)


# ---- building ---------------------------------------------------------------------------------


class Build:
    """The tests as the meson folder makes them, copied to `base`: all may change while this runs."""

    def __init__(self, root, build, base):
        self.root, self.build, self.base = root, build, base
        self.objects = {}  # source below root: its compile command
        self.links = {}  # test: its link command
        programs = {program: f"tests/unit/test_{program}" for program, _ in TESTS.values()}
        must(["ninja", "-C", build, *programs.values()], f"build the tests in {build}")
        for folder in ["src", "include", "tests/unit"]:
            shutil.copytree(f"{root}/{folder}", f"{base}/{folder}")
        for program, target in programs.items():
            self.read_commands(program, target)
        self.users = self.read_users()
        self.own = {}  # test: objects of its own
        for test, (program, flags) in TESTS.items():
            self.own[test] = [f"{base}/one_test.o"]
            if flags:
                self.own[test].append(f"{base}/{test.replace(' ', '-')}.o")
                self.compile(f"tests/unit/test_{program}.c", self.own[test][-1], base, flags)
        must(["cc", "-c", f"{HERE}/one_test.c", "-o", f"{base}/one_test.o"], "compile one_test.c")

    def read_commands(self, program, target):
        for line in must(["ninja", "-C", self.build, "-t", "commands", target],
                         f"ask how {target} is made").splitlines():
            words = shlex.split(line)
            if "-c" in words:
                source = os.path.relpath(os.path.join(self.build, words[words.index("-c") + 1]), self.root)
                self.objects[source] = words
                self.keep(words[words.index("-o") + 1])
            elif "-o" in words:
                self.links[program] = words
            else:
                for word in words:
                    if word.endswith(".a"):
                        self.keep(word)

    def keep(self, name):
        copy = f"{self.base}/build/{name}"
        if not os.path.exists(copy):
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy2(f"{self.build}/{name}", copy)

    def read_users(self):
        """Header below src: the sources below src that include it."""
        source_of = {words[words.index("-o") + 1]: source for source, words in self.objects.items()}
        users, source = {}, None
        for line in must(["ninja", "-C", self.build, "-t", "deps"], "ask for headers").splitlines():
            if line and not line.startswith(" "):
                source = source_of.get(line.split(":")[0])
            elif source and line.strip():
                header = os.path.relpath(os.path.join(self.build, line.strip()), self.root)
                if header.endswith(".h") and header.startswith("src/") and source.startswith("src/"):
                    users.setdefault(header, set()).add(source)
        return users

    def place(self, word, sources):
        """A word of a compile command, for the copy in base with src/ taken from `sources`."""
        flag, path = ("-I", word[2:]) if word.startswith("-I") else ("", word)
        whole = os.path.normpath(os.path.join(self.build, path))
        if not os.path.exists(whole) or (not flag and not path.endswith(".c")):
            return word
        for name, copy in ((self.build, f"{self.base}/build"), (f"{self.root}/src", f"{sources}/src"),
                           (self.root, self.base)):
            if whole == name or whole.startswith(name + os.sep):
                return flag + copy + whole[len(name):]
        return flag + whole

    def compile(self, source, output, sources, flags=()):
        words = [self.place(word, sources) for word in self.objects[source]]
        for option, value in (("-o", output), ("-MF", os.devnull)):
            if option in words:
                words[words.index(option) + 1] = value
        must(words + list(flags), f"compile {source}", env=dict(os.environ, CCACHE_DISABLE="1"))

    def link(self, test, changed, program):
        """The test with changed objects, which hide those of the libraries that they replace."""
        words = list(self.links[TESTS[test][0]])
        at = words.index("-o") + 1
        words[at] = program
        own = self.own[test]
        if len(own) > 1:  # the test itself is compiled anew
            del words[at + 1]
        must(words[:at + 1] + own + changed + words[at + 1:], f"link {test}", cwd=f"{self.base}/build")


# ---- running ----------------------------------------------------------------------------------


def limit_time():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def summary(code, text):
    """What a test that failed said, in a few words."""
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return "timed out"
    if code is not None and code < 0:
        return f"crashed (signal {-code})"
    zs = [(abs(float(z)), feature, step) for step, feature, z in
          re.findall(r"^  \w+, ([^:]+): feature '([^']+)' z = (-?[\d.]+)", text, re.M)]
    faults = sum(int(n) for n in re.findall(r"(\d+) states of the sampler were inconsistent", text))
    words = [f"|z| {max(zs)[0]:.0f} ({max(zs)[2]}: {max(zs)[1]})"] if zs else []
    words += [f"{faults} inconsistent states"] if faults else []
    errors = re.findall(r"^(?:\[ +ERROR +\] --- |ERROR: )(?!\[)(.*\S)$", text, re.M)
    errors = [re.sub(r"^.*(chance [^ ,]+|which is impossible)$", r"\1", line) for line in errors]
    return "; ".join(words) or (errors or (text.splitlines() or ["failed"])[-1:])[0][:70]


def run_test(program, part, to_end):
    """(part that failed, what it said), or (None, "passed")."""
    env = dict(os.environ)
    env.pop("ONLY", None)
    if part is not None:
        env["ONLY"] = part
    said, running, failed, code, stopped = [], None, None, None, False
    with subprocess.Popen([program], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", preexec_fn=limit_time) as process:
        for line in process.stdout:
            said.append(line)
            match = re.match(r"\[ +(RUN|FAILED) +\] (\w+)$", line)
            if match and match.group(1) == "RUN":
                running = match.group(2)
            elif match and failed is None:
                failed = match.group(2)
                if not to_end:
                    process.kill()
                    stopped = True
                    break
        process.stdout.close()
        code = process.wait()
    text = "".join(said)
    if failed is None and code == 0:
        ran = re.search(r"^\[  PASSED  \] (\d+) test", text, re.M)
        if ran is None or int(ran.group(1)) == 0:
            return "none", f"no part is called {part}"
        return None, "passed"
    return failed or running or "start", summary(None if stopped else code, text)


def try_whole(build, test):
    """A test without any fault."""
    program = f"{build.base}/{test.replace(' ', '-')}"
    if not os.path.exists(program):
        build.link(test, [], program)
    return f"no fault, {test}", *run_test(program, None, True)


def try_part(build, test, part):
    with tempfile.TemporaryDirectory(prefix="phloem-fault-") as folder:
        build.link(test, [], f"{folder}/test")
        return f"no fault, {test}, {part} alone", *run_test(f"{folder}/test", part, True)


def try_fault(build, name, edits, hint, every):
    """(name, [(test, part that failed or None, words)] of the tests that ran, was the hint right)"""
    with tempfile.TemporaryDirectory(prefix="phloem-fault-") as folder:
        shutil.copytree(f"{build.base}/src", f"{folder}/src")
        changed = set()
        for file, old, new in edits:
            with open(f"{folder}/src/{file}", encoding="utf-8") as stream:
                text = plant(stream.read(), old, new, name)
            with open(f"{folder}/src/{file}", "w", encoding="utf-8") as stream:
                stream.write(text)
            changed |= build.users.get(f"src/{file}", set()) if file.endswith(".h") else {f"src/{file}"}
        objects = [f"{folder}/{source.replace('/', '-')}.o" for source in sorted(changed)]
        for source, output in zip(sorted(changed), objects):
            build.compile(source, output, folder)
        found = []
        if hint is not None and not every:
            build.link(hint[0], objects, f"{folder}/test")
            found.append((hint[0], *run_test(f"{folder}/test", hint[1], False)))
            if found[-1][1] == hint[1]:
                return name, found, True
        for test in TESTS:
            build.link(test, objects, f"{folder}/test")
            found.append((test, *run_test(f"{folder}/test", None, every)))
            if found[-1][1] is not None and not every:
                break
        return name, found, hint is None or every


# ---- all --------------------------------------------------------------------------------------


def check_fit(root, chosen, hints):
    """All texts first: they are stale as soon as the source changes."""
    for name, *edits in chosen:
        for file, old, new in edits:
            with open(f"{root}/src/{file}", encoding="utf-8") as stream:
                plant(stream.read(), old, new, name)
    known = {name for name, *_ in FAULTS}
    if len(known) != len(FAULTS):
        sys.exit("two faults have one name")
    if set(hints) - known:
        sys.exit(f"caught-by.json names faults that are not in faults.py: {', '.join(sorted(set(hints) - known))}")


def parse(words):
    given = {"build": None}
    for flag in ("--fit", "--update", "--all"):
        given[flag] = flag in words
        words = [word for word in words if word != flag]
    if "--build" in words:
        at = words.index("--build")
        given["build"] = words[at + 1]
        del words[at:at + 2]
    if not words or words[0].startswith("-"):
        sys.exit(__doc__)
    given["root"] = os.path.realpath(words[0])
    given["build"] = os.path.realpath(given["build"] or f"{given['root']}/build")
    given["names"] = words[1:]
    return given


def main():
    given = parse(sys.argv[1:])
    unknown = set(given["names"]) - {name for name, *_ in FAULTS}
    if unknown:
        sys.exit(f"no fault is called {', '.join(sorted(unknown))}")
    chosen = [fault for fault in FAULTS if not given["names"] or fault[0] in given["names"]]
    hints = {}
    if os.path.exists(CAUGHT_BY):
        with open(CAUGHT_BY, encoding="utf-8") as stream:
            hints = {name: tuple(hint) for name, hint in json.load(stream).items()}
    check_fit(given["root"], chosen, hints)
    if given["--fit"]:
        missing = [name for name, *_ in chosen if name not in hints]
        if missing:
            sys.exit(f"not in caught-by.json (write it with --update): {', '.join(missing)}")
        return
    begin = time.monotonic()
    parts = sorted({hints[name] for name, *_ in chosen if name in hints})
    jobs = int(os.environ.get("JOBS", os.cpu_count()))
    table, stale, caught, bad = [], [], 0, 0
    with tempfile.TemporaryDirectory(prefix="phloem-faults-") as base:
        build = Build(given["root"], given["build"], base)
        print(f"1..{len(TESTS) + len(parts) + len(chosen)}", flush=True)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            plain = [pool.submit(try_whole, build, test) for test in reversed(TESTS)]
            plain += [pool.submit(try_part, build, *part) for part in parts]
            tries = [pool.submit(try_fault, build, name, edits, hints.get(name), given["--all"])
                     for name, *edits in chosen]
            for number, done in enumerate(plain, 1):
                name, failed, words = done.result()
                bad += failed is not None
                print(f"{'ok' if failed is None else 'not ok'} {number} - {name}: {words}", flush=True)
            for number, done in enumerate(tries, len(plain) + 1):
                name, found, as_said = done.result()
                catchers = [one for one in found if one[1] is not None]
                caught += bool(catchers)
                bad += not catchers
                table.append((name, found))
                if not as_said:
                    stale.append(name)
                if catchers:
                    hints[name] = catchers[0][:2]
                words = " | ".join(f"{test}, {part}: {said}" for test, part, said in catchers) or "NOT CAUGHT"
                print(f"{'ok' if catchers else 'not ok'} {number} - {name}: {words}", flush=True)
    if given["--all"]:
        show_table(table)
    for name in stale:
        print(f"# caught-by.json is out of date for '{name}'")
    if given["--update"]:
        with open(CAUGHT_BY, "w", encoding="utf-8") as stream:
            known = [name for name, *_ in FAULTS if name in hints]
            stream.write("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(hints[name])}" for name in known) + "\n}\n")
    print(f"# {caught} of {len(chosen)} faults caught, in {time.monotonic() - begin:.0f} s")
    return 1 if bad else 0


def show_table(found):
    table = [("fault", *TESTS)] + [(name, *(words for _, _, words in row)) for name, row in found]
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    for row in table:
        print("# " + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths)).rstrip())


if __name__ == "__main__":
    sys.exit(main())
