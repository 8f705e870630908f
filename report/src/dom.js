// dom.js - elements of the page.  All text goes through textContent: names in the data are hostile.

/** An element with attributes and children; strings become text. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of present(children)) {
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** What is there of nested lists. */
export function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) element.setAttribute(key, value);
  }
  append(element, children);
  return element;
}

// Characters that could turn the direction of a line or pass unseen.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\ufffe\uffff\u{e0000}-\u{e0001}\u{e007f}]/gu;

/** A name as people may read it. */
export function visible(name) {
  if (name === null || name === undefined) return "?";
  if (name === "") return "(empty)";
  return String(name).replace(HIDDEN, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

/** The same, cut to some characters. */
export function brief(name, most = 28) {
  const text = visible(name);
  const characters = [...text.slice(0, 4 * most)];
  return characters.length > most ? characters.slice(0, most - 1).join("") + "…" : text;
}

/** A name in an element of its own, so that its direction stays inside; the whole of it on hovering. */
export function name(of, most = 60) {
  const text = visible(of);
  const cut = brief(of, most);
  return el("bdi", { class: "name", title: cut === text ? undefined : text.slice(0, 1000) }, cut);
}

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** A number for people; "–" for one that is not there. */
export function number(value, digits) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (digits === undefined) {
    if (Number.isInteger(value)) return minus(grouped.format(value));
    digits = Math.abs(value) >= 1000 ? 1 : Math.abs(value) >= 1 ? 3 : 4;
  }
  return minus(value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
}

const minus = (text) => text.replace(/^-/, "\u2212");

export function percent(value, digits = 1) {
  return value === null || value === undefined ? "–" : `${number(100 * value, digits)} %`;
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 120) return `${number(value, value < 10 ? 1 : 0)} s`;
  return value < 7200 ? `${number(value / 60, 1)} min` : `${number(value / 3600, 1)} h`;
}

/** Hand a text to the user as a file. */
export function download(file, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = el("a", { href: address, download: file });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

let numbers = 0;
export function unique(prefix) {
  return `${prefix}-${++numbers}`;
}

export function fileName(title, ending) {
  return `${title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "picture"}.${ending}`;
}

/** A text as a sentence: a capital in front, a full stop behind. */
export function sentence(text) {
  const shown = visible(text);
  return shown.charAt(0).toUpperCase() + shown.slice(1) + (/[.!?]$/.test(shown) ? "" : ".");
}

const pen = document.createElement("canvas").getContext("2d");
const FONT = 'system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';

/** How wide a text will be, in pixels. */
export function widthOf(text, size = 12.5) {
  pen.font = `${size}px ${FONT}`;
  return pen.measureText(text).width;
}

// What can be scrolled must be within reach of the keyboard; what cannot need not be.
const watched = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const scrolls = target.scrollWidth > target.clientWidth + 1 || target.scrollHeight > target.clientHeight + 1;
    if (scrolls === target.hasAttribute("tabindex")) continue;
    for (const [key, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", target.dataset.title]]) {
      if (scrolls) target.setAttribute(key, value);
      else target.removeAttribute(key);
    }
  }
});

/** A box that scrolls when its content is larger. */
export function scroller(attributes, title, content) {
  const box = el("div", { ...attributes, "data-title": title }, content);
  watched.observe(box);
  return box;
}

/** A choice among names that draws what is chosen. */
export function chooser(label, names, draw) {
  const id = unique("choice");
  const place = el("div", { class: "chosen" });
  const select = el("select", { id, onchange: () => show(Number(select.value)) },
    names.map((text, i) => el("option", { value: i }, brief(text, 60))));
  const show = (i) => place.replaceChildren(...present([draw(i)]));
  show(0);
  if (names.length < 2) return place;
  return el("div", {}, el("p", { class: "choice" }, el("label", { for: id }, label), " ", select), place);
}
