// The list of stacks: filtered, sorted and paged by the server, and read again when something happens.

import { byId, el, page, setText } from "./dom.js";
import { age, agoElement, counted, duration, elapsed, now, showAgo } from "./format.js";
import { countsInWords, percent, showBar } from "./progress.js";
import { badge, lookOf, showBadge, split } from "./states.js";
import { fetchJson, follow } from "./stream.js";
import { roughly } from "./usual.js";

const PAGE = 50;
const wanted = { search: "", states: "", sort: "updated", descending: "1", offset: 0, nested: "", deleted: "" };
const usual = { ...wanted };
const rows = new Map(); // Table rows by the stack's id.
let shown = null;

const form = byId("stacks-filters");
const search = form.elements.namedItem("search");

/** The list's address; what is as usual is left out. */
function query(more = {}) {
  const asked = new URLSearchParams(more);
  for (const [key, value] of Object.entries(wanted)) if (String(value) !== String(usual[key])) asked.set(key, value);
  return asked.toString();
}

function readAddress() {
  const asked = new URLSearchParams(location.search);
  for (const key of Object.keys(wanted)) wanted[key] = asked.get(key) ?? usual[key];
  wanted.offset = Math.max(0, Number.parseInt(wanted.offset, 10) || 0);
  search.value = wanted.search;
  for (const name of ["nested", "deleted"]) form.elements.namedItem(name).checked = wanted[name] === "1";
}

/** Load other stacks, or another order. */
function want(change, { keepsPage = false } = {}) {
  Object.assign(wanted, keepsPage ? {} : { offset: 0 }, change);
  const asked = query();
  history.replaceState(null, "", asked ? `?${asked}` : location.pathname);
  followed.refresh();
}

function show(answer) {
  shown = answer;
  showStates(answer);
  showRows(answer.rows);
  showSorting();
  showRange(answer);
  showEmpty(answer);
}

/** One button for each state that there is, with how many stacks are in it. */
function showStates({ states }) {
  const chosen = new Set(wanted.states.split(",").filter(Boolean));
  const list = byId("stacks-states");
  const items = new Map([...list.children].map((item) => [item.dataset.name, item]));
  const names = [...new Set([...Object.keys(states), ...chosen])].sort();
  let before = null;
  for (const name of names) {
    let item = items.get(name);
    if (!item) {
      const [action, status] = split(name);
      const chip = el("button", { type: "button", class: "chip-button", on: { click: () => toggle(name) } });
      chip.append(badge(lookOf(action, status), name));
      chip.firstChild.append(el("span", { class: "number" }));
      item = el("li", { data: { name } }, chip);
    }
    items.delete(name);
    item.firstChild.setAttribute("aria-pressed", String(chosen.has(name)));
    setText(item.querySelector(".number"), String(states[name] ?? 0));
    if (before ? before.nextSibling !== item : list.firstChild !== item) before ? before.after(item) : list.prepend(item);
    before = item;
  }
  for (const item of items.values()) item.remove();
}

function toggle(name) {
  const chosen = new Set(wanted.states.split(",").filter(Boolean));
  if (!chosen.delete(name)) chosen.add(name);
  want({ states: [...chosen].sort().join(",") });
}

function showRows(stacks) {
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
    fill(row, stack);
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
    el("th", { scope: "row", class: "clip" }, link, el("span", { class: "tags" })),
    el("td", {}, el("span"), " ", el("span", { hidden: true })),
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
    el("td", { class: "number retries" }),
    el("td", { class: "number age" }),
  );
  return row;
}

function fill(row, stack) {
  const [name, state, progress, took, last, retries, since] = row.children;
  const link = name.firstChild;
  setText(link, stack.name);
  // A deleted stack's name may be another's by now.
  link.href = `${page().stacks.replace(/s$/, "")}/${encodeURIComponent(stack.deleted_at ? stack.id : stack.name)}`;
  link.title = stack.deleted_at ? `${stack.name}, deleted` : stack.name;
  const tags = name.lastChild;
  if (tags.dataset.tags !== stack.tags.join()) {
    tags.dataset.tags = stack.tags.join();
    tags.replaceChildren(...stack.tags.map((tag) => el("span", { class: "tag", text: tag })));
  }
  showBadge(state.firstChild, stack.deleted_at ? "unreached" : lookOf(stack.action, stack.status), stack.state);
  state.firstChild.title = stack.reason;
  // An operator has to clear the hook: the bar alone does not show that.
  const { held = 0 } = stack.counts;
  state.lastChild.hidden = !held;
  if (held) showBadge(state.lastChild, "held", `${held} held`);
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
  setText(retries, stack.retries ? String(stack.retries) : "–");
  since.dataset.at = stack.created_at;
  tickRow(row);
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
    const falls = wanted.descending === "1" || wanted.descending === true;
    const rising = head.dataset.sort === "created" ? falls : !falls;
    if (head.dataset.sort === wanted.sort) head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
  }
}

function showRange({ rows: found, total }) {
  const first = found.length ? wanted.offset + 1 : 0;
  setText(byId("stacks-range"), total ? `${first}–${wanted.offset + found.length} of ${counted(total, "stack")}` : "no stack");
  byId("stacks-before").disabled = wanted.offset === 0;
  byId("stacks-next").disabled = wanted.offset + found.length >= total;
  setText(byId("stacks-summary"), `${counted(total, "stack")} in the list`);
}

function showEmpty({ rows: found, states }) {
  const empty = byId("stacks-empty");
  empty.hidden = found.length > 0;
  byId("stacks-table").parentElement.hidden = found.length === 0;
  if (found.length) return;
  const none = !Object.keys(states).length && !wanted.search && !wanted.states;
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
  const clear = () => {
    search.value = "";
    for (const name of ["nested", "deleted"]) form.elements.namedItem(name).checked = false;
    want({ ...usual });
  };
  empty.replaceChildren(
    el("p", { text: "No stack matches." }),
    el("button", { type: "button", class: "btn btn-sm btn-outline-secondary", text: "Show all", on: { click: clear } }),
  );
}

let typing = null;
search.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => want({ search: search.value.trim() }), 250);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  want({ search: search.value.trim() });
});
for (const name of ["nested", "deleted"]) {
  const box = form.elements.namedItem(name);
  box.addEventListener("change", () => want({ [name]: box.checked ? "1" : "" }));
}
for (const head of document.querySelectorAll("#stacks-table th[data-sort]")) {
  head.firstChild.addEventListener("click", () => {
    const { sort } = head.dataset;
    const falls = String(wanted.descending) === "1";
    // Names and states are read from A on, times from the newest.
    const first = sort === "name" || sort === "state" ? "0" : "1";
    want({ sort, descending: sort === wanted.sort ? (falls ? "0" : "1") : first });
  });
}
byId("stacks-before").addEventListener("click", () => want({ offset: Math.max(0, wanted.offset - PAGE) }, { keepsPage: true }));
byId("stacks-next").addEventListener("click", () => want({ offset: wanted.offset + PAGE }, { keepsPage: true }));
setInterval(() => rows.forEach(tickRow), 1000);

readAddress();
const followed = follow(`${page().stacks}/stream`, {
  async load(signal) {
    const answer = await fetchJson(`${page().stacks}/data?${query({ limit: PAGE })}`, { signal });
    // The page may be beyond the last one by now.
    if (!answer.rows.length && wanted.offset && answer.total) {
      wanted.offset = Math.floor((answer.total - 1) / PAGE) * PAGE;
      followed.refresh();
    }
    show(answer);
    return answer;
  },
  apply: () => followed.refresh(),
  every: 1000,
});
