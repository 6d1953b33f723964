// A stack's present resources: all are kept here, and shown in portions on demand.

import { byId, el, page, setText, stackUrl } from "./dom.js";
import { agoElement, count, counted } from "./format.js";
import { onHead, streamUrl } from "./head.js";
import { actionBadge, badge } from "./states.js";
import { fetchJson, follow } from "./stream.js";

const FIRST = 100; // So many are shown to begin with,
const MORE = 500; // and so many more each time.

const body = byId("resources-rows");
const search = byId("resources-search");
const unwell = byId("resources-unwell");
const nested = byId("resources-nested");
const more = byId("resources-more");
let resources = [];
let isKnown = false; // Whether it is known what resources there are.
let isDeleted = false;
let steps = new Map(); // What comes before what, by name.
let stacks = {}; // Ids of the stacks that resources are, by the resource's id.
let most = FIRST;
let sorted = { by: "", falls: false }; // By nothing: those first that others require.
const rows = new Map(); // Rows, and what they show, by the resource's id.

const { compare } = new Intl.Collator("en", { numeric: true }); // r2 before r10.
const ORDERS = {
  name: (one, other) => compare(pathOf(one), pathOf(other)),
  type: (one, other) => compare(one.type, other.type),
  state: (one, other) => compare(stateOf(one), stateOf(other)),
  changed: (one, other) => one.updated_at - other.updated_at,
};

/** The step in which each resource may be made, by its name: after all those that it requires. */
function stepsOf(all) {
  const left = new Map(); // How many of those that one requires have no step yet.
  const following = new Map(all.map(({ name }) => [name, []]));
  for (const { name, requires } of all) {
    // Of one that takes another's place there are two.
    if (left.has(name)) continue;
    const required = requires.filter((each) => each !== name && following.has(each));
    left.set(name, required.length);
    for (const each of required) following.get(each).push(name);
  }
  const steps = new Map();
  let ready = [...left.keys()].filter((name) => !left.get(name));
  for (let step = 0; ready.length; step += 1) {
    for (const name of ready) steps.set(name, step);
    const behind = ready.flatMap((name) => following.get(name));
    for (const name of behind) left.set(name, left.get(name) - 1);
    ready = [...new Set(behind)].filter((name) => !left.get(name));
  }
  // The requirements of resources that were not begun are not known yet.
  for (const { name, action } of all) if (action === "INIT") steps.set(name, Infinity);
  return steps;
}

function pathOf({ within, name }) {
  return [...within, name].join(" / ");
}

function stateOf({ action, status }) {
  return `${action}_${status}`;
}

function newRow(resource) {
  const name = el("th", { scope: "row", class: "clip", title: pathOf(resource) });
  if (resource.within.length) name.append(el("span", { class: "inside", text: `${resource.within.join(" / ")} / ` }));
  name.append(
    resource.within.length
      ? el("span", { text: resource.name })
      : el("a", { href: stackUrl("graph", { focus: resource.name }), text: resource.name }),
  );
  const state = el("td", {}, actionBadge(resource.action, resource.status));
  if (resource.unhealthy) state.append(" ", badge("failed", "unhealthy"));
  if (resource.hook) state.append(" ", badge("held", resource.hook));
  const id = el("td", { class: "wrap" });
  const inside = stacks[resource.uuid];
  if (inside) id.append(el("a", { href: `${page().stacks.replace(/s$/, "")}/${inside}`, text: "the stack that it is" }));
  else if (resource.physical_id) id.append(el("code", { text: resource.physical_id }));
  if (resource.reason) id.append(el("div", { class: "small muted", text: resource.reason }));
  return el(
    "tr",
    {},
    name,
    el("td", { class: "clip", text: resource.type, title: resource.type }),
    state,
    id,
    el("td", { class: "number" }, agoElement(resource.updated_at)),
  );
}

/** The matching resources, in the selected order. */
function wantedOnes() {
  const text = search.value.trim().toLowerCase();
  const found = resources.filter(
    (each) =>
      (!unwell.checked || each.status !== "COMPLETE" || each.unhealthy) &&
      (!text || [each.name, each.type, each.physical_id ?? ""].some((part) => part.toLowerCase().includes(text))),
  );
  if (sorted.by) {
    const order = ORDERS[sorted.by];
    return found.sort((one, other) => (sorted.falls ? order(other, one) : order(one, other)));
  }
  if (nested.checked) return found;
  return found.sort((one, other) => (steps.get(one.name) ?? Infinity) - (steps.get(other.name) ?? Infinity) || compare(one.name, other.name));
}

function show() {
  const wanted = wantedOnes();
  const shownOnes = wanted.slice(0, most);
  const seen = new Set();
  shownOnes.forEach((resource, place) => {
    const told = JSON.stringify([resource, stacks[resource.uuid]]);
    let shown = rows.get(resource.uuid);
    seen.add(resource.uuid);
    if (shown?.told !== told) {
      const element = newRow(resource);
      if (shown?.element.isConnected) shown.element.replaceWith(element);
      shown = { told, element };
      rows.set(resource.uuid, shown);
    }
    if (body.children[place] !== shown.element) body.insertBefore(shown.element, body.children[place] ?? null);
  });
  for (const [id, shown] of rows) {
    if (seen.has(id)) continue;
    shown.element.remove();
    rows.delete(id);
  }
  const left = wanted.length - shownOnes.length;
  const fitting = wanted.length === resources.length ? "" : `, ${count(wanted.length)} of which fit`;
  setText(byId("resources-range"), `${counted(resources.length, "resource")}${fitting}${left ? `, the first ${count(shownOnes.length)} of them shown` : ""}`);
  more.parentElement.hidden = !left;
  setText(more, `Show ${count(Math.min(left, MORE))} more`);
  const empty = byId("resources-empty");
  empty.hidden = wanted.length > 0;
  body.closest(".table-frame").hidden = !wanted.length;
  setText(empty, resources.length ? "No resource fits." : isDeleted ? "This stack is deleted, and none of its resources is left." : "This stack has no resources.");
}

function showSorting() {
  for (const head of document.querySelectorAll(".resources-list th[data-sort]")) {
    // The time since a change grows where the time of the change falls.
    const falls = head.dataset.sort === "changed" ? !sorted.falls : sorted.falls;
    if (head.dataset.sort === sorted.by) head.setAttribute("aria-sort", falls ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
}

function showAnew() {
  most = FIRST;
  show();
}

onHead(({ deleted_at: deletedAt }) => {
  isDeleted = deletedAt !== null;
  if (isKnown) show();
});
for (const each of [search, unwell]) each.addEventListener("input", showAnew);
nested.addEventListener("change", () => followed.refresh());
for (const head of document.querySelectorAll(".resources-list th[data-sort]")) {
  head.firstElementChild.addEventListener("click", () => {
    const { sort: by } = head.dataset;
    // What changed last is read first. Pressed once more than there are ways, it is as it was.
    const first = by === "changed";
    if (sorted.by !== by) sorted = { by, falls: first };
    else if (sorted.falls === first) sorted = { by, falls: !first };
    else sorted = { by: "", falls: false };
    showSorting();
    showAnew();
  });
}
more.addEventListener("click", () => {
  const before = body.children.length;
  most += MORE;
  show();
  // The keyboard's focus stays in its place.
  if (more.parentElement.hidden) body.children[before]?.querySelector("a")?.focus({ preventScroll: true });
});

let pause = 1000;
const followed = follow(streamUrl(), {
  async load(signal) {
    const asked = performance.now();
    const address = stackUrl("resources.json", { nested: nested.checked ? 1 : "" });
    const answer = await fetchJson(address, { signal });
    ({ resources, stacks } = answer);
    steps = stepsOf(resources);
    isKnown = true;
    show();
    // Large lists are loaded less often.
    pause = Math.max(1000, 5 * (performance.now() - asked));
    return answer;
  },
  apply: () => setTimeout(() => followed.refresh(), pause - 1000),
  every: 1000,
});
