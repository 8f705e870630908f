"""Pictures, with Matplotlib."""
import numpy as np

from .html import COLOURS, layout


def _axes(axes, size=(6, 4)):
    if axes is None:
        from matplotlib import pyplot
        axes = pyplot.subplots(figsize=size)[1]
    return axes


def slots(model, axes=None):
    """Which child positions matter: the share of draws in which a slot has more than one block."""
    axes = _axes(axes)
    numbers = np.arange(1, model.run.slots + 1)
    shares = [model.slot_posterior(int(slot))[0] for slot in numbers]
    axes.bar(numbers, np.nan_to_num(shares), color=COLOURS[0])
    axes.set(xlabel="slot", ylabel="share of draws in which it matters", ylim=(0, 1))
    axes.set_xticks(numbers if len(numbers) <= 20 else numbers[::len(numbers) // 10])
    return axes


def trace(model, quantity="log_likelihood", axes=None):
    """A figure of every iteration, one line for each chain; what the warm-up is, is grey."""
    axes = _axes(axes)
    options = model.run.options
    for chain, rows in enumerate(model.trace):
        axes.plot(rows["iteration"], rows[quantity], color=COLOURS[chain % len(COLOURS)], lw=1,
                  label=f"chain {chain}")
    if options and options["learner"] == "gibbs":
        axes.axvspan(0, options["warmup"], color="#eee", zorder=0)
    axes.set(xlabel="iteration", ylabel=quantity.replace("_", " "))
    axes.legend(frameon=False, fontsize="small")
    return axes


def confusion(truth, predicted=None, names=None, axes=None):
    """A confusion matrix: of two lists of names, or of an evaluation (run.classify, run.label)."""
    if predicted is None:
        counts, names = truth["best"]["counts"], truth["names"]
    else:
        names = sorted(set(map(str, truth)) | set(map(str, predicted))) if names is None else names
        number = {str(name): i for i, name in enumerate(names)}
        counts = np.zeros((len(names), len(names)), dtype=int)
        for one, other in zip(truth, predicted):
            counts[number[str(one)], number[str(other)]] += 1
    axes = _axes(axes, (5, 5))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    names = ["unseen" if name is None else str(name) for name in names]
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="predicted", ylabel="true")
    if len(names) <= 15:
        for i, row in enumerate(counts):
            for j, count in enumerate(row):
                if count:
                    axes.text(j, i, int(count), ha="center", va="center",
                              color="white" if shares[i, j] > 0.5 else "black", fontsize="small")
    return axes


def tree(tree, values=None, axes=None):
    """A tree; `values`, one for each node in pre-order, colours them: numbers by a scale, names by
    a colour each."""
    placed = layout(tree)
    axes = _axes(axes, (min(16, 2 + 0.6 * max(x for x, _, _, _ in placed)),
                        1 + 0.7 * (1 + max(y for _, y, _, _ in placed))))
    for x, y, parent, _ in placed:
        if parent is not None:
            axes.plot([placed[parent][0], x], [-placed[parent][1], -y], color="#bbb", zorder=1)
    colours = ["white"] * len(placed)
    if values is not None:
        values = list(values)[:len(placed)]
        if all(isinstance(value, (float, np.floating)) for value in values):
            from matplotlib import cm, colors
            scale = cm.ScalarMappable(colors.Normalize(np.nanmin(values), np.nanmax(values)), "OrRd")
            colours = [scale.to_rgba(value) for value in values]
        else:
            names = list(dict.fromkeys(values))
            colours = [COLOURS[names.index(value) % len(COLOURS)] for value in values]
    for (x, y, _, node), colour in zip(placed, colours):
        axes.text(x, -y, "?" if node.label is None else str(node.label), ha="center", va="center",
                  fontsize="small", zorder=2,
                  bbox={"boxstyle": "round", "facecolor": colour, "edgecolor": "#888"})
    axes.set_xlim(-1, max(x for x, _, _, _ in placed) + 1)
    axes.set_ylim(-max(y for _, y, _, _ in placed) - 0.7, 0.7)
    axes.axis("off")
    return axes
