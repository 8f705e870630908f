// main.js - the page: reads the data, draws section after section.
import { el, name, present, unique, brief } from "./dom.js";
import { overview, comparison } from "./overview.js";
import { dataSection } from "./data.js";
import { learnedSection } from "./learned.js";
import { convergenceSection } from "./convergence.js";
import { testSection, sources } from "./test.js";

/** A part of the page that is drawn when it is needed. */
function section(id, title, make) {
  const place = el("div", { class: "content" });
  const element = el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), place);
  let drawn = false;
  return { id, title, element, again: () => { drawn = false; place.replaceChildren(); },
    draw: () => {
      if (drawn) return;
      drawn = true;
      place.replaceChildren(...present([make()]));
    } };
}

function themeButton() {
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const button = el("button", { type: "button", class: "save", onclick: () => {
    root.dataset.theme = dark() ? "light" : "dark";
    say();
  } });
  const say = () => { button.textContent = dark() ? "Light" : "Dark"; };
  say();
  return button;
}

function start() {
  const report = JSON.parse(document.getElementById("data").textContent);
  if (report.test) report.test.sources = sources(report.test);
  let chosen = 0;
  const run = () => report.runs[chosen];
  const sections = [section("overview", "Overview", () => overview(report))];
  if (report.runs.length > 1) sections.push(section("runs", "Runs side by side", () => comparison(report)));
  const ofRun = [];
  if (report.test) ofRun.push(section("test", "Test", () => testSection(report, run())));
  ofRun.push(section("learned", "What was learned", () => learnedSection(run())),
    section("convergence", "Convergence", () => convergenceSection(run())),
    section("training", "Training trees", () => dataSection(run().data, "trees it was trained on")));
  sections.push(...ofRun);
  if (report.test) sections.push(section("testdata", "Test trees", () => dataSection(report.test.data, "test trees")));

  const main = document.querySelector("main");
  const nav = document.querySelector("nav ul");
  document.querySelector("header .tools").append(themeButton());
  const titles = report.runs.map((r) => brief(r.path.replace(/^.*\//, ""), 40));
  document.title = `${titles[0]}${titles.length > 1 ? ` and ${titles.length - 1} more` : ""} – Phloem report`;
  document.querySelector("header h1").replaceChildren(name(titles[0]), titles.length > 1 ? ` and ${titles.length - 1} more` : "");
  nav.append(...sections.map((s) => el("li", {}, el("a", { href: `#${s.id}` }, s.title))));

  let switcher = null;
  if (report.runs.length > 1) {
    const id = unique("run");
    const select = el("select", { id, onchange: () => {
      chosen = Number(select.value);
      for (const s of ofRun) { s.again(); s.draw(); }
    } }, titles.map((title, i) => el("option", { value: i }, `${i + 1}. ${title}`)));
    switcher = el("p", { class: "choice switcher" }, el("label", { for: id }, "Run shown below"), " ", select);
  }
  for (const s of sections) {
    if (s === ofRun[0] && switcher) main.append(switcher);
    main.append(s.element);
  }

  // The top at once; the rest one section a frame, so that the page answers meanwhile.
  const all = () => sections.forEach((s) => s.draw());
  const next = (i) => {
    if (i >= sections.length) {
      document.documentElement.dataset.drawn = "all";
      performance.mark("phloem-drawn");
      return;
    }
    sections[i].draw();
    if (i === 0) document.documentElement.dataset.drawn = "first";
    if (!document.documentElement.dataset.picture && main.querySelector("svg")) {
      document.documentElement.dataset.picture = Math.round(performance.now());
      performance.mark("phloem-picture");
    }
    setTimeout(() => next(i + 1), 0);
  };
  addEventListener("beforeprint", all);
  next(0);
}

start();
