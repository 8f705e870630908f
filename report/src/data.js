// data.js - the trees: sizes, depths, labels, slots, and the commonest subtrees.
import { el, name, number, percent, brief } from "./dom.js";
import { picture } from "./picture.js";
import { table } from "./table.js";
import { chart, distribution, some, Plot } from "./charts.js";
import { fromTable } from "./trees.js";
import { drawTree } from "./treepicture.js";

/** A picture whose description all may read. */
const drawn = (title, about, drawing) => picture(title, about, drawing, { note: about });

function sizes(data) {
  return [
    drawn("Nodes per tree", `From ${number(data.nodes_least)} to ${number(data.nodes_most)}, median ${number(data.nodes_median)}.`,
      distribution(data.sizes, "nodes")),
    drawn("Depth", `Links from the root to the deepest leaf: ${number(data.depth_least)} to ${number(data.depth_most)}, mean ${number(data.depth_mean, 1)}.`,
      distribution(data.depths, "depth")),
  ];
}

const SLOTS = 24; // drawn

function slots(data) {
  const internal = data.nodes - data.leaves;
  const rows = data.slots_filled.slice(0, SLOTS).map((n, i) => ({ slot: i + 1, share: n / internal }));
  if (!rows.length) return null;
  return drawn("Slots filled", `For each child position, the share of internal nodes that have a child there${data.slots_filled.length > SLOTS ? `; the first ${SLOTS} of ${number(data.slots_filled.length)}` : ""}.`,
    chart({ height: 180, half: true, x: { label: "slot →", type: "band", ticks: some(rows.map((d) => d.slot), 12) }, y: { label: "↑ share, %", percent: true, grid: true },
      marks: [Plot.barY(rows, { x: "slot", y: "share", fill: "var(--accent)", title: (d) => `slot ${d.slot}: ${percent(d.share)}` }), Plot.ruleY([0])] }));
}

function labels(data) {
  return table("Commonest labels", [
    { title: "label", value: (d) => d.name, show: (d) => name(d.name) },
    { title: "nodes", numeric: true, value: (d) => d.nodes, show: (d) => number(d.nodes) },
    { title: "share", numeric: true, value: (d) => d.share, show: (d) => percent(d.share) },
  ], data.common_labels, { note: data.labels > data.common_labels.length ? `The ${data.common_labels.length} commonest of ${number(data.labels)}.` : undefined, height: 300 });
}

function classes(data) {
  if (data.classes.length < 2) return null;
  return table("Classes", [
    { title: "class", value: (d) => d.name, show: (d) => d.name === null ? "(none)" : name(d.name) },
    { title: "trees", numeric: true, value: (d) => d.trees, show: (d) => number(d.trees) },
    { title: "share", numeric: true, value: (d) => d.trees / data.trees, show: (d) => percent(d.trees / data.trees) },
    { title: "nodes", numeric: true, value: (d) => d.nodes, show: (d) => number(d.nodes) },
  ], data.classes);
}

function common(data, list, title) {
  if (!list.length) return null;
  return el("div", {}, el("h4", {}, title), el("div", { class: "forest" }, list.slice(0, 8).map((item, i) =>
    picture(`${number(item.occurrences)} times`, `Subtree ${i + 1} of ${item.nodes} nodes, root ${brief(data.subtrees.labels[data.subtrees.label[item.root]] ?? null)}.`,
      drawTree(fromTable(data.subtrees, item.root)), { small: true }))));
}

export function dataSection(data, what) {
  if (!data) return [el("p", { class: "quiet" }, `The run does not hold the ${what}.`)];
  const facts = [["trees", number(data.trees)], ["nodes", number(data.nodes)], ["leaves", number(data.leaves)],
    ["distinct subtrees", number(data.distinct_subtrees)], ["labels", number(data.labels)],
    data.unknown_labels ? ["unknown labels", number(data.unknown_labels)] : null,
    ["largest slot", number(data.largest_slot)],
    data.ambiguous_trees ? ["same tree in several classes", number(data.ambiguous_trees)] : null].filter(Boolean);
  return [
    el("dl", { class: "figures" }, facts.map(([k, v]) => el("div", {}, el("dt", {}, k), el("dd", {}, v)))),
    el("div", { class: "pictures" }, sizes(data), slots(data)),
    el("div", { class: "pair" }, classes(data), labels(data)),
    common(data, data.commonest, "Subtrees that occur most often"),
    common(data, data.covering, "Subtrees that cover most nodes"),
  ];
}
