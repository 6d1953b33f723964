// The constraint caches and the node state cache, with their hit rates.

import { meter, pairs, share, showMeter } from "./amounts.js";
import { byId, el, page, setText } from "./dom.js";
import { count, dateTime, duration } from "./format.js";
import { showState } from "./node_states.js";
import { poll } from "./poll.js";
import { showRows } from "./rows.js";

const EVERY = 5000; // Milliseconds.
const NUMBERS = ["hits", "misses", "generated", "refused", "evicted"];

function make(cache) {
  return el(
    "tr",
    {},
    el("th", { scope: "row", class: "clip", text: cache.client, title: cache.client }),
    el("td", {}, el("span")),
    el("td", {}, meter()),
    ...["hits", "misses", "generated", "refused", "faults", "evicted", "entries", "expires"].map((name) =>
      el("td", { class: "number", data: { cell: name } }),
    ),
    el("td", { class: "wrap small", data: { cell: "where" } }),
  );
}

function update(row, cache) {
  const set = (name, value) => setText(row.querySelector(`[data-cell="${name}"]`), value);
  const { counters } = cache;
  showState(row.children[1].firstElementChild, cache.state);
  showRate(row.children[2].firstElementChild, cache.hit_rate);
  for (const name of NUMBERS) set(name, count(counters[name]));
  set("faults", count(counters.errors + counters.garbage));
  const entries = cache.entries === null ? "–" : count(cache.entries);
  set("entries", cache.max_entries === null ? entries : `${entries} of ${count(cache.max_entries)}`);
  set("expires", cache.expiration_seconds === null ? "–" : duration(cache.expiration_seconds));
  const since = cache.since === null ? "nothing counted yet" : `counted since ${dateTime(cache.since)}`;
  set("where", [cache.backend, cache.url, cache.detail, since].filter(Boolean).join(" · "));
}

function showRate(element, rate) {
  showMeter(element, rate ?? 0, rate === null ? null : 1, share(rate));
  // A high hit rate is not highlighted as an excess.
  element.classList.remove("full");
}

function showStates(stats) {
  const asked = stats.since !== null;
  byId("states-empty").hidden = asked;
  byId("states-all").hidden = !asked;
  if (!asked) return;
  setText(byId("states-since"), `counted since ${dateTime(stats.since)}`);
  showRows(byId("states-rate"), [stats], {
    key: () => "rate",
    make: () => el("div", {}, el("h3", { text: "Hit rate" }), meter()),
    update: (place) => showRate(place.lastElementChild, stats.hit_rate),
  });
  const misses = Object.values(stats.misses).reduce((sum, each) => sum + each, 0);
  const facts = [
    ["Hits", count(stats.hits)],
    ["Misses", misses ? `${count(misses)} (${pairs(stats.misses, count)})` : "0"],
    ["Too old to be given", count(stats.misses.aged ?? 0)],
    ["Answered by another's question", count(stats.shared)],
    ["Age when it was given", duration(stats.mean_age_seconds)],
    ["Nodes queried", count(stats.asked)],
    ["Nodes that did not answer", count(stats.unanswered)],
    ["Time of an answer", duration(stats.mean_asked_seconds)],
    ["Invalidated, of one node", pairs(stats.bumps, count)],
    ["Invalidated, of all", pairs(stats.flushes, count)],
    ["Answers not kept", count(stats.refused + stats.unsettled)],
    ["Faults of the store", count(stats.errors)],
  ];
  showRows(byId("states-facts"), facts, {
    key: ([name]) => name,
    make: ([name]) => el("div", {}, el("dt", { text: name }), el("dd")),
    update: (place, [, value]) => setText(place.querySelector("dd"), value),
  });
}

poll(`${page().stacks}/cache/data`, {
  every: EVERY,
  show(answer) {
    showRows(byId("cache-rows"), answer.caches, { key: (cache) => cache.client, make, update });
    byId("cache-frame").hidden = !answer.caches.length;
    byId("cache-empty").hidden = Boolean(answer.caches.length);
    showStates(answer.node_states);
  },
});
