"""forest_oracle.py - an independent reader of brackets and elastic files, and their statistics.

Plain Python that shares nothing with the library: trees are nested in lists, identity of subtrees
is decided by tuples in a dictionary.  No function calls itself, so depth is no matter.

A tree is (class or None, root); a node is [label or None, [(slot, node), ...]].
"""
import json
import statistics

BLANK = " \t"


def _quoted(text, at):
    """The name whose opening quote is at `at`, and where it ends."""
    end = at + 1
    while text[end] != '"':
        end += 2 if text[end] == "\\" else 1
    # Control characters may stand inside quotes as they are.
    return json.loads(text[at:end + 1], strict=False), end + 1


def _name(text, at):
    end = at
    while end < len(text) and text[end] not in ' \t()"':
        end += 1
    return text[at:end], end


def brackets_line(text):
    """A tree from one line of brackets, or None for a blank line or a comment."""
    if text.startswith("#") or not text.strip(BLANK):
        return None
    at, of_class = 0, None
    if text[0] != "(":
        of_class, at = _quoted(text, 0) if text[0] == '"' else _name(text, 0)
        assert text[at] == "\t", text
        at += 1
    open_nodes, slots, root = [], [], None
    while root is None or open_nodes:
        sign = text[at]
        if sign == "(":
            at += 1
            while text[at] in BLANK:
                at += 1
            if text[at] == '"':
                label, at = _quoted(text, at)
            else:
                label, at = _name(text, at)
                assert label and label != "_", text
                label = None if label == "?" else label
            node = [label, []]
            if open_nodes:
                open_nodes[-1][1].append((slots[-1], node))
                slots[-1] += 1
            else:
                root = node
            open_nodes.append(node)
            slots.append(1)
        elif sign == ")":
            open_nodes.pop()
            slots.pop()
            at += 1
        elif sign == "_":
            slots[-1] += 1
            at += 1
        else:
            assert sign in BLANK, text
            at += 1
    assert not text[at:].strip(BLANK), text
    return of_class, root


def elastic_line(text):
    text = text.strip(BLANK)
    if not text:
        return None
    of_class = None
    head = text[:text.index("(")]
    if ":" in head:
        of_class = head[:head.index(":")]
        text = text[len(of_class) + 1:]
    open_nodes, root, at = [], None, 0
    while root is None or open_nodes:
        if text[at] == ")":
            open_nodes.pop()
            at += 1
        elif text[at] in BLANK:
            at += 1
        elif text[at] == "$":
            assert text[at - 1] == "(" and text[at + 1] == ")", text
            at += 1
        else:
            end = text.index("(", at)
            node = [text[at:end], []]
            if open_nodes:
                siblings = open_nodes[-1][1]
                siblings.append((len(siblings) + 1, node))
            else:
                root = node
            open_nodes.append(node)
            at = end + 1
    assert not text[at:].strip(BLANK), text
    return of_class, root


def read(path):
    """All trees of a file, by the ending of its name."""
    parse = brackets_line if path.endswith(".trees") else elastic_line
    with open(path, "rb") as stream:
        text = stream.read().decode("utf-8")
    text = text[1:] if text.startswith("\ufeff") else text
    lines = (line[:-1] if line.endswith("\r") else line for line in text.split("\n"))
    return [tree for tree in map(parse, lines) if tree is not None]


class Statistics:
    """What `phloem stats --json` says about trees."""

    def __init__(self, trees):
        self.known = {}  # identity -> number of a distinct subtree
        self.labels = set()
        self.nodes = self.leaves = self.unknown = 0
        self.filled = {}  # slot -> internal nodes with it
        self.pairs = set()
        self.distinct_links = self.distinct_internal = 0
        sizes, depths = [], []
        classes, roots = {}, {}
        for of_class, root in trees:
            number, size, height = self._walk(root)
            sizes.append(size)
            depths.append(height)
            count = classes.setdefault(of_class, [0, 0])
            count[0] += 1
            count[1] += size
            roots.setdefault(number, []).append(of_class)
        shared = [found for found in roots.values() if len(set(found)) > 1]
        internal = self.nodes - self.leaves
        self.figures = {
            "trees": len(trees),
            "nodes": self.nodes,
            "leaves": self.leaves,
            "links": sum(self.filled.values()),
            "distinct_subtrees": len(self.known),
            "distinct_internal": self.distinct_internal,
            "distinct_links": self.distinct_links,
            "slot_child_pairs": len(self.pairs),
            "labels": len(self.labels),
            "unknown_labels": self.unknown,
            "max_slot": max(self.filled, default=1 if trees else 0),
            "classes": {of_class: tuple(count) for of_class, count in classes.items()},
            "slots": dict(self.filled),
            "depth": (min(depths, default=0), max(depths, default=0),
                      statistics.fmean(depths) if depths else 0),
            "nodes_per_tree": (min(sizes, default=0), max(sizes, default=0),
                               statistics.fmean(sizes) if sizes else 0,
                               statistics.median(sizes) if sizes else 0),
            "identical_across_classes": (len(shared), sum(map(len, shared))),
        }
        assert internal >= 0

    def _walk(self, root):
        """Number of the root's distinct subtree, nodes and height of the tree."""
        stack = [(root, 1, [])]  # node, its slot, what is known of its children
        while True:
            node, slot, done = stack[-1]
            if len(done) < len(node[1]):
                child_slot, child = node[1][len(done)]
                stack.append((child, child_slot, []))
                continue
            result = self._take(node, slot, done)
            stack.pop()
            if not stack:
                return result
            stack[-1][2].append(result)

    def _take(self, node, slot, done):
        label, children = node
        self.nodes += 1
        if label is None:
            self.unknown += 1
        else:
            self.labels.add(label)
        if children:
            links = tuple((child_slot, number)
                          for (child_slot, _), (number, _, _) in zip(children, done))
            identity = (label, links)
            for child_slot, _ in links:
                self.filled[child_slot] = self.filled.get(child_slot, 0) + 1
        else:
            links = ()
            identity = (label, slot)
            self.leaves += 1
        if identity not in self.known:
            self.known[identity] = len(self.known)
            self.distinct_internal += bool(links)
            self.distinct_links += len(links)
            self.pairs.update(links)
        return (self.known[identity], 1 + sum(size for _, size, _ in done),
                1 + max(height for _, _, height in done) if done else 0)
