// The page about one resource: its state, the attempts at its actions, their log lines, its values, and its events.

import { byId, el, keepFocus, page, resourceUrl, setText, stackUrl, streamUrl } from "./dom.js";
import { agoElement, count, duration, elapsed, now, timeElement, untilElement } from "./format.js";
import { TASKS_FOUND, stackOf, tasksUrl } from "./panel.js";
import { showOnce, showRows } from "./rows.js";
import { actionBadge, badge, lookIn, lookOf, showBadge, stateOf } from "./states.js";
import { fetchJson, follow } from "./stream.js";
import { showEvents } from "./resource_events.js";
import { logParts } from "./resource_logs.js";
import { valueParts } from "./resource_values.js";
import { usualOfResource } from "./usual.js";
import { workerElement } from "./worker_names.js";

const { resource: name } = page();
const LOOKS = { complete: "done", failed: "failed", retry: "retrying", lost: "retrying", replaced: "unchanged", left: "unreached" };
const WORDS = { retry: "failed, tried again", lost: "worker lost", left: "left unfinished" };

function show(found) {
  showState(found);
  showFacts(found);
  showLinks(found);
  showNeighbours(found);
  showAttempts(found);
  const { cursor, as_of: asOf, ...told } = found;
  showOnce(byId("resource-values"), told, () => valueParts(found));
  showOnce(byId("resource-logs"), found.logs, () => logParts(found.logs));
}

/** The look, the words and the meaning of its state: that in the operation, or else that of its row. */
function showState({ details, resource, operation, attempts }) {
  const place = byId("resource-state");
  if (details) {
    const { state, action } = details.vertex;
    const look = lookIn(operation.action, state);
    const { word, meaning } = stateOf(look);
    showBadge(place, look, word);
    setText(byId("resource-meaning"), `${action}: ${meaning}`);
  } else {
    const last = attempts[0];
    const [action, status] = resource ? [resource.action, resource.status] : [last?.action ?? "INIT", { complete: "COMPLETE", failed: "FAILED" }[last?.outcome] ?? ""];
    showBadge(place, lookOf(action, status), status ? `${action}_${status}` : action);
    setText(byId("resource-meaning"), `${operation.action} of the stack had nothing to do with it.`);
  }
  const reason = details?.vertex.reason || resource?.reason || "";
  const line = byId("resource-reason");
  line.hidden = !reason;
  line.className = `resource-reason ${details?.vertex.state === "failed" ? "trouble" : "note"}`;
  setText(line, reason);
  const words = `${name}: ${place.dataset.word}`;
  setText(byId("resource-summary"), words);
  document.title = [name, place.dataset.word, operation.stack, "Isotherm"].join(" · ");
}

/** The physical id, as a link where another system's console shows the object. */
function physicalId(id, address) {
  const text = el("code", { text: id });
  if (!/^https?:\/\//.test(address)) return text;
  return el("a", { href: address, rel: "noopener noreferrer", target: "_blank", title: "Its page in the console, in a new tab" }, text);
}

function showFacts({ details, since, operation, user, type, resource, console: address }) {
  const vertex = details?.vertex;
  const due = details?.due_at ?? null;
  const waits = details?.waits_for ?? [];
  const usual = details && usualOfResource(details, now());
  const facts = [
    ["Type", el("code", { text: type })],
    ["Since", since === null ? null : el("span", {}, timeElement(since), " ", el("span", { class: "muted" }, "(", agoElement(since), ")"))],
    ["Operation", el("a", { href: `${page().stack}/timeline?traversal=${encodeURIComponent(operation.traversal_id)}`, text: `${operation.action}_${operation.status}` })],
    ["Begun by", user],
    ["Waits for", waits.length ? names(waits) : null],
    [vertex?.state === "retrying" ? "Next attempt" : "Checked again", due === null ? null : untilElement(due)],
    [usual?.word.replace(/:$/, ""), usual?.value],
    ["Hook", vertex?.hook || resource?.hook],
    ["Health", resource?.unhealthy ? badge("failed", "unhealthy") : null],
    ["Worker", vertex?.worker ? workerElement(vertex.worker) : null],
    ["Physical id", vertex?.physical_id || resource?.physical_id ? physicalId(vertex?.physical_id || resource.physical_id, address) : null],
    ["Resource id", vertex?.resource_id || resource?.uuid ? el("code", { text: vertex?.resource_id || resource.uuid }) : null],
    ["Created", details?.created_at ? agoElement(details.created_at) : null],
    ["Updated", details?.updated_at ? agoElement(details.updated_at) : null],
  ].filter(([, value]) => value);
  const rows = facts.map(([word, value]) => el("div", {}, el("dt", { text: word }), el("dd", {}, value)));
  const place = byId("resource-facts");
  keepFocus(place, () => place.replaceChildren(...rows));
}

function showLinks({ details }) {
  const button = (href, text, title = null) => el("a", { class: "btn btn-sm btn-outline-secondary", href, text, title });
  const inside = details?.vertex.nested_stack_id;
  showOnce(byId("resource-links"), [inside, Boolean(details)], () =>
    [
      details && button(stackUrl("graph", { focus: name }), "In the graph"),
      inside && button(stackOf(inside), "Its nested stack"),
      button(stackUrl("events", { resource: name }), "In the stack's events"),
      button(tasksUrl({ name }), "Celery's tasks", TASKS_FOUND),
    ].filter(Boolean),
  );
}

/** Names of resources as links to their pages. */
function names(all, implied = new Set()) {
  const items = all.map((each) =>
    el("li", {}, el("a", { href: resourceUrl(each), text: each }), implied.has(each) ? el("span", { class: "muted small", text: " implied by its type" }) : null),
  );
  return el("ul", { class: "resource-names" }, ...items);
}

function showNeighbours({ details }) {
  const place = byId("resource-neighbours");
  place.hidden = !details;
  if (!details) return;
  const part = (word, all, implied) =>
    el("div", { class: "resource-part" }, el("h2", { text: `${word} (${count(all.length)})` }), all.length ? names(all, implied) : el("p", { class: "muted", text: "nothing" }));
  showOnce(place, [details.requires, details.implied, details.required_by], () => [
    part("Requires", details.requires, new Set(details.implied)),
    part("Required by", details.required_by),
  ]);
}

function showAttempts({ attempts, more }) {
  setText(byId("resource-attempts-range"), attempts.length ? `${count(attempts.length)}${more ? ", older ones are not shown" : ", all that are on record"}, newest first` : "");
  byId("resource-attempts-table").hidden = !attempts.length;
  const empty = byId("resource-attempts-empty");
  empty.hidden = attempts.length > 0;
  setText(empty, "Nothing was done with it yet, or its events are trimmed.");
  showRows(byId("resource-attempts-rows"), attempts, {
    key: (each) => [each.traversal_id, each.action, each.number, each.begun_at ?? each.ended_at].join(),
    make: () => el("tr", {}),
    update: (row, each) => showOnce(row, each, () => attemptCells(each)),
  });
  tick();
}

function attemptCells(attempt) {
  const state = attempt.outcome ? badge(LOOKS[attempt.outcome] ?? "blocked", WORDS[attempt.outcome] ?? attempt.outcome) : badge("running", "under way");
  const operation = attempt.operation
    ? el("a", { href: `${resourceUrl(name, page().stack)}?traversal=${encodeURIComponent(attempt.traversal_id)}`, text: attempt.operation })
    : el("span", { class: "muted", text: "purged" });
  const took = el("td", { class: "number took", data: { begun: attempt.begun_at ?? "", ended: attempt.ended_at ?? "", label: "Took" } });
  const by = attempt.user ? el("div", { class: "small muted", text: `by ${attempt.user}` }) : null;
  return [
    el("th", { scope: "row", text: attempt.action }),
    el("td", { class: "number", data: { label: "Attempt" }, text: count(attempt.number) }),
    el("td", {}, state),
    el("td", {}, attempt.begun_at === null ? el("span", { class: "muted", text: "not on record" }) : timeElement(attempt.begun_at)),
    took,
    el("td", { class: "wrap" }, attempt.worker ? workerElement(attempt.worker) : "–"),
    el("td", { class: "wrap", text: attempt.reason || "–" }),
    el("td", {}, operation, by),
  ];
}

/** Count up what lasts. */
function tick() {
  for (const cell of document.querySelectorAll("#resource-attempts-rows .took")) {
    const { begun, ended } = cell.dataset;
    if (!begun) setText(cell, "–");
    else setText(cell, ended ? duration(Number(ended) - Number(begun)) : elapsed(now() - Number(begun)));
  }
}
setInterval(tick, 1000);

const followed = follow(streamUrl(), {
  async load(signal) {
    const found = await fetchJson(stackUrl(`resource/${encodeURIComponent(name)}/data.json`), { signal });
    show(found);
    return found;
  },
  // What it waits for may be others, so that any event of the stack matters.
  apply: (events) => {
    if (events.some((event) => event.stack_id === page().stackId)) followed.refresh();
  },
  every: 500,
});
showEvents(name);
