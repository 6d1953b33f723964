// The lines that the steps of a resource logged: the newest step first, its lines in their order.

import { el } from "./dom.js";
import { counted, timeElement } from "./format.js";
import { workerElement } from "./worker_names.js";

const LOUD = new Set(["warning", "error", "critical"]);

/** The panel with the lines; none where nothing was logged. */
export function logParts(logs) {
  if (!logs.length) return [];
  const heads = ["Time", "Level", "Message", "Worker"].map((text) => el("th", { scope: "col", text }));
  const table = el(
    "table",
    { class: "list resource-logs" },
    el("thead", {}, el("tr", {}, ...heads)),
    ...logs.map((step) => el("tbody", {}, ...stepRows(step))),
  );
  return [
    el(
      "section",
      { class: "panel", "aria-labelledby": "resource-logs-heading" },
      el(
        "div",
        { class: "panel-head" },
        el("h2", { id: "resource-logs-heading", text: "Log lines" }),
        el("p", { class: "muted small", text: `of ${counted(logs.length, "step")}, the newest first` }),
      ),
      el("div", { class: "table-frame", role: "region", "aria-label": "Log lines", tabindex: "0" }, table),
    ),
  ];
}

function stepRows({ action, worker, lines, left_out: left }) {
  const by = () => (worker ? workerElement(worker) : "–");
  const rows = lines.map(({ at, level, message }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, timeElement(at)),
      el("td", { class: LOUD.has(level) ? "is-loud" : null, data: { label: "Level" }, text: level }),
      el("td", { class: "wrap", title: action, text: message }),
      el("td", { class: "wrap" }, by()),
    ),
  );
  if (left) rows.push(el("tr", {}, el("td", { colspan: 4, class: "muted", text: `${counted(left, "further line")} of this step had no room.` })));
  return rows;
}
