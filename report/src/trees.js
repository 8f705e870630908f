// trees.js - trees out of the data: from a table of distinct subtrees, node by node, or in brackets.  A
// tree is {label, special, children: [{slot, tree}], leftOut, mark}; nothing here calls itself.

const MOST = 250; // nodes of one drawing

/** Subtree `root` of a table; drawn level by level until there are too many nodes. */
export function fromTable(table, root) {
  if (root < 0 || root === undefined) return null;
  if (!table.first) {
    table.first = [0];
    for (const n of table.children) table.first.push(table.first[table.first.length - 1] + n);
  }
  const make = (i) => ({ label: table.label[i] < 0 ? null : table.labels[table.label[i]], at: i, children: [],
    leftOut: table.left_out[i] ?? 0 });
  const top = make(root);
  let level = [top];
  let n = 1;
  while (level.length) {
    const next = [];
    for (const node of level) {
      const from = table.first[node.at];
      const count = table.children[node.at];
      const slots = table.slots[node.at];
      const room = Math.max(0, Math.min(count, MOST - n));
      for (let k = 0; k < room; k++) {
        const place = table.child[from + k];
        if (place < 0) {
          node.leftOut++;
          continue;
        }
        const child = make(place);
        node.children.push({ slot: slots ? slots[k] : k + 1, tree: child });
        next.push(child);
      }
      node.leftOut += count - room;
      n += room;
    }
    level = next;
  }
  return top;
}

/** A tree given node by node: label, parent, slot; `each` may mark its nodes. */
export function fromNodes(data, each) {
  const nodes = data.label.map((label, i) => ({ label, children: [], leftOut: 0, number: i }));
  nodes.forEach((node, i) => {
    if (data.parent[i] >= 0) nodes[data.parent[i]].children.push({ slot: data.slot[i], tree: node });
    if (each) each(node, i);
  });
  nodes[0].leftOut = data.left_out ?? 0;
  nodes[0].cutBelow = nodes[0].leftOut > 0;
  return nodes[0];
}

/** A feature of the linear head: brackets, with ^ < > _ ? for what is no label; null if it is none. */
export function fromBrackets(text) {
  const token = /\s*(?:(\()|(\))|("(?:[^"\\]|\\.)*")|([^\s()"]+))/gy;
  const open = [];
  let top = null;
  let named = true;
  let match;
  const special = { "^": "(above the root)", "<": "(first)", ">": "(last)", "?": "(unknown)" };
  const put = (tree) => {
    const parent = open[open.length - 1];
    if (parent) {
      parent.next = (parent.next ?? 0) + 1;
      parent.children.push({ slot: parent.next, tree });
    } else if (!top) top = tree;
  };
  while ((match = token.exec(text))) {
    if (match[1]) {
      const tree = { label: null, children: [], leftOut: 0 };
      put(tree);
      open.push(tree);
      named = false;
    } else if (match[2]) {
      open.pop();
      named = true;
    } else {
      const word = match[3] ? parse(match[3]) : match[4];
      const plain = match[3] === undefined;
      const mark = plain ? special[word] : undefined;
      if (!named && open.length) {
        open[open.length - 1].label = mark ?? word;
        open[open.length - 1].special = mark !== undefined;
        named = true;
      } else if (plain && word === "_") {
        const parent = open[open.length - 1];
        if (parent) put({ label: "(gap)", special: true, children: [], leftOut: 0 });
      } else {
        put({ label: mark ?? word, special: mark !== undefined, children: [], leftOut: 0 });
      }
    }
    if (token.lastIndex >= text.length) break;
  }
  return top;
}

function parse(quoted) {
  try {
    return JSON.parse(quoted);
  } catch {
    return quoted;
  }
}
