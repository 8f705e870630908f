"""What notebooks show of forests, trees and runs."""
from html import escape

COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#ff9da7",
           "#9c755f", "#bab0ac")


def table(rows, head=None):
    """Rows of cells as an HTML table."""
    text = "<table>"
    if head:
        text += "<tr>" + "".join(f"<th>{escape(str(cell))}</th>" for cell in head) + "</tr>"
    for row in rows:
        text += "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>"
    return text + "</table>"


def forest_html(forest):
    stats = forest.stats() if len(forest) else {"nodes": 0, "max_slot": 0, "classes": []}
    rows = [("trees", f"{len(forest):,}"), ("nodes", f"{stats['nodes']:,}"),
            ("distinct subtrees", f"{forest.subtrees:,}"), ("labels", f"{len(forest.labels):,}"),
            ("largest slot", stats["max_slot"]), ("fingerprint", forest.fingerprint())]
    rows += [(f"class {name['name']}", f"{name['trees']:,} trees")
             for name in stats["classes"][:20] if name["name"] is not None]
    return "<b>Forest</b>" + table(rows)


def run_html(run):
    rows = [("model", run.kind), ("states", run.states), ("labels", len(run.labels)),
            ("version", run.meta("version")), ("seed", run.meta("seed"))]
    text = "<b>Run</b>" + table(rows)
    if run.kind != "no_kind":
        text += table([(model.class_name or "all trees", f"{model.trees:,}",
                        f"{model.log_likelihood:.8g}" if model.draws else "-", len(model.draws),
                        model.stop_reason) for model in run.models],
                      ("class", "trees", "log-likelihood", "draws", "stopped by"))
    else:
        summary = run.head.summary
        text += table([("features", f"{summary['n_features']:,}"), ("c", summary["c"]),
                       ("temperature", summary["temperature"])])
    return text


def layout(tree, most=400):
    """[(x, y, parent or None, node)] in pre-order: leaves side by side, parents above the middle of
    their children.  At most so many nodes."""
    nodes = []
    for parent, _, node in tree.root.walk():
        if len(nodes) == most:
            break
        nodes.append((parent, node))
    depth, below = [], [[] for _ in nodes]
    for number, (parent, _) in enumerate(nodes):
        depth.append(0 if parent is None else depth[parent] + 1)
        if parent is not None:
            below[parent].append(number)
    x, leaves = [0.0] * len(nodes), 0
    for number in range(len(nodes)):  # leaves from left to right
        if not below[number]:
            x[number], leaves = float(leaves), leaves + 1
    for number in reversed(range(len(nodes))):
        if below[number]:
            x[number] = (x[below[number][0]] + x[below[number][-1]]) / 2
    return [(x[i], depth[i], parent, node) for i, (parent, node) in enumerate(nodes)]


def tree_svg(tree, values=None):
    """A tree as a picture; `values` colours its nodes, by number or by name."""
    placed = layout(tree)
    width = 60 + 56 * max(x for x, _, _, _ in placed)
    height = 40 + 44 * max(y for _, y, _, _ in placed)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
             'font-family="sans-serif" font-size="11">']
    for x, y, parent, _ in placed:
        if parent is not None:
            px, py = placed[parent][:2]
            parts.append(f'<line x1="{30 + 56 * px:.0f}" y1="{20 + 44 * py:.0f}" '
                         f'x2="{30 + 56 * x:.0f}" y2="{20 + 44 * y:.0f}" stroke="#bbb"/>')
    names = []
    for number, (x, y, _, node) in enumerate(placed):
        colour = "#fff"
        if values is not None and number < len(values):
            if values[number] not in names:
                names.append(values[number])
            colour = COLOURS[names.index(values[number]) % len(COLOURS)]
        label = "?" if node.label is None else str(node.label)
        label = label if len(label) <= 9 else label[:8] + "…"
        left, top = 30 + 56 * x, 20 + 44 * y
        parts.append(f'<rect x="{left - 26:.0f}" y="{top - 9:.0f}" width="52" height="18" rx="4" '
                     f'fill="{colour}" stroke="#888"/><text x="{left:.0f}" y="{top + 4:.0f}" '
                     f'text-anchor="middle">{escape(label)}</text>')
    return "".join(parts) + "</svg>"
