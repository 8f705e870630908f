#!/usr/bin/python3
"""Which kind of document is it?  A notebook as a script: each `# %%` begins a cell.

Needs the Python package (docs/python.md), scikit-learn and, for the picture, Matplotlib.
"""
# %% Documents of four kinds that share their element names and half of their grammar
import numpy as np
from sklearn.model_selection import GridSearchCV, cross_val_predict, train_test_split

import phloem
from phloem import Forest, TreeClassifier

documents = Forest.generate_documents(trees_per_class=60, seed=5)
print(documents)
print(documents[0])

# %% Some are put aside for the test
train, test, y_train, y_test = train_test_split(documents, documents.y, stratify=documents.y,
                                                random_state=0)

# %% A linear classifier on pieces of trees; how strong its penalty is, cross-validation tells
search = GridSearchCV(TreeClassifier(groups="S+B+BG"), {"c": [3, 30, 100]}, cv=3, n_jobs=2)
search.fit(train, y_train)
print(f"linear: c = {search.best_params_['c']}, {search.score(test, y_test):.0%} right")

# %% What speaks for a class?
for weight, piece in search.best_estimator_.run_.head.top("family-1", 3):
    print(f"{weight:6.2f}  {piece}")

# %% A model of the documents of each class: slower, but it says how probable a document is
generative = TreeClassifier(method="generative", states=6, iterations=60, random_state=1)
generative.fit(train, y_train)
print(f"generative: {generative.score(test, y_test):.0%} right")

# %% How sure are they?  Of the answers given with a probability above 0.9, so many are right
for name, model in (("linear", search.best_estimator_), ("generative", generative)):
    proba = model.predict_proba(test)
    sure = proba.max(axis=1) > 0.9
    right = model.classes_[proba.argmax(axis=1)] == y_test
    if sure.any():
        print(f"{name}: sure of {sure.mean():.0%}, of which {np.mean(right[sure]):.0%} are right")

# %% A picture of what is taken for what
predicted = cross_val_predict(TreeClassifier(c=30, groups="S+B+BG"), documents, documents.y, cv=3)
try:
    axes = phloem.plots.confusion(documents.y, predicted)
    axes.figure.savefig("confusion.png")
    print("confusion.png written")
except ImportError:
    print("no picture: Matplotlib is not there")
