// What a dry run or a plan would do: counts, and a row for each resource with the values before and after.

import { el } from "./dom.js";

const WORDS = {
  CREATE: "create",
  ADOPT: "adopt",
  UPDATE: "change in place",
  REPLACE: "replace",
  DELETE: "delete",
  DEPENDS: "depends on others",
  REFUSE: "refused",
  UNCHANGED: "unchanged",
};

function inWords(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function difference({ path, before, after, meaning, is_certain: certain }, action) {
  const note = meaning === action && certain ? "" : `  (${certain ? "" : "perhaps "}${WORDS[meaning] ?? meaning})`;
  const line = (sign, kind, value) => el("span", { class: kind, text: `${sign} ${path}: ${inWords(value)}${note}` });
  return [
    before === null ? null : line("-", "is-removed", before),
    after === null ? null : line("+", "is-added", after),
  ];
}

function row({ name, type, action, why, changes, after = [] }) {
  return el(
    "section",
    { class: `plan-row does-${action}`, data: { resource: name, action } },
    el("h3", {}, el("span", { class: "does", text: WORDS[action] ?? action }), name, el("span", { class: "type", text: type })),
    why ? el("p", { class: "small", text: why }) : null,
    after.length && action !== "UNCHANGED" ? el("p", { class: "small muted", text: `After ${after.join(", ")}` }) : null,
    changes.length
      ? el("pre", { class: "diff", tabindex: "0", role: "region", "aria-label": `Values of ${name}` }, ...changes.flatMap((each) => difference(each, action).filter(Boolean)))
      : null,
  );
}

/** Return the elements of a plan. */
export function planElements({ counts, rows, warnings }) {
  const numbers = Object.keys(WORDS).filter((action) => counts[action]);
  return [
    el(
      "ul",
      { class: "plan-counts", id: "plan-counts", "aria-label": "Resources by what is done with them" },
      ...numbers.map((action) => el("li", { text: `${counts[action]} ${WORDS[action]}` })),
      numbers.length ? null : el("li", { text: "no resources" }),
    ),
    ...warnings.map(({ message, path }) => el("p", { class: "note", text: `Warning: ${path ? `${path}: ` : ""}${message}` })),
    // What changes comes first.
    ...[...rows].sort((one, other) => (one.action === "UNCHANGED") - (other.action === "UNCHANGED")).map(row),
  ];
}
