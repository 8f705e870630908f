// charts.js - charts by Observable Plot, in the colours of the page.
import * as Plot from "@observablehq/plot";

export { Plot };

/** Colours of chains, and dashes that tell them apart without colours. */
export const COLOURS = ["var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)"];
export const DASHES = [undefined, "6 3", "2 2", "8 3 2 3", "1 3", "10 4"];

const narrow = () => document.documentElement.clientWidth < 640;

/** A chart; `wide` pictures take the width of the page. */
export function chart(options) {
  const room = Math.min(980, document.documentElement.clientWidth - (narrow() ? 48 : 96));
  return Plot.plot({
    width: Math.min(options.most ?? 980, room),
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
    height: 170,
    most: 460,
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
