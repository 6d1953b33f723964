// The list of stacks: filtered, sorted and paged by the server, and read again when something happens.

import { Chosen } from "./chosen.js";
import { byId, el, page, setText } from "./dom.js";
import { age, agoElement, counted, duration, elapsed, now, showAgo, sinceWords } from "./format.js";
import { ListFilter } from "./list_filter.js";
import { countsInWords, percent, showBar } from "./progress.js";
import { showOnce } from "./rows.js";
import { offerSavedFilters } from "./saved_filters.js";
import { badge, lookOf, showBadge, split } from "./states.js";
import { fetchJson, follow } from "./stream.js";
import { roughly } from "./usual.js";

const PAGE = 50;
const LOOK_MILLISECONDS = 5000;
const rows = new Map(); // Table rows by the stack's id.
let isGoing = false; // Whether an operation on the page is under way.

const filter = new ListFilter(() => followed.refresh());
const chosen = new Chosen(filter, () => followed.refresh());
offerSavedFilters(filter);

function show(answer) {
  isGoing = answer.rows.some(isUnderWay);
  showStandstill(answer.standstill);
  showStates(answer);
  showRows(answer);
  chosen.update(answer);
  showSorting();
  showRange(answer);
  showEmpty(answer);
}

function isUnderWay(stack) {
  return stack.status === "IN_PROGRESS" && !stack.deleted_at;
}

/** Say that nothing works on the operations in progress, since when, and what to do. */
function showStandstill(standstill) {
  const place = byId("stacks-standstill");
  place.hidden = !standstill;
  if (!standstill) return;
  const { remedy, command } = standstill;
  showOnce(place, [lackWords(standstill), remedy, command], () => [`${lackWords(standstill)}: ${remedy} `, el("code", { text: command }), "."]);
}

function lackWords({ lack, since }) {
  return `${lack}${since === null ? "" : ` since ${sinceWords(since)}`}`;
}

/** One button for each state that there is, with how many stacks are in it. */
function showStates({ states }) {
  const wanted = new Set(filter.states);
  const list = byId("stacks-states");
  const items = new Map([...list.children].map((item) => [item.dataset.name, item]));
  const names = [...new Set([...Object.keys(states), ...wanted])].sort();
  let before = null;
  for (const name of names) {
    let item = items.get(name);
    if (!item) {
      const [action, status] = split(name);
      const chip = el("button", { type: "button", class: "chip-button", on: { click: () => filter.toggleState(name) } });
      chip.append(badge(lookOf(action, status), name));
      chip.firstChild.append(el("span", { class: "number" }));
      item = el("li", { data: { name } }, chip);
    }
    items.delete(name);
    item.firstChild.setAttribute("aria-pressed", String(wanted.has(name)));
    setText(item.querySelector(".number"), String(states[name] ?? 0));
    if (before ? before.nextSibling !== item : list.firstChild !== item) before ? before.after(item) : list.prepend(item);
    before = item;
  }
  for (const item of items.values()) item.remove();
}

function showRows({ rows: stacks, standstill }) {
  const body = byId("stacks-rows");
  const focused = document.activeElement;
  const ids = new Set(stacks.map((stack) => stack.id));
  for (const [id, row] of rows) {
    if (ids.has(id)) continue;
    row.remove();
    rows.delete(id);
  }
  stacks.forEach((stack, place) => {
    let row = rows.get(stack.id);
    if (!row) {
      row = newRow(stack);
      rows.set(stack.id, row);
    }
    fill(row, stack, standstill);
    if (body.children[place] !== row) body.insertBefore(row, body.children[place] ?? null);
  });
  // A row that was moved has lost the focus.
  if (focused !== document.activeElement && body.contains(focused)) focused.focus({ preventScroll: true });
}

function newRow(stack) {
  const link = el("a", { class: "stack-link" });
  const row = el(
    "tr",
    { data: { id: stack.id } },
    el("th", { scope: "row", class: "clip" }, chosen.isPossible ? choiceOf(stack) : null, link, el("span", { class: "tags" })),
    el("td", {}, el("span"), " ", el("span", { hidden: true }), " ", el("span", { hidden: true }), " ", el("span", { class: "tag", text: "updated in part", hidden: true })),
    el(
      "td",
      {},
      el(
        "div",
        { class: "progress-line" },
        el("div", { class: "progress-bar-states", "aria-hidden": "true" }),
        el("span", { class: "progress-percent" }),
        el("span", { class: "visually-hidden counts" }),
      ),
    ),
    el("td", { class: "number took" }, el("span"), el("span", { class: "took-usual small muted", hidden: true })),
    el("td", { class: "number" }, agoElement(null)),
    el("td", { class: "by" }, el("span", { class: "by-user" }), el("span", { class: "by-comment small muted", hidden: true })),
    el("td", { class: "number retries" }),
    el("td", { class: "number age" }),
  );
  return row;
}

/** The box by which a stack is chosen. */
function choiceOf({ id, name }) {
  const box = el("input", { type: "checkbox", class: "form-check-input choose", value: id, "aria-label": `Choose ${name}` });
  box.checked = chosen.has(id);
  box.addEventListener("change", () => chosen.choose(id, box.checked));
  return box;
}

function tagButton(tag) {
  return el("button", { type: "button", class: "tag", text: tag, title: `Show stacks with the tag ${tag}`, on: { click: () => filter.addTag(tag) } });
}

function fill(row, stack, standstill) {
  const [name, state, progress, took, last, by, retries, since] = row.children;
  const link = name.querySelector(".stack-link");
  setText(link, stack.name);
  // A deleted stack's name may be another's by now.
  link.href = `${page().stacks.replace(/s$/, "")}/${encodeURIComponent(stack.deleted_at ? stack.id : stack.name)}`;
  link.title = stack.deleted_at ? `${stack.name}, deleted` : stack.name;
  const tags = name.lastChild;
  if (tags.dataset.tags !== stack.tags.join()) {
    tags.dataset.tags = stack.tags.join();
    tags.replaceChildren(...stack.tags.map(tagButton));
  }
  showBadge(state.firstChild, stack.deleted_at ? "unreached" : lookOf(stack.action, stack.status), stack.state);
  state.firstChild.title = stack.reason;
  // An operator has to clear the hook: the bar alone does not show that.
  const { held = 0 } = stack.counts;
  const [, hold, standing, part] = state.querySelectorAll(":scope > span");
  hold.hidden = !held;
  if (held) showBadge(hold, "held", `${held} held`);
  standing.hidden = !standstill || !isUnderWay(stack);
  if (!standing.hidden) {
    showBadge(standing, "retrying", "nothing works on it");
    standing.title = lackWords(standstill);
  }
  part.hidden = !stack.left;
  part.title = `${counted(stack.left, "resource")} may not be as defined`;
  const [bar, share, words] = progress.firstChild.children;
  showBar(bar, stack.counts, stack.total, stack.deleted_at ? "DELETE" : stack.action);
  bar.title = countsInWords(stack.counts);
  setText(share, percent(stack.done, stack.total));
  setText(words, countsInWords(stack.counts));
  took.dataset.begun = stack.begun_at;
  took.dataset.ended = stack.ended_at ?? "";
  took.lastChild.hidden = stack.usual_seconds === null;
  if (stack.usual_seconds !== null) setText(took.lastChild, `usually ${roughly(stack.usual_seconds)}`);
  showAgo(last.firstChild, stack.last_event_at);
  showBy(by, stack);
  setText(retries, stack.retries ? String(stack.retries) : "–");
  since.dataset.at = stack.created_at;
  tickRow(row);
}

/** Say who began the operation, and why: the engine itself says neither. */
function showBy(cell, { user, comment }) {
  const [who, why] = cell.children;
  setText(who, user || "–");
  why.hidden = !comment;
  setText(why, comment ? `“${comment}”` : "");
  why.title = comment;
}

function tickRow(row) {
  const took = row.querySelector(".took");
  const { begun, ended } = took.dataset;
  setText(took.firstChild, ended ? duration(ended - begun) : elapsed(now() - begun));
  const since = row.querySelector(".age");
  setText(since, age(now() - since.dataset.at));
}

function showSorting() {
  for (const head of document.querySelectorAll("#stacks-table th[data-sort]")) {
    // The age grows where the time of creation falls.
    const falls = filter.now.descending === "1";
    const rising = head.dataset.sort === "created" ? falls : !falls;
    if (head.dataset.sort === filter.now.sort) head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
  }
}

function showRange({ rows: found, total }) {
  const { offset } = filter.now;
  const first = found.length ? offset + 1 : 0;
  setText(byId("stacks-range"), total ? `${first}–${offset + found.length} of ${counted(total, "stack")}` : "no stack");
  byId("stacks-before").disabled = offset === 0;
  byId("stacks-next").disabled = offset + found.length >= total;
  setText(byId("stacks-summary"), `${counted(total, "stack")} in the list`);
}

function showEmpty({ rows: found, states }) {
  const empty = byId("stacks-empty");
  empty.hidden = found.length > 0;
  byId("stacks-table").parentElement.hidden = found.length === 0;
  if (found.length) return;
  const none = !Object.keys(states).length && filter.isUsual;
  const told = none ? "none" : "unmatched";
  if (empty.dataset.told === told) return;
  empty.dataset.told = told;
  if (none) {
    empty.replaceChildren(
      el("p", { text: "No stacks yet. Make the first one:" }),
      el("p", {}, el("code", { text: "isotherm stack create NAME -t template.yaml" })),
    );
    return;
  }
  empty.replaceChildren(
    el("p", { text: "No stack matches." }),
    el("button", { type: "button", class: "btn btn-sm btn-outline-secondary", text: "Show all", on: { click: () => filter.clear() } }),
  );
}

for (const head of document.querySelectorAll("#stacks-table th[data-sort]")) {
  head.querySelector(".sort").addEventListener("click", () => {
    const { sort } = head.dataset;
    const falls = filter.now.descending === "1";
    // Names and states are read from A on, times from the newest.
    const first = sort === "name" || sort === "state" ? "0" : "1";
    filter.go({ sort, descending: sort === filter.now.sort ? (falls ? "0" : "1") : first });
  });
}
byId("stacks-before").addEventListener("click", () => turn(-PAGE));
byId("stacks-next").addEventListener("click", () => turn(PAGE));
setInterval(() => rows.forEach(tickRow), 1000);
// Without events: what happens when nothing works on an operation any more, is none.
setInterval(() => isGoing && !document.hidden && followed.refresh(), LOOK_MILLISECONDS);

/** Show another page of the list. */
function turn(rowsOn) {
  filter.go({ offset: Math.max(0, filter.now.offset + rowsOn) }, { keepsPage: true });
}

const followed = follow(`${page().stacks}/stream`, {
  async load(signal) {
    const answer = await fetchJson(`${page().stacks}/data?${filter.query({ limit: PAGE })}`, { signal });
    // The page may be beyond the last one by now.
    if (!answer.rows.length && filter.now.offset && answer.total) {
      filter.go({ offset: Math.floor((answer.total - 1) / PAGE) * PAGE }, { keepsPage: true });
    }
    show(answer);
    return answer;
  },
  apply: () => followed.refresh(),
  every: 1000,
});
