// test.js - a run on test trees: confusion, calibration, classes, doubt, labels, oddest trees.
import { el, name, number, percent, brief, present, scroller, download } from "./dom.js";
import { picture } from "./picture.js";
import { table, csv } from "./table.js";
import { chart, namesRoom, filling, onFilling, Plot } from "./charts.js";
import { fromTable, fromNodes } from "./trees.js";
import { drawTree } from "./treepicture.js";

const AT_ONCE = 6;

/** Where a tree comes from: the file's name is given once, then lines. */
export function sources(test) {
  let file = null;
  return test.source.map((given) => {
    if (typeof given === "number") return `${file}:${given}`;
    file = given === null ? null : given.replace(/:\d+$/, "");
    return given;
  });
}

// ---- lists of drawn trees ----

/** Test tree `i`, what there is to say of it, and its picture if there is one. */
function treeCard(report, i, about, lines, drawing) {
  const source = report.test.sources[i];
  const lead = el("div", { class: "lead" }, source ? el("p", { class: "quiet" }, name(source, 60)) : null, el("p", {}, lines));
  if (drawing) return el("div", { class: "treecard" }, picture(`Tree ${i}`, about, drawing, { small: true, lead }));
  return el("div", { class: "treecard" }, el("div", { class: "picture small" }, el("p", { class: "title" }, `Tree ${i}`), lead,
    el("p", { class: "quiet" }, "Too large to be kept in this page.")));
}

/** A large tree begins where there is something to see: its first wrong or its oddest node, or else its root. */
function lookAt(card) {
  const box = card.querySelector(".drawing");
  const nodes = [...card.querySelectorAll(".node")];
  const marked = nodes.filter((node) => node.matches(".wrong, .odd"));
  const weight = (node) => Number(node.dataset.weight ?? 0);
  const seen = marked.reduce((best, node) => (weight(node) > weight(best) ? node : best), marked[0] ?? nodes[0]);
  if (!seen) return;
  const outer = box.getBoundingClientRect();
  const inner = seen.getBoundingClientRect();
  box.scrollTop = inner.top - outer.top - box.clientHeight / 2;
  if (marked.length) box.scrollLeft = inner.right - outer.left - box.clientWidth + 20;
}

/** Cards, a few at a time. */
function cards(list, make) {
  const place = el("div", { class: "treecards" });
  let shown = 0;
  const more = el("button", { type: "button", class: "more", onclick: () => show() });
  const show = () => {
    const next = list.slice(shown, shown + AT_ONCE).map(make);
    place.append(...next);
    requestAnimationFrame(() => next.forEach(lookAt));
    shown += next.length;
    more.textContent = `Show ${Math.min(AT_ONCE, list.length - shown)} more of ${number(list.length - shown)}`;
    more.hidden = shown >= list.length;
  };
  show();
  return el("div", {}, place, more);
}

function predictedTree(report, c, i) {
  const p = c.predictions;
  const tree = fromTable(report.test.subtrees, report.test.root[i]);
  const truth = p.true[i] < 0 ? null : c.names[p.true[i]];
  const lines = [truth === null ? null : ["true ", el("strong", {}, name(truth, 30)), ", "],
    "predicted ", el("strong", {}, name(c.names[p.predicted[i]], 30)), ` (${percent(p.p_predicted[i])})`,
    p.second[i] >= 0 ? [", then ", name(c.names[p.second[i]], 30), ` (${percent(p.p_second[i])})`] : null];
  return treeCard(report, i, `A test tree${truth === null ? "" : ` of class ${brief(truth, 40)}`}, predicted ${brief(c.names[p.predicted[i]], 40)}.`,
    lines, tree && drawTree(tree));
}

// ---- confusion ----

function confusion(report, c) {
  const { names, counts } = c.evaluation.confusion;
  const used = names.map((_, i) => i).filter((i) => counts[i].some(Boolean) || counts.some((row) => row[i]));
  const place = el("div", { class: "cellTrees", "aria-live": "polite" });
  const label = (i) => (names[i] === null ? "(unseen)" : names[i]);
  const open = (row, column, button) => {
    const p = c.predictions; // rows and columns are the classes of the run in its order, the last row what it has not seen
    const list = p.true.map((_, i) => i).filter((i) => p.predicted[i] === column && p.true[i] === (names[row] === null ? -1 : row));
    list.sort((a, b) => p.p_predicted[b] - p.p_predicted[a]);
    grid.querySelectorAll("[aria-pressed=true]").forEach((b) => b.setAttribute("aria-pressed", "false"));
    button.setAttribute("aria-pressed", "true");
    place.replaceChildren(el("h4", {}, `${number(list.length)} ${list.length === 1 ? "tree" : "trees"}: true `, name(label(row), 30), ", predicted ", name(label(column), 30)),
      cards(list, (i) => predictedTree(report, c, i)));
  };
  const cell = (row, column) => {
    const n = counts[row][column];
    const all = counts[row].reduce((a, b) => a + b, 0);
    const share = all ? n / all : 0;
    const kind = row === column ? "right" : "wrong";
    if (!n) return el("td", { class: "zero" }, "·");
    const button = el("button", { type: "button", class: `${kind}${share > 0.55 ? " full" : ""}`, "aria-pressed": "false",
      "aria-label": `${n} trees of class ${brief(label(row), 40)} predicted as ${brief(label(column), 40)}`,
      onclick: (event) => open(row, column, event.currentTarget) }, number(n));
    button.style.setProperty("--share", `${Math.round(100 * Math.max(0.12, share))}%`);
    return el("td", {}, button);
  };
  const save = el("button", { type: "button", class: "save", "aria-label": "Save as CSV: Confusion matrix", onclick: () =>
    download("confusion-matrix.csv", "text/csv", csv([{ title: "true", value: (r) => label(r) },
      ...used.map((k) => ({ title: label(k), value: (r) => counts[r][k] }))], used)) }, "CSV");
  const grid = el("table", { class: "confusion" },
    el("thead", {}, el("tr", {}, el("td", { class: "corner" }, "true ↓ predicted →"), used.map((k) => el("th", { scope: "col" }, name(label(k), 14))))),
    el("tbody", {}, used.map((row) => el("tr", {}, el("th", { scope: "row" }, name(label(row), 24)), used.map((column) => cell(row, column))))));
  return el("div", { class: "table" },
    el("p", { class: "caption" }, el("span", { class: "title" }, "Confusion matrix"), save),
    scroller({ class: "rows fitting" }, "Confusion matrix", grid),
    el("p", { class: "note" }, "Rows are true classes, columns predicted ones; the diagonal is right, and wrong counts are underlined. Choose a cell to see its trees."), place);
}

function confusionPicture(c) {
  const { names, counts } = c.evaluation.confusion;
  if (names.length > 30) return null;
  const label = (i) => `${i + 1}. ${brief(names[i] === null ? "(unseen)" : names[i], 16)}`;
  const cells = names.flatMap((_, row) => names.map((__, column) => ({ row: label(row), column: label(column), n: counts[row][column],
    share: counts[row][column] / Math.max(1, counts[row].reduce((a, b) => a + b, 0)) })));
  const size = Math.max(34, Math.min(60, 640 / names.length));
  const left = namesRoom(names.map((_, i) => label(i)));
  return el("details", {}, el("summary", {}, "As a picture"), picture("Confusion matrix, drawn", "Rows are true classes, columns predicted ones.",
    chart({ height: 60 + 28 * names.length, most: left + 10 + size * names.length, marginLeft: left, marginTop: 40, marginBottom: 6,
      x: { axis: "top", label: "predicted", domain: names.map((_, i) => label(i)), tickSize: 0, tickFormat: (d) => d.split(".")[0] }, y: { label: null, domain: names.map((_, i) => label(i)), tickSize: 0 },
      marks: [Plot.cell(cells, { x: "column", y: "row", fill: (d) => (d.row === d.column ? "var(--accent)" : "var(--bad)"), fillOpacity: (d) => filling(d.share), inset: 0.5 }),
        Plot.text(cells.filter((d) => d.n), { x: "column", y: "row", text: (d) => number(d.n),
          fill: (d) => onFilling(d.share, d.row === d.column ? "var(--on-accent)" : "var(--on-bad)") })] })));
}

// ---- calibration and classes ----

function calibration(c) {
  const bins = c.calibration.filter((b) => b.n > 0);
  return picture("Calibration", `How often predictions of some probability are right. Expected calibration error ${number(c.evaluation.calibration_error, 4)}.`,
    chart({ height: 320, half: true, most: 420, x: { label: "probability of the predicted class →", domain: [0, 1] }, y: { label: "↑ share that is right", domain: [0, 1], grid: true },
      r: { range: [3, 11] },
      marks: [Plot.line([[0, 0], [1, 1]], { stroke: "currentColor", strokeOpacity: 0.5, strokeDasharray: "4 4" }),
        Plot.ruleX(bins, { x: "probability", y1: "low", y2: "high", stroke: "var(--accent)", strokeWidth: 1.5 }),
        Plot.dot(bins, { x: "probability", y: "right", r: "n", fill: "var(--accent)", fillOpacity: 0.8, stroke: "var(--surface)", title: (d) => `${d.n} trees, probability ${number(d.probability, 3)}, right ${percent(d.right)}` })] }),
    { note: "On the dashed line, probabilities mean what they say. Bars are 95 % intervals; larger dots stand for more trees." });
}

function perClass(c) {
  const rows = c.per_class.filter((d) => d.n > 0);
  const label = (d) => brief(d.class === null ? "(unseen)" : d.class, 18);
  const drawing = rows.length > 40 ? null : picture("Accuracy by class", "The share of each class's trees that is classified right, with 95 % intervals.",
    chart({ height: 50 + 24 * rows.length, half: true, marginLeft: namesRoom(rows.map(label)), x: { label: "classified right →", domain: [Math.min(0.9, Math.floor(10 * Math.min(...rows.map((d) => d.low))) / 10), 1], tickFormat: (d) => `${Math.round(100 * d)} %`, grid: true, ticks: 5 }, y: { label: null, domain: rows, tickFormat: label, tickSize: 0, axis: "left", type: "band" },
      marks: [Plot.ruleY(rows, { y: (d) => d, x1: "low", x2: "high", stroke: "var(--accent)", strokeWidth: 2 }),
        Plot.dot(rows, { y: (d) => d, x: "accuracy", fill: "var(--accent)", r: 4.5, title: (d) => percent(d.accuracy) })] }),
    { note: "Dots are shares of right answers, lines their 95 % intervals. Long lines: few trees of that class." });
  return [drawing, table("Classes of the test", [
    { title: "class", value: (d) => d.class, show: (d) => (d.class === null ? "(unseen)" : name(d.class)) },
    { title: "trees", numeric: true, value: (d) => d.n, show: (d) => number(d.n) },
    { title: "right", numeric: true, value: (d) => d.accuracy, show: (d) => percent(d.accuracy) },
    { title: "from", numeric: true, value: (d) => d.low, show: (d) => percent(d.low) },
    { title: "to", numeric: true, value: (d) => d.high, show: (d) => percent(d.high), about: "95 % interval" },
    { title: "predicted", numeric: true, value: (d) => d.predicted, show: (d) => number(d.predicted) },
    { title: "precision", numeric: true, value: (d) => d.precision, show: (d) => percent(d.precision) },
  ], rows)];
}

// ---- doubt ----

function doubts(report, c) {
  const p = c.predictions;
  const rows = p.predicted.map((_, i) => i);
  const known = p.true.some((t) => t >= 0);
  const place = el("div", { "aria-live": "polite" });
  const show = (i) => {
    place.replaceChildren(predictedTree(report, c, i));
    lookAt(place);
    place.scrollIntoView({ block: "nearest" });
  };
  const columns = [
    { title: "tree", numeric: true, value: (i) => i, show: (i) => el("button", { type: "button", class: "link", onclick: () => show(i), "aria-label": `Draw tree ${i}` }, i) },
    { title: "doubt", numeric: true, value: (i) => 1 - p.p_predicted[i], show: (i) => percent(1 - p.p_predicted[i]), about: "1 - the probability of the predicted class" },
    { title: "predicted", value: (i) => c.names[p.predicted[i]], show: (i) => name(c.names[p.predicted[i]], 30) },
    { title: "runner-up", value: (i) => (p.second[i] < 0 ? null : c.names[p.second[i]]), show: (i) => (p.second[i] < 0 ? "–" : [name(c.names[p.second[i]], 30), ` ${percent(p.p_second[i])}`]) },
  ];
  if (known) {
    columns.push({ title: "true", value: (i) => (p.true[i] < 0 ? null : c.names[p.true[i]]), show: (i) => (p.true[i] < 0 ? "–" : name(c.names[p.true[i]], 30)) },
      { title: "right?", value: (i) => (p.true[i] === p.predicted[i] ? "right" : "wrong"),
        show: (i) => el("span", { class: p.true[i] === p.predicted[i] ? "tag" : "tag trouble" }, p.true[i] === p.predicted[i] ? "✓ right" : "✗ wrong") });
  }
  columns.push({ title: "source", value: (i) => report.test.sources[i], show: (i) => name(report.test.sources[i] ?? "–", 44) });
  return [el("h3", {}, "Predictions by doubt"), el("p", {}, "Doubt is what the predicted class lacks of certainty. Choose the number of a tree to draw it."),
    table("Predictions", columns, rows, { sorted: 1, falling: true }), place];
}

function classification(report, c) {
  if (!c.evaluation) return [el("h3", {}, "Classification"), el("p", {}, "The test trees have no classes: there is nothing to hold predictions against."), doubts(report, c)];
  const e = c.evaluation;
  const [classesDrawn, classesTable] = perClass(c);
  return [el("h3", {}, "Classification"),
    el("dl", { class: "figures" }, [["accuracy", percent(e.accuracy, 2)], ["95 % interval", `${percent(e.accuracy_low)} – ${percent(e.accuracy_high)}`],
      ["largest class", percent(e.largest_share)], ["balanced accuracy", percent(e.balanced_accuracy)], ["log-loss, nats", number(e.log_loss, 4)],
      ["calibration error", number(e.calibration_error, 4)]].map(([k, v]) => el("div", {}, el("dt", {}, k), el("dd", {}, v)))),
    confusion(report, c), confusionPicture(c),
    el("div", { class: "pictures" }, calibration(c), classesDrawn), classesTable, doubts(report, c)];
}

// ---- labels ----

function labelled(report, tree) {
  const hidden = new Map(tree.hidden.map((h) => [h.node, h]));
  const drawn = fromNodes(tree, (node, i) => {
    const h = hidden.get(i);
    if (!h) return;
    node.mark = h.wrong ? { kind: "wrong", text: `✗ ${brief(h.predicted, 16)}`, about: `true, but ${brief(h.predicted, 60)} was filled in (${percent(h.p)})` }
      : { kind: "right", text: "✓", about: `filled in right (${percent(h.p)})` };
  });
  return treeCard(report, tree.tree, `${tree.n_wrong} of ${tree.n_hidden} hidden labels are filled in wrong.`,
    `${number(tree.n_wrong)} of ${number(tree.n_hidden)} hidden labels wrong`, drawTree(drawn));
}

function labelling(report, l) {
  const worst = [...l.worst].sort((a, b) => b.n_wrong - a.n_wrong);
  return [el("h3", {}, "Labels hidden and filled in"),
    el("p", {}, `${number(l.n)} labels of ${number(l.trees)} trees were hidden (each with probability ${number(l.hide, 2)}). ${percent(l.accuracy, 2)} were filled in right (${percent(l.low)} to ${percent(l.high)} at 95 %); the commonest label makes up ${percent(l.largest_share)}.`),
    table("Labels", [
      { title: "label", value: (d) => d.label, show: (d) => (d.label === null ? "(unseen)" : name(d.label)) },
      { title: "hidden", numeric: true, value: (d) => d.n, show: (d) => number(d.n) },
      { title: "right", numeric: true, value: (d) => d.accuracy, show: (d) => percent(d.accuracy) },
      { title: "from", numeric: true, value: (d) => d.low, show: (d) => percent(d.low) },
      { title: "to", numeric: true, value: (d) => d.high, show: (d) => percent(d.high), about: "95 % interval" },
    ], l.per_label, { sorted: 1, falling: true, height: 300 }),
    worst.length ? [el("h4", {}, "Trees with most wrong labels"),
      el("p", { class: "legend" }, el("span", {}, el("span", { class: "key wrong" }, "✗"), " wrong: the true label, then what was filled in"),
        el("span", {}, el("span", { class: "key right" }, "✓"), " hidden, and filled in right")),
      cards(worst, (tree) => labelled(report, tree))] : el("p", {}, "None is wrong.")];
}

// ---- oddest ----

function odd(report, tree, by) {
  const most = Math.max(4, ...tree.bits.filter((b) => b !== null));
  const drawn = fromNodes(tree, (node, i) => {
    const bits = tree.bits[i];
    if (bits === null) return;
    const weight = Math.min(1, bits / Math.max(most, 8));
    if (bits >= 2) node.mark = { kind: "odd", weight, text: `${number(bits, 1)}`, about: `${number(bits, 1)} bits` };
  });
  const figure = by === "oddity" ? `oddity ${number(tree.oddity, 2)}; ${percent(tree.odd_share)} of training trees are as odd` : `${number(tree.bits_per_label, 2)} bits a label`;
  return treeCard(report, tree.tree, `${figure}.`, figure, drawTree(drawn));
}

function oddest(report, o) {
  return [el("h3", {}, "Oddest trees"),
    el("p", {}, `Of ${number(o.of)} trees, those with the highest ${o.by === "oddity" ? "oddity" : "number of bits a label"}. Beside a node stands how many bits its label costs, given all others; the larger a node, the odder it is.`),
    cards(o.trees, (tree) => odd(report, tree, o.by))];
}

export function testSection(report, run) {
  if (!run.test) return [];
  const parts = present([run.test.classification ? classification(report, run.test.classification) : null,
    run.test.labelling ? labelling(report, run.test.labelling) : null,
    run.test.oddest?.trees.length ? oddest(report, run.test.oddest) : null]);
  return parts.length ? parts : [el("p", {}, "The run cannot be tested: it holds nothing that was trained to its end.")];
}
