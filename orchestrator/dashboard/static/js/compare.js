// Two operations of a stack side by side: what took longer, why, and what changed in the definition.

import { inAddress, putInAddress } from "./address.js";
import { changesView } from "./changes.js";
import { differenceWords, didWord, totalWords, whyWords } from "./compare_words.js";
import { byId, el, page, setText } from "./dom.js";
import { count, counted, dateTime, duration } from "./format.js";
import { actionBadge, badge } from "./states.js";
import { fetchJson, follow } from "./stream.js";
import { streamUrl } from "./head.js";

const FIRST = 100; // So many resources are shown to begin with.
const OPERATIONS = 50;
const SIDES = ["a", "b"];
const onlySlower = byId("compare-slower");

let comparison = null;
let operations = [];
let isWhole = false;

function operationWords({ action, status, begun_at: begun }) {
  return `${dateTime(begun)} ${action}_${status}`;
}

/** Offer all operations that are known, and the compared ones in any case. */
function showChoices() {
  const known = new Map(operations.map((each) => [each.id, each]));
  for (const side of SIDES) {
    const { traversal_id: id } = comparison[side];
    if (!known.has(id)) known.set(id, comparison[side]);
  }
  const all = [...known].sort(([, one], [, other]) => other.begun_at - one.begun_at);
  const told = JSON.stringify(all.map(([id, each]) => [id, each.status]));
  for (const side of SIDES) {
    const select = byId(`compare-${side}`);
    if (select.dataset.told !== told) {
      select.dataset.told = told;
      select.replaceChildren(...all.map(([id, each]) => el("option", { value: id, text: operationWords(each) })));
    }
    select.value = comparison[side].traversal_id;
  }
}

function showTotal() {
  setText(byId("compare-note"), [totalWords(comparison), ...trimmedWords()].join(" "));
  const graph = (side) => `${page().stack}/timeline?traversal=${encodeURIComponent(comparison[side].traversal_id)}`;
  const heads = SIDES.map((side, place) => {
    const { action, status, begun_at: begun } = comparison[side];
    return el("th", { scope: "col" }, el("a", { href: graph(side), text: `${place ? "Second" : "First"}, ${dateTime(begun)}` }), " ", actionBadge(action, status));
  });
  byId("compare-total-head").replaceChildren(el("tr", {}, el("th", { scope: "col", text: "Time" }), ...heads, el("th", { scope: "col", class: "number", text: "Difference" })));
  const rows = [["Together", comparison.seconds]];
  const words = { queued: "Critical path: queued", running: "Critical path: running", retrying: "Critical path: retrying", held: "Critical path: held" };
  for (const [kind, word] of Object.entries(words)) {
    const both = comparison.critical.map((each) => each[kind] ?? 0);
    if (both.some(Boolean)) rows.push([word, both]);
  }
  byId("compare-total").replaceChildren(
    ...rows.map(([word, [before, after]]) =>
      el("tr", {}, el("th", { scope: "row", text: word }), el("td", { data: { label: "First" }, text: duration(before) }), el("td", { data: { label: "Second" }, text: duration(after) }), el("td", { class: "number", text: differenceWords(after - before) })),
    ),
  );
}

function trimmedWords() {
  const gone = SIDES.filter((_, place) => comparison.trimmed[place]).map((side) => (side === "a" ? "first" : "second"));
  return gone.length ? [`Events of the ${gone.join(" and the ")} have been removed from the history: times are missing.`] : [];
}

function sideCell(side) {
  if (!side) return el("td", { class: "number", text: "–" });
  const kinds = Object.entries(side.seconds).filter(([, seconds]) => seconds > 0);
  const title = kinds.map(([kind, seconds]) => `${kind} ${duration(seconds)}`).join(", ");
  const word = didWord(side);
  return el("td", { class: "number", title }, side.state === "failed" ? badge("failed") : el("span", { class: "small muted", text: word }), ` ${duration(side.total)}`);
}

function showRows() {
  const found = comparison.rows.filter((row) => !onlySlower.checked || row.difference > 0);
  const shown = isWhole ? found : found.slice(0, FIRST);
  byId("compare-rows").replaceChildren(
    ...shown.map((row) =>
      el(
        "tr",
        {},
        el("th", { scope: "row", class: "clip", title: `${row.name}, ${row.type}` }, el("a", { href: timelineOf(row), text: row.name })),
        sideCell(row.a),
        sideCell(row.b),
        el("td", { class: "number", text: row.a && row.b ? differenceWords(row.difference) : "–" }),
        el("td", { class: "wrap", text: whyWords(row) }),
      ),
    ),
  );
  const empty = byId("compare-empty");
  empty.hidden = found.length > 0;
  setText(empty, comparison.rows.length ? "Nothing took longer." : "Neither operation worked on a resource.");
  const omitted = comparison.omitted ? `; ${count(comparison.omitted)} more with smaller differences are left out` : "";
  setText(byId("compare-range"), `${count(shown.length)} of ${counted(found.length, "resource")}${omitted}`);
  byId("compare-more").hidden = shown.length === found.length;
}

function timelineOf(row) {
  const query = new URLSearchParams({ traversal: comparison[row.b ? "b" : "a"].traversal_id, search: row.name });
  return `${page().stack}/timeline?${query}`;
}

function choose(sides) {
  for (const side of SIDES) putInAddress(side, sides[side], { inPlace: side === "b" });
  followed.refresh();
}

for (const side of SIDES) {
  byId(`compare-${side}`).addEventListener("change", () => choose({ a: byId("compare-a").value, b: byId("compare-b").value }));
}
byId("compare-form").addEventListener("submit", (event) => event.preventDefault());
byId("compare-swap").addEventListener("click", () => choose({ a: byId("compare-b").value, b: byId("compare-a").value }));
onlySlower.addEventListener("input", () => comparison && showRows());
byId("compare-more").addEventListener("click", () => {
  isWhole = true;
  showRows();
});
addEventListener("popstate", () => followed.refresh());

let pause = 1000;
const followed = follow(streamUrl(), {
  async load(signal) {
    const asked = performance.now();
    const query = new URLSearchParams(SIDES.map((side) => [side, inAddress(side)]).filter(([, id]) => id));
    try {
      const history = await fetchJson(`${page().stack}/history.json?limit=${OPERATIONS}`, { signal });
      operations = history.operations;
      // Of a stack's first operation there is nothing to ask for.
      if (operations.length < 2 && !query.size) {
        setText(byId("compare-note"), "There is no earlier operation to compare it with.");
        return history;
      }
      comparison = await fetchJson(`${page().stack}/compare.json?${query}`, { signal });
    } catch (error) {
      setText(byId("compare-note"), error.message);
      throw error;
    }
    showChoices();
    showTotal();
    showRows();
    byId("compare-changes").replaceChildren(changesView(comparison.changes));
    pause = Math.max(1000, 5 * (performance.now() - asked));
    return comparison;
  },
  // Of operations that are over, nothing changes.
  apply: () => (!comparison || SIDES.some((side) => comparison[side].ended_at === null)) && setTimeout(() => followed.refresh(), pause - 1000),
  every: 1000,
});
