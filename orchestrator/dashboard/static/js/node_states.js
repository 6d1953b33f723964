// Addresses of nodes, and the looks of the states of nodes, caches and processes.

import { el, page } from "./dom.js";
import { count } from "./format.js";
import { showRows } from "./rows.js";
import { showBadge } from "./states.js";

const LOOKS = {
  // Of nodes.
  up: "done",
  drained: "held",
  unreachable: "failed",
  failing: "retrying",
  // Of caches, and of a node's hypervisors and storage.
  ok: "done",
  disabled: "unchanged",
  wrong: "failed",
  unknown: "blocked",
  error: "failed",
  timeout: "retrying",
  absent: "unreached",
  // Of processes.
  present: "done",
  silent: "failed",
  stopped: "unreached",
  // Of what is stuck.
  lost: "failed",
  undelivered: "ready",
  overdue: "retrying",
};

/** The address of a node's page. One that is called as the data of all are has another spelling. */
export function nodeUrl(name) {
  const path = name === "data" ? "%64ata" : encodeURIComponent(name);
  return `${page().stacks}/nodes/${path}`;
}

/** Make an element show such a state; of several, as `unreachable, drained`, it looks like the first. */
export function showState(element, word, said = word) {
  showBadge(element, LOOKS[word.split(",")[0]] ?? "blocked", said);
}

/** Show how many there are in each state, as a list. */
export function showStateCounts(list, counts) {
  showRows(list, Object.entries(counts), {
    key: ([state]) => state,
    make: () => el("li", {}, el("span")),
    update: (item, [state, number]) => showState(item.firstElementChild, state, `${state} ${count(number)}`),
  });
}

/** How a resource or an instance is, by the words of plugins and hypervisors. */
export function showRawState(element, word) {
  const look = { running: "running", paused: "held", shutdown: "unreached", crashed: "failed" }[word];
  showBadge(element, look ?? lookOfResource(word), word);
}

function lookOfResource(word) {
  if (word.endsWith("_COMPLETE")) return "done";
  if (word.endsWith("_FAILED")) return "failed";
  return word.endsWith("_IN_PROGRESS") ? "running" : "blocked";
}
