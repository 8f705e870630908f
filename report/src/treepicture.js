// treepicture.js - a tree drawn from left to right.
import { hierarchy, tree as tidy } from "d3-hierarchy";
import { svg, visible, brief, widthOf } from "./dom.js";

const ROW = 19;
const LABEL = 22; // characters

/** What stands beside a node, and how wide that is. */
function textWidth(data) {
  return (data.mark ? 16 : 12) + widthOf(brief(data.label, LABEL)) + (data.mark?.text ? widthOf(` ${data.mark.text}`) + 3 : 0)
    + (data.slot !== undefined ? 14 : 0);
}

/**
 * Draw a tree.  Nodes may have a mark: {kind: "wrong" | "right" | "odd", text, weight}.  Wrong nodes are red squares with
 * a cross, odd ones are larger the odder they are; both have their figure beside the label.
 */
export function drawTree(tree) {
  const root = hierarchy(tree, (d) => {
    const below = d.children.map((c) => ({ ...c.tree, slot: c.slot }));
    if (d.leftOut > 0) below.push({ label: `+ ${d.leftOut} more`, more: true, children: [], leftOut: 0 });
    return below.length ? below : null;
  });
  // Columns as wide as their labels.
  const columns = [];
  root.each((d) => {
    columns[d.depth] = Math.max(columns[d.depth] ?? 0, textWidth(d.data));
  });
  const start = [];
  columns.reduce((x, w, depth) => { start[depth] = x; return x + w + 36; }, 14);
  tidy().nodeSize([ROW, 1]).separation((a, b) => (a.parent === b.parent ? 1 : 1.25))(root);
  let top = Infinity;
  let bottom = -Infinity;
  root.each((d) => { top = Math.min(top, d.x); bottom = Math.max(bottom, d.x); });
  const w = start[columns.length - 1] + columns[columns.length - 1] + 10;
  const h = bottom - top + 2 * ROW;
  const drawing = svg("svg", { viewBox: `0 0 ${w} ${h}`, width: w, height: h, class: "tree" });
  const y = (d) => d.x - top + ROW;
  for (const link of root.links()) {
    const x2 = start[link.target.depth] - 5;
    const bend = x2 - 30;
    const y1 = y(link.source);
    const y2 = y(link.target);
    const from = Math.min(bend, start[link.source.depth] + textWidth(link.source.data) - 4);
    drawing.append(svg("path", { class: "link", d: `M${from},${y1}H${bend}C${bend + 15},${y1} ${bend + 15},${y2} ${x2},${y2}` }));
  }
  const gaps = (d) => d.parent && d.data.slot !== undefined && d.data.slot !== d.parent.children.indexOf(d) + 1;
  root.each((d) => drawing.append(node(d.data, start[d.depth], y(d), gaps(d))));
  return drawing;
}

function node(data, x, y, gap) {
  const mark = data.mark;
  const group = svg("g", { "data-weight": mark?.weight, class: `node${data.special || data.more ? " special" : ""}${mark ? ` ${mark.kind}` : ""}` });
  group.append(svg("title", {}, visible(data.label).slice(0, 1000) + (mark?.about ? `: ${mark.about}` : "")
    + (data.slot ? ` (slot ${data.slot})` : "")));
  if (mark?.kind === "wrong") {
    group.append(svg("rect", { x: x - 6, y: y - 6, width: 12, height: 12, rx: 2 }));
    group.append(svg("path", { class: "cross", d: `M${x - 3},${y - 3}l6,6m0,-6l-6,6` }));
  } else if (mark?.kind === "odd") {
    group.append(svg("circle", { cx: x, cy: y, r: 3 + 5 * mark.weight, style: `fill-opacity:${0.25 + 0.75 * mark.weight}` }));
  } else if (!data.more) {
    group.append(svg("circle", { cx: x, cy: y, r: mark ? 5 : 3.5 }));
  }
  const text = svg("text", { x: x + (mark ? 12 : 8), y, dy: "0.35em" });
  if (gap) text.append(svg("tspan", { class: "slot" }, `${data.slot}: `));
  text.append(svg("tspan", {}, brief(data.label, LABEL)));
  if (mark?.text) text.append(svg("tspan", { class: "figure" }, ` ${mark.text}`));
  group.append(text);
  return group;
}
