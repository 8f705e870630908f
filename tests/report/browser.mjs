// browser.mjs FOLDER CHROMIUM - looks at the pages that browser.py made, as a user would; TAP.
//
// Contents: report, browser, opening, confusion, tables, pictures, colours, hostile names, keyboard, print, all of it.
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(here, "../../report/package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const [folder, program] = process.argv.slice(2);
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

// ---- report ----

let lines = 0;
let failed = false;
function line(good, what, ...why) {
  lines++;
  failed ||= !good;
  console.log(`${good ? "ok" : "not ok"} ${lines} - ${what.replace(/#/g, "")}`);
  if (!good) for (const text of why) console.log(`# ${(typeof text === "string" ? text : JSON.stringify(text) ?? "").slice(0, 3000).replace(/\n/g, "\n# ")}`);
}
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// ---- browser ----

const browser = await chromium.launch({ executablePath: program, args: FLAGS }); // in a new, empty profile

/** A page of the folder in a window without a network; what it asked for, and what it complained of. */
async function open(name, { width = 1280, colours = "light", offline = true, height = 900 } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: colours, offline, acceptDownloads: true });
  const page = await context.newPage();
  const found = { asked: [], complaints: [] };
  page.on("request", (request) => found.asked.push(request.url()));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && found.complaints.push(message.text()));
  page.on("pageerror", (error) => found.complaints.push(String(error.stack ?? error)));
  page.on("dialog", (dialog) => { found.complaints.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  await page.goto(`file://${join(folder, `${name}.html`)}`);
  await page.waitForSelector("html[data-drawn=all]", { timeout: 30000 });
  return { context, page, found, data: await page.evaluate(() => JSON.parse(document.getElementById("data").textContent)) };
}

/** What the browser saves when a button is pressed. */
async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
}

/** Rows of a CSV file, by RFC 4180. */
function rowsOf(text) {
  const rows = [[]];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/gy;
  let match;
  while (cell.lastIndex < text.length && (match = cell.exec(text))) {
    rows[rows.length - 1].push(match[1] !== undefined ? match[1].replace(/""/g, '"') : match[2]);
    if (match[3] === "\r\n" && cell.lastIndex < text.length) rows.push([]);
  }
  return rows;
}

// ---- opening ----

async function checkOpening() {
  const sections = { default: ["overview", "test", "learned", "convergence", "training", "testdata"],
    several: ["overview", "runs", "test", "learned", "convergence", "training", "testdata"], sp: null, tf: ["overview", "learned", "convergence", "training"],
    nasty: null, "nasty-grammar": null };
  for (const [name, expected] of Object.entries(sections)) {
    for (const width of ["default", "nasty"].includes(name) ? [1280, 400] : [name === "sp" ? 400 : 1280]) {
      const { context, page, found } = await open(name, { width });
      const shown = await page.$$eval("main > section", (list) => list.map((s) => [s.id, s.getBoundingClientRect().height]));
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      line(same(found.complaints, []) && found.asked.every((url) => url.startsWith("file:") || url.startsWith("blob:")) && found.asked.length === 1,
        `${name}, ${width} pixels: opens from a file without a network, asks for nothing, complains of nothing`, found);
      const links = await page.$$eval("nav a", (list) => list.map((a) => document.querySelectorAll(a.getAttribute("href")).length));
      line(links.length === shown.length && links.every((n) => n === 1), `${name}, ${width} pixels: each link leads to one section`, links);
      line((expected === null || same(shown.map(([id]) => id), expected)) && shown.every(([, h]) => h > 60) && wide <= 0,
        `${name}, ${width} pixels: its sections, no wider than the window`, shown, wide);
      await context.close();
    }
  }
}

/** The policy of the page, where there is a network: nothing gets through, whatever is tried. */
async function checkPolicy() {
  let heard = 0;
  const server = createServer((_, answer) => { heard++; answer.end("window.outside = true"); });
  await new Promise((done) => { server.listen(0, "127.0.0.1", done); });
  const address = `http://127.0.0.1:${server.address().port}/`;
  const { context, page } = await open("default", { offline: false });
  const violations = await page.evaluate(async (url) => {
    const seen = [];
    document.addEventListener("securitypolicyviolation", (event) => seen.push(event.effectiveDirective));
    await fetch(url).catch(() => {});
    const put = (name, attributes) => document.body.append(Object.assign(document.createElement(name), attributes));
    put("img", { src: url });
    put("script", { src: url });
    put("script", { textContent: "window.inside = true" });
    put("link", { rel: "stylesheet", href: url });
    put("iframe", { src: url });
    const form = document.createElement("form");
    form.action = url;
    document.body.append(form);
    form.submit();
    await new Promise((done) => { setTimeout(done, 500); });
    return { seen, ran: Boolean(window.inside || window.outside) };
  }, address);
  line(heard === 0 && !violations.ran && ["connect-src", "img-src", "script-src-elem", "style-src-elem", "frame-src", "form-action"]
    .every((directive) => violations.seen.includes(directive)), "the policy lets nothing in or out", heard, violations);
  await context.close();
  server.close();
}

// ---- confusion ----

/** Labels of test trees, sorted, as `convert` tells them. */
const labelsOf = readFileSync(join(folder, "test.jsonl"), "utf8").trim().split("\n").map((text) => JSON.parse(text).label.sort());

async function checkConfusion() {
  const { context, page, data } = await open("default");
  const c = data.runs[0].test.classification;
  const { names, counts } = c.evaluation.confusion;
  const faults = [];
  let cells = 0;
  let trees = 0;
  for (let row = 0; row < names.length; row++) {
    for (let column = 0; column < names.length; column++) {
      const cell = page.locator(`table.confusion tbody tr:nth-child(${row + 1}) td:nth-of-type(${column + 1})`);
      if (!counts[row][column]) {
        if (await cell.locator("button").count()) faults.push(`an empty cell has a button: ${row}, ${column}`);
        continue;
      }
      const expected = c.predictions.true.map((_, i) => i).filter((i) => c.predictions.true[i] === row && c.predictions.predicted[i] === column);
      await cell.locator("button").click();
      for (const more = page.locator(".cellTrees button.more"); await more.isVisible();) await more.click();
      const shown = await page.$$eval(".cellTrees .treecard", (list) => list.map((card) => ({
        tree: Number(/Tree (\d+)/.exec(card.textContent)[1]), words: card.querySelector(".lead").textContent,
        labels: [...card.querySelectorAll(".node title")].map((t) => t.textContent.replace(/ \(slot \d+\)$/, "")).sort() })));
      cells++;
      trees += shown.length;
      if (!same(shown.map((s) => s.tree).sort((a, b) => a - b), expected) || counts[row][column] !== expected.length) faults.push({ row, column, shown: shown.map((s) => s.tree), expected });
      for (const s of shown) {
        if (!same(s.labels, labelsOf[s.tree])) faults.push({ tree: s.tree, labels: s.labels, expected: labelsOf[s.tree] });
        if (!s.words.includes(`true ${names[row]}, predicted ${names[column]} (`)) faults.push(s.words);
      }
      if (await cell.locator("button").getAttribute("aria-pressed") !== "true" || await page.locator("table.confusion [aria-pressed=true]").count() !== 1) faults.push("which cell is chosen");
    }
  }
  line(faults.length === 0 && cells > names.length && trees === c.predictions.true.length, `each of ${cells} cells of the confusion matrix shows its trees, ${trees} in all`, faults.slice(0, 3), cells, trees);
  const file = await saved(page, page.getByRole("button", { name: "Save as CSV: Confusion matrix" }));
  line(same(rowsOf(file.text), [["true", ...names], ...names.map((name, i) => [name, ...counts[i].map(String)])]), "the confusion matrix as CSV", file.text);
  await context.close();
}

// ---- tables ----

async function checkTables() {
  const { context, page, data } = await open("default");
  const p = data.runs[0].test.classification.predictions;
  const { names } = data.runs[0].test.classification;
  const frame = page.locator(".table", { has: page.getByRole("button", { name: "Save as CSV: Predictions" }) });
  const numbers = () => frame.locator("tbody tr:not(.space) td:first-child").allTextContents().then((list) => list.map(Number));
  const byDoubt = p.predicted.map((_, i) => i).sort((a, b) => p.p_predicted[a] - p.p_predicted[b] || a - b);
  let shown = await numbers();
  line(shown.length < 60 && same(shown, byDoubt.slice(0, shown.length)), "predictions begin with the greatest doubt, and only those in sight are drawn", shown);
  await frame.locator(".rows").evaluate((box) => { box.scrollTop = box.scrollHeight; });
  await page.waitForFunction((last) => [...document.querySelectorAll(".rows.long tbody tr:last-child td:first-child")].some((cell) => cell.textContent === last),
    String(byDoubt[byDoubt.length - 1]));
  shown = await numbers();
  line(shown.length < 60 && same(shown, byDoubt.slice(-shown.length)), "scrolled to its end, the table shows the end", shown.slice(-3));
  const head = frame.locator("thead th").nth(2);
  await head.locator("button").click();
  const byName = byDoubt.map((_, i) => i).sort((a, b) => names[p.predicted[a]].localeCompare(names[p.predicted[b]], "en", { numeric: true }) || a - b);
  shown = await numbers();
  line(await head.getAttribute("aria-sort") === "ascending" && same(shown, byName.slice(0, shown.length)), "sorted by a name, rising", shown);
  await head.locator("button").click();
  shown = await numbers();
  line(await head.getAttribute("aria-sort") === "descending" && names[p.predicted[shown[0]]] === names[p.predicted[byName[byName.length - 1]]], "and falling", shown);
  const file = await saved(page, frame.getByRole("button", { name: "Save as CSV: Predictions" }));
  const rows = rowsOf(file.text);
  const order = rows.slice(1).map((row) => Number(row[0]));
  line(file.name === "predictions.csv" && rows.length === p.predicted.length + 1 && same(order.slice(0, shown.length), shown) && same([...order].sort((a, b) => a - b), p.predicted.map((_, i) => i))
    && rows.slice(1).every((row) => row[2] === names[p.predicted[row[0]]] && row[4] === names[p.true[row[0]]] && Math.abs(Number(row[1]) - (1 - p.p_predicted[row[0]])) < 1e-9
      && row[5] === (p.true[row[0]] === p.predicted[row[0]] ? "right" : "wrong") && row[6] === `${data.test.source[0].replace(/:1$/, "")}:${Number(row[0]) + 1}`),
  "saved as CSV: every row, in the order shown", rows.slice(0, 3));
  await frame.locator("tbody tr:not(.space) button").first().click();
  const drawn = await page.locator(".treecard figcaption").first().textContent();
  line(drawn.startsWith(`Tree ${shown[0]}`), "the number of a tree draws it", drawn);

  const faults = [];
  const buttons = page.getByRole("button", { name: /^Save as CSV/ });
  for (let i = 0; i < await buttons.count(); i++) {
    if (!await buttons.nth(i).isVisible()) continue;
    const made = rowsOf((await saved(page, buttons.nth(i))).text);
    if (made.length < 2 || made.some((row) => row.length !== made[0].length)) faults.push(made.slice(0, 2));
  }
  line(faults.length === 0 && await buttons.count() > 6, `all of ${await buttons.count()} tables can be saved, with rows of one length`, faults);
  await context.close();
}

// ---- pictures ----

async function checkPictures() {
  for (const name of ["default", "tf", "sp"]) {
    const { context, page } = await open(name, { colours: name === "tf" ? "dark" : "light" });
    const other = await context.newPage();
    await other.setContent("<p>");
    const buttons = page.getByRole("button", { name: /^Save as SVG/ });
    const faults = [];
    const names = new Set();
    const titles = await buttons.evaluateAll((list) => list.map((b) => b.closest("figure").querySelector(".title").textContent));
    let trees = 0;
    for (let i = 0; i < titles.length; i++) {
      if (/^Tree|times$|^\+/.test(titles[i]) && trees++ % 12) continue; // small trees: one of twelve
      if (!await buttons.nth(i).isVisible()) continue;
      const file = await saved(page, buttons.nth(i));
      names.add(file.name);
      const texts = await buttons.nth(i).evaluate((b) => [...b.closest("figure").querySelectorAll(".drawing svg text")].map((t) => t.textContent));
      const found = await other.evaluate(async (text) => {
        const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
        const image = new Image();
        const good = await new Promise((done) => { image.onload = () => done(image.naturalWidth > 20); image.onerror = () => done(false); image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })); });
        return { good, error: parsed.querySelector("parsererror")?.textContent, root: parsed.documentElement.tagName, texts: [...parsed.querySelectorAll("text")].map((t) => t.textContent),
          active: parsed.querySelectorAll("script, foreignObject, image, use, a").length };
      }, file.text);
      if (!found.good || found.error || found.root !== "svg" || found.active || !same(found.texts, texts) || /var\(|url\((?!#)|href/.test(file.text)) faults.push([file.name, found, file.text.slice(0, 300)]);
    }
    line(faults.length === 0 && names.size > 5, `${name}: ${names.size} of ${titles.length} pictures, each saved as an SVG that stands by itself`, faults.slice(0, 2), [...names]);
    await context.close();
  }
}

// ---- colours ----

const brightness = (page) => page.evaluate(() => {
  const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
  return (r + g + b) / 3;
});

async function checkColours() {
  for (const [name, width, colours] of [["default", 1280, "light"], ["default", 400, "dark"], ["several", 1280, "light"], ["tf", 1280, "dark"], ["nasty", 1280, "light"]]) {
    const { context, page } = await open(name, { width, colours });
    const before = await brightness(page);
    line(colours === "dark" ? before < 60 : before > 200, `${name}: ${colours}, as the system asks`, before);
    if (name === "default") {
      const cell = page.locator("table.confusion button").first();
      await cell.click();
    }
    await page.evaluate(() => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    const serious = violations.filter((v) => ["serious", "critical"].includes(v.impact));
    line(serious.length === 0, `${name}, ${width} pixels, ${colours}: axe finds nothing serious`,
      ...serious.map((v) => `${v.id} (${v.nodes.length}): ${v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 200)} ${n.failureSummary}`).join("\n")}`));
    const button = page.locator("header .tools button");
    await button.click();
    const after = await brightness(page);
    line(colours === "dark" ? after > 200 : after < 60, `${name}: a button changes that`, after);
    await context.close();
  }
}

// ---- hostile names ----

const HIDDEN = "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]";

async function checkNasty() {
  for (const name of ["nasty", "nasty-grammar"]) {
    const { context, page, found, data } = await open(name);
    const cells = page.locator("table.confusion button");
    for (let i = 0; i < Math.min(12, await cells.count()); i++) await cells.nth(i).click();
    const selects = page.locator("select");
    for (let i = 0; i < await selects.count(); i++) {
      const options = await selects.nth(i).locator("option").count();
      for (let k = 0; k < options; k++) await selects.nth(i).selectOption({ index: k });
    }
    const seen = await page.evaluate((hidden) => {
      const bad = new RegExp(hidden);
      const all = [...document.querySelectorAll("body *:not(script)")];
      const texts = all.flatMap((e) => [...[...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data), ...["title", "aria-label"].map((key) => e.getAttribute(key) ?? "")]);
      return { scripts: document.querySelectorAll("script").length, images: document.querySelectorAll("img").length, hidden: texts.filter((t) => bad.test(t)).slice(0, 3),
        longest: Math.max(...texts.map((t) => t.length)), shown: ["<script>alert(1)</script>", "\\u{1b}[31m", "\\u{202e}abc", "مرحبا"].map((t) => document.querySelector("main").textContent.includes(t)),
        wide: document.documentElement.scrollWidth - innerWidth, title: document.title.length };
    }, HIDDEN);
    line(seen.scripts === 2 && seen.images === 0 && same(found.complaints, []) && found.asked.length === 1, `${name}: names stay text`, seen, found);
    line(seen.hidden.length === 0 && seen.shown.every(Boolean), `${name}: what cannot be seen is written out, the rest is shown`, seen);
    line(seen.longest < 2000 && seen.wide <= 0 && seen.title < 200, `${name}: long names are cut`, seen);
    const cell = data.runs[0].test.classification.evaluation.confusion.counts.findIndex((row, i) => i === 8 && row.some(Boolean));
    if (cell >= 0) {
      await page.locator("table.confusion tbody tr").last().locator("button").first().click();
      const trees = await page.locator(".cellTrees .treecard").count();
      line(trees > 0, `${name}: a class with a name of 10,000 characters shows its trees`, trees);
    }
    const file = await saved(page, page.getByRole("button", { name: "Save as CSV: Confusion matrix" }));
    const rows = rowsOf(file.text);
    line(rows.every((row) => row.length === rows[0].length) && rows[0].includes("<script>alert(1)</script><img src=x onerror=alert(2)>") && rows[0].includes("\"'\\ ]]>,;"),
      `${name}: as CSV the names are what they are`, rows[0].map((t) => t.slice(0, 60)));
    await context.close();
  }
}

// ---- keyboard ----

async function checkKeyboard() {
  const { context, page } = await open("default");
  const focused = () => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.tagName);
  await page.keyboard.press("Tab");
  line(await focused() === "Skip to the report", "the first stop skips to the report", await focused());
  await page.keyboard.press("Enter");
  line(await page.evaluate(() => location.hash) === "#overview", "and does so");
  const stops = new Set();
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Tab");
    stops.add(await page.evaluate(() => document.activeElement.closest("section")?.id ?? "outside"));
    if (await page.evaluate(() => document.activeElement.matches("table.confusion button"))) break;
  }
  line(await page.evaluate(() => document.activeElement.matches("table.confusion button")), "Tab comes to the confusion matrix", [...stops]);
  const ring = await page.evaluate(() => { const style = getComputedStyle(document.activeElement); return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2; });
  line(ring, "what has the focus can be seen");
  await page.keyboard.press("Enter");
  line(await page.locator(".cellTrees .treecard").count() > 0, "Enter opens a cell");
  const head = page.locator(".rows.long thead th button").first();
  await head.focus();
  await page.keyboard.press("Space");
  line(await page.locator(".rows.long thead th").first().getAttribute("aria-sort") === "descending", "Space sorts a table");
  const select = page.locator("#learned select").first();
  await select.focus();
  const before = await page.locator("#learned table").first().textContent();
  await page.keyboard.press("ArrowDown");
  await page.waitForTimeout(50);
  const after = await page.locator("#learned table").first().textContent();
  line(await select.inputValue() === "1" && before !== after, "an arrow chooses another class", await select.inputValue());
  const unreachable = await page.evaluate(() => [...document.querySelectorAll(".rows, .drawing")].filter((box) =>
    (box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1) && box.tabIndex !== 0).length);
  line(unreachable === 0, "what scrolls is within reach", unreachable);
  await context.close();
}

// ---- several runs, print ----

async function checkSeveral() {
  const { context, page, data } = await open("several");
  const shown = await page.locator("#runs tbody tr").allTextContents();
  const accuracy = (run) => `${(100 * run.test.classification.evaluation.accuracy).toFixed(2)} %`;
  line(data.runs.every((run, i) => shown[i].includes(accuracy(run)) && shown[i].includes(run.test.classification.evaluation.log_loss.toFixed(4))), "runs side by side have their figures", shown);
  const heads = await page.locator("#runs thead th").allTextContents();
  const settings = [...new Set(data.runs.flatMap((run) => Object.keys(run.settings)))].filter((key) => key !== "model" && new Set(data.runs.map((run) => JSON.stringify(run.settings[key]))).size > 1);
  line(settings.length > 0 && settings.every((key) => heads.includes(key.replace(/_/g, " "))), "and the settings that differ", heads, settings);
  for (const [i, run] of data.runs.entries()) {
    await page.locator(".switcher select").selectOption({ index: i });
    const text = await page.locator("#test").textContent();
    line(text.includes(accuracy(run)), `run ${i} is shown when it is chosen`);
  }
  await context.close();
}

async function checkPrint() {
  const { context, page } = await open("default", { colours: "dark" });
  const pdf = await page.pdf({ format: "A4" });
  await page.emulateMedia({ media: "print" });
  const seen = await page.evaluate(() => ({ nav: getComputedStyle(document.querySelector("nav")).display, back: getComputedStyle(document.body).backgroundColor,
    ink: getComputedStyle(document.body).color }));
  line(pdf.length > 20000 && seen.nav === "none" && seen.back === "rgb(255, 255, 255)" && seen.ink === "rgb(0, 0, 0)", "print: black on white, without navigation", pdf.length, seen);
  await context.close();
}

// ---- all of it ----

for (const check of [checkOpening, checkPolicy, checkConfusion, checkTables, checkPictures, checkColours, checkNasty, checkKeyboard, checkSeveral, checkPrint]) {
  const began = Date.now();
  try {
    await check();
    console.log(`# ${check.name}: ${((Date.now() - began) / 1000).toFixed(1)} s`);
  } catch (error) {
    line(false, `${check.name} ran to its end`, String(error.stack ?? error));
  }
}
await browser.close();
console.log(`1..${lines}`);
process.exit(failed ? 1 : 0);
