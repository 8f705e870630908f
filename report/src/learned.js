// learned.js - what was learned: annotations, child positions, states, heaviest features.
import { el, name, number, percent, brief, visible, chooser } from "./dom.js";
import { picture } from "./picture.js";
import { table } from "./table.js";
import { chart, namesRoom, filling, onFilling, Plot } from "./charts.js";
import { fromNodes, fromBrackets } from "./trees.js";
import { drawTree } from "./treepicture.js";

const className = (c) => (c.class === null ? "all trees" : c.class);

// ---- grammar ----

function context(title, list) {
  if (!list.length) return null;
  return el("p", { class: "context" }, el("span", { class: "quiet" }, `${title} `), list.map((item, i) => [i ? ", " : "",
    item.special ? el("i", {}, item.name.replace(/[()]/g, "")) : name(item.name, 24), ` ${percent(item.share, 0)}`]).flat());
}

function annotation(label, a) {
  return el("div", { class: "annotation" },
    el("div", {}, el("h5", {}, name(label.name, 24), el("sub", {}, a.annotation), el("span", { class: "quiet" }, ` ${percent(a.share)} of its nodes`)),
      context("below", a.parents), context("right of", a.left_siblings), context("followed by", a.next_siblings),
      a.typical.label.length < 2 ? null : context("first child", a.first_children)),
    a.typical.label.length < 2 ? el("p", { class: "quiet" }, "a leaf") : picture("Typical subtree", `The children that annotation ${a.annotation} of ${brief(label.name)} has most often.`,
      drawTree(fromNodes(a.typical)), { small: true }));
}

function starts(c) {
  return table("Starts: the members of the grammar, and their weights", [
    { title: "start", numeric: true, value: (s) => s.start, show: (s) => [number(s.start), s.best ? " (best)" : ""] },
    { title: "rules see", value: (s) => s.rules_see },
    { title: "rules", numeric: true, value: (s) => s.rules, show: (s) => number(s.rules) },
    { title: "annotated labels", numeric: true, value: (s) => s.annotated_labels, show: (s) => number(s.annotated_labels) },
    { title: "splits", numeric: true, value: (s) => s.splits },
    { title: "log-likelihood", numeric: true, value: (s) => s.log_likelihood, show: (s) => number(s.log_likelihood, 1) },
    { title: "on trees held out", numeric: true, value: (s) => s.held_out, show: (s) => number(s.held_out, 4) },
    { title: "weight", numeric: true, value: (s) => s.weight, show: (s) => s.weight ? number(s.weight, 3) : "equal" },
  ], c.starts);
}

function grammar(learned) {
  const classes = learned.grammar.classes;
  return [el("h3", {}, "Annotations"),
    el("p", {}, "An annotation tells nodes of one label apart by where they stand and what is below them. " +
      "Shown are those of the most frequent labels in the best start."),
    chooser("Class", classes.map(className), (i) => [starts(classes[i]),
      classes[i].labels.map((label, k) => el("details", { open: k < 2 },
        el("summary", {}, name(label.name, 40), el("span", { class: "quiet" },
          ` ${number(Math.round(label.nodes))} nodes, ${label.annotations.length} ${label.annotations.length === 1 ? "annotation" : "annotations"}`)),
        el("div", { class: "annotations" }, label.annotations.map((a) => annotation(label, a)))))])];
}

// ---- child positions ----

const nameOf = (c, row) => `${row + 1}. ${brief(className(c), 20)}`;

function heat(classes) {
  const found = classes.flatMap((c) => c.slots ?? []);
  if (!found.length || found[0].share === undefined) return null;
  const slots = [...new Set(found.map((d) => d.slot))].sort((a, b) => a - b).slice(0, 40);
  // A slot that is not listed does not matter in any draw.
  const cells = classes.filter((c) => c.slots).flatMap((c, row) => slots.map((slot) => ({ name: nameOf(c, row), slot,
    ...(c.slots.find((s) => s.slot === slot) ?? { share: 0, mean: 1 }) })));
  const names = classes.filter((c) => c.slots).map(nameOf);
  const left = namesRoom(names);
  const drawing = chart({ height: 44 + 30 * names.length, marginLeft: left, marginTop: 36, marginBottom: 8, most: left + 30 + 56 * slots.length,
    x: { label: "slot", domain: slots, axis: "top", tickSize: 0 }, y: { label: null, domain: names, tickSize: 0, tickFormat: (d) => d.replace(/^\d+\. /, "") },
    marks: [
      Plot.cell(cells, { x: "slot", y: "name", fill: "var(--surface)", stroke: "var(--line)", inset: 0.5 }),
      Plot.cell(cells, { x: "slot", y: "name", fill: "var(--accent)", fillOpacity: (d) => filling(d.share ?? 0), inset: 0.5 }),
      Plot.text(cells, { x: "slot", y: "name", text: (d) => d.mean === null ? "" : d.mean.toFixed(1), fill: (d) => onFilling(d.share ?? 0, "var(--on-accent)") }),
    ] });
  const rows = classes.flatMap((c) => (c.slots ?? []).map((s) => ({ ...s, of: className(c) })));
  return [el("h3", {}, "Which child positions matter"),
    picture("Blocks by slot and class", "Rows are classes, columns slots. The number is the mean of the blocks that a slot's child values fall into: 1 means that the slot does not matter. The stronger the colour, the more draws in which it matters.",
      drawing, { note: "The number is the mean count of blocks over the draws; 1.0: the slot does not matter. The stronger the colour, the larger the share of draws in which it matters." }),
    el("details", {}, el("summary", {}, "The same as a table"), table("Posterior of block counts", [
      { title: "class", value: (r) => r.of, show: (r) => name(r.of) },
      { title: "slot", numeric: true, value: (r) => r.slot },
      { title: "matters in", numeric: true, value: (r) => r.share, show: (r) => percent(r.share, 0) },
      { title: "mean blocks", numeric: true, value: (r) => r.mean, show: (r) => number(r.mean, 2) },
      { title: "draws by blocks", value: (r) => r.blocks.map((b) => `${b.blocks}: ${b.draws}`).join(", ") },
    ], rows))];
}

function slotWeights(c) {
  if (!c.slots?.length || c.slots[0].weight === undefined) return null;
  return picture("How much each slot matters", "Weight of each slot (sp: share of nodes that take their state from it; td: bits).",
    chart({ height: 180, half: true, x: { label: "slot →", type: "band" }, y: { label: "↑ weight", grid: true },
      marks: [Plot.barY([...c.slots].sort((a, b) => a.slot - b.slot), { x: "slot", y: "weight", fill: "var(--accent)" }), Plot.ruleY([0])] }));
}

// ---- states ----

function ways(state) {
  const list = state.after ?? state.leads_to ?? [];
  return list.map((way) => `${way.children.map((c) => `slot ${c.slot}: ${c.values}`).join(", ") || "any children"} (${number(way.probability, 2)})`);
}

function bar(share) {
  const box = el("span", { class: "bar", "aria-hidden": "true" });
  box.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
  return box;
}

function states(learned) {
  const classes = learned.states.classes;
  return [heat(classes), el("h3", {}, "Hidden states"),
    el("p", {}, "What each state emits, and what leads to it, in the draw that speaks for the model."),
    chooser("Class", classes.map(className), (i) => [slotWeights(classes[i]), classes[i].states ? table("States", [
      { title: "state", numeric: true, value: (s) => s.state },
      { title: "emits", value: (s) => s.emits.map((e) => `${visible(e.name)} ${e.share}`).join("; "),
        show: (s) => el("ul", { class: "emits" }, s.emits.slice(0, 5).map((e) => el("li", {}, bar(e.share), name(e.name, 24), ` ${percent(e.share, 0)}`))) },
      { title: classes[i].states[0]?.root !== undefined ? "at the root" : "leaves in", value: (s) => s.root ?? s.leaves.map((l) => `slot ${l.slot} ${l.share}`).join("; "),
        show: (s) => s.root !== undefined ? percent(s.root) : s.leaves.map((l) => `slot ${l.slot} ${percent(l.share, 0)}`).join(", ") || "–" },
      { title: classes[i].states[0]?.leads_to ? "leads to" : "after", value: (s) => ways(s).join("; "),
        show: (s) => el("ul", { class: "ways" }, ways(s).slice(0, 3).map((w) => el("li", {}, w))) },
    ], classes[i].states, { height: 640 }) : el("p", {}, "Not trained.")])];
}

// ---- head ----

const GROUPS = { S: "complete subtree", B: "neighbours and the label above", BG: "neighbours and two labels above", L: "label", P1: "label and the one above" };

function head(learned) {
  const h = learned.head;
  return [el("h3", {}, "Linear head"),
    el("p", {}, "The pieces of trees that speak most for a class, heaviest first: weights in its log-odds."),
    el("p", { class: "quiet" }, `${number(h.n_features)} pieces of trees (${h.features}) of ${number(h.distinct_trees)} distinct trees, C = ${h.c ?? "–"}, temperature ${number(h.temperature, 2)}.`),
    chooser("Class", h.classes.map(className), (i) => el("div", { class: "forest" }, h.classes[i].heaviest.map((f) => {
      const tree = f.tree === undefined ? null : fromBrackets(f.tree);
      const title = `+ ${number(f.weight, 2)}`;
      return tree ? picture(title, `Speaks for class ${brief(className(h.classes[i]))}: ${GROUPS[f.group] ?? f.group}.`, drawTree(tree), { small: true, note: GROUPS[f.group] })
        : el("p", {}, title, " ", name(f.cut ?? f.tree, 80));
    }))),
    h.choices.length ? el("details", {}, el("summary", {}, "What cross-validation tried"), table("Settings tried", [
      { title: "features", value: (c) => c.features, show: (c) => c.features + (c.chosen ? " (chosen)" : "") },
      { title: "C", numeric: true, value: (c) => c.c },
      { title: "log-loss", numeric: true, value: (c) => c.log_loss, show: (c) => number(c.log_loss, 4) },
      { title: "standard error", numeric: true, value: (c) => c.log_loss_se, show: (c) => number(c.log_loss_se, 4) },
      { title: "accuracy", numeric: true, value: (c) => c.accuracy, show: (c) => percent(c.accuracy, 2) },
    ], h.choices)) : null];
}

function expert(learned) {
  const e = learned.expert;
  return [el("h3", {}, "Expert on neighbourhoods"),
    el("p", {}, `${number(e.neighbourhoods)} distinct neighbourhoods of ${number(e.trees)} trees, ${e.voices} voices. Of ${number(e.hidden)} labels hidden in trees left out it filled in ${percent(e.accuracy)} right (log-loss ${number(e.log_loss, 3)} nats).`)];
}

export function learnedSection(run) {
  const learned = run.learned;
  const parts = [learned.grammar ? grammar(learned) : null, learned.states ? states(learned) : null,
    learned.head ? head(learned) : null, learned.expert ? expert(learned) : null].filter(Boolean);
  return parts.length ? parts.flat() : [el("p", {}, "Nothing was trained.")];
}
