// A stack's present resources: all are kept here, and shown in portions on demand.

import { inAddress, keepInAddress, putInAddress } from "./address.js";
import { byId, el, page, resourceUrl, setText, stackUrl, typeElement } from "./dom.js";
import { agoElement, count, counted } from "./format.js";
import { onHead, streamUrl } from "./head.js";
import { stackOf } from "./panel.js";
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
let isWhole = false; // Whether those of nested stacks are among them.
let opened = new Set(); // The paths of those below which the resources of their stacks are shown.
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

function isStack(resource) {
  return resource.uuid in stacks;
}

/** Show the resources of a nested stack below it, or hide them again. */
function toggle(path) {
  if (!opened.delete(path)) opened.add(path);
  putInAddress("open", [...opened].sort().join(","));
  if (needsWhole() && !isWhole) followed.refresh();
  show();
}

function readOpened() {
  opened = new Set(inAddress("open").split(",").filter(Boolean));
}

/** Whether the resources of nested stacks are needed. */
function needsWhole() {
  return nested.checked || opened.size > 0 || (search.value.trim() !== "" && Object.keys(stacks).length > 0);
}

/** Each with those of its stack behind it, where that is opened. */
function withOpened(all, inside) {
  return all.flatMap((each) => [each, ...(opened.has(pathOf(each)) ? withOpened(inside.get(pathOf(each)) ?? [], inside) : [])]);
}

function stateOf({ action, status }) {
  return `${action}_${status}`;
}

/** The address of the stack that a resource is in; null if its outer resource is not known any more. */
function stackOfRow({ within }) {
  if (!within.length) return page().stack;
  const outer = resources.find((each) => pathOf(each) === within.join(" / "));
  return outer && isStack(outer) ? stackOf(stacks[outer.uuid]) : null;
}

function newRow(resource) {
  const name = el("th", { scope: "row", class: "clip", title: pathOf(resource) });
  const path = pathOf(resource);
  if (isStack(resource) && !nested.checked && !search.value.trim()) {
    const isOpen = opened.has(path);
    const label = `${isOpen ? "Hide" : "Show"} the resources of ${path}`;
    name.append(el("button", { type: "button", class: "opener", "aria-expanded": String(isOpen), "aria-label": label, text: isOpen ? "▾" : "▸", on: { click: () => toggle(path) } }), " ");
  }
  if (resource.within.length) name.append(el("span", { class: "inside", text: `${resource.within.join(" / ")} / ` }));
  const stack = stackOfRow(resource);
  name.append(stack === null ? el("span", { text: resource.name }) : el("a", { href: resourceUrl(resource.name, stack), text: resource.name }));
  const state = el("td", {}, actionBadge(resource.action, resource.status));
  if (resource.unhealthy) state.append(" ", badge("failed", "unhealthy"));
  if (resource.protected) state.append(" ", badge("held", "protected"));
  if (resource.hook) state.append(" ", badge("held", resource.hook));
  const id = el("td", { class: "wrap" });
  const inside = stacks[resource.uuid];
  if (inside) id.append(el("a", { href: `${page().stacks.replace(/s$/, "")}/${inside}`, text: "its nested stack" }));
  else if (resource.physical_id) id.append(el("code", { text: resource.physical_id }));
  if (!resource.within.length) {
    const label = `${resource.name} in the template`;
    id.append(" ", el("a", { class: "small muted", href: stackUrl("template", { resource: resource.name }), text: "template", "aria-label": label }));
  }
  if (resource.reason) id.append(el("div", { class: "small muted", text: resource.reason }));
  return el(
    "tr",
    {},
    name,
    el("td", { class: "clip", title: resource.type }, typeElement(resource.type)),
    state,
    id,
    el("td", { class: "number" }, agoElement(resource.updated_at)),
  );
}

/** The matching resources, in the selected order. */
function wantedOnes() {
  const text = search.value.trim().toLowerCase();
  const deep = nested.checked || text !== "";
  const found = resources.filter(
    (each) =>
      (deep || !each.within.length || opened.has(each.within.join(" / "))) &&
      (!unwell.checked || each.status !== "COMPLETE" || each.unhealthy) &&
      (!text || [pathOf(each), each.type, each.physical_id ?? ""].some((part) => part.toLowerCase().includes(text))),
  );
  if (sorted.by) {
    const order = ORDERS[sorted.by];
    return found.sort((one, other) => (sorted.falls ? order(other, one) : order(one, other)));
  }
  if (deep) return found;
  const own = found.filter((each) => !each.within.length);
  own.sort((one, other) => (steps.get(one.name) ?? Infinity) - (steps.get(other.name) ?? Infinity) || compare(one.name, other.name));
  const inside = new Map();
  for (const each of found) {
    const path = each.within.join(" / ");
    if (inside.has(path)) inside.get(path).push(each);
    else inside.set(path, [each]);
  }
  return withOpened(own, inside);
}

function show() {
  const wanted = wantedOnes();
  const shownOnes = wanted.slice(0, most);
  const seen = new Set();
  shownOnes.forEach((resource, place) => {
    const path = pathOf(resource);
    const told = JSON.stringify([resource, stacks[resource.uuid], opened.has(path), nested.checked || search.value.trim() !== ""]);
    let shown = rows.get(resource.uuid);
    seen.add(resource.uuid);
    if (shown?.told !== told) {
      const element = newRow(resource);
      const isAtOpener = document.activeElement?.className === "opener" && shown?.element.contains(document.activeElement);
      if (shown?.element.isConnected) shown.element.replaceWith(element);
      if (isAtOpener) element.querySelector(".opener")?.focus({ preventScroll: true });
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
  const all = nested.checked || search.value.trim() ? resources.length : resources.filter((each) => !each.within.length || opened.has(each.within.join(" / "))).length;
  const fitting = wanted.length === all ? "" : `, ${count(wanted.length)} of which match`;
  setText(byId("resources-range"), `${counted(all, "resource")}${fitting}${left ? `, the first ${count(shownOnes.length)} of them shown` : ""}`);
  more.parentElement.hidden = !left;
  setText(more, `Show ${count(Math.min(left, MORE))} more`);
  const empty = byId("resources-empty");
  empty.hidden = wanted.length > 0;
  body.closest(".table-frame").hidden = !wanted.length;
  setText(empty, resources.length ? "No resource matches." : isDeleted ? "This stack is deleted, and none of its resources is left." : "This stack has no resources.");
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

let known = ""; // The counts with nested stacks, whose events are not heard here.
onHead(({ deleted_at: deletedAt, tree }) => {
  isDeleted = deletedAt !== null;
  const counts = JSON.stringify(tree);
  if (isWhole && known !== counts) followed.refresh();
  known = counts;
  if (isKnown) show();
});
function choose() {
  readOpened();
  if (needsWhole() && !isWhole) followed.refresh();
  else showAnew();
}

keepInAddress({ search, unwell, nested }, choose);
readOpened();
for (const each of [search, unwell, nested]) each.addEventListener("input", choose);
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
    const whole = needsWhole();
    const answer = await fetchJson(stackUrl("resources.json", { nested: whole ? 1 : "" }), { signal });
    isWhole = whole;
    ({ resources, stacks } = answer);
    steps = stepsOf(resources.filter((each) => !each.within.length));
    isKnown = true;
    show();
    if (needsWhole() && !whole) followed.refresh();
    // Large lists are loaded less often.
    pause = Math.max(1000, 5 * (performance.now() - asked));
    return answer;
  },
  apply: () => setTimeout(() => followed.refresh(), pause - 1000),
  every: 1000,
});
