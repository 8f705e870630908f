// convergence.js - how training went: traces, rank plots, R-hat and ESS, modes, starts.
import { el, svg, name, number, percent, visible, chooser, brief, sentence } from "./dom.js";
import { picture } from "./picture.js";
import { table } from "./table.js";
import { chart, Plot, COLOURS, DASHES } from "./charts.js";

const NAMES = { log_joint: "log-joint", log_likelihood: "log-likelihood", active: "active slots", sum_size: "sum of k" };
const LINE = 14; // pixels from name to name
const NAMED = 12; // lines that have their names beside them
const className = (c) => (c.class === null ? "all trees" : c.class);

function rowsOf(chain, key) {
  const bounds = chain[key];
  return chain.iteration.map((iteration, i) => ({ iteration, low: bounds.low[i], high: (bounds.high ?? bounds.low)[i], chain: chain.chain }))
    .filter((d) => d.low !== null);
}

/** Names of lines at their ends, pushed apart where they would overlap, each with a piece of its line. */
function nameLines(drawing, ends, [low, high], margins, word) {
  const { height, width } = drawing.viewBox.baseVal;
  const down = height - margins.top - margins.bottom;
  const places = ends.map((end, i) => ({ ...end, i, y: margins.top + down * (1 - (Math.min(high, Math.max(low, end.at)) - low) / (high - low)) }))
    .sort((a, b) => a.y - b.y);
  places.forEach((place, k) => { if (k) place.y = Math.max(place.y, places[k - 1].y + LINE); });
  const over = places[places.length - 1].y - (margins.top + down);
  for (let k = places.length - 1, most = margins.top + down; over > 0 && k >= 0; k--, most -= LINE) places[k].y = Math.min(places[k].y, most);
  const x = width - margins.right + 4;
  drawing.append(svg("g", {}, places.map((place) => [
    svg("line", { x1: x, x2: x + 18, y1: place.y, y2: place.y, stroke: COLOURS[place.i % 6], "stroke-dasharray": DASHES[place.i % 6], "stroke-width": 1.6 }),
    svg("text", { x: x + 22, y: place.y, dy: "0.35em", fill: "currentColor", "text-anchor": "start" }, `${word} ${place.chain}`)])));
}

/** All chains over the iterations, the warm-up shaded. */
function trace(c, key, words, half) {
  const lines = c.chains.map((chain) => rowsOf(chain, key)).filter((rows) => rows.length);
  if (!lines.length || lines.every((rows) => rows.length < 2)) return null;
  const settled = lines.flat().filter((d) => d.iteration >= Math.max(1, c.warmup / 4));
  const low = Math.min(...settled.map((d) => d.low));
  const high = Math.max(...lines.flat().map((d) => d.high));
  const space = (high - low || 1) * 0.06;
  const last = lines.map((rows) => rows[rows.length - 1]);
  const thinned = c.chains.some((chain) => chain.rows_in_a_piece > 1);
  const shade = c.warmup > 0 ? [
    Plot.rect([{ x1: 0, x2: c.warmup }], { x1: "x1", x2: "x2", y1: low - space, y2: high + space, fill: "currentColor", fillOpacity: 0.07 }),
    Plot.text([{ x: 0 }], { x: "x", y: high + space, text: () => "warm-up", frameAnchor: "top", textAnchor: "start", dx: 6, dy: 10, fillOpacity: 0.75 })] : [];
  const few = high - low < 12 && lines.flat().every((d) => Number.isInteger(d.high));
  const margins = { top: 26, right: lines.length <= NAMED ? 80 : 20, bottom: 42 };
  const drawing = chart({ height: half ? 210 : 270, half, marginTop: margins.top, marginRight: margins.right, marginBottom: margins.bottom, marginLeft: 66, x: { label: "iteration →" },
    y: { label: `↑ ${NAMES[key]}`, domain: [low - space, high + space], clamp: true, grid: true, ...(Math.abs(high) >= 10000 ? { tickFormat: "~s" } : {}), ...(few ? { ticks: Array.from({ length: high - Math.ceil(low) + 1 }, (_, i) => Math.ceil(low) + i), tickFormat: "d" } : {}) },
    marks: [...shade,
      ...lines.map((rows, i) => thinned
        ? Plot.areaY(rows, { x: "iteration", y1: "low", y2: "high", fill: COLOURS[i % 6], fillOpacity: 0.35, stroke: COLOURS[i % 6], strokeDasharray: DASHES[i % 6], clip: true })
        : Plot.line(rows, { x: "iteration", y: "low", stroke: COLOURS[i % 6], strokeDasharray: DASHES[i % 6], strokeWidth: 1.4, clip: true }))] });
  const inner = drawing.tagName === "svg" ? drawing : drawing.querySelector("svg");
  if (lines.length <= NAMED) nameLines(inner, last.map((d) => ({ chain: d.chain, at: d.high })), [low - space, high + space], margins, words.replace(/s$/, ""));
  return picture(`Trace of the ${NAMES[key]}`, `${lines.length} ${words} over ${last[0].iteration} iterations${c.warmup ? `, the first ${c.warmup} of them warm-up` : ""}. At the end: ${last.slice(0, 8).map((d) => number(d.high, 1)).join(", ")}.`,
    drawing, { note: [half ? null : words === "chains" ? "Chains that agree lie over each other after the warm-up; one that still rises has not settled. "
      : "Lines rise and flatten out; those that end at different heights have found different solutions. ",
    key === "sum_size" ? "k is the number of blocks of a slot. " : null,
    thinned ? `Each piece of a line spans the least and the most of ${number(Math.max(...c.chains.map((chain) => chain.rows_in_a_piece)))} iterations.` : null] });
}

/** The objective of every start of a grammar over the iterations of EM; the first row knows no tree yet, the last is of other trees. */
function climb(c) {
  const lines = c.chains.map((chain) => rowsOf(chain, "log_likelihood").slice(1, -1)).filter((rows) => rows.length > 1);
  if (!lines.length) return null;
  const splits = c.chains.map((chain) => rowsOf(chain, "active").slice(1, -1)).filter((rows) => rows.length > 1);
  const marks = splits.flatMap((rows, i) => rows.map((d, k) => ({ ...lines[i][k], from: k ? rows[k - 1].low : d.low - 1, to: d.low })).filter((d) => d.to > d.from));
  const last = lines.map((rows) => rows[rows.length - 1]);
  const low = Math.min(...lines.flat().map((d) => d.low));
  const high = Math.max(...lines.flat().map((d) => d.high));
  const space = (high - low || 1) * 0.06;
  const margins = { top: 26, right: lines.length <= NAMED ? 80 : 20, bottom: 42 };
  const drawing = chart({ height: 270, marginTop: margins.top, marginRight: margins.right, marginBottom: margins.bottom, marginLeft: 66, x: { label: "iteration →" },
    y: { label: "↑ log-likelihood", domain: [low - space, high + space], grid: true, ...(Math.abs(high) >= 10000 ? { tickFormat: "~s" } : {}) },
    marks: [...lines.map((rows, i) => Plot.line(rows, { x: "iteration", y: "low", stroke: COLOURS[i % 6], strokeDasharray: DASHES[i % 6], strokeWidth: 1.4 })),
      Plot.dot(marks, { x: "iteration", y: "low", r: 3, stroke: "currentColor", fill: "var(--back)", symbol: "diamond" })] });
  const inner = drawing.tagName === "svg" ? drawing : drawing.querySelector("svg");
  if (lines.length <= NAMED) nameLines(inner, last.map((d) => ({ chain: d.chain, at: d.high })), [low - space, high + space], margins, "start");
  return picture("Objective by iteration", `Log-likelihood of the trees that are learned from, under the tables of all classes together: ${lines.length} starts over ${last[0].iteration} iterations of EM. At the end: ${last.slice(0, 8).map((d) => number(d.high, 1)).join(", ")}.`,
    drawing, { note: "Each diamond is the first iteration after a split of labels into annotations. The line may fall there, and where half of a split is merged again. Trees held out decide which stage is kept; the table below has the log-likelihood of that stage, on all trees of the class." });
}

/** Ranks of each chain's draws among those of all chains: flat where chains agree. */
function ranks(c, key) {
  const chains = c.ranks?.[key];
  if (!chains || chains.length < 2) return null;
  const compared = c.chains.map((chain) => chain.chain);
  const bins = chains.slice(0, NAMED).flatMap((counts, k) => counts.map((n, bin) => ({ chain: `chain ${chains.length === compared.length ? compared[k] : k}`, bin, n })));
  const expected = chains[0].reduce((a, b) => a + b, 0) / chains[0].length;
  return picture(`Rank plot of the ${NAMES[key]}`, `Ranks of the draws of each of ${chains.length} chains among all draws, in 20 bins; the line is what chains that agree have.`,
    chart({ height: 130, marginLeft: 46, marginTop: 26, marginBottom: 22, x: { axis: null, type: "band" }, fx: { label: null }, y: { label: "↑ draws", grid: true, ticks: 4 },
      marks: [Plot.barY(bins, { x: "bin", y: "n", fx: "chain", fill: "var(--accent)", fillOpacity: 0.75, inset: 0.3 }),
        Plot.ruleY([expected], { strokeDasharray: "4 3" }), Plot.ruleY([0])] }),
    { note: "Bars near the dashed line: the chain visits all values as often as the others do." });
}

function quantities(d) {
  return table("R-hat and effective sample sizes", [
    { title: "quantity", value: (q) => NAMES[q.name] ?? q.name },
    { title: "verdict", value: (q) => q.verdict },
    { title: "R-hat", numeric: true, value: (q) => q.rhat, show: (q) => number(q.rhat, 3), about: "near 1: chains agree" },
    { title: "ESS, bulk", numeric: true, value: (q) => q.ess_bulk, show: (q) => number(q.ess_bulk === null ? null : Math.round(q.ess_bulk)) },
    { title: "ESS, tail", numeric: true, value: (q) => q.ess_tail, show: (q) => number(q.ess_tail === null ? null : Math.round(q.ess_tail)) },
    { title: "mean", numeric: true, value: (q) => q.mean, show: (q) => number(q.mean, 2) },
    { title: "sd", numeric: true, value: (q) => q.sd, show: (q) => number(q.sd, 2) },
    { title: "MCSE", numeric: true, value: (q) => q.mcse, show: (q) => number(q.mcse, 3) },
  ], d.quantities);
}

function chains(d) {
  return table("Chains and their modes", [
    { title: "chain", numeric: true, value: (c) => c.chain },
    { title: "mode", numeric: true, value: (c) => c.mode, show: (c) => c.mode ?? "not compared", about: "1: the highest log-likelihood" },
    { title: "log-likelihood", numeric: true, value: (c) => c.mean.log_likelihood, show: (c) => number(c.mean.log_likelihood, 1) },
    { title: "sd", numeric: true, value: (c) => c.sd.log_likelihood, show: (c) => number(c.sd.log_likelihood, 1) },
    { title: "drift", numeric: true, value: (c) => c.drift, show: (c) => number(c.drift, 1) + (c.climbing ? " (climbing)" : "") },
    { title: "weight", numeric: true, value: (c) => c.weight, show: (c) => percent(c.weight) },
    { title: "active slots", value: (c) => c.slots.map((s) => `${s.slot} (${s.size})`).join(", ") || "none" },
  ], d.chains);
}

function findings(d) {
  return [el("p", {}, el("strong", { class: d.trouble ? "tag trouble" : "tag" }, d.trouble ? "! " : "✓ "), el("strong", {}, sentence(d.summary))),
    d.findings.length ? el("ul", { class: "findings" }, d.findings.slice(0, 12).map((f) => el("li", {}, sentence(f.text), f.advice ? el("span", { class: "advice" }, ` ${sentence(f.advice)}`) : ""))) : null];
}

function gibbsClass(c, d) {
  return [findings(d), trace(c, "log_likelihood", "chains"), ranks(c, "log_likelihood"), quantities(d), chains(d),
    el("div", { class: "pictures" }, trace(c, "active", "chains", true), trace(c, "sum_size", "chains", true)), ranks(c, "sum_size"),
    d.moves.length ? table("Moves", [
      { title: "move", value: (m) => m.name }, { title: "tried", numeric: true, value: (m) => m.tried, show: (m) => number(m.tried) },
      { title: "changed something", numeric: true, value: (m) => m.changed, show: (m) => number(m.changed) },
      { title: "share", numeric: true, value: (m) => m.tried ? m.changed / m.tried : null, show: (m) => percent(m.tried ? m.changed / m.tried : null) },
    ], d.moves) : null];
}

/** Where the starts of a grammar, or the restarts of EM, ended. */
function ends(restarts, grammar) {
  const rows = restarts.filter((r) => r.objective !== null).slice(0, 20);
  if (!rows.length) return null;
  const word = (d) => `${grammar ? "start" : "restart"} ${d.restart}`;
  return picture(grammar ? "Agreement of starts on the trees held out" : "Where the restarts ended", `Objectives: ${rows.slice(0, 12).map((r) => number(r.objective, 4)).join(", ")}.`,
    chart({ height: 60 + 24 * rows.length, half: true, marginLeft: 70, marginRight: 74, x: { label: grammar ? "nats a tree, on trees held out →" : "objective →", nice: true, ticks: 4, inset: 8 }, y: { label: null, type: "band", tickSize: 0 },
      marks: [Plot.ruleY(rows, { y: word, strokeOpacity: 0.15 }), Plot.dot(rows, { x: "objective", y: word, r: 5, fill: "var(--accent)" }),
        Plot.text(rows, { x: "objective", y: word, text: (d) => number(d.objective, 4), textAnchor: "start", dx: 9, stroke: "var(--back)", fill: "currentColor", strokeWidth: 3 })] }),
    { note: grammar ? "The further to the right, the better. Starts that lie together have found grammars that are equally good." : "The further to the right, the better; the best one is kept." });
}

/** Of each start: the figure on the trees held out, a split before the last and at the end. */
function stages(c, learned) {
  const all = (learned?.starts ?? []).filter((s) => s.held_out_before_last_split !== null && s.splits > 0);
  if (!all.length) return null;
  const rows = all.flatMap((s) => [{ start: s.start, split: s.splits - 1, at: s.held_out_before_last_split }, { start: s.start, split: s.splits, at: s.held_out }]);
  return picture("Stages: gain of the last split", "For each start, nats a tree on the trees held out, after the split before the last and after the last.",
    chart({ height: 200, half: true, marginRight: 64, x: { label: "splits →", ticks: 5, tickFormat: (d) => Number.isInteger(d) ? String(d) : "", inset: 20 }, y: { label: "↑ nats a tree", grid: true, nice: true }, marginLeft: 74,
      marks: [Plot.line(rows, { x: "split", y: "at", z: "start", stroke: "var(--accent)", marker: "circle" }),
        Plot.text(rows.filter((_, i) => i % 2), { x: "split", y: "at", text: (d) => `start ${d.start}`, textAnchor: "start", dx: 8 })] }),
    { note: "A steep line: the last split of labels into annotations gained much, and more annotations might gain more. A flat one: enough were split." });
}

function emClass(run, c, d, i) {
  const grammar = run.model === "grammar";
  return [findings(d), grammar ? climb(c) : trace(c, "log_joint", "restarts"), el("div", { class: "pictures" }, ends(d.restarts, grammar), grammar ? stages(c, run.learned.grammar.classes[i]) : null),
    table(grammar ? "Starts" : "Restarts", [
      { title: grammar ? "start" : "restart", numeric: true, value: (r) => r.restart },
      { title: "iterations", numeric: true, value: (r) => r.iterations, show: (r) => number(r.iterations) },
      { title: grammar ? "on trees held out" : "objective", numeric: true, value: (r) => r.objective, show: (r) => number(r.objective, 4) },
      { title: "log-likelihood", numeric: true, value: (r) => r.log_likelihood, show: (r) => number(r.log_likelihood, 1) },
    ], d.restarts)];
}

function classesTable(run) {
  const d = run.convergence.diagnosis;
  if (d.classes.length < 2) return null;
  const gibbs = d.learner === "gibbs";
  const rhat = (c) => c.quantities?.find((q) => q.name === "log_likelihood");
  return table("All classes", [
    { title: "class", value: (c) => c.class, show: (c) => name(c.class) },
    { title: "verdict", value: (c) => (c.trouble ? "trouble" : "fine"), show: (c) => el("span", { class: c.trouble ? "tag trouble" : "tag" }, c.trouble ? "! trouble" : "✓ fine") },
    { title: "in words", value: (c) => c.summary, show: (c) => brief(c.summary, 90) },
    ...(gibbs ? [
      { title: "R-hat", numeric: true, value: (c) => rhat(c)?.rhat, show: (c) => number(rhat(c)?.rhat, 3) },
      { title: "ESS", numeric: true, value: (c) => rhat(c)?.ess_bulk, show: (c) => number(rhat(c)?.ess_bulk ? Math.round(rhat(c).ess_bulk) : null) },
      { title: "modes", numeric: true, value: (c) => c.modes },
    ] : [{ title: "spread", numeric: true, value: (c) => c.spread, show: (c) => number(c.spread) }]),
  ], d.classes);
}

export function convergenceSection(run) {
  if (!run.convergence) return [el("p", { class: "quiet" }, "There was no iteration to look at: a linear classifier or an expert alone is computed to its end.")];
  const { diagnosis, classes } = run.convergence;
  const gibbs = diagnosis.learner === "gibbs";
  const first = Math.max(0, diagnosis.classes.findIndex((c) => c.trouble));
  const order = classes.map((_, i) => i).sort((a, b) => (a === first ? -1 : b === first ? 1 : a - b));
  return [classesTable(run), chooser("Class", order.map((i) => className(classes[i])), (k) => {
    const i = order[k];
    return gibbs ? gibbsClass(classes[i], diagnosis.classes[i]) : emClass(run, classes[i], diagnosis.classes[i], i);
  })];
}
