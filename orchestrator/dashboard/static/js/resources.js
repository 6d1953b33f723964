// A stack's resources as they are now, in the order of its graph.

import { byId, el, page, setText, stackUrl } from "./dom.js";
import { agoElement, count, counted } from "./format.js";
import { streamUrl } from "./head.js";
import { actionBadge, badge } from "./states.js";
import { fetchJson, follow } from "./stream.js";

const body = byId("resources-rows");
const search = byId("resources-search");
const unwell = byId("resources-unwell");
const nested = byId("resources-nested");
let resources = [];
let stacks = {}; // Ids of the stacks that resources are, by the resource's id.
const rows = new Map(); // Rows, and what they show, by the resource's id.

function newRow(resource) {
  const name = el("th", { scope: "row", class: "clip", title: [...resource.within, resource.name].join(" / ") });
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

function show() {
  const text = search.value.trim().toLowerCase();
  const wanted = resources.filter(
    (each) =>
      (!unwell.checked || each.status !== "COMPLETE" || each.unhealthy) &&
      (!text || [each.name, each.type, each.physical_id ?? ""].some((part) => part.toLowerCase().includes(text))),
  );
  const seen = new Set();
  wanted.forEach((resource, place) => {
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
  setText(byId("resources-range"), `${count(wanted.length)} of ${counted(resources.length, "resource")}`);
  const empty = byId("resources-empty");
  empty.hidden = wanted.length > 0;
  setText(empty, resources.length ? "No resource fits." : "This stack has no resources.");
}

for (const each of [search, unwell]) each.addEventListener("input", show);
nested.addEventListener("change", () => followed.refresh());

let pause = 1000;
const followed = follow(streamUrl(), {
  async load(signal) {
    const asked = performance.now();
    const address = stackUrl("resources.json", { nested: nested.checked ? 1 : "" });
    const answer = await fetchJson(address, { signal });
    ({ resources, stacks } = answer);
    show();
    // Many are not asked for all the time.
    pause = Math.max(1000, 5 * (performance.now() - asked));
    return answer;
  },
  apply: () => setTimeout(() => followed.refresh(), pause - 1000),
  every: 1000,
});
