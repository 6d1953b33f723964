// Difference between an operation's definition and the one before, line by line.

import { el } from "./dom.js";

/** The lines of a unified diff; additions and removals differ by their sign as well as by their colour. */
function diff(lines, label) {
  const shown = lines.map((line) => {
    const sign = line[0];
    const heads = line.startsWith("+++") || line.startsWith("---") || line.startsWith("@@");
    const look = heads ? "is-place" : { "+": "is-added", "-": "is-removed" }[sign];
    return el("span", { class: look ?? null, text: line.replace(/\n$/, "") || " " });
  });
  return el("pre", { class: "diff", role: "region", "aria-label": label, tabindex: "0" }, ...shown);
}

function names(word, list) {
  return list.length ? el("p", { class: "small" }, el("strong", { text: `${word}: ` }), list.join(", ")) : null;
}

/** Show a difference; see ChangesView in orchestrator/views/operations.py. */
export function changesView(changes) {
  const parts = [
    names("Added", changes.added),
    names("Removed", changes.removed),
    names("Changed", changes.changed),
  ];
  if (changes.template.length) parts.push(diff(changes.template, "Template"));
  if (changes.parameters.length) {
    const told = changes.parameters.map(([name, before, after]) =>
      el("tr", {}, el("th", { scope: "row", text: name }), el("td", { class: "wrap", text: before }), el("td", { class: "wrap", text: after })),
    );
    const heads = ["Parameter", "Before", "After"].map((text) => el("th", { scope: "col", text }));
    parts.push(el("table", { class: "list" }, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...told)));
  }
  for (const [file, lines] of changes.files) parts.push(el("h3", { text: file }), diff(lines, file));
  const found = parts.filter(Boolean);
  if (!found.length) {
    const text = changes.before_id === null ? "The first operation: there is none before it." : "The definition is the same as before.";
    return el("p", { class: "muted", text });
  }
  return el("div", { class: "changes" }, ...found);
}
