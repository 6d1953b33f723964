// The drawing of a graph: Cytoscape's canvas, and the mouse and keys on it. Its data come from graph_model.js.

import cytoscape from "./cytoscape.js";
import { el } from "./dom.js";
import { count } from "./format.js";
import { placesOf } from "./graph_places.js";
import { barImage, BOX, CARD, colours, FAR, styleSheet, VERY_FAR } from "./graph_style.js";
import { stateOf } from "./states.js";

/** What a label may be wide, in pixels of the drawing, and in which size it is; as graph_style.js has them. */
const NEAR_LABEL = Object.freeze({ width: 128, size: 12 });
const FAR_LABEL = Object.freeze({ width: 137, size: 20 });
const CARD_LABEL = Object.freeze({ width: 204, size: 15 });
const FAR_CARD_LABEL = Object.freeze({ width: 208, size: 22 });
const FAR_CLASSES = Object.freeze(["", "far", "far very-far"]);
const PADDING = 28;
const LARGEST_AT_FIRST = 1.15;
/** A picture that is lower than its frame is not put further down than this. */
const LOWEST_TOP = 64;

/** A text that is no longer than so many letters: its beginning and its end, which tells `web_017` from `web_018`. */
export function shortened(text, longest) {
  if (text.length <= longest) return text;
  const end = Math.floor(longest / 2.5);
  return `${text.slice(0, Math.max(1, longest - end - 1))}…${text.slice(text.length - end)}`;
}

const measuring = document.createElement("canvas").getContext("2d");

/** A text that is no longer than so many letters: its beginning. */
function begun(text, longest) {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}

/** As much of a text as there is room for. */
function fitted(text, { width, size }, font, shorten = shortened) {
  measuring.font = `500 ${size}px ${font}`;
  const wide = measuring.measureText(text).width;
  if (wide <= width) return text;
  let longest = Math.ceil((text.length * width) / wide);
  while (longest > 3 && measuring.measureText(shorten(text, longest)).width > width) longest -= 1;
  return shorten(text, longest);
}

/** A type without what all types have in front: `Server` of `OS::Nova::Server`. */
export function shortType(type) {
  return type.split("::").pop() || type;
}

const resourceId = (no) => `v${no}`;
const groupId = (id) => `g${id}`;

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
    new ResizeObserver(() => cy.resize()).observe(frame);
    new MutationObserver(() => this.restyle()).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
  }

  /** Draw a picture, in the place of what there was. */
  show(picture) {
    this.picture = picture;
    this.chosen = null;
    this.hideTip();
    const { cy } = this;
    cy.elements().remove();
    const elements = picture.part === "groups" ? this.groupElements() : this.vertexElements();
    this.fit();
    // What elements begin with costs nothing: to change thousands afterwards would.
    for (const each of elements) if (each.group === "nodes") each.classes += ` ${FAR_CLASSES[this.farness()]}`;
    this.far = this.farness();
    cy.batch(() => {
      cy.style(styleSheet(this.theme, elements.filter((each) => each.group === "edges").length));
      cy.add(elements);
    });
    if (this.shown) this.filter(this.shown);
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
      const nodes = this.cy.nodes(".resource, .group");
      nodes.toggleClass("far", far > 0);
      nodes.toggleClass("very-far", far > 1);
    });
  }

  vertexElements() {
    const { picture } = this;
    const all = [...picture.vertices.values()];
    const places = this.places(all, { ...BOX, across: BOX.width, down: BOX.height });
    const nodes = all.map((vertex, at) => ({
      group: "nodes",
      classes: `${vertex.kind} ${vertex.no === picture.focus ? "middle" : ""}`,
      data: { id: resourceId(vertex.no), state: vertex.state, label: this.label(vertex), far: this.fitted(vertex.name, FAR_LABEL) },
      position: places[at],
      scratch: { item: vertex },
    }));
    return [...nodes, ...edgeElements(picture.edges, nodes, resourceId)];
  }

  groupElements() {
    const { picture } = this;
    const all = [...picture.groups.values()];
    const places = this.places(all, { ...CARD, across: CARD.width, down: CARD.unit });
    const nodes = all.map((group, at) => ({
      group: "nodes",
      classes: "group",
      data: { id: groupId(group.id), ...this.groupData(group) },
      position: places[at],
      scratch: { item: group },
    }));
    return [...nodes, ...edgeElements(picture.groupEdges, nodes, groupId)];
  }

  label(vertex) {
    if (vertex.kind !== "resource") return "";
    const { operation } = this.picture;
    const same = vertex.action === operation.action || !vertex.action;
    const kind = vertex.nested_stack_id ? `stack · ${shortType(vertex.type)}` : shortType(vertex.type);
    const second = same ? kind : `${vertex.action.toLowerCase()} · ${kind}`;
    return `${this.fitted(vertex.name, NEAR_LABEL)}\n${this.fitted(second, NEAR_LABEL, begun)}`;
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
        const node = this.cy.getElementById(resourceId(vertex.no));
        if (node.data("state") !== vertex.state) node.data("state", vertex.state);
        if (this.shown) node.toggleClass("faded", !this.shown.has(vertex.state));
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
    const pale = (node) => {
      const item = node.scratch("item");
      if (!states || !item) return false;
      if (item.counts) return ![...states].some((state) => item.counts[state]);
      return item.kind !== "resource" || !states.has(item.state);
    };
    this.cy.batch(() => {
      this.cy.nodes().forEach((node) => void node.toggleClass("faded", pale(node)));
      this.cy.edges().toggleClass("faded", Boolean(states));
    });
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
    const node = this.cy.getElementById(item.counts ? groupId(item.id) : resourceId(item.no));
    return node.length ? node : null;
  }

  choose(item, open, byKey = false) {
    this.mark(item);
    this.heard.chosen(item, open, byKey);
  }

  /** Bring one into the middle of what is seen, large enough to read. */
  reveal(item) {
    const node = this.nodeOf(item);
    if (!node) return;
    const view = { center: { eles: node }, zoom: Math.max(this.cy.zoom(), 0.8) };
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.cy.zoom(view.zoom);
      this.cy.center(node);
    } else {
      this.cy.stop().animate(view, { duration: 200 });
    }
  }

  takeFocus() {
    this.frame.focus({ preventScroll: true });
  }

  /** Show all of it. */
  fit() {
    const { cy } = this;
    const room = this.room();
    const { left, right, top, bottom } = this.extent;
    const zoom = Math.min(LARGEST_AT_FIRST, room.x / (right - left), room.y / (bottom - top));
    const above = Math.min((cy.height() - (bottom - top) * zoom) / 2, LOWEST_TOP);
    cy.viewport({ zoom, pan: { x: (cy.width() - (left + right) * zoom) / 2, y: above - top * zoom } });
  }

  /** The places of all boxes; where the outermost are is kept, for Cytoscape would measure every edge. */
  places(items, unit) {
    const { x, y } = this.room();
    const places = placesOf(items, unit, { x, y });
    const edges = (axis, size) => {
      const all = places.map((place) => place[axis]);
      return all.length ? [Math.min(...all) - size / 2, Math.max(...all) + size / 2] : [0, size];
    };
    const [[left, right], [top, bottom]] = [edges("x", unit.width), edges("y", unit.height)];
    this.extent = { left, right, top, bottom };
    return places;
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
      ? Object.entries(item.counts).filter(([, number]) => number).map(([state, number]) => `${number} ${state}`).join(", ")
      : `${item.type} · ${stateOf(item.state).word}`;
    this.tip.replaceChildren(
      el("strong", { text: name }),
      el("span", { text: told }),
      item.reason ? el("span", { class: "graph-tip-reason", text: item.reason }) : null,
    );
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
    const at = next.renderedPosition();
    const inside = at.x > 90 && at.y > 40 && at.x < this.cy.width() - 90 && at.y < this.cy.height() - 40;
    if (!inside || this.cy.zoom() < 0.5) this.reveal(item);
  }

  first() {
    const nodes = this.cy.nodes(".resource, .group");
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
    const candidates = along.length ? along : this.cy.nodes(".resource, .group").filter(ahead);
    return candidates.min((node) => {
      const to = node.position();
      return Math.abs(to.y - at.y) * (down ? 4 : 1) + Math.abs(to.x - at.x);
    }).ele;
  }

  /** What edges lead to, up or down; through joins, as if they were not there. */
  alongEdges(node, down) {
    const beyond = (nodes) => (down > 0 ? nodes.outgoers("node") : nodes.incomers("node"));
    let found = beyond(node);
    let joins = found.filter(".join");
    while (joins.length) {
      const more = beyond(joins).difference(found);
      found = found.union(more);
      joins = more.filter(".join");
    }
    return found.filter(".resource, .group");
  }
}

/** Edges as work goes: from what is required to what requires it. */
function edgeElements(edges, nodes, idOf) {
  const down = new Map(nodes.map(({ data, position }) => [data.id, position.y]));
  return edges.map(([requirer, required]) => {
    const [source, target] = [idOf(required), idOf(requirer)];
    // What is not below is in the next column.
    const classes = down.get(target) > down.get(source) ? "" : "sideways";
    return { group: "edges", classes, data: { id: `e${requirer}-${required}`, source, target } };
  });
}

function before(one, other) {
  return one.y - other.y || one.x - other.x;
}
