#!/usr/bin/python3
"""run_html.py PHLOEM [FOLDER] - the HTML reader against html5lib, reported as TAP.

Pages written by hand, each malformed in its own way, and pages made at random out of tags and text;
with FOLDER, every HTML file below it instead.  Elements, attributes (as a set) and text must be the
same, but for what docs/formats.md lists; the function `known` below finds those, and they are
counted.  Pages beyond a cap are counted as well.
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

try:
    import html5lib
except ImportError:
    html5lib = None

PAGES = [
    "text alone", " ", "<p>", "<p>a<p>b", "<b><p>a</b>b</p>c", "<b><i>x</b>y</i>z",
    "<a href=1>x<a href=2>y", "<table>a<tr>b<td>c</table>d", "<table><div>x</table>",
    "<table><td><b>x</table>y", "<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", "<dl><dt>a<dd>b<dt>c</dl>",
    "<select><option>a<option>b<optgroup><option>c</select>", "<select><p>x</select>y",
    "<div><span></div></span>x", "</div></p></br>x", "<br/><hr><img src=x>y</img>",
    "<script>if (a<b && c>d) '</p>'</script>x", "<style>p > a {}</style>x", "<title>a<b>c</title>x",
    "<textarea><p>x</textarea>y", "<xmp><b>x</xmp>y", "<plaintext><b>x</b>", "<noscript><p>x</noscript>",
    "<iframe><p>x</iframe>y", "<!-- c -->x<!-->y<!--->z<!-- a --!>b", "<!bogus>x<?php x ?>y</3>z",
    "<svg><path d=x /><g><circle/></g></svg>x", "<svg><linearGradient><foreignObject><div>x</div>",
    "<svg viewbox=1 xlink:href=x xml:lang=en><clippath/></svg>", "<math><mi>x</mi><mo>+</mo></math>",
    "<math><annotation-xml encoding=text/html><p>x</annotation-xml></math>", "<svg><p>x</svg>y",
    "<svg><title><b>x</b></title><desc><p>y</desc></svg>", "<svg><![CDATA[<p>x]]></svg><![CDATA[y]]>",
    "<svg><style><p>x</style></svg>", "<svg><script>a<b</script></svg>x", "<svg><font color=red>x",
    "<html a=1><head><body b=2><html c=3><body d=4 b=5>x", "<head></head> <title>x</title>y",
    "<body></body>x<p>y</html>z<!-- c -->", "<frameset><frame><frameset><frame></frameset></frameset>",
    "<frameset></frameset>x", "<p><table><tr><td>x</table>y", "<table><caption>a<tr><td>b</table>",
    "<table><colgroup><col><col>x<tr><td></table>", "<table><tbody><tr><th>a<td>b<tfoot><tr></table>",
    "<table><tr><td><table><tr><td>x</table>y</table>z", "<table><form><input><tr><td>x</form></table>",
    "<table><input type=hidden><input type=text></table>", "<form><form><p></form>x</form>y",
    "<button><button>x</button>y", "<nobr>a<nobr>b</nobr>c", "<h1>a<h2>b</h1>c", "<p><h1>x</p>y</h1>",
    "<p>a<div>b</p>c</div>d", "<b><b><b><b><b>x<p>y", "<font a><font b><p>x<font a><p>y",
    "<i><table><tr><td>x</i>y</td></table>z", "<a><table><a>x</table>y", "<a><div><a>x",
    "<em><div><p>a</em>b", "<b id=1><div><b id=2><div>x</b>y</div></b>z", "<u><p><u><p>x</u></u>y",
    "<marquee><b>x</marquee>y", "<object><p>x</object>y", "<applet><i></applet>x",
    "<ruby>a<rb>b<rt>c<rp>d</ruby>", "<menu><li>x</menu>", "<details><summary>x</details>",
    "<my-element a-b=c>x</my-element><UPPER>y", "<a\nb\tc\fd>x", "<a b='c' b='d' B=e>x",
    "<a / b / c/>x", "<a b=>x", "<a =b>x", "<a 'b=c>x", "<a b='c'd='e'>x", "<a b=c/>x</a>y",
    "< p>x<1>y<>z", "<p", "<p a", "<p a='", "</", "<!", "<!--", "<p>&amp;&lt;&notin;&bogus;&#65;&#x41;",
    "<p>a\x0cb\r\nc", "<pre>\n\nx</pre>", "<textarea>\n\nx</textarea>", "<listing>\nx",
    "<!DOCTYPE html><p><table>x", "<!DOCTYPE HTML PUBLIC '-//W3C//DTD HTML 3.2//EN'><p><table>x",
    "<p>x</body></html><p>y", "<body><head><title>x</title></head>y", "x<meta name=a><link rel=b>y",
    "<base><link><meta><style></style><script></script><title></title>x", "<hr></hr>x<input></input>",
    "<li>a<div><li>b", "<dd>a<p><dd>b", "<option>a<option>b", "<optgroup><option>a<optgroup>b",
    "<td>x</td><tr>y</tr><tbody>z", "<col><caption>x", "</table></td></tr></select>x",
    "<select><select><b>x", "<select><input>x", "<select><textarea>x", "<table><select><tr><td>x",
    "<table><tr><select><td>x</select>y", "<image src=x>y", "<p><address>x<p>y</address>z",
    "<center><p>x</center>y", "<div><p><span><div>x", "<a><p><a><p><a>x",
    "<b>a<i>b<u>c</b>d</i>e</u>f", "<table><b><tr><td>x</b></table>y", "<table><b>x<tr><td>y</table>z",
    "<p><b><i><u></p>x<p>y", "<div><b><div><i></b></div></i>x", "<noframes><p>x</noframes>y",
    "<noembed><p>x</noembed>y", "<embed><p>x", "<wbr><track><source><param>x", "<keygen>x",
    "caf\xe9 <p \xe9=1>", "<p>\ufeff\u2028x", "<\u00e9>x", "<p\u00e9>x", "<!-- \u00e9 --><p>\ud7ff",
]

WORDS = ("a b i u em font nobr p div span h1 h2 ul li dl dt dd table tr td th tbody caption col colgroup "
         "select option optgroup form button pre br hr img input svg g path math mi title style script "
         "textarea body html head address center object ruby rt section xmp").split()
TEXTS = ["x", " ", "\n", "a b", "&amp;", "<!-- c -->", "&lt;p>"]


def random_page(rng):
    parts = []
    for _ in range(rng.randint(1, 30)):
        kind = rng.random()
        name = rng.choice(WORDS)
        if kind < 0.5:
            attributes = "".join(f" {rng.choice('abc')}={rng.randint(1, 2)}"
                                 for _ in range(rng.choice((0, 0, 0, 1, 2))))
            parts.append(f"<{name}{attributes}{rng.choice(('', '', '', '/'))}>")
        elif kind < 0.8:
            parts.append(f"</{name}>")
        else:
            parts.append(rng.choice(TEXTS))
    return "".join(parts)


PREFIX = {"http://www.w3.org/1999/xlink": "xlink:", "http://www.w3.org/XML/1998/namespace": "xml:",
          "http://www.w3.org/2000/xmlns/": "xmlns:"}


def plain(name):
    """The name of an element without its namespace."""
    return name.rpartition("}")[2]


def attribute(name):
    if not isinstance(name, str) or not name.startswith("{"):
        return "@" + str(name)
    space, _, local = name[1:].partition("}")
    return "@" + (local if local == "xmlns" else PREFIX.get(space, "") + local)


def likely_encoding(page):
    """Where a page does not say: UTF-8 if it is that, as docs/formats.md has it."""
    try:
        page.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError:
        return "windows-1252"


def expected(page):
    """The tree by html5lib: (depth, label, attributes) of every node in pre-order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        root = html5lib.parse(page, treebuilder="etree", namespaceHTMLElements=False,
                              likely_encoding=likely_encoding(page))
    nodes, stack = [], [("open", root, 0)]
    while stack:
        what, item, depth = stack.pop()
        if what == "text":
            nodes.append((depth, "#text", ()))
            continue
        nodes.append((depth, plain(item.tag), tuple(sorted(map(attribute, item.attrib)))))
        todo, in_text = [], False

        def text(words):
            nonlocal in_text
            if words and words.strip(" \t\n\r\f") and not in_text:
                in_text = True
                todo.append(("text", None, depth + 1))

        text(item.text)
        for child in item:
            if isinstance(child.tag, str):
                todo.append(("open", child, depth + 1))
                in_text = False
            text(child.tail)
        stack.extend(reversed(todo))
    return nodes


def found(tree):
    """The same out of phloem's JSON."""
    depth, nodes = [], []
    for label, parent in zip(tree["label"], tree["parent"]):
        depth.append(0 if parent < 0 else depth[parent] + 1)
        if label.startswith("@"):
            nodes[-1][2].append(label)
        else:
            nodes.append((depth[-1], label, []))
    return [(d, label, tuple(sorted(names))) for d, label, names in nodes]


def known(page):
    """The kind of difference that docs/formats.md lists and this page may have; None: none."""
    text = page.decode("latin-1").lower() if isinstance(page, bytes) else page.lower()
    return next((kind for kind, pattern in KNOWN_RE if re.search(pattern, text, re.S)), None)


KNOWN_RE = [
    ("ruby", r"<r(b|t|p|tc)\b"),
    ("doctype", r"<!doctype\s+html\s+public[^>]*>.*<p\b.*<table"),
]


def read(phloem, path):
    done = subprocess.run([phloem, "convert", path, "--from", "html", "--attributes", "--text", "--no-class",
                           "--to", "json", "-o", "-", "--quiet"], capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


def compare(phloem, path, page):
    """None if both agree, else words."""
    code, out, err = read(phloem, path)
    if code:
        return "refused: " + err.strip()
    if not out:
        return None if not page else "no tree"
    ours, theirs = found(json.loads(out)), expected(page)
    if ours == theirs:
        return None
    at = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]),
              min(len(ours), len(theirs)))
    return f"node {at}: found {ours[at:at + 4]}, expected {theirs[at:at + 4]}"


def check_written(phloem, report):
    rng = random.Random(20)
    pages = [("written", page) for page in PAGES]
    pages += [("random", random_page(rng)) for _ in range(600)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "page.html")
        wrong, listed = [], {}
        for kind, page in pages:
            with open(path, "wb") as out:
                out.write(page.encode("utf-8"))
            why = compare(phloem, path, page.encode("utf-8"))
            if why and known(page):
                listed[known(page)] = listed.get(known(page), 0) + 1
            elif why:
                wrong.append(f"{page!r}: {why}")
        report.line(not wrong, f"{len(pages)} pages as html5lib reads them, but for {listed}", *wrong[:20])
        report.line(sum(listed.values()) < len(pages) // 10, "listed differences are few")


def check_folder(phloem, report, folder):
    counts = {"same": 0, "listed": 0, "cap": 0, "differ": 0}
    wrong = []
    for base, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(base, name)
            if not name.endswith((".html", ".htm")) or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                page = file.read()
            why = compare(phloem, path, page)
            kind = ("same" if not why else "cap" if "too long to read" in why or "multiply" in why
                    else "listed" if known(page) else "differ")
            counts[kind] += 1
            if kind == "differ":
                wrong.append(f"{path}: {why}")
    if not sum(counts.values()):
        report.skip(f"HTML files below {folder}")
        return
    report.line(not counts["differ"], f"HTML files below {folder}: {counts}", *wrong[:20])


def main():
    if html5lib is None:
        print("1..0 # SKIP html5lib is missing (apt-get install python3-html5lib)")
        return 1
    phloem, report = os.path.abspath(sys.argv[1]), harness.Report()
    if len(sys.argv) > 2:
        check_folder(phloem, report, sys.argv[2])
    else:
        check_written(phloem, report)
    return report.end()


sys.exit(main())
