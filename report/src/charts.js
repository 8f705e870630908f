// charts.js - charts by Observable Plot, in the colours of the page.
import * as Plot from "@observablehq/plot";
import { widthOf } from "./dom.js";

export { Plot };

/** Colours of chains, and dashes that tell them apart without colours. */
export const COLOURS = ["var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)"];
export const DASHES = [undefined, "6 3", "2 2", "8 3 2 3", "1 3", "10 4"];

const PAGE = 1032; // pixels, as in style.css
const GAP = 32; // between two columns

/** The width of the page's text, or of one of two columns where there is room for two. */
function room(half) {
  const window = document.documentElement.clientWidth;
  const all = Math.min(PAGE, window - (window <= 640 ? 28 : 48));
  return half && all >= 2 * 400 + GAP ? (all - GAP) / 2 : all;
}

/** Room to the left of an axis of names. */
export function namesRoom(names) {
  return 20 + Math.ceil(Math.max(0, ...names.map((name) => widthOf(name, 12))));
}

/** How strongly a cell is filled for a share, and the colour of a text on it that can be read. */
export const filling = (share) => (share >= 0.9 ? 1 : 0.55 * share);
export const onFilling = (share, full) => (share >= 0.9 ? full : "currentColor");

/** A chart: as wide as the page, or with `half` as a column; `most` pixels at most. */
export function chart({ half, most = PAGE, ...options }) {
  return Plot.plot({
    width: Math.min(most, room(half)),
    className: "chart",
    style: { background: "none", color: "inherit", fontFamily: "inherit", fontSize: "12px", overflow: "visible" },
    marginLeft: 60,
    marginBottom: 42,
    ...options,
  });
}

/** Not more ticks than can be read. */
export function some(values, most = 10) {
  return values.filter((_, i) => i % Math.ceil(values.length / most) === 0);
}

/** Columns over pieces of equal width. */
export function distribution(pieces, label) {
  const single = pieces.every((p) => p.from === p.to);
  return chart({
    height: 180,
    half: true,
    x: { label: `${label} →`, ...(single ? { type: "band", tickFormat: (d) => String(d), interval: undefined } : {}) },
    y: { label: "↑ trees", grid: true, tickFormat: "~s" },
    marks: [
      single
        ? Plot.barY(pieces, { x: "from", y: "count", fill: "var(--accent)", title: (d) => `${d.from}: ${d.count}` })
        : Plot.rectY(pieces, { x1: "from", x2: (d) => d.to + 1, y: "count", fill: "var(--accent)", inset: 0.5,
          title: (d) => `${d.from} to ${d.to}: ${d.count}` }),
      Plot.ruleY([0]),
    ],
    ...(single && pieces.length > 16 ? { x: { label: `${label} →`, type: "band",
      ticks: some(pieces.map((p) => p.from)) } } : {}),
  });
}
