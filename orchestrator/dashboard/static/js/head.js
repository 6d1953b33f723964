// The head of every page about one stack: state, progress, times and reason, kept up to date.

import { byId, setText, stackUrl } from "./dom.js";
import { duration, elapsed, now, setClock, showAgo } from "./format.js";
import { countsInWords, percent, showBar, showCounts } from "./progress.js";
import { lookOf, showBadge } from "./states.js";

let shown = null; // The head that is shown now.

/** Load the head and show it. */
async function load() {
  const answer = await fetch(stackUrl("head.json"));
  if (!answer.ok) throw new Error((await answer.json()).error);
  show(await answer.json());
}

function show(head) {
  const { operation } = head;
  setClock(head.as_of);
  const [action, status] = split(operation.stack_state);
  showBadge(byId("stack-state"), head.deleted_at ? "unreached" : lookOf(status), `${action}_${status}`);
  showBar(byId("stack-bar"), head.counts, head.total);
  setText(byId("stack-percent"), percent(head.done, head.total));
  showCounts(byId("stack-counts"), head.counts);
  setText(byId("stack-operation"), `${operation.action} ${operation.status}`);
  showAgo(byId("stack-begun"), operation.begun_at);
  byId("stack-begun").classList.add("ago");
  const reason = byId("stack-reason");
  setText(reason, operation.reason);
  reason.classList.toggle("trouble", operation.status === "FAILED" && Boolean(operation.reason));
  if (!shown || shown.operation.status !== operation.status || shown.operation.traversal_id !== operation.traversal_id) {
    const words = countsInWords(head.counts);
    setText(byId("stack-summary"), `${operation.action} ${operation.status}${words ? `: ${words}` : ""}`);
  }
  shown = head;
  tick();
}

function split(state) {
  const at = state.indexOf("_");
  return [state.slice(0, at), state.slice(at + 1)];
}

/** Count up what goes on by itself. */
function tick() {
  if (!shown) return;
  const { begun_at: begun, ended_at: ended, deadline } = shown.operation;
  setText(byId("stack-lasts-word"), ended ? "Took" : "Running for");
  setText(byId("stack-lasts"), ended ? duration(ended - begun) : elapsed(now() - begun));
  setText(byId("stack-deadline"), !ended && deadline ? `in ${elapsed(deadline - now())}` : "–");
}

setInterval(tick, 1000);
load().catch((error) => {
  const trouble = byId("trouble");
  trouble.hidden = false;
  setText(trouble, String(error.message ?? error));
});
