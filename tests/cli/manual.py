#!/usr/bin/python3
"""tests/cli/manual.py PHLOEM - man pages and completion say what --help says.

Every option and its value stand in the page and in the completions of their command; groff formats
the page without a warning; bash, zsh and fish complete commands, options and values.  TAP on standard
output.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

PHLOEM = os.path.abspath(sys.argv[1])
OPTION = re.compile(r"^ {2,6}(?:(-\w), )?(--[\w-]+)(?: ([A-Z][\w:.,]*))?", re.M)
REPORT = harness.Report()


def phloem(*words):
    return subprocess.run([PHLOEM, *words], capture_output=True, text=True)


def complete(script, *words):
    """What bash offers for the last of the words."""
    line = " ".join(f"'{word}'" for word in words)
    asked = (f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _phloem; "
             'printf "%s\\n" "${COMPREPLY[@]}"')
    return subprocess.run(["bash", "--norc", "-c", asked], capture_output=True, text=True).stdout.split()


def complete_fish(script, *words):
    """What fish offers for the last of the words; -- is asked for by a dash, as a person would."""
    asked = f"source {script}; complete -C '{' '.join(words[:-1])} {words[-1]}'"
    told = subprocess.run(["fish", "--no-config", "-c", asked], capture_output=True, text=True)
    return [line.split("\t")[0] for line in told.stdout.splitlines()] + told.stderr.splitlines()


def complete_zsh(script, *words):
    """What zsh would offer: the words and options that its script hands to zsh's own functions."""
    line = " ".join(f"'{word}'" for word in words)
    asked = ("compdef() { : }; "
             "_describe() { print -l -- ${commands%%:*} }; "
             "compadd() { print -l -- $@ }; "
             "_arguments() { print -rl -- $@ }; "
             f"source {script}; words=({line}); CURRENT={len(words)}; _phloem")
    told = subprocess.run(["zsh", "-f", "-c", asked], capture_output=True, text=True)
    return told.stdout.splitlines() + told.stderr.splitlines()


# "(-m --model)--model=[what it is]:MODEL:(a b)": the name and the rest.
ZSH_OPTION = re.compile(r"^(?:\([^)]*\)|\*)?--([\w-]+)=?(\[.*)$")


def test_zsh(script, commands):
    """Commands, options of each command and values."""
    if shutil.which("zsh") is None:
        REPORT.skip("completion of zsh", "no zsh")
        return
    offered = complete_zsh(script, "phloem", "")
    REPORT.line(set(commands) <= set(offered), "zsh: the commands",
                sorted(set(commands) - set(offered)), offered[-3:])
    offered = complete_zsh(script, "phloem", "generate", "")
    REPORT.line({"symm", "documents"} <= set(offered), "zsh: commands of two words", offered)
    for words in (["train"], ["convert"], ["generate", "symm"]):
        specs = [ZSH_OPTION.match(line) for line in complete_zsh(script, "phloem", *words, "--")]
        names = {spec.group(1) for spec in specs if spec}
        wanted = {option[2:] for _, option, _ in OPTION.findall(phloem(*words, "--help").stdout)}
        REPORT.line(wanted == names, f"zsh: the options of {' '.join(words)}", wanted ^ names)
    models = [line for line in complete_zsh(script, "phloem", "train", "--") if "--model=[" in line]
    REPORT.line(len(models) == 1 and re.search(r":MODEL:\((.* )?sp( .*)?\)$", models[0]), "zsh: values",
                models)


def test_fish(script, commands):
    if shutil.which("fish") is None:
        REPORT.skip("completion of fish", "no fish")
        return
    offered = complete_fish(script, "phloem", "")
    REPORT.line(set(commands) <= set(offered), "fish: the commands", sorted(set(commands) - set(offered)))
    for words in (["train"], ["convert"], ["generate", "symm"]):
        names = set(complete_fish(script, "phloem", *words, "--"))
        wanted = {option for _, option, _ in OPTION.findall(phloem(*words, "--help").stdout)}
        REPORT.line(wanted == names, f"fish: the options of {' '.join(words)}", wanted ^ names)
    for asked, expected in ((("phloem", "tr"), {"train"}), (("phloem", "help", "sc"), {"score"}),
                            (("phloem", "generate", "sy"), {"symm"}),
                            (("phloem", "train", "--model", "s"), {"sp"}),
                            (("phloem", "nonsense", "--"), set())):
        found = set(complete_fish(script, *asked))
        REPORT.line(found == expected, "fish: completion of " + " ".join(asked), found)


def test_page(words, script):
    """The page and the completion of one command against its help."""
    name = " ".join(words)
    told = phloem(*words, "--help").stdout
    page = phloem("--man", *words)
    plain = re.sub(r"\\f[BIR]|\\&", "", page.stdout).replace("\\-", "-")
    offered = {word.rstrip("=") for word in complete(script, "phloem", *words, "--")}
    missing = []
    for short, option, value in OPTION.findall(told):
        entry = (short + ", " if short else "") + option + (" " + value if value else "")
        if f".TP\n{entry}" not in plain:
            missing.append(f"page: {entry}")
        if option not in offered:
            missing.append(f"completion: {option}")
    REPORT.line(page.returncode == 0 and len(OPTION.findall(told)) > 2 and not missing,
                f"{name}: the page and the completion have every option", *missing)
    if shutil.which("groff") is None:
        REPORT.skip(f"{name}: groff", "no groff here")
        return
    made = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=page.stdout,
                          capture_output=True, text=True)
    REPORT.line(made.returncode == 0 and not made.stderr, f"{name}: groff has nothing to say",
                made.stderr)


def main():
    commands = re.findall(r"^  (\w+)  ", phloem("--help").stdout, re.M)
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "phloem.bash")
        with open(script, "w", encoding="utf-8") as stream:
            stream.write(phloem("--completion", "bash").stdout)
        syntax = subprocess.run(["bash", "-n", script], capture_output=True, text=True)
        REPORT.line(syntax.returncode == 0, "bash reads the completion", syntax.stderr)
        REPORT.line("train" in commands and len(commands) > 10, "the help names the commands",
                    commands)
        page = phloem("--man")
        lacking = [name for name in commands if f"phloem\\-{name}" not in page.stdout and
                   f"\\fB{name}\\fR" not in page.stdout]
        REPORT.line(page.returncode == 0 and not lacking, "the page of the program has them too",
                    lacking)
        for name in commands:
            if name not in ("generate", "help"):
                test_page([name], script)
        for kind in ("symm", "documents"):
            test_page(["generate", kind], script)
        for asked, expected in ((("phloem", "tr"), {"train"}), (("phloem", "help", "sc"), {"score"}),
                                (("phloem", "generate", "sy"), {"symm"}),
                                (("phloem", "train", "--model", "s"), {"sp"}),
                                (("phloem", "train", "--model", "=", "s"), {"sp"}),
                                (("phloem", "train", "--per"), {"--per-class"}),
                                (("phloem", "nonsense", "--"), set())):
            found = set(complete(script, *asked))
            REPORT.line(found == expected, "completion of " + " ".join(asked), found)
        for shell, test in (("zsh", test_zsh), ("fish", test_fish)):
            script = os.path.join(folder, f"phloem.{shell}")
            with open(script, "w", encoding="utf-8") as stream:
                stream.write(phloem("--completion", shell).stdout)
            test(script, commands)
    bad = [("--man", "nonsense"), ("--man", "train", "more"), ("--completion", "ksh"),
           ("--completion",), ("--completion", "bash", "more")]
    for words in bad:
        done = phloem(*words)
        REPORT.line(done.returncode == 2 and done.stderr.startswith("phloem: "),
                    "refused: " + " ".join(words), done.returncode, done.stdout[:200], done.stderr)
    sys.exit(REPORT.end())


main()
