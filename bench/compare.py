"""Two results of bench/run side by side."""
import json

WORSE = 1.2  # a change to speak of


def load(path):
    try:
        with open(path, encoding="utf-8") as stream:
            results = json.load(stream)
        figures = {(figure.get("subject", ""), figure["name"]): figure for figure in results["figures"]}
        cpu = results["machine"]["cpu"]
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise SystemExit(f"bench: {path}: no results of bench/run ({fault})") from fault
    return figures, cpu, results.get("quick", False)


def change(before, now, higher):
    """How many times worse; None where that has no meaning."""
    if before <= 0 or now <= 0:
        return None
    return before / now if higher else now / before


def judge(old, new):
    """A word about a figure, and whether it is worse."""
    if not new.get("steady", True):
        return ("MISSED", True) if old.get("met") and new.get("met") is False else ("", False)
    times = change(old["value"], new["value"], new["better"] == "higher")
    if times is not None and times > WORSE:
        return "WORSE", True
    if times is not None and times < 1 / WORSE:
        return "better", False
    return ("now MISSED" if old.get("met") and new.get("met") is False else ""), False


def show(value):
    return f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"


def compare(old_path, new_path):
    """Exit code 1 if a figure became worse."""
    old, old_cpu, old_quick = load(old_path)
    new, new_cpu, new_quick = load(new_path)
    if old_cpu != new_cpu:
        print(f"note: two machines: {old_cpu}, then {new_cpu}")
    if old_quick or new_quick:
        print("note: a quick run, whose speeds mean nothing")
    print(f"  {'what':<62} {'old':>9} {'new':>9}  change")
    worse, subject = 0, ""
    for key, figure in new.items():
        if key not in old:
            continue
        if key[0] != subject:
            subject = key[0]
            print(subject)
        word, is_worse = judge(old[key], figure)
        worse += is_worse
        before, now = old[key]["value"], figure["value"]
        percent = f"{100 * (now / before - 1):+.0f} %" if before > 0 else ""
        print(f"  {figure['name']:<62} {show(before):>9} {show(now):>9}  {percent:<7} {word}".rstrip())
    for key in sorted(old.keys() ^ new.keys()):
        print(f"  {': '.join(filter(None, key))}: {'no longer measured' if key in old else 'new'}")
    print(f"{worse} became worse" if worse else "nothing became worse")
    return 1 if worse else 0
