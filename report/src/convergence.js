// convergence.js - how training went: traces, rank plots, R-hat and ESS, modes, starts.
import { el, name, number, percent, visible, chooser, brief } from "./dom.js";
import { picture } from "./picture.js";
import { table } from "./table.js";
import { chart, Plot, COLOURS, DASHES } from "./charts.js";

const NAMES = { log_joint: "log-joint", log_likelihood: "log-likelihood", active: "active slots", sum_size: "sum of sizes" };
const className = (c) => (c.class === null ? "all trees" : c.class);

function rowsOf(chain, key) {
  const bounds = chain[key];
  return chain.iteration.map((iteration, i) => ({ iteration, low: bounds.low[i], high: (bounds.high ?? bounds.low)[i], chain: chain.chain }))
    .filter((d) => d.low !== null);
}

/** All chains over the iterations, the warm-up shaded. */
function trace(c, key, words, most) {
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
  return picture(`Trace of the ${NAMES[key]}`, `${lines.length} ${words} over ${last[0].iteration} iterations${c.warmup ? `, the first ${c.warmup} of them warm-up` : ""}. At the end: ${last.slice(0, 8).map((d) => number(d.high, 1)).join(", ")}.`,
    chart({ height: most ? 200 : 260, most, marginRight: 34, x: { label: "iteration →" }, y: { label: `↑ ${NAMES[key]}`, domain: [low - space, high + space], clamp: true, grid: true, tickFormat: Math.abs(high) >= 10000 ? "~s" : undefined, ...(Number.isInteger(high) && high - low < 12 ? { ticks: Math.max(1, high - low) } : {}) },
      marginLeft: 66,
      marks: [...shade,
        ...lines.map((rows, i) => thinned
          ? Plot.areaY(rows, { x: "iteration", y1: "low", y2: "high", fill: COLOURS[i % 6], fillOpacity: 0.35, stroke: COLOURS[i % 6], clip: true })
          : Plot.line(rows, { x: "iteration", y: "low", stroke: COLOURS[i % 6], strokeDasharray: DASHES[i % 6], strokeWidth: 1.4, clip: true })),
        Plot.text(last.slice(0, 12), { x: "iteration", y: "high", text: (d) => String(d.chain), textAnchor: "start", dx: 5, fontWeight: 600 })] }),
    { note: thinned ? `Each piece of the line spans the least and the most of ${c.chains[0].rows_in_a_piece} iterations.` : undefined });
}

/** Ranks of each chain's draws among those of all chains: flat where chains agree. */
function ranks(c, key) {
  const chains = c.ranks?.[key];
  if (!chains || chains.length < 2) return null;
  const bins = chains.flatMap((counts, chain) => counts.map((n, bin) => ({ chain: `chain ${chain}`, bin, n })));
  const expected = chains[0].reduce((a, b) => a + b, 0) / chains[0].length;
  return picture(`Rank plot of the ${NAMES[key]}`, `Ranks of the draws of each of ${chains.length} chains among all draws, in 20 bins; the line is what chains that agree have.`,
    chart({ height: 150, marginLeft: 46, x: { axis: null, type: "band" }, fx: { label: null }, y: { label: "↑ draws", grid: true, ticks: 4 },
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
  return [el("p", {}, el("strong", {}, d.trouble ? "Trouble: " : "Fine: "), visible(d.summary)),
    d.findings.length ? el("ul", {}, d.findings.slice(0, 12).map((f) => el("li", {}, visible(f.text), f.advice ? `; ${visible(f.advice)}` : ""))) : null];
}

function gibbsClass(c, d) {
  return [findings(d), trace(c, "log_likelihood", "chains"), ranks(c, "log_likelihood"), quantities(d), chains(d),
    el("div", { class: "pictures" }, trace(c, "active", "chains", 470), trace(c, "sum_size", "chains", 470)), ranks(c, "sum_size"),
    d.moves.length ? table("Moves", [
      { title: "move", value: (m) => m.name }, { title: "tried", numeric: true, value: (m) => m.tried, show: (m) => number(m.tried) },
      { title: "changed something", numeric: true, value: (m) => m.changed, show: (m) => number(m.changed) },
      { title: "share", numeric: true, value: (m) => m.tried ? m.changed / m.tried : null, show: (m) => percent(m.tried ? m.changed / m.tried : null) },
    ], d.moves) : null];
}

/** Where the starts of a grammar, or the restarts of EM, ended. */
function ends(restarts, grammar) {
  const rows = restarts.filter((r) => r.objective !== null);
  if (!rows.length) return null;
  return picture(grammar ? "Agreement of starts on the trees held out" : "Where the restarts ended", `Objectives: ${rows.slice(0, 12).map((r) => number(r.objective, 4)).join(", ")}.`,
    chart({ height: 60 + 20 * Math.min(rows.length, 20), most: 560, marginLeft: 70, x: { label: grammar ? "nats a tree, on trees held out →" : "objective →", nice: true }, y: { label: null, type: "band" },
      marks: [Plot.ruleY(rows, { y: (d) => `${grammar ? "start" : "restart"} ${d.restart}`, strokeOpacity: 0.15 }),
        Plot.dot(rows, { x: "objective", y: (d) => `${grammar ? "start" : "restart"} ${d.restart}`, r: 5, fill: "var(--accent)" }),
        Plot.text(rows, { x: "objective", y: (d) => `${grammar ? "start" : "restart"} ${d.restart}`, text: (d) => number(d.objective, 4), dy: -10, fontSize: 11 })] }));
}

/** Of each start: the figure on the trees held out, a split before the last and at the end. */
function stages(c, learned) {
  const all = (learned?.starts ?? []).filter((s) => s.held_out_before_last_split !== null && s.splits > 0);
  if (!all.length) return null;
  const rows = all.flatMap((s) => [{ start: s.start, split: s.splits - 1, at: s.held_out_before_last_split }, { start: s.start, split: s.splits, at: s.held_out }]);
  return picture("Stages: gain of the last split", "For each start, nats a tree on the trees held out, after the split before the last and after the last.",
    chart({ height: 200, most: 560, x: { label: "splits →", ticks: 5, tickFormat: "d", inset: 20 }, y: { label: "↑ nats a tree", grid: true, nice: true }, marginLeft: 74,
      marks: [Plot.line(rows, { x: "split", y: "at", z: "start", stroke: "var(--accent)", marker: "circle" }),
        Plot.text(rows.filter((_, i) => i % 2), { x: "split", y: "at", text: (d) => `start ${d.start}`, textAnchor: "start", dx: 8 })] }));
}

function emClass(run, c, d, i) {
  const grammar = run.model === "grammar";
  return [findings(d), trace(c, "log_joint", grammar ? "starts" : "restarts"), el("div", { class: "pictures" }, ends(d.restarts, grammar), grammar ? stages(c, run.learned.grammar.classes[i]) : null),
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
