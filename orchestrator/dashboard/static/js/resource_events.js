// The events about one resource, newest first: older ones on demand, new ones as they happen.

import { byId, el, page, setText, stackUrl, streamUrl } from "./dom.js";
import { counted, timeElement } from "./format.js";
import { showRows } from "./rows.js";
import { actionBadge } from "./states.js";
import { fetchJson, follow } from "./stream.js";
import { workerWords } from "./worker_names.js";

const PAGE = 25;

/** Show the events about a resource, and keep them up to date. */
export function showEvents(name) {
  const body = byId("resource-events-rows");
  const older = byId("resource-events-older");
  let events = [];
  let more = false;

  const address = (parameters) => stackUrl("events.json", { resource: name, limit: PAGE, ...parameters });

  function show() {
    showRows(body, events, { key: (event) => event.id, make: newRow, update: () => {} });
    byId("resource-events-table").hidden = !events.length;
    byId("resource-events-empty").hidden = events.length > 0;
    setText(byId("resource-events-range"), events.length ? `${counted(events.length, "event")}${more ? "" : ", all there are"}, newest first` : "");
    older.hidden = !more;
    older.disabled = false;
  }

  older.addEventListener("click", async () => {
    older.disabled = true;
    const answer = await fetchJson(address({ before: events.at(-1).id })).catch(() => null);
    if (answer) {
      events = [...events, ...answer.events];
      more = answer.more;
    }
    show();
  });

  const followed = follow(streamUrl(), {
    async load(signal) {
      const answer = await fetchJson(address(), { signal });
      // Older ones that were loaded on demand stay.
      const oldest = answer.events.at(-1)?.id ?? 0;
      const kept = answer.more ? events.filter((each) => each.id < oldest) : [];
      events = [...answer.events, ...kept];
      more = kept.length ? more : answer.more;
      show();
      return answer;
    },
    apply: (heard) => {
      if (heard.some((event) => event.stack_id === page().stackId && event.resource === name)) followed.refresh();
    },
    every: 500,
  });
}

function newRow(event) {
  return el(
    "tr",
    {},
    el("td", {}, timeElement(event.at)),
    el("td", {}, actionBadge(event.action, event.status, event.cause)),
    el("td", { class: "wrap", text: event.reason || "–" }),
    el("td", { class: "wrap muted", text: workerWords(event.worker) || "–", title: event.worker || null }),
  );
}
