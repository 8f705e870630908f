"""Forests as sequences, their arrays, what Python objects they are made of, and back."""
import ast
import enum
import gc
import pickle
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import phloem
from phloem import Forest

NESTED = [("a", ("b",), None, ("c", (None,))), ("a", ("b", ("c",), ("c",)))]


def test_strings_tuples_lists_and_dicts_are_the_same():
    as_text = Forest(["(a (b) _ (c (?)))", "(a (b (c) (c)))"])
    as_lists = Forest([["a", "b", None, ["c", [None]]], ["a", ["b", "c", "c"]]])
    as_dicts = Forest([
        {"label": "a", "children": [{"label": "b"}, None, {"label": "c", "children":
                                                            [{"label": None}]}]},
        {"label": "a", "children": [{"label": "b", "children": ["c", ("c",)]}]}])
    assert as_text == Forest(NESTED) == as_lists == as_dicts
    assert as_text.to_nested() == NESTED
    assert Forest(as_text.to_dicts()) == as_text


def test_mixed_kinds():
    forest = Forest([("a", "b"), "(a (b))", {"label": "a", "children": ["b"]},
                     Forest(["(a (b))"])[0], ElementTree.fromstring("<a><b/></a>")])
    assert forest.to_nested() == [("a", ("b",))] * 5
    assert forest.subtrees == 2


def test_classes_weights_ids():
    forest = Forest([("a",), ("b",), ("c",)], classes=["x", None, "y"], weights=[1, 2.5, 1],
                    ids=["one", None, 3])
    assert forest.classes == ["x", "y"] and list(forest.y) == ["x", None, "y"]
    assert list(forest.weights) == [1, 2.5, 1]
    assert [tree.id for tree in forest] == ["one", None, "3"]
    own = Forest([{"label": "a", "class": "k", "weight": 2, "id": "i"}])
    assert (own[0].class_name, own[0].weight, own[0].id) == ("k", 2, "i")
    assert Forest(own.to_dicts()) == own


class Kind(enum.Enum):
    NOUN = 1


def test_any_hashable_label_comes_back():
    trees = [(1, (Kind.NOUN,), ((1, "x"), (2.5,)), (frozenset([3]),))]
    forest = Forest(trees)
    assert forest.to_nested() == trees
    assert pickle.loads(pickle.dumps(forest)).to_nested() == trees
    assert forest[:1].to_nested() == trees


@pytest.mark.parametrize("trees, kind, text", [
    ("(a)", TypeError, "Forest.parse reads texts"),
    (5, TypeError, "found int"),
    ({"label": "a"}, TypeError, "found dict"),
    ([{"children": []}], ValueError, "tree 0: found a dict without 'label'"),
    ([("a",), ("a", {1, 2})], TypeError, "tree 1: found set"),
    ([[["b"], "c"]], TypeError, "found a list in place of a label"),
    ([("a", b"x")], TypeError, "bytes; decode it first"),
    ([()], ValueError, "found an empty tuple"),
    ([("a", [])], ValueError, "found an empty list"),
    ([("a", float("nan"))], ValueError, "NaN as a label"),
    ([("1", 1)], ValueError, "both written '1'"),
    (["(a)(b)"], phloem.DataError, "tree:1:4"),
    (["(a)\n(b)"], ValueError, "several lines"),
    (["(a)", ""], ValueError, "tree 1: found ''"),
    ([("a\0",)], ValueError, "NUL"),
    ([("\ud800",)], ValueError, "UTF-8"),
    ([("a",), None], ValueError, "tree 1: found None"),
    ([{"label": "a", "children": "bc"}], TypeError, "expected a list"),
    ([{"label": ["a"]}], TypeError, "a list as a label"),
    ([("a", range(3), {"x": 1})], ValueError, "without 'label'"),
])
def test_bad_trees(trees, kind, text):
    with pytest.raises(kind, match=text):
        Forest(trees)


@pytest.mark.parametrize("weights", [[float("nan")], [float("inf")], [0], [-1], [1, 2], ["x"]])
def test_bad_weights(weights):
    with pytest.raises(ValueError):
        Forest(["(a)"], weights=weights)
    with pytest.raises(ValueError):
        Forest([("a",)], weights=weights)


def test_wrong_lengths():
    for more in ({"classes": ["x"]}, {"ids": [1, 2, 3]}):
        with pytest.raises(ValueError, match="for 2 trees"):
            Forest([("a",), ("b",)], **more)
    with pytest.raises(TypeError, match="class"):
        Forest([("a",)], classes=[3.5])


def cycles():
    chain = ["a"]
    chain.append(chain)
    wide = ["a"]
    wide += [wide, wide, "b"]
    node = {"label": "a"}
    node["children"] = [{"label": "b", "children": [node]}]
    yield from (chain, wide, node)
    pytest.importorskip("nltk")
    from nltk.tree import Tree
    tree = Tree("a", ["b"])
    tree.append(tree)
    yield tree


@pytest.mark.parametrize("number", range(4))
def test_cycles(number):
    with pytest.raises(ValueError, match="tree 1: .*form a cycle"):
        Forest([("a",), list(cycles())[number]])


def test_deep_trees():
    nested = ["x"]
    for _ in range(100_000):
        nested = ["x", nested]
    assert Forest([nested]).stats()["depth_max"] == 100_000
    node = {"label": 0}
    for i in range(3_000):
        node = {"label": i % 3, "children": [None, node]}
    forest = Forest([node])
    assert forest.stats()["depth_max"] == 3_000
    assert Forest(forest.to_nested()) == forest
    while nested and len(nested) > 1:  # taken apart, or the interpreter's stack overflows
        nested = nested[1]


def test_large_forests_without_cycles():
    """More nodes than after which cycles are looked for; objects are shared, too."""
    part = (1, (2,), (3, (4,)))
    forest = Forest([(5, *[part] * 1000)] * 300)
    assert forest.stats()["nodes"] == 300 * 4001 and forest.subtrees < 2010


def test_nltk():
    nltk = pytest.importorskip("nltk")
    trees = [nltk.tree.Tree.fromstring("(S (NP (D the) (N cat)) (VP (V sat)))"),
             nltk.tree.Tree("X", [])]
    forest = Forest(trees)
    assert forest.to_nested()[0] == ("S", ("NP", ("D", ("the",)), ("N", ("cat",))),
                                     ("VP", ("V", ("sat",))))
    assert forest.to_nltk() == trees
    with pytest.raises(ValueError, match="empty slots"):
        Forest(["(a _ (b))"]).to_nltk()
    assert Forest([nltk.tree.Tree(1, [nltk.tree.Tree(2, ["x"])])]).to_nested() \
        == [(1, (2, ("x",)))]


def test_networkx():
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph([("r", "a"), ("r", "b"), ("b", "c")])
    assert Forest([graph]).to_nested() == [("r", ("a",), ("b", ("c",)))]
    forest = Forest(NESTED)
    assert Forest(forest.to_networkx()) == forest
    for edges in ([("a", "b"), ("b", "a")], [("a", "b"), ("c", "b"), ("a", "c")],
                  [("a", "b"), ("c", "d")],
                  [("r", "a"), ("x", "y"), ("y", "x")]):
        with pytest.raises(ValueError, match="tree"):
            Forest([networkx.DiGraph(edges)])
    with pytest.raises(ValueError):
        Forest([networkx.DiGraph()])


def test_elements():
    element = ElementTree.fromstring('<a k="v">text<b/><!-- no -->tail<c><d/></c></a>')
    assert Forest([element]).to_nested() == [("a", ("b",), ("c", ("d",)))]
    assert Forest([element], xml_attributes=True, xml_text=True).to_nested() \
        == Forest.parse(ElementTree.tostring(element), "xml", xml_attributes=True,
                        xml_text=True).to_nested()
    forest = Forest(["(a (b) (c (d)))"])
    assert Forest(forest.to_etree()) == forest
    with pytest.raises(ValueError, match="unknown"):
        Forest(["(?)"]).to_etree()


def test_ast(root):
    with open(f"{root}/python/phloem/forest.py", encoding="utf-8") as stream:
        text = stream.read() + "\nx = lambda *a, b=3: (..., 1j, b'x', None, True, -1e999, u'v')\n"
    tree = ast.parse(text)
    plain = Forest([tree])
    assert plain[0].label == "Module"
    assert plain.stats()["nodes"] == sum(1 for _ in ast.walk(tree))
    back = Forest([tree], ast_fields=True).to_ast()[0]
    assert ast.dump(back) == ast.dump(tree)
    compile(back, "x", "exec")
    for text in ("(Nonsense)", "(Name (a) (b) (c) (d))"):
        with pytest.raises(ValueError, match="ast_fields"):
            Forest([text]).to_ast()


def test_every_format_and_back(documents):
    for format in ("brackets", "json", "elastic"):
        assert Forest.parse(documents.to_text(format), format).stats()["nodes"] \
            == documents.stats()["nodes"]
    conllu = "1\tThe\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tcat\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    forest = Forest.parse(conllu, "conllu")
    assert forest.to_nested() == [("NOUN", ("DET",))] or forest.labels == ["NOUN", "DET"]
    assert Forest.parse(forest.to_text("conllu"), "conllu") == forest
    assert Forest.parse(conllu, "conllu", conllu_label="deprel").labels == ["det", "root"]
    assert Forest.parse("(S (NP (N cat)))", "ptb").to_text("ptb").split() == ["(S", "(NP", "(N", "cat)))"]
    one = documents[:1].with_classes([None])
    assert Forest.parse(one.to_text("xml"), "xml").to_nested() == one.to_nested()


def test_files(tmp_path, documents):
    documents.write(tmp_path / "a.trees")
    documents.write(tmp_path / "a.jsonl.zst")
    documents.write(tmp_path / "folder", format="xml")
    assert Forest.read(tmp_path / "a.trees") == documents == Forest.read(str(tmp_path / "a.jsonl.zst"))
    assert Forest.read(tmp_path / "folder").fingerprint() == documents.fingerprint()
    assert len(Forest.read(tmp_path / "a.trees", limit=3)) == 3
    assert set(Forest.read(tmp_path / "a.trees", only_classes=["family-1", "family-2"]).classes) \
        == {"family-1", "family-2"}
    assert Forest.read(tmp_path / "a.trees")[2].source == (str(tmp_path / "a.trees"), 3)
    with pytest.raises(TypeError):
        Forest.read()


def test_sequence(documents):
    n = len(documents)
    assert documents.shape == (n,) and len(list(documents)) == n
    assert documents[-1] == documents[n - 1]
    part = documents[2:20:3]
    assert [str(tree) for tree in part] == [str(documents[i]) for i in range(2, 20, 3)]
    mask = np.arange(n) % 2 == 0
    assert documents[mask] == documents[::2] == documents[list(range(0, n, 2))]
    assert documents[np.array([-1, 0, 0])][0] == documents[n - 1]
    assert list(documents[[5, 3]].y) == [documents.y[5], documents.y[3]]
    assert part + part == Forest.concat([part, part])
    assert len(documents[[]]) == 0 and len(Forest([])) == 0
    for bad in (n, -n - 1):
        with pytest.raises(IndexError):
            documents[bad]
    for bad in ([n], [True], [[1]], [0.5], "a", [-n - 1]):
        with pytest.raises((IndexError, ValueError)):
            documents[bad]


def test_a_part_is_what_a_file_of_its_trees_would_be():
    forest = Forest(["(a (b))", "(c (d))", "(b (c))"], classes=["x", "y", "z"])
    part = forest[[2, 1]]
    assert part.labels == ["b", "c", "d"] and part.classes == ["z", "y"]
    read = Forest.parse(part.to_text(), "brackets")
    assert read.labels == part.labels and np.array_equal(read.subtree_label, part.subtree_label)
    assert np.array_equal(read.links, part.links)


def test_arrays_are_views(documents):
    names = ("subtree_label", "leaf_slot", "multiplicity", "first_link", "links", "tree_root",
             "tree_class")
    arrays = [getattr(documents, name) for name in names]
    assert all(not array.flags.owndata and not array.flags.writeable for array in arrays)
    assert all(np.shares_memory(array, getattr(documents, name))
               for name, array in zip(names, arrays))
    stats = documents.stats()
    assert documents.multiplicity.sum() == stats["nodes"]
    assert len(documents.links) == stats["subtree_links"]
    assert sum(documents.sizes[documents.tree_root]) == stats["nodes"]
    assert len(stats["slot_filled"]) == stats["max_slot"]


def test_arrays_outlive_the_forest():
    forest = Forest.generate_symm(trees_per_class=50)
    links, expected = forest.links, forest.links.copy()
    tree = forest[3]
    del forest
    gc.collect()
    Forest.generate_symm(trees_per_class=50, seed=9)
    assert np.array_equal(links, expected)
    text = str(tree)
    del tree, links
    gc.collect()
    assert text.startswith("(")


def test_tree_views():
    tree = Forest(["(a (b) _ (c (?)))"])[0]
    assert (tree.label, tree.size, tree.class_name, tree.weight) == ("a", 4, None, 1)
    assert [child and child.label for child in tree.children] == ["b", None, "c"]
    assert [node.label for node in tree] == ["a", "b", "c", None]
    assert tree.children[0].is_leaf and not tree.root.is_leaf
    nodes = tree.nodes()
    assert list(nodes["parent"]) == [-1, 0, 0, 2] and list(nodes["slot"]) == [1, 1, 3, 1]
    assert repr(tree) == "<Tree (a (b) _ (c (?)))>"
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert "svg" in tree._repr_html_()


def test_equality_and_hash(documents):
    again = Forest.parse(documents.to_text(), "brackets")
    assert again == documents and hash(again) == hash(documents)
    assert documents != documents[::-1] and documents != 3
    assert documents.fingerprint() == documents[::-1].fingerprint()


def test_pickles(documents, tmp_path):
    forest = documents.with_classes([None if i % 3 else "x" for i in range(len(documents))],
                                    np.linspace(1, 2, len(documents)))
    again = pickle.loads(pickle.dumps(forest))
    assert again == forest and again.labels == forest.labels
    assert np.array_equal(again.subtree_label, forest.subtree_label)
    assert np.array_equal(again.weights, forest.weights)
    words = Forest.parse("1\tThe\t_\tDET\t_\t_\t2\tdet\t_\t_\n"
                         "2\tcat\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n", "conllu")
    assert pickle.loads(pickle.dumps(words)).labels == words.labels == ["DET", "NOUN"]
    unshared = pickle.loads(pickle.dumps(Forest(["(a (b))", "(a (b))"], no_sharing=True)))
    assert unshared.subtrees == 4
    assert len(pickle.loads(pickle.dumps(Forest([])))) == 0
    path = tmp_path / "forest.pickle"
    path.write_bytes(pickle.dumps(forest))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).fingerprint(True))"
    done = subprocess.run([sys.executable, "-c", code, path], stdout=subprocess.PIPE, check=True)
    assert done.stdout.decode().strip() == forest.fingerprint(True)


def test_object_arrays(documents):
    trees = np.asarray(documents)
    assert trees.shape == (len(documents),) and trees.dtype == object
    assert Forest(trees) == documents.with_classes() == Forest(list(trees))


def test_stats_are_those_of_the_program(documents, program, tmp_path):
    documents.write(tmp_path / "a.trees")
    import json
    printed = json.loads(program("stats", tmp_path / "a.trees", "--json"))
    stats = documents.stats()
    assert printed["trees"] == stats["trees"] and printed["nodes"] == stats["nodes"]
    assert printed["fingerprint"] == documents.fingerprint()


def test_html(documents):
    assert "distinct subtrees" in documents._repr_html_()
