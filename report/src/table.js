// table.js - tables: sorted by clicking a heading, saved as CSV, drawn as they scroll when they are long.
import { el, unique, download, fileName, visible, scroller } from "./dom.js";

const ROW = 32; // pixels
const SHORT = 60; // rows that are simply drawn
const PRINTED = 200;

function cell(text) {
  if (text === null || text === undefined) return "";
  const plain = String(text);
  return /[",\r\n]/.test(plain) ? `"${plain.replace(/"/g, '""')}"` : plain;
}

export function csv(columns, rows) {
  return [columns.map((c) => cell(c.title)).join(","),
    ...rows.map((row) => columns.map((c) => cell(c.value(row))).join(","))].join("\r\n") + "\r\n";
}

function compare(a, b) {
  const missing = (v) => v === null || v === undefined || Number.isNaN(v);
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

/**
 * columns: {title, value(row): what is sorted and saved, show(row): what is drawn, numeric, about}
 * options: {sorted: column, falling, note, height}
 */
export function table(title, columns, rows, { sorted, falling = false, note, height = 420 } = {}) {
  const long = rows.length > SHORT;
  const id = unique("table");
  let order = rows.map((_, i) => i);
  let by = sorted;
  let down = falling;
  const body = el("tbody");
  const live = el("span", { class: "unseen", role: "status" });
  const heads = columns.map((column, i) => el("th", { scope: "col", class: column.numeric ? "number" : undefined },
    el("button", { type: "button", title: column.about ?? "sort", onclick: () => {
      down = by === i ? !down : Boolean(column.numeric);
      by = i;
      arrange();
      live.textContent = `sorted by ${column.title}, ${down ? "falling" : "rising"}`;
    } }, column.title, el("span", { class: "arrow", "aria-hidden": "true" }))));
  const grid = el("table", { "aria-rowcount": rows.length + 1, "aria-labelledby": id },
    el("thead", {}, el("tr", {}, heads)), body);
  const frame = scroller({ class: long ? "rows long" : "rows",
    style: long || rows.length * ROW > height + 100 ? `max-height:${height}px` : undefined }, title, grid);

  const draw = (k) => el("tr", { "aria-rowindex": k + 2 }, columns.map((column) => {
    const shown = column.show ? column.show(rows[order[k]]) : visibleOr(column.value(rows[order[k]]));
    return el("td", { class: column.numeric ? "number" : undefined }, shown);
  }));
  const space = (n) => n > 0 ? el("tr", { "aria-hidden": "true", class: "space", style: `height:${n * ROW}px` },
    el("td", { colspan: columns.length })) : null;
  function fill(from, to) {
    const drawn = [];
    for (let k = from; k < to; k++) drawn.push(draw(k));
    body.replaceChildren(...[space(from), ...drawn, space(rows.length - to)].filter(Boolean));
  }
  function scroll() {
    if (!long) return fill(0, rows.length);
    const first = Math.max(0, Math.floor(frame.scrollTop / ROW) - 10);
    fill(first, Math.min(rows.length, first + Math.ceil(height / ROW) + 20));
  }
  function arrange() {
    if (by !== undefined) {
      const keys = rows.map(columns[by].value);
      order = rows.map((_, i) => i).sort((a, b) => (down ? compare(keys[b], keys[a]) : compare(keys[a], keys[b])) || a - b);
    }
    heads.forEach((head, i) => head.setAttribute("aria-sort", i === by ? (down ? "descending" : "ascending") : "none"));
    if (long) frame.scrollTop = 0;
    scroll();
  }
  let waiting = false;
  frame.addEventListener("scroll", () => {
    if (waiting || !long) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; scroll(); });
  });
  addEventListener("beforeprint", () => { if (long) fill(0, Math.min(PRINTED, rows.length)); });
  addEventListener("afterprint", scroll);
  arrange();

  const save = el("button", { type: "button", class: "save", onclick: () =>
    download(fileName(title, "csv"), "text/csv", csv(columns, order.map((i) => rows[i]))) }, "CSV");
  save.setAttribute("aria-label", `Save as CSV: ${title}`);
  return el("div", { class: "table" },
    el("p", { class: "caption" }, el("span", { class: "title", id }, title),
      long ? el("span", { class: "count" }, `${rows.length.toLocaleString("en")} rows`) : null, save),
    frame, live, note ? el("p", { class: "note" }, note) : null);
}

function visibleOr(value) {
  return value === null || value === undefined ? "–" : visible(value);
}
