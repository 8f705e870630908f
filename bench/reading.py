"""Reading trees, against md5sum and xmlwf; the commands that read, write and count."""
import itertools
import os
import shutil
import subprocess

import measure
from measure import MEGABYTE


def text_of(*paths):
    text = b""
    for path in paths:
        with open(path, "rb") as stream:
            text += stream.read()
    return text


def small_text(bench):
    """Training and test set of the first data set, in the elastic format."""
    _, train, test = bench.sets()[0]
    if bench.inex:
        return text_of(train, test)
    path = bench.path("small.elastic.tree")
    bench.run("convert", train, test, "-o", path, "--to", "elastic")
    return text_of(path)


def repeat(text, size, path):
    with open(path, "wb") as stream:
        for _ in range(-(-size // len(text))):
            stream.write(text)


def reading(bench):
    """Reading, against md5sum"""
    size = MEGABYTE if bench.quick else 200 * MEGABYTE
    text = small_text(bench)
    source = bench.sets()[0][0]
    one = bench.path("one.elastic.tree")
    with open(one, "wb") as stream:
        stream.write(text)
    bench.run("convert", one, "-o", bench.path("one.trees"))
    brackets = text_of(bench.path("one.trees"))
    for name, content, ending in (("elastic", text, "elastic.tree"), ("brackets", brackets, "trees")):
        path = bench.path("big." + ending)
        repeat(content, size, path)
        bench.compare(f"read {name}, {source} repeated to 200 MB / md5sum",
                      [bench.helper("read_forest"), path], ["md5sum", path], 5, target=4)
        os.unlink(path)
    path = bench.path("random.trees")
    with open(path, "wb") as stream:
        subprocess.run([bench.helper("random_trees"), str(size // MEGABYTE)], stdout=stream, check=True)
    bench.compare("read brackets, 200 MB of random trees / md5sum",
                  [bench.helper("read_forest"), path], ["md5sum", path], 2)
    os.unlink(path)

    times = -(-(size * 5) // len(text))
    cost = measure.Cost([bench.phloem, "stats", "-", "--from", "elastic"],
                        chunks=itertools.repeat(text, times))
    trees = text.count(b"\n") * times
    bench.add("peak memory, stats of 1 GB", cost.peak, "MB", target=200,
              note=f"{trees / 1e6:.1f} million trees", seconds=cost.seconds, elapsed=cost.elapsed,
              bytes_a_tree=cost.peak * MEGABYTE / trees,
              share_of_text=cost.peak * MEGABYTE / (times * len(text)))


def xml(bench):
    """Reading XML, against xmlwf"""
    documents, size = (200, MEGABYTE) if bench.quick else (20000, 50 * MEGABYTE)
    folder = bench.path("documents")
    bench.run("generate", "documents", "--to", "xml", "--trees-per-class", documents // 4, "-o", folder)
    files = sorted(os.path.join(name, file) for name in os.listdir(folder)
                   for file in os.listdir(os.path.join(folder, name)))
    bench.compare("read XML, 20,000 files / xmlwf", [bench.helper("read_forest"), "."],
                  ["xmlwf", *files], 5, target=3, folder=folder)
    path = bench.path("one.xml")
    texts = [text_of(os.path.join(folder, file)).split(b"\n", 1)[1]  # after the declaration
             for file in files]
    with open(path, "wb") as stream:
        stream.write(b"<all>\n")
        while stream.tell() < size:
            stream.writelines(texts)
        stream.write(b"</all>\n")
    bench.compare("read XML, one file of 50 MB / xmlwf", [bench.helper("read_forest"), path],
                  ["xmlwf", path], 4, target=3)
    shutil.rmtree(folder)
    os.unlink(path)


def commands(bench):
    """Commands on ten million nodes, against md5sum"""
    trees, lines = bench.ten_million(), bench.path("ten.jsonl")
    copy = bench.path("copy.trees")
    for name, command in (("generate", bench.generate_ten_million(copy)),
                          ("convert to json", [bench.phloem, "convert", trees, "-o", lines, "--quiet"]),
                          ("convert from json", [bench.phloem, "convert", lines, "-o", copy, "--quiet"]),
                          ("stats", [bench.phloem, "stats", trees])):
        bench.compare(f"{name}, 10 million nodes / md5sum", command, ["md5sum", trees], 2)
    os.unlink(lines)
    os.unlink(copy)
