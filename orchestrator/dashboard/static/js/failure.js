// The failure page: the likely root with the resources it blocks, then other failures.

import { byId, el, keepFocus, page, resourceUrl, setText, stackUrl } from "./dom.js";
import { ANY_DEPTH } from "./focus.js";
import { count, counted, duration, preciseTime } from "./format.js";
import { streamUrl } from "./head.js";
import { stackOf, TASKS_FOUND, tasksUrl } from "./panel.js";
import { badge } from "./states.js";
import { fetchJson, follow } from "./stream.js";
import { workerElement } from "./worker_names.js";

const ASK_MILLISECONDS = 1000;

const place = byId("failure");
let shown = ""; // What is shown now, as text: it is left alone while it stays the same.
let operation = null;
let asks = null;

const followed = follow(streamUrl(), { load, apply, every: 500 });

async function load(signal) {
  const failure = await fetchJson(stackUrl("failure.json"), { signal });
  operation = failure.operation;
  const { cursor, as_of: asOf, ...told } = failure;
  const text = JSON.stringify(told);
  if (text !== shown) show(failure);
  shown = text;
  Object.assign(place.dataset, { roots: failure.roots.length, cursor, asOf });
  return failure;
}

/** Load anew when something failed, or when the operation is over or another has begun. */
function apply(events) {
  const { traversal_id: looked } = operation;
  const matters = (event) => event.status === "FAILED" || !event.resource || event.traversal_id !== looked;
  if (!events.some(matters)) return;
  asks ??= setTimeout(() => {
    asks = null;
    followed.refresh();
  }, ASK_MILLISECONDS);
}

function show(failure) {
  const [root, ...others] = failure.roots;
  const parts = root
    ? [
        rootPanel(failure, root),
        others.length && table(failure, others, "Failed by themselves, too", "All their requirements were done when they failed."),
        failure.later.length && table(failure, failure.later, "Failed afterwards", "Steps that were under way when the operation failed, and dependents of resources that failed."),
      ]
    : [nothing(failure)];
  keepFocus(place, () => place.replaceChildren(...parts.filter(Boolean)));
  setText(byId("failure-said"), root ? `${(failure.innermost ?? root).name} failed; ${counted(root.blocks, "resource")} never begun because of it` : "nothing failed");
}

function nothing({ operation: { status, action, reason }, rolled_back: undone }) {
  const words = {
    IN_PROGRESS: [`${action} is under way, and nothing has failed so far.`],
    COMPLETE: [action === "ROLLBACK" ? "The rollback is complete: the operation before it was taken back." : `Nothing failed: ${action} is complete.`],
    SUPERSEDED: ["Nothing had failed when another operation superseded this one."],
    FAILED: ["The operation failed, and none of its resources did.", reason],
  }[status] ?? [reason];
  const told = words.filter(Boolean).map((text) => el("p", { text }));
  if (undone) {
    const { operation: before, roots, innermost } = undone;
    const root = innermost ?? roots[0];
    told.push(
      el("p", { text: `It takes back ${before.action}_${before.status}${before.reason ? `: ${before.reason}` : ""}` }),
      root && el("p", { text: `Likely root: ${undone.path.join("/") || root.name}: ${root.reason || "it is not known why"}` }),
      el("a", { class: "btn btn-sm btn-outline-primary", href: `${page().stack}/failure?traversal=${encodeURIComponent(before.traversal_id)}`, text: `Why ${before.action} failed` }),
    );
  }
  return el("section", { class: "panel empty" }, ...told.filter(Boolean));
}

function rootPanel(failure, root) {
  const { operation: op } = failure;
  // The root is inside a nested stack: its own failure is the relevant one.
  const deep = failure.innermost ?? root;
  const inner = failure.path_stack_id ? stackOf(failure.path_stack_id) : null;
  return el(
    "section",
    { class: "panel failure-root", "aria-labelledby": "failure-name", data: { root: deep.name } },
    el("p", { class: "failure-kind", text: kindOf(failure) }),
    el("div", { class: "failure-title" }, el("h2", { id: "failure-name", text: deep.name }), badge("failed", `${deep.action} failed`), el("code", { class: "muted", text: deep.type })),
    failure.path.length ? trail(failure) : null,
    el("p", { class: "trouble failure-reason", text: deep.reason || "It is not known why." }),
    el(
      "dl",
      { class: "failure-facts" },
      fact("Failed", deep.at === null ? "–" : preciseTime(deep.at), deep.at === null ? "" : `${duration(deep.at - op.begun_at)} after the beginning`),
      fact("Attempts", deep.attempts ? count(deep.attempts) : "–"),
      fact("Worker", workerElement(deep.worker)),
      fact("Physical id", deep.physical_id || "–"),
    ),
    blocked(root),
    beyond(failure, root),
    links(root, deep, inner),
  );
}

/** Where to go on; `inner`: the address of the stack in which the root is, where that is not this one. */
function links(root, deep, inner) {
  const button = (look, href, text, title = null) => el("a", { class: `btn btn-sm btn-outline-${look}`, href, text, title });
  const name = encodeURIComponent(deep.name);
  const all = inner
    ? [
        button("primary", `${inner}/failure`, "Failure of the stack that it is in"),
        button("secondary", resourceUrl(deep.name, inner), "Its page"),
        button("secondary", `${inner}/graph?focus=${name}`, "In that stack's graph"),
        button("secondary", `${inner}/events?resource=${name}`, "Its events"),
        button("secondary", graphUrl(root, 1), "That stack in the graph of this one"),
      ]
    : [
        button("primary", graphUrl(root, 1), "In the graph"),
        button("secondary", resourceUrl(root.name), "Its page"),
        button("secondary", stackUrl("events", { resource: root.name }), "Its events"),
        button("secondary", tasksUrl(root), "Its tasks", TASKS_FOUND),
      ];
  return el("p", { class: "failure-links" }, ...all);
}

function kindOf({ roots, later }) {
  if (roots.length > 1) return `Likely root: the first of ${count(roots.length)} that failed by themselves`;
  return later.length ? "Likely root: it failed first, with all its requirements done" : "Root: it failed with all its requirements done";
}

function fact(word, value, more = "") {
  return el("div", {}, el("dt", { text: word }), el("dd", {}, value, more && el("span", { class: "muted small failure-more", text: more })));
}

/** The way down into stacks in stacks. */
function trail(failure) {
  const steps = failure.path.map((name) => el("li", { text: name }));
  return el("nav", { class: "trail", "aria-label": "Resources down to the root" }, el("ol", {}, el("li", { text: failure.operation.stack }), ...steps));
}

function blocked(root) {
  if (!root.blocks) return el("p", { class: "muted", text: "Nothing waited for it." });
  const more = root.blocks - root.blocked.length;
  return el(
    "section",
    { class: "failure-blocks", "aria-labelledby": "failure-blocks" },
    el("h3", { id: "failure-blocks" }, badge("unreached", `${counted(root.blocks, "resource")} never begun because of it`)),
    el("ul", { class: "failure-names" }, ...root.blocked.map((name) => el("li", {}, el("a", { href: stackUrl("graph", { focus: name }), text: name })))),
    el("p", { class: "small" }, more > 0 && `and ${count(more)} more. `, el("a", { href: graphUrl(root, ANY_DEPTH), text: "Show all of it in the graph" })),
  );
}

/** What was never begun for another reason: once an operation has failed, nothing new begins. */
function beyond(failure, root) {
  const more = failure.unreached - root.blocks;
  if (more <= 0) return null;
  const words = failure.roots.length > 1 ? "because of others, or because a failed operation begins nothing more" : "because a failed operation begins nothing more";
  return el("p", { class: "muted small", text: `${counted(more, "resource")} besides ${more === 1 ? "was" : "were"} never begun, ${words}.` });
}

function graphUrl(failed, depth) {
  return stackUrl("graph", { focus: failed.name, depth: depth === 1 ? null : depth });
}

const COLUMNS = ["Resource", "Action", "Reason", "Failed", "Attempts", "Blocks"];
const NUMBERS = new Set(["Attempts", "Blocks"]);

function table(failure, rows, title, meaning) {
  const head = COLUMNS.map((column) => el("th", { scope: "col", class: NUMBERS.has(column) ? "number" : null, text: column }));
  return el(
    "section",
    { class: "panel" },
    el("div", { class: "panel-head" }, el("h2", { text: `${title} (${count(rows.length)})` }), el("p", { class: "muted small failure-meaning", text: meaning })),
    el("div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": title }, el("table", { class: "list failure-list" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows.map((row) => line(failure, row))))),
  );
}

function line({ operation: op }, failed) {
  const inner = failed.nested_stack_id && el("a", { class: "small failure-inner", href: `${stackOf(failed.nested_stack_id)}/failure`, text: "its stack" });
  return el(
    "tr",
    {},
    el("th", { scope: "row", class: "wrap" }, el("a", { href: resourceUrl(failed.name), text: failed.name }), inner),
    el("td", { text: failed.action }),
    el("td", { class: "wrap", text: failed.reason }),
    el("td", { class: "number-left", text: failed.at === null ? "–" : `+ ${duration(failed.at - op.begun_at)}`, title: failed.at === null ? null : preciseTime(failed.at) }),
    el("td", { class: "number", text: failed.attempts || "–" }),
    el("td", { class: "number", text: count(failed.blocks) }),
  );
}
