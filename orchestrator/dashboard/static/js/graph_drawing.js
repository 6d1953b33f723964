// The drawing of a graph: Cytoscape's canvas, and the mouse and keys on it. Its data come from graph_model.js.

import cytoscape from "./cytoscape.js";
import { el } from "./dom.js";
import { count } from "./format.js";
import { begun, fitted, shortened, shortType } from "./graph_labels.js";
import { Layouts } from "./graph_layout.js";
import { barImage, BOX, CARD, colours, courseData, FAR, REPLACING, styleSheet, VERY_FAR } from "./graph_style.js";
import { stateOf } from "./states.js";

/** What a label may be wide, in pixels of the drawing, and in which size it is; as graph_style.js has them. */
const NEAR_LABEL = Object.freeze({ width: 128, size: 12 });
const FAR_LABEL = Object.freeze({ width: 137, size: 20 });
const CARD_LABEL = Object.freeze({ width: 204, size: 15 });
const FAR_CARD_LABEL = Object.freeze({ width: 208, size: 22 });
/** So many boxes or arrows are added between two frames: Cytoscape works out their styles when it draws the next one. */
const PORTION = 40;
const FAR_CLASSES = Object.freeze(["", "far", "far very-far"]);
const PADDING = 28;
const LARGEST_AT_FIRST = 1.15;
/** What is larger than its frame begins in this size at least: names can be read, and the rest is dragged into sight. */
const SMALLEST_AT_FIRST = 0.42;
/** A picture that is lower than its frame is not put further down than this. */
const LOWEST_TOP = 64;
/** How far inside of the frame what is chosen is kept, in pixels of the screen. */
const INSIDE = Object.freeze({ x: 100, y: 48 });
/** What becomes of what a resource replaces, by the state of its deletion. */
const DELETIONS = Object.freeze({
  blocked: "deleted last",
  ready: "deleted next",
  done: "deleted",
  unchanged: "deleted",
  failed: "not deleted",
  unreached: "not deleted",
});
const OVER = new Set(["done", "unchanged", "failed", "unreached"]);

const resourceId = (no) => `v${no}`;
const groupId = (id) => `g${id}`;
const still = matchMedia("(prefers-reduced-motion: reduce)");

/** The state that a box shows: that of what is made until it is over, and then what becomes of what it replaces. */
export function stateShown(vertex, deletions) {
  if (!OVER.has(vertex.state) || vertex.state === "failed") return vertex.state;
  return deletions.find(({ state }) => state === "failed")?.state ?? deletions.find(({ state }) => !OVER.has(state))?.state ?? vertex.state;
}

/** What becomes of what a resource replaces, in a few words. */
function deletionWords([first]) {
  return DELETIONS[first.state] ?? "being deleted";
}

export class Drawing {
  /**
   * Args:
   *   frame: the element to draw in.
   *   heard: `chosen(item, open)` when a resource or a group is chosen, null for none; `open` tells whether its panel
   *     is to come up, and `byKey` whether that was a key; `focus(vertex)` when one is to be looked at alone.
   */
  constructor(frame, heard) {
    this.frame = frame;
    this.heard = heard;
    this.theme = colours(frame);
    this.chosen = null;
    this.shown = null;
    this.layouts = new Layouts();
    this.extent = { width: 0, height: 0 };
    this.courses = new Map();
    this.tip = el("div", { class: "graph-tip", "aria-hidden": "true", hidden: true });
    frame.after(this.tip);
    this.cy = cytoscape({
      container: frame,
      autoungrabify: true,
      boxSelectionEnabled: false,
      autounselectify: true,
      minZoom: 0.02,
      maxZoom: 3,
      hideEdgesOnViewport: false,
      textureOnViewport: false,
      pixelRatio: "auto",
    });
    this.listen();
  }

  listen() {
    const { cy, frame } = this;
    cy.on("tap", "node.resource, node.group", (event) => this.choose(event.target.scratch("item"), true));
    cy.on("tap", (event) => event.target === cy && this.choose(null, false));
    cy.on("dbltap", "node.resource", (event) => this.heard.focus(event.target.scratch("item")));
    cy.on("mouseover", "node.resource, node.group", (event) => this.showTip(event.target));
    cy.on("mouseout", "node", () => this.hideTip());
    cy.on("viewport", () => this.hideTip());
    cy.on("zoom", () => this.tellNames());
    frame.addEventListener("keydown", (event) => this.key(event));
    // The wheel scrolls the page until the drawing has the focus.
    frame.addEventListener("wheel", (event) => {
      if (document.activeElement !== frame && !event.ctrlKey) event.stopImmediatePropagation();
    }, { capture: true, passive: true });
    frame.addEventListener("pointerdown", () => frame.focus({ preventScroll: true }));
    new ResizeObserver(() => {
      cy.resize();
      this.keepInside(this.nodeOf(this.chosen));
    }).observe(frame);
    new MutationObserver(() => this.restyle()).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
  }

  /**
   * Draw a picture, in the place of what there was. Returns whether it is drawn: not if another is to be shown by now.
   * Throws an Error if it cannot be laid out.
   */
  async show(picture) {
    this.picture = picture;
    this.hideTip();
    const grouped = picture.part === "groups";
    const boxes = grouped ? this.groupBoxes() : this.resourceBoxes();
    const idOf = grouped ? groupId : resourceId;
    // Arrows as work goes: from what is required to what requires it.
    const arrows = (grouped ? picture.groupEdges : picture.edges).map(([requirer, required]) => ({
      id: `e${requirer}-${required}`,
      source: idOf(required),
      target: idOf(requirer),
    }));
    let layout;
    try {
      const room = this.room();
      layout = await this.layouts.of(boxes, arrows, room.x / room.y);
    } catch (error) {
      if (error.name === "AbortError") return false;
      if (this.picture === picture) this.picture = null;
      throw error;
    }
    return this.draw(picture, boxes, arrows, layout);
  }

  /** Draw what is laid out, in portions between which the page goes on. Returns whether all of it is drawn. */
  async draw(picture, boxes, arrows, { places, courses, width, height }) {
    const { cy } = this;
    const grouped = picture.part === "groups";
    this.extent = { width, height };
    this.courses = courses;
    cy.elements().remove();
    this.begin(places);
    // What elements begin with costs nothing: to change thousands afterwards would.
    this.far = this.farness();
    // Made when they are added, for states change meanwhile.
    const node = ({ id, item, classes }) => ({
      group: "nodes",
      classes: `${classes} ${FAR_CLASSES[this.far]}`,
      data: { id, ...(grouped ? this.groupData(item) : this.resourceData(item)) },
      position: places.get(id),
      scratch: { item },
    });
    const edge = ({ id, source, target }) => {
      const course = courseData(courses.get(id), places.get(source), places.get(target));
      return { group: "edges", classes: course.weights.length ? "bent" : "", data: { id, source, target, ...course } };
    };
    cy.style(styleSheet(this.theme, arrows.length));
    for (const [items, make] of [...portions(boxes, node), ...portions(arrows, edge)]) {
      cy.batch(() => cy.add(items.map(make)));
      await nextFrame();
      if (this.picture !== picture) return false;
    }
    if (this.shown) this.filter(this.shown);
    if (this.chosen) {
      this.mark(this.chosen);
      this.keepInside(this.nodeOf(this.chosen));
    }
    return true;
  }

  /** Where everything is, for graph_export.js. */
  geometry() {
    const boxes = this.cy.nodes().map((node) => ({
      ...node.position(),
      width: node.width(),
      height: node.height(),
      label: node.data("label").split("\n"),
      state: node.data("state") ?? null,
    }));
    return { boxes, courses: [...this.courses.values()], ...this.extent };
  }

  /** Draw nothing, and lay out nothing. */
  clear() {
    this.picture = null;
    this.layouts.end();
    this.cy.elements().remove();
  }

  /** How far away boxes are seen from: 0 near, 1 far, 2 very far. */
  farness() {
    return this.cy.zoom() < VERY_FAR ? 2 : Number(this.cy.zoom() < FAR);
  }

  /** From afar names alone are shown, as large as there is room for. */
  tellNames() {
    const far = this.farness();
    if (far === this.far) return;
    this.far = far;
    this.cy.batch(() => {
      const nodes = this.cy.nodes();
      nodes.toggleClass("far", far > 0);
      nodes.toggleClass("very-far", far > 1);
    });
  }

  resourceBoxes() {
    const { picture } = this;
    return picture.boxes.map((item) => {
      const replaces = picture.replacedBy(item.no).length > 0;
      const classes = `resource ${replaces ? "replacing" : ""} ${item.no === picture.focus ? "middle" : ""}`;
      return { id: resourceId(item.no), item, classes, ...(replaces ? REPLACING : BOX) };
    });
  }

  groupBoxes() {
    return [...this.picture.groups.values()].map((item) => ({ id: groupId(item.id), item, classes: "group", ...CARD }));
  }

  resourceData(vertex) {
    const deletions = this.picture.replacedBy(vertex.no);
    return { state: stateShown(vertex, deletions), label: this.label(vertex, deletions), far: this.fitted(vertex.name, FAR_LABEL) };
  }

  label(vertex, deletions) {
    const { operation } = this.picture;
    const same = vertex.action === operation.action || !vertex.action;
    const kind = vertex.nested_stack_id ? `stack · ${shortType(vertex.type)}` : shortType(vertex.type);
    const doing = deletions.length ? "replaced" : same ? null : vertex.action.toLowerCase();
    const lines = [this.fitted(vertex.name, NEAR_LABEL), this.fitted(doing ? `${doing} · ${kind}` : kind, NEAR_LABEL, begun)];
    if (deletions.length) lines.push(this.fitted(`old one: ${deletionWords(deletions)}`, NEAR_LABEL, begun));
    return lines.join("\n");
  }

  fitted(text, label, shorten = shortened) {
    return fitted(text, label, this.theme.font, shorten);
  }

  groupData(group) {
    const done = (group.counts.done ?? 0) + (group.counts.unchanged ?? 0);
    const failed = group.counts.failed ?? 0;
    const told = `${count(done)} of ${count(group.total)} done${failed ? `, ${count(failed)} failed` : ""}`;
    return {
      label: `${this.fitted(shortType(group.type), CARD_LABEL, begun)}\n${told}`,
      far: `${this.fitted(shortType(group.type), FAR_CARD_LABEL, begun)}\n${count(done)} of ${count(group.total)}${failed ? ` · ${count(failed)} failed` : ""}`,
      bar: barImage(group.counts, group.total, this.theme),
      failed: failed > 0,
    };
  }

  /** Show the present states of vertices. */
  update(vertices) {
    this.cy.batch(() => {
      for (const vertex of vertices) {
        const node = this.nodeOf(vertex);
        if (!node) continue;
        const data = this.resourceData(node.scratch("item"));
        if (node.data("state") !== data.state || node.data("label") !== data.label) node.data(data);
        if (this.shown) node.toggleClass("faded", !this.fits(node, this.shown));
      }
    });
  }

  /** Show the present counts of all groups. */
  updateGroups() {
    this.cy.batch(() => {
      for (const group of this.picture.groups.values()) {
        const node = this.cy.getElementById(groupId(group.id));
        node.scratch("item", group);
        node.data(this.groupData(group));
      }
    });
    this.filter(this.shown);
  }

  /** Make what is in other states than these pale; null for nothing. */
  filter(states) {
    this.shown = states;
    this.cy.batch(() => {
      this.cy.nodes().forEach((node) => void node.toggleClass("faded", Boolean(states) && !this.fits(node, states)));
      this.cy.edges().toggleClass("faded", Boolean(states));
    });
  }

  /** Whether a box has something in one of these states. */
  fits(node, states) {
    const item = node.scratch("item");
    if (item.counts) return [...states].some((state) => item.counts[state]);
    return [item, ...this.picture.replacedBy(item.no)].some(({ state }) => states.has(state));
  }

  /** Mark one, or none, with the edges that lead to it and from it. */
  mark(item) {
    const { cy } = this;
    this.chosen = item;
    cy.batch(() => {
      cy.elements(".chosen, .near").removeClass("chosen near");
      const node = this.nodeOf(item);
      if (!node) return;
      node.addClass("chosen");
      node.connectedEdges().addClass("near");
    });
  }

  nodeOf(item) {
    if (!item) return null;
    const node = this.cy.getElementById(item.counts ? groupId(item.id) : resourceId(item.replaced_by ?? item.no));
    return node.length ? node : null;
  }

  choose(item, open, byKey = false) {
    this.mark(item);
    this.heard.chosen(item, open, byKey);
  }

  /** Bring one into the middle of what is seen, large enough to read. */
  reveal(item) {
    const node = this.nodeOf(item);
    if (node) this.see({ center: { eles: node }, zoom: Math.max(this.cy.zoom(), 0.8) });
  }

  /** Move what is seen no further than it takes to have a box in it. */
  keepInside(node) {
    if (!node) return;
    const { cy } = this;
    const at = node.renderedPosition();
    const within = (place, room, edge) => Math.min(Math.max(place, Math.min(edge, room / 2)), Math.max(room - edge, room / 2));
    const by = { x: within(at.x, cy.width(), INSIDE.x) - at.x, y: within(at.y, cy.height(), INSIDE.y) - at.y };
    if (by.x || by.y) cy.stop().panBy(by);
  }

  see(view) {
    if (still.matches) {
      this.cy.zoom(view.zoom);
      this.cy.center(view.center.eles);
    } else {
      this.cy.stop().animate(view, { duration: 200 });
    }
  }

  takeFocus() {
    this.frame.focus({ preventScroll: true });
  }

  /** Show all of it. */
  fit() {
    this.look(this.wholeZoom(), this.extent.width / 2);
  }

  /** Whether more is drawn than is seen where names can be read. */
  get isLarge() {
    return this.wholeZoom() < SMALLEST_AT_FIRST;
  }

  wholeZoom() {
    const room = this.room();
    const { width, height } = this.extent;
    return Math.min(LARGEST_AT_FIRST, room.x / Math.max(1, width), room.y / Math.max(1, height));
  }

  /** Show all of it, or, if nothing could be read then, the top of it above the first box. */
  begin(places) {
    const zoom = Math.max(this.wholeZoom(), SMALLEST_AT_FIRST);
    const [first] = [...places.values()].sort(before);
    this.look(zoom, this.isLarge && first ? first.x : this.extent.width / 2);
  }

  /** Show the top of it in a size, with this place across in the middle, unless that would leave room at a side. */
  look(zoom, middle) {
    const { cy } = this;
    const { width, height } = this.extent;
    const across = cy.width() / 2 - middle * zoom;
    const rest = cy.width() - width * zoom;
    const x = rest >= 2 * PADDING ? rest / 2 : Math.min(PADDING, Math.max(rest - PADDING, across));
    const above = Math.min((cy.height() - height * zoom) / 2, LOWEST_TOP);
    cy.viewport({ zoom, pan: { x, y: Math.max(PADDING, above) } });
  }

  room() {
    this.cy.resize();
    return { x: Math.max(1, this.cy.width() - 2 * PADDING), y: Math.max(1, this.cy.height() - 2 * PADDING) };
  }

  zoomBy(factor) {
    const { cy } = this;
    cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  }

  restyle() {
    this.theme = colours(this.frame);
    this.cy.style(styleSheet(this.theme, this.cy.edges().length));
    if (this.picture?.part === "groups") this.updateGroups();
  }

  showTip(node) {
    const item = node.scratch("item");
    const at = node.renderedBoundingBox({ includeLabels: false });
    const name = item.counts ? item.type : item.name;
    const told = item.counts
      ? Object.entries(item.counts).filter(([, number]) => number).map(([state, number]) => `${count(number)} ${stateOf(state).word}`).join(", ")
      : `${item.type} · ${stateOf(item.state).word}`;
    const deletions = item.counts ? [] : this.picture.replacedBy(item.no);
    const lines = [
      el("strong", { text: name }),
      el("span", { text: told }),
      deletions.length > 0 && el("span", { text: `Replaced: a new one is made, and then the old one is deleted. Old one: ${deletionWords(deletions)}` }),
      ...[item, ...deletions].map(({ reason }) => reason && el("span", { class: "graph-tip-reason", text: reason })),
    ];
    this.tip.replaceChildren(...lines.filter(Boolean));
    this.tip.hidden = false;
    const width = this.frame.clientWidth;
    const left = Math.min(Math.max(4, at.x1), Math.max(4, width - this.tip.offsetWidth - 4));
    const below = at.y2 + 8;
    const top = below + this.tip.offsetHeight < this.frame.clientHeight ? below : at.y1 - this.tip.offsetHeight - 8;
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${Math.max(4, top)}px`;
  }

  hideTip() {
    this.tip.hidden = true;
  }

  /** Keys: arrows go from one to the next, Enter opens it, f looks at it alone, + - 0 change the size. */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.picture) return;
    const steps = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    const others = {
      Enter: () => this.chosen && this.choose(this.chosen, true, true),
      f: () => this.chosen && !this.chosen.counts && this.heard.focus(this.chosen),
      "+": () => this.zoomBy(1.25),
      "=": () => this.zoomBy(1.25),
      "-": () => this.zoomBy(0.8),
      0: () => this.fit(),
      Home: () => this.step(null),
      Escape: () => this.choose(null, false, true),
    };
    const doing = steps[event.key] ? () => this.step(steps[event.key]) : others[event.key];
    if (!doing) return;
    event.preventDefault();
    doing();
  }

  /** Go on to the nearest in a direction: along an edge up and down, where there is one; along the row otherwise. */
  step(direction) {
    const now = this.nodeOf(this.chosen);
    const next = now && direction ? this.nearest(now, direction) : this.first();
    if (!next?.length) return;
    const item = next.scratch("item");
    this.choose(item, false, true);
    if (this.cy.zoom() < SMALLEST_AT_FIRST) this.reveal(item);
    else this.keepInside(next);
  }

  first() {
    const nodes = this.cy.nodes();
    const failed = nodes.filter((node) => node.data("state") === "failed" || node.data("failed"));
    return (failed.length ? failed : nodes).sort((one, other) => before(one.position(), other.position())).first();
  }

  nearest(now, [right, down]) {
    const at = now.position();
    const along = down ? this.alongEdges(now, down) : this.cy.collection();
    const ahead = (node) => {
      const to = node.position();
      return right ? (to.x - at.x) * right > 1 && Math.abs(to.y - at.y) < BOX.height : (to.y - at.y) * down > 1;
    };
    const candidates = along.length ? along : this.cy.nodes().filter(ahead);
    return candidates.min((node) => {
      const to = node.position();
      return Math.abs(to.y - at.y) * (down ? 4 : 1) + Math.abs(to.x - at.x);
    }).ele;
  }

  /** What edges lead to, up or down. */
  alongEdges(node, down) {
    return down > 0 ? node.outgoers("node") : node.incomers("node");
  }
}

/** Once the next frame is drawn; a page that is not seen has none. */
function nextFrame() {
  return new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done));
    if (document.hidden) setTimeout(done);
  });
}

function* portions(items, make) {
  for (let at = 0; at < items.length; at += PORTION) yield [items.slice(at, at + PORTION), make];
}

function before(one, other) {
  return one.y - other.y || one.x - other.x;
}
