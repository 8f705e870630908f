#!/usr/bin/python3
"""Odd sentences among parse trees, and labels that are missing.  A notebook as a script: each `# %%`
begins a cell.

Needs the Python package (docs/python.md); NLTK where it is there.
"""
# %% Sentences of a small grammar, as nested tuples
import random

from phloem import Forest, Run, TreeDensity, TreeLabeler

random.seed(1)


def noun_phrase():
    words = [("D", random.choice(["the", "a"])), ("N", random.choice(["cat", "dog", "tree"]))]
    if random.random() < 0.3:
        words.insert(1, ("A", random.choice(["old", "green"])))
    return ("NP", *words)


def sentence():
    verb = ("V", random.choice(["sees", "likes"]))
    return ("S", noun_phrase(), ("VP", verb, noun_phrase()))


sentences = Forest([sentence() for _ in range(300)])
print(sentences)

# %% A model of them, and a sentence that is not like the others
density = TreeDensity(states=8, iterations=100, random_state=1).fit(sentences)
odd = ("S", ("VP", ("V", "tree"), ("NP", ("N", "the"), ("D", "cat"))), ("NP", ("D", "sees")))
scores = density.score_samples(sentences)
print(f"the sentences: {scores.min():.2f} to {scores.max():.2f} nats per label")
print(f"the odd one:   {density.score_samples([odd])[0]:.2f}")

# %% Which of its words are odd?
found = density.run_.score([odd], bits=True)
for node, bits in zip(Forest([odd])[0], found.bits[0]):
    print(f"{bits:6.1f} bits  {node.label}")

# %% Labels that are missing are filled in, with probabilities
labeler = TreeLabeler(states=8, iterations=100, random_state=1).fit(sentences)
gap = ("S", (None, ("D", "the"), (None, "cat")), ("VP", ("V", "sees"), noun_phrase()))
print(labeler.predict([gap])[0])

# %% The same by the library's own names, with a bar of progress where somebody looks
run = Run.train(sentences, states=8, iterations=100, progress=False)
print(run.diagnose()["classes"][0]["findings"][0]["text"])

# %% NLTK reads and draws such trees, too
try:
    from nltk.tree import Tree
    print(Forest([Tree.fromstring("(S (NP (D the) (N cat)) (VP (V sees)))")]).to_nltk()[0])
except ImportError:
    print("NLTK is not there")
