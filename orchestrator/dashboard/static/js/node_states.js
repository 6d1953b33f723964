// The states of nodes, caches and processes: their words, and whose look each has.

import { showBadge } from "./states.js";

const LOOKS = {
  // Of nodes.
  up: "done",
  drained: "held",
  unreachable: "failed",
  failing: "retrying",
  // Of caches, and of what a node says of its hypervisors and storage.
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

/** Make an element show such a state; of several, as `unreachable, drained`, it looks like the first. */
export function showState(element, word) {
  showBadge(element, LOOKS[word.split(",")[0]] ?? "blocked", word);
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
