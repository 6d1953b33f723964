// The head of every page about one stack: state, progress, times and reason, kept up to date.
//
//   import { onHead } from "./head.js";
//   onHead((head) => ...);   // whenever it was read; see HeadView in orchestrator/views/heads.py, and `may`

import { byId, el, setText, stackUrl, streamUrl } from "./dom.js";
import { count, counted, duration, elapsed, now, showAgo, sinceWords, until } from "./format.js";
import { countsInWords, percent, showBar, showCounts } from "./progress.js";
import { lookOf, showBadge, split } from "./states.js";
import { fetchJson, follow } from "./stream.js";
import { usualWords } from "./usual.js";

export { streamUrl };

const LOOK_MILLISECONDS = 5000;

let shown = null; // The head that is shown now.
const heard = new Set();

/** Call a function with the head now, if there is one, and whenever it is read again. */
export function onHead(listener) {
  heard.add(listener);
  if (shown) listener(shown);
}

/** Read the head again: something else on the page knows more by now. */
export function readHead() {
  followed.refresh();
}

function show(head) {
  const { operation } = head;
  const [action, status] = split(operation.stack_state);
  const tab = document.querySelector(".tab[aria-current]").textContent;
  document.title = [operation.stack, operation.stack_state, tab, "Isotherm"].join(" · ");
  showBadge(byId("stack-state"), head.deleted_at ? "unreached" : lookOf(action, status), `${action}_${status}`);
  byId("stack-protected").hidden = !head.protected;
  const partial = byId("stack-partial");
  partial.hidden = !head.partial.length;
  partial.title = `not as defined: ${head.partial.join(", ")}`;
  showBar(byId("stack-bar"), head.counts, head.total, operation.action);
  setText(byId("stack-percent"), percent(head.done, head.total));
  showCounts(byId("stack-counts"), head.counts, operation.status === "IN_PROGRESS", operation.action);
  const untouched = byId("stack-untouched");
  untouched.hidden = !head.untouched;
  setText(untouched, `${counted(head.untouched, "other resource")} ${head.untouched === 1 ? "is" : "are"} left as ${head.untouched === 1 ? "it is" : "they are"}.`);
  // It was in force when the page was opened, if its own address names it.
  byId("stack-past").hidden = operation.in_force;
  setText(byId("stack-operation"), `${operation.action}_${operation.status}`);
  showAgo(byId("stack-begun"), operation.begun_at);
  showWho(operation);
  const reason = byId("stack-reason");
  setText(reason, operation.status === "COMPLETE" ? "" : operation.reason);
  reason.classList.toggle("trouble", operation.status === "FAILED" && Boolean(operation.reason));
  if (!shown || shown.operation.status !== operation.status || shown.operation.traversal_id !== operation.traversal_id) {
    const words = countsInWords(head.counts);
    setText(byId("stack-summary"), `${operation.action}_${operation.status}${words ? `: ${words}` : ""}`);
  }
  shown = head;
  showTree(head.tree);
  showStandstill(head.standstill);
  tick();
  for (const listener of heard) listener(head);
}

/** Say who began the operation, and why, where that is known: the engine itself says neither. */
function showWho({ user, comment }) {
  const by = byId("stack-by");
  by.parentElement.hidden = !user;
  setText(by, user);
  byId("stack-comment").hidden = !comment;
  setText(byId("stack-comment"), comment ? `“${comment}”` : "");
}

/** Say how far it is with the stacks nested in it. */
function showTree(tree) {
  const place = byId("stack-tree");
  place.hidden = !tree;
  if (!tree) return;
  const { done, unchanged, ...others } = tree.counts;
  const more = countsInWords(others);
  setText(place, `With ${counted(tree.stacks, "nested stack")}: ${count(tree.done)} of ${counted(tree.total, "resource")} done${more ? `, ${more}` : ""}.`);
}

/** Say that nothing works on the operation, since when, and what to do. */
function showStandstill(standstill) {
  const place = byId("stack-standstill");
  place.hidden = !standstill;
  if (!standstill) return;
  const { lack, since, remedy, command } = standstill;
  const words = `${lack}${since === null ? "" : ` since ${sinceWords(since)}`}: ${remedy} `;
  if (place.textContent !== `${words}${command}.`) place.replaceChildren(words, el("code", { text: command }), ".");
}

/** Count up what goes on by itself. */
function tick() {
  if (!shown) return;
  const { begun_at: begun, ended_at: ended, deadline } = shown.operation;
  setText(byId("stack-lasts-word"), ended ? "Took" : "Running for");
  setText(byId("stack-lasts"), ended ? duration(ended - begun) : elapsed(now() - begun));
  showUsual(ended ? null : now() - begun);
  byId("stack-deadline").parentElement.hidden = Boolean(ended) || !deadline;
  setText(byId("stack-deadline"), deadline ? until(deadline) : "–");
}

/** Say how long such an operation usually takes, and how much of that is left. */
function showUsual(elapsed) {
  // While a resource is held at a hook, or nothing works on it, the time that is left cannot be estimated.
  const isStanding = Boolean(shown.standstill || shown.counts.held);
  const words = elapsed === null ? null : usualWords(shown.usual, elapsed, { isStanding });
  byId("stack-usual").parentElement.hidden = !words;
  if (!words) return;
  setText(byId("stack-usual-word"), words.word);
  setText(byId("stack-usual"), words.value);
}

setInterval(tick, 1000);
// Without events: what happens when nothing works on it any more, is none.
setInterval(() => shown?.operation.status === "IN_PROGRESS" && !document.hidden && followed.refresh(), LOOK_MILLISECONDS);
// On a narrow screen the open tab may be out of sight.
document.querySelector(".tab[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

const followed = follow(streamUrl(), {
  async load(signal) {
    const head = await fetchJson(stackUrl("head.json"), { signal });
    show(head);
    return head;
  },
  // The counts are read again; the store has them at hand.
  apply: () => followed.refresh(),
  every: 500,
});
