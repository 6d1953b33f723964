// A stack's events, newest first: filtered by the server, older ones on demand, new ones as they happen.

import { keepInAddress } from "./address.js";
import { byId, el, page, resourceUrl, setText, stackUrl } from "./dom.js";
import { counted, timeElement } from "./format.js";
import { onHead, streamUrl } from "./head.js";
import { actionBadge } from "./states.js";
import { fetchJson, follow } from "./stream.js";
import { workerWords } from "./worker_names.js";

const PAGE = 100;
const MOST_NEW = 500; // The greatest number of new ones in one request.

const form = byId("events-filters");
const body = byId("events-rows");
const button = byId("events-new");
let events = []; // Those that are shown, newest first.
let held = []; // Newer ones that wait until the user shows them.
let more = false; // Whether there are older ones than those that are shown.
let operation = ""; // The operation in force.

function filter() {
  const { resource, status, operation: only } = form.elements;
  return {
    resource: resource.value.trim(),
    status: status.value,
    ...(only?.checked && operation ? { traversal: operation } : {}),
  };
}

function address(path, parameters) {
  return stackUrl(path, { ...filter(), ...parameters });
}

function newRow(event) {
  const ofStack = !event.resource;
  const name = ofStack
    ? el("span", { class: "muted", text: "the stack" })
    : el("a", { href: resourceUrl(event.resource), text: event.resource, title: event.type });
  return el(
    "tr",
    { class: ofStack ? "of-stack" : null, data: { id: event.id } },
    el("td", {}, timeElement(event.at)),
    el("th", { scope: "row", class: "clip" }, name),
    el("td", {}, actionBadge(event.action, event.status, event.cause)),
    el("td", { class: "wrap" }, event.user ? el("span", { class: "muted by", text: `by ${event.user} ` }) : null, event.reason),
    el("td", { class: "clip muted", text: workerWords(event.worker), title: event.worker || null }),
  );
}

function showAll() {
  body.replaceChildren(...events.map(newRow));
  showRest();
}

function showRest() {
  byId("events-empty").hidden = events.length > 0;
  const oldest = more ? "" : ", all there are";
  setText(byId("events-range"), `${counted(events.length, "event")}${oldest}`);
  byId("events-older").disabled = !more;
  button.hidden = held.length === 0;
  setText(button, `Show ${counted(held.length, "new event")}`);
  byId("events-file").href = address("events-file.json");
}

/** Whether the newest event is in view: then new ones are inserted above. */
function atTop() {
  return body.parentElement.getBoundingClientRect().top > 0;
}

function showHeld() {
  body.prepend(...held.map(newRow));
  events = [...held, ...events];
  held = [];
  showRest();
}

async function addNewer() {
  const newest = held[0]?.id ?? events[0]?.id ?? 0;
  const answer = await fetchJson(address("events.json", { after: newest, limit: MOST_NEW }));
  const newer = answer.events.filter((event) => event.id > (held[0]?.id ?? events[0]?.id ?? 0));
  if (!newer.length) return;
  if (answer.more) {
    followed.refresh();
    return;
  }
  held = [...newer, ...held];
  if (atTop()) showHeld();
  else showRest();
}

let adding = null;
function addNewerOnce() {
  adding ??= addNewer()
    .catch(() => followed.refresh())
    .finally(() => {
      adding = null;
    });
  return adding;
}

byId("events-older").addEventListener("click", async (click) => {
  click.target.disabled = true;
  const answer = await fetchJson(address("events.json", { before: events.at(-1).id, limit: PAGE })).catch(() => null);
  if (answer) {
    const last = events.at(-1).id;
    const older = answer.events.filter((event) => event.id < last);
    events.push(...older);
    body.append(...older.map(newRow));
    more = answer.more;
  }
  showRest();
});
button.addEventListener("click", () => {
  showHeld();
  body.parentElement.scrollIntoView({ block: "center" });
  body.closest(".table-frame").focus({ preventScroll: true });
});

const { resource, status, operation: only } = form.elements;
keepInAddress({ resource, status, operation: only }, () => followed.refresh());
let typing = null;
form.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => followed.refresh(), 250);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  followed.refresh();
});

const followed = follow(streamUrl(), {
  async load(signal) {
    const answer = await fetchJson(address("events.json", { limit: PAGE }), { signal });
    ({ events, more } = answer);
    held = [];
    showAll();
    return answer;
  },
  // The server applies the filter.
  apply: (heard) => {
    if (heard.some((event) => event.stack_id === page().stackId)) void addNewerOnce();
  },
  every: 300,
});
onHead((head) => {
  const began = operation && operation !== head.operation.traversal_id;
  operation = head.operation.traversal_id;
  if (began && form.elements.operation?.checked) followed.refresh();
});
