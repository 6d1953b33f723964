// The selected part of a graph (everything, groups, or the neighbourhood of one resource), its form (drawing or list),
// the states that are shown, and the resource or group that is opened. All of it is kept in the page's address, so that
// links and the browser's history work.

import { byId, el } from "./dom.js";
import { count } from "./format.js";

export const ANY_DEPTH = 99;
const MOST_DRAWN = 5000;

export class Focus {
  /**
   * Args: `heard(fetchAnew, cameBack)` when something else is to be looked at: whether other data are needed for it, and
   * whether the browser's history led to it.
   */
  constructor(heard) {
    this.heard = heard;
    this.read();
    this.depth = byId("graph-depth");
    this.search = byId("graph-search");
    byId("graph-all").addEventListener("click", () => this.go({ part: "all", focus: null, group: null }));
    byId("graph-groups").addEventListener("click", () => this.go({ part: "groups", focus: null, resource: null }));
    byId("graph-drawn").addEventListener("click", () => this.go({ list: false }));
    byId("graph-listed").addEventListener("click", () => this.go({ list: true }));
    byId("graph-unfocus").addEventListener("click", () => this.go({ focus: null, depth: 1 }));
    this.depth.addEventListener("change", () => this.go({ depth: Number(this.depth.value) }));
    window.addEventListener("popstate", () => {
      const before = this.now;
      this.read();
      this.heard(this.needsOther(before), true);
    });
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
      resource: said.get("resource"),
      group: said.get("group"),
    };
  }

  /** Look at something else; what is not named stays. */
  go(changes) {
    const before = this.now;
    this.now = { ...before, ...changes };
    this.write();
    this.heard(this.needsOther(before), false);
  }

  needsOther(before) {
    return ["part", "focus", "depth"].some((each) => before[each] !== this.now[each]);
  }

  /** Keep in the address which states are shown; null for all. */
  keepStates(states) {
    this.now = { ...this.now, states: states ? [...states] : [] };
    this.write();
  }

  /** Keep in the address what is opened: `resource` or `group`, both null for nothing; `inPlace` without a step back. */
  keepOpened({ resource = null, group = null }, inPlace = false) {
    this.now = { ...this.now, resource, group };
    this.write(inPlace);
  }

  write(inPlace = false) {
    const said = new URLSearchParams(location.search);
    const { part, focus, depth, list, states, resource, group } = this.now;
    const far = focus !== null && depth !== 1 ? String(depth) : null;
    const all = { part, focus, depth: far, view: list ? "list" : null, states: states.join(",") || null, resource, group };
    for (const [name, value] of Object.entries(all)) {
      if (value === null) said.delete(name);
      else said.set(name, value);
    }
    const query = said.toString();
    const address = query ? `?${query}` : location.pathname;
    if (address === (location.search || location.pathname)) return;
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
