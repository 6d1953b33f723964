// The list equivalent of a drawing: the same resources or groups and states, for keyboards and screen readers.

import { el, setText } from "./dom.js";
import { count, counted } from "./format.js";
import { badge, showBadge, STATES } from "./states.js";
import { workerWords } from "./worker_names.js";

const RESOURCE_COLUMNS = ["Resource", "State", "Type", "Step", "Attempts", "Worker", "Reason"];
const NUMBERS = new Set(["Step", "Attempts", "Resources"]);
const GROUP_COLUMNS = ["Type", "Step", "Resources", "States", "Among them"];

export class VertexList {
  /** Args: the element to fill; `open(item)` when one is pressed. */
  constructor(frame, open) {
    this.frame = frame;
    this.pressed = null;
    this.open = (item) => {
      this.pressed = item;
      open(item);
    };
    this.rows = new Map();
    this.shown = null;
  }

  /** List a picture, in the place of what there was. */
  show(picture) {
    this.picture = picture;
    this.rows.clear();
    const grouped = picture.part === "groups";
    const body = el("tbody");
    this.words = el("caption", { class: "list-caption" });
    const columns = grouped ? GROUP_COLUMNS : RESOURCE_COLUMNS;
    const head = el("thead", {}, el("tr", {}, ...columns.map((column) => el("th", { scope: "col", class: NUMBERS.has(column) ? "number" : null, text: column }))));
    this.frame.replaceChildren(
      el("table", { class: `list vertex-list ${grouped ? "of-groups" : "of-resources"}` }, this.words, head, body),
    );
    if (grouped) for (const group of picture.groups.values()) body.append(this.groupRow(group));
    else for (const vertex of picture.inOrder()) body.append(this.row(vertex));
    this.filter(this.shown);
  }

  row(vertex) {
    const cells = {
      state: badge(vertex.state),
      attempt: el("td", { class: "number" }),
      worker: el("td", { class: "clip" }),
      reason: el("td", { class: "wrap" }),
    };
    const name = el("button", { type: "button", class: "btn btn-link vertex-name", text: vertex.name, on: { click: () => this.open(vertex) } });
    const row = el(
      "tr",
      { data: { no: vertex.no } },
      el("th", { scope: "row", class: "wrap" }, name, vertex.phase === "cleanup" && el("span", { class: "muted small", text: vertex.replaced_by === null ? " (cleanup)" : " (the old one)" })),
      el("td", {}, cells.state),
      el("td", { class: "clip", text: vertex.type, title: vertex.type }),
      el("td", { class: "number", text: vertex.layer + 1 }),
      cells.attempt,
      cells.worker,
      cells.reason,
    );
    this.rows.set(vertex.no, { row, cells });
    this.fill(vertex);
    return row;
  }

  fill(vertex) {
    const { cells } = this.rows.get(vertex.no);
    showBadge(cells.state, vertex.state);
    setText(cells.attempt, vertex.attempt || "–");
    setText(cells.worker, workerWords(vertex.worker) || "–");
    cells.worker.title = vertex.worker;
    setText(cells.reason, vertex.reason);
  }

  groupRow(group) {
    const cells = { states: el("span", { class: "chips" }), names: el("td", { class: "wrap muted" }) };
    // Open the group's present version, not the listed one.
    const open = () => this.open(this.picture.groups.get(group.id));
    const row = el(
      "tr",
      {},
      el("th", { scope: "row", class: "wrap" }, el("button", { type: "button", class: "btn btn-link vertex-name", text: group.type, on: { click: open } })),
      el("td", { class: "number", text: group.layer + 1 }),
      el("td", { class: "number", text: count(group.total) }),
      el("td", {}, cells.states),
      cells.names,
    );
    this.rows.set(group.id, { row, cells });
    this.fillGroup(group);
    return row;
  }

  fillGroup(group) {
    const { cells } = this.rows.get(group.id);
    const there = STATES.filter(({ name }) => group.counts[name]);
    cells.states.replaceChildren(...there.map(({ name, word }) => badge(name, `${count(group.counts[name])} ${word}`)));
    setText(cells.names, group.names.join(", "));
  }

  /** Show the present states of vertices. */
  update(vertices) {
    if (!this.picture) return;
    for (const vertex of vertices) if (this.rows.has(vertex.no)) this.fill(vertex);
    if (this.shown) this.filter(this.shown);
  }

  /** Show the present counts of all groups. */
  updateGroups() {
    if (!this.picture) return;
    for (const group of this.picture.groups.values()) this.fillGroup(group);
    if (this.shown) this.filter(this.shown);
  }

  /** List those in these states alone; null for all. */
  filter(states) {
    this.shown = states;
    if (!this.picture) return;
    let seen = 0;
    const matches = (item) => !states || (item.counts ? [...states].some((state) => item.counts[state]) : states.has(item.state));
    for (const [key, { row }] of this.rows) {
      const item = this.picture.vertices.get(key) ?? this.picture.groups.get(key);
      row.hidden = !matches(item);
      seen += row.hidden ? 0 : 1;
    }
    const noun = this.picture.part === "groups" ? "group" : "resource";
    const all = counted(this.rows.size, noun);
    setText(this.words, states ? `${count(seen)} of ${all}` : `${all}, in the order of their steps`);
  }

  /** Bring one into view. */
  reveal(vertex) {
    this.rows.get(vertex.no)?.row.scrollIntoView({ block: "center" });
  }

  /** Go back to the one that was pressed last. */
  takeFocus() {
    const key = this.pressed?.no ?? this.pressed?.id;
    this.rows.get(key)?.row.querySelector("button").focus();
  }

  /** Forget what is listed; the next picture is listed anew. */
  clear() {
    this.picture = null;
    this.rows.clear();
    this.frame.replaceChildren();
  }
}
