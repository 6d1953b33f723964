// The selected part of a graph (everything, groups, or the neighbourhood of one resource) and its form (drawing or
// list). It is kept in the page's address, so that links and the browser's history work.

import { byId, el } from "./dom.js";
import { count } from "./format.js";

export const ANY_DEPTH = 99;
const MOST_DRAWN = 5000;

export class Focus {
  /** Args: `heard(fetchAnew)` when something else is to be looked at; whether other data are needed for it. */
  constructor(heard) {
    this.heard = heard;
    this.read();
    this.depth = byId("graph-depth");
    this.search = byId("graph-search");
    byId("graph-all").addEventListener("click", () => this.go({ part: "all", focus: null }));
    byId("graph-groups").addEventListener("click", () => this.go({ part: "groups", focus: null }));
    byId("graph-drawn").addEventListener("click", () => this.go({ list: false }));
    byId("graph-listed").addEventListener("click", () => this.go({ list: true }));
    byId("graph-unfocus").addEventListener("click", () => this.go({ focus: null, depth: 1 }));
    this.depth.addEventListener("change", () => this.go({ depth: Number(this.depth.value) }));
    window.addEventListener("popstate", () => this.read() && this.heard(true));
  }

  /** Read the selection from the address. */
  read() {
    const said = new URLSearchParams(location.search);
    this.now = {
      part: said.get("part"),
      focus: said.get("focus"),
      depth: Math.max(0, Number.parseInt(said.get("depth") ?? "1", 10) || 0),
      list: said.get("view") === "list",
      states: (said.get("states") ?? "").split(",").filter(Boolean),
    };
    return true;
  }

  /** Look at something else; what is not named stays. */
  go(changes) {
    const before = this.now;
    this.now = { ...before, ...changes };
    this.write();
    this.heard(["part", "focus", "depth"].some((each) => before[each] !== this.now[each]));
  }

  /** Keep the states that are shown in the address, without a step back. */
  keepStates(states) {
    this.now.states = states ? [...states] : [];
    this.write(true);
  }

  write(inPlace = false) {
    const said = new URLSearchParams(location.search);
    const { part, focus, depth, list, states } = this.now;
    const all = { part, focus, depth: focus !== null && depth !== 1 ? String(depth) : null, view: list ? "list" : null, states: states.join(",") || null };
    for (const [name, value] of Object.entries(all)) {
      if (value === null) said.delete(name);
      else said.set(name, value);
    }
    const query = said.toString();
    const address = query ? `?${query}` : location.pathname;
    if (inPlace) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
  }

  /** The arguments of the request to the server. */
  get asked() {
    const { part, focus, depth } = this.now;
    return focus === null ? { part } : { focus, depth };
  }

  /** Show the selection in the tools. */
  show(picture) {
    const { focus, depth, list } = this.now;
    const focused = picture.part === "focus";
    press("graph-all", picture.part === "all");
    press("graph-groups", picture.part === "groups");
    press("graph-drawn", !list);
    press("graph-listed", list);
    const all = byId("graph-all");
    all.disabled = picture.total > MOST_DRAWN;
    all.title = all.disabled ? `More than ${count(MOST_DRAWN)} cannot be shown in one picture: show groups, or the neighbourhood of one` : "";
    const bar = byId("graph-focus");
    bar.hidden = !focused;
    if (!focused) return;
    const middle = picture.vertices.get(picture.focus);
    byId("graph-focus-name").textContent = middle?.name || focus;
    const known = [...this.depth.options].some((option) => Number(option.value) === depth);
    if (!known) this.depth.append(el("option", { value: depth, text: `${depth} edges` }));
    this.depth.value = String(depth);
  }
}

function press(id, pressed) {
  byId(id).setAttribute("aria-pressed", String(pressed));
}
