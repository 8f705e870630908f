// overview.js - the top: verdict, alerts, what was trained on what, and how to run it again.
import { el, name, number, percent, seconds, visible, download, brief, sentence } from "./dom.js";
import { table } from "./table.js";

const LEVELS = { fine: ["✓", "Fine"], notes: ["✓", "Fine, with notes"], trouble: ["!", "Trouble"] };

/** Alerts of a run that differ in class and figures, but advise the same, are one; notes without advice only if they say the same. */
function merged(alerts) {
  const found = new Map();
  for (const alert of alerts) {
    const key = JSON.stringify([alert.level, alert.code, alert.run, alert.advice ?? alert.text]);
    if (!found.has(key)) found.set(key, { ...alert, texts: new Map() });
    const texts = found.get(key).texts;
    if (!texts.has(alert.text)) texts.set(alert.text, []);
    if (alert.class !== null) texts.get(alert.text).push(alert.class);
  }
  return [...found.values()];
}

/** What is wrong, and in which classes. */
function alertText(text, classes) {
  if (!classes.length) return sentence(text);
  return [classes.length > 1 ? "Classes " : "Class ", classes.slice(0, 12).map((c, i) => [i ? ", " : "", name(c, 30)]).flat(),
    classes.length > 12 ? `, and ${classes.length - 12} more` : "", ": ", visible(text), "."];
}

function alertItem(alert, report) {
  const [first, ...rest] = alert.texts;
  return el("li", { class: alert.level },
    el("span", { class: "sign", "aria-hidden": "true" }, alert.level === "trouble" ? "!" : "i"),
    el("div", {}, el("strong", {}, alert.level === "trouble" ? "Trouble: " : "Note: "),
      report.runs.length > 1 ? [name(report.runs[alert.run].path), ": "] : null,
      alertText(...first), alert.advice ? el("span", { class: "advice" }, ` ${sentence(alert.advice)}`) : null,
      rest.length ? el("details", {}, el("summary", {}, `The same advice ${rest.length === 1 ? "once" : `${rest.length} times`} more`),
        el("ul", {}, rest.map((item) => el("li", {}, alertText(...item))))) : null));
}

function alertList(report) {
  const all = merged(report.alerts);
  const first = all.filter((a) => a.level === "trouble");
  const notes = all.filter((a) => a.level !== "trouble");
  const parts = [];
  if (first.length) parts.push(el("ul", { class: "alerts" }, first.slice(0, 40).map((a) => alertItem(a, report))));
  if (notes.length) {
    parts.push(el("details", { open: notes.length <= 3 && !first.length },
      el("summary", {}, `${notes.length} ${notes.length === 1 ? "note" : "notes"}`),
      el("ul", { class: "alerts" }, notes.slice(0, 200).map((a) => alertItem(a, report)))));
  }
  return parts;
}

const MODELS = { grammar: "tree grammar", tf: "factorised bottom-up model (tf)", sp: "switching parent (sp)",
  full: "all joint states of children (full)", td: "top-down model (td)", none: "no model of trees" };

export function modelName(run) {
  const base = MODELS[run.model] ?? run.model;
  if (run.model === "none") return run.head ? "linear classifier" : "expert on neighbourhoods";
  return run.head ? `${base} and linear head` : base;
}

function commandLine(command) {
  const said = el("span", { class: "unseen", role: "status" });
  const words = visible(command).split(" ").flatMap((word, i) => [i ? " " : "", el("span", {}, word)]);
  return el("div", { class: "command" }, el("code", {}, words),
    el("button", { type: "button", class: "save", onclick: async () => {
      try {
        await navigator.clipboard.writeText(command);
        said.textContent = "copied";
      } catch {
        download("command.txt", "text/plain", `${command}\n`);
      }
    } }, "Copy"), said);
}

function runCard(run) {
  const facts = [
    ["Model", modelName(run)],
    ["Trained on", `${number(run.trees)} trees${run.per_class ? `, ${run.classes.length} classes` : ""}`],
    ["Labels, slots", `${number(run.labels)}, ${number(run.slots)}`],
    run.model !== "none" ? [run.model === "grammar" ? "Annotations" : "States", number(run.states)] : null,
    run.facts.rule ? ["Classifies by", run.facts.rule] : null,
    run.seconds !== null ? ["Training took", seconds(run.seconds)] : null,
    ["Seed", run.facts.seed ?? "–"],
    ["Version", `phloem ${run.facts.version ?? "?"}`],
    ["Fingerprint", run.facts.fingerprint ?? "–"],
  ].filter(Boolean);
  return el("div", { class: "card" },
    el("h3", {}, name(run.path)),
    el("dl", {}, facts.map(([k, v]) => [el("dt", {}, k), el("dd", {}, visible(v))]).flat()),
    run.facts.command ? [el("h4", {}, "To train it again"), commandLine(run.facts.command)] : null);
}

/** Figures that matter most, large. */
function headline(report) {
  const tiles = [];
  const run = report.runs[0];
  const many = report.runs.length > 1;
  const test = run.test;
  if (!many && test?.classification?.evaluation) {
    const e = test.classification.evaluation;
    tiles.push([percent(e.accuracy), "classified right", `${percent(e.accuracy_low)} to ${percent(e.accuracy_high)} at 95 %, of ${number(e.n)} test trees`]);
    tiles.push([number(e.log_loss, 3), "log-loss, nats", `calibration error ${number(e.calibration_error, 3)}`]);
  }
  if (!many && test?.labelling) {
    tiles.push([percent(test.labelling.accuracy), "labels filled in right", `${number(test.labelling.n)} hidden at ${percent(test.labelling.hide, 0)}`]);
  }
  if (!many && run.model !== "none") {
    const chains = run.convergence?.diagnosis.learner === "gibbs"
      ? run.convergence.classes[0]?.chains.length : null;
    tiles.push([number(run.trees), "training trees", chains ? `${chains} chains a class` : modelName(run)]);
  }
  if (many) {
    for (const each of report.runs.slice(0, 4)) {
      const e = each.test?.classification?.evaluation;
      const labels = each.test?.labelling;
      if (e) tiles.push([percent(e.accuracy), [name(each.path.replace(/^.*\//, ""), 30), " classifies right"], `log-loss ${number(e.log_loss, 3)}`]);
      else if (labels) tiles.push([percent(labels.accuracy), [name(each.path.replace(/^.*\//, ""), 30), " fills in right"], `${number(labels.n)} labels hidden`]);
    }
  }
  return tiles.length === 0 ? null : el("div", { class: "tiles" }, tiles.map(([big, what, more]) =>
    el("div", { class: "tile" }, el("div", { class: "big" }, big), el("div", {}, what), el("div", { class: "quiet" }, more))));
}

export function overview(report) {
  const [sign, word] = LEVELS[report.verdict.level];
  return [
    el("div", { class: `verdict ${report.verdict.level}` },
      el("span", { class: "sign", "aria-hidden": "true" }, sign),
      el("div", {}, el("p", { class: "word" }, word), el("p", {}, sentence(report.verdict.text)))),
    headline(report),
    alertList(report),
    el("div", { class: "cards" }, report.runs.map(runCard)),
    el("details", {}, el("summary", {}, "How this page was made"),
      commandLine(report.command),
      el("p", { class: "quiet" }, `phloem ${report.version}. The data of this page are in it, as JSON.`)),
  ];
}

// ---- several runs ----

export function comparison(report) {
  const keys = [...new Set(report.runs.flatMap((run) => Object.keys(run.settings)))];
  const differ = keys.filter((key) => key !== "model" && new Set(report.runs.map((run) => JSON.stringify(run.settings[key]))).size > 1);
  const measured = (run) => run.test?.classification?.evaluation;
  const columns = [
    { title: "run", value: (r) => r.path, show: (r) => name(r.path) },
    { title: "model", value: modelName, show: (r) => el("span", { class: "tag plain" }, modelName(r)) },
    { title: "trained on", numeric: true, value: (r) => r.trees, show: (r) => number(r.trees) },
  ];
  if (report.runs.some(measured)) {
    columns.push(
      { title: "accuracy", numeric: true, value: (r) => measured(r)?.accuracy, show: (r) => percent(measured(r)?.accuracy, 2) },
      { title: "95 % interval", numeric: true, value: (r) => measured(r)?.accuracy_low,
        show: (r) => measured(r) ? `${number(100 * measured(r).accuracy_low, 1)} – ${percent(measured(r).accuracy_high)}` : "–" },
      { title: "log-loss", numeric: true, value: (r) => measured(r)?.log_loss, show: (r) => number(measured(r)?.log_loss, 4) },
      { title: "calibration error", numeric: true, value: (r) => measured(r)?.calibration_error, show: (r) => number(measured(r)?.calibration_error, 4) });
  }
  if (report.runs.some((r) => r.test?.labelling)) {
    columns.push({ title: "labels right", numeric: true, value: (r) => r.test?.labelling?.accuracy,
      show: (r) => percent(r.test?.labelling?.accuracy, 2) });
  }
  columns.push({ title: "time", numeric: true, value: (r) => r.seconds, show: (r) => seconds(r.seconds) });
  for (const key of differ) {
    columns.push({ title: key.replace(/_/g, " "), value: (r) => r.settings[key] === undefined ? null : String(r.settings[key]),
      show: (r) => brief(r.settings[key] === undefined ? "–" : String(r.settings[key]), 40) });
  }
  return [table("Figures and settings", columns, report.runs,
    { note: differ.length ? "The last columns are the settings that differ." : "The settings of these runs are the same." })];
}
