// picture.js - pictures: a figure with a caption, a description for screen readers, and a button that saves
// it as SVG.
import { el, svg, unique, download, fileName, scroller } from "./dom.js";

const COPIED = ["fill", "stroke", "fill-opacity", "stroke-opacity", "stroke-width", "stroke-dasharray", "opacity",
  "color", "font-family", "font-size", "font-weight", "text-anchor", "paint-order"];

/** A drawing that stands by itself: the styles of the page become attributes. */
export function standalone(drawing) {
  const copy = drawing.cloneNode(true);
  const from = [drawing, ...drawing.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    if (element.tagName === "style" || element.tagName === "title") return;
    const style = getComputedStyle(element);
    for (const { name, value } of [...to[i].attributes]) if (value.includes("var(")) to[i].removeAttribute(name);
    to[i].setAttribute("style", COPIED.map((key) => `${key}:${style.getPropertyValue(key)}`).join(";"));
  });
  copy.querySelectorAll("style").forEach((element) => element.remove());
  const box = drawing.viewBox.baseVal;
  const back = getComputedStyle(document.body).backgroundColor;
  const sheet = svg("rect", { x: box.x, y: box.y, width: box.width, height: box.height, style: `fill:${back}` });
  copy.insertBefore(sheet, copy.firstChild);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

/** A figure around a drawing (SVG).  `about` says in words what it shows; `lead` stands above it, `note` below. */
export function picture(title, about, drawing, { small = false, lead, note } = {}) {
  const inner = drawing.tagName === "svg" ? drawing : drawing.querySelector("svg");
  const id = unique("picture");
  for (const part of inner.querySelectorAll("[aria-label], [aria-description]")) { // an image is one thing to a reader
    part.removeAttribute("aria-label");
    part.removeAttribute("aria-description");
  }
  inner.setAttribute("role", "img");
  inner.setAttribute("aria-label", `${title}. ${about}`);
  const save = el("button", { type: "button", class: "save", onclick: () =>
    download(fileName(title, "svg"), "image/svg+xml", standalone(inner)) }, "SVG");
  save.setAttribute("aria-label", `Save as SVG: ${title}`);
  return el("figure", { class: small ? "picture small" : "picture", id },
    el("figcaption", {}, el("span", { class: "title" }, title), save),
    lead, scroller({ class: "drawing" }, title, drawing),
    note ? el("p", { class: "note" }, note) : null);
}
