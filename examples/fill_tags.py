#!/usr/bin/python3
"""fill_tags.py SENTENCES.conllu PREDICTIONS.tsv - the sentences, with predicted tags put in.

PREDICTIONS comes from 'phloem label RUN SENTENCES.conllu'.  A tag that was filled in has its
probability in the last column.
"""
import csv
import sys


def in_order(heads):
    """The words of a sentence as phloem numbers its nodes: the root, then each word's dependents from
    left to right, all that hangs below one before the next."""
    below = {word: [] for word in range(len(heads) + 1)}
    for word, head in enumerate(heads, 1):
        below[head].append(word)
    order, waiting = [], [0]
    while waiting:
        word = waiting.pop()
        order.append(word)
        waiting.extend(reversed(below[word]))
    return order[1:]


def main():
    with open(sys.argv[2], encoding="utf-8", newline="") as stream:
        filled = {(int(row["tree"]), int(row["node"])): row
                  for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)}
    with open(sys.argv[1], encoding="utf-8") as stream:
        sentences = stream.read().strip().split("\n\n")
    for tree, sentence in enumerate(sentences):
        lines = sentence.split("\n")
        words = [line.split("\t") for line in lines if line.split("\t")[0].isdigit()]
        for node, word in enumerate(in_order([int(word[6]) for word in words])):
            if (tree, node) in filled:
                row = filled[tree, node]
                words[word - 1][3] = row["predicted"]
                words[word - 1][9] = f"Probability={float(row['probability']):.2f}"
        columns = iter(words)
        for line in lines:
            print("\t".join(next(columns)) if line.split("\t")[0].isdigit() else line)
        print()


if __name__ == "__main__":
    main()
