// Details of one bar of a timeline: each span with its duration and the reason of its end.

import { el, resourceUrl, stackUrl } from "./dom.js";
import { clock, duration } from "./format.js";
import { spanKey, SPANS } from "./spans.js";
import { badge, lookIn } from "./states.js";
import { partsOf, spansOf } from "./timeline_rows.js";
import { workerElement } from "./worker_names.js";

const KINDS = new Map(SPANS.map((kind) => [kind.name, kind]));

/** The children of the panel about a bar. */
export function barDetails(bar, action, until) {
  const graph = stackUrl("graph", { focus: bar.name });
  const head = el(
    "div",
    { class: "panel-head" },
    el("h2", {}, `${bar.name} `, el("span", { class: "muted small", text: bar.type })),
    el("span", {}, badge(lookIn(action, bar.state), bar.state), " ", el("a", { class: "small", href: graph, text: "in the graph" }), " ", el("a", { class: "small", href: resourceUrl(bar.name), text: "its page" })),
  );
  const columns = ["Span", "From", "To", "Took", "Attempt", "Worker", "Why it ended"];
  const heads = el("tr", {}, ...columns.map((text, at) => el("th", { scope: "col", class: at > 0 && at < 5 ? "number" : null, text })));
  const all = partsOf(bar).flatMap(({ word, spans }) => spans.map((span) => ({ word, span })));
  const body = all.map(({ word, span }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, spanKey(KINDS.get(span.kind) ?? SPANS[0]), ` ${word ? `${word}: ` : ""}${span.kind}`),
      el("td", { class: "number", text: clock(span.start) }),
      el("td", { class: "number", text: span.end === null ? "now" : clock(span.end) }),
      el("td", { class: "number", text: duration((span.end ?? until) - span.start) }),
      el("td", { class: "number", text: span.attempt ? String(span.attempt) : "–" }),
      el("td", { class: "wrap" }, workerElement(span.worker)),
      el("td", { class: "wrap", text: span.reason || "–" }),
    ),
  );
  const table = el("table", { class: "list span-list" }, el("thead", {}, heads), el("tbody", {}, ...body));
  const parts = [head];
  if (bar.reason) parts.push(el("p", { class: "note", text: bar.reason }));
  if (spansOf(bar).length) parts.push(el("div", { class: "table-frame", role: "region", "aria-label": "Spans", tabindex: "0" }, table));
  else parts.push(el("p", { class: "empty", text: "It was not begun." }));
  return parts;
}
