// The kinds of spans in a bar of a timeline; each differs by its shape, not only by its colour.

import { byId, svg } from "./dom.js";

/** In the order of a resource's life; `word` is read, `css` gives the look. */
export const SPANS = Object.freeze(
  ["blocked", "queued", "running", "retrying", "held"].map((name) =>
    Object.freeze({ name, word: name, css: `span-${name}` }),
  ),
);

/** The state whose colour a span has. */
export const SPAN_STATES = Object.freeze({
  blocked: "blocked",
  queued: "ready",
  running: "running",
  retrying: "retrying",
  held: "held",
});

/** The id of the pattern with which a kind of span is filled; it is in the page once. */
function stripes(kind) {
  const id = `stripes-${kind}`;
  if (!document.getElementById(id)) {
    const slant = kind === "retrying" ? "rotate(25)" : null;
    const pattern = svg(
      "pattern",
      { id, class: `state-${SPAN_STATES[kind]}`, patternUnits: "userSpaceOnUse", width: 5, height: 5, patternTransform: slant },
      svg("rect", { class: "stripes-ground", width: 5, height: 5 }),
      svg("line", { class: "stripes-line", x1: 2.5, x2: 2.5, y1: 0, y2: 5 }),
    );
    const holder = svg("svg", { class: "stripes", width: 0, height: 0, "aria-hidden": "true" }, svg("defs", {}, pattern));
    byId("stacks-page").append(holder);
  }
  return id;
}

/** Draw one span from x to x + width in a row of this height; returns elements. */
export function drawSpan(kind, x, width, height, title) {
  const css = `span-${kind} state-${SPAN_STATES[kind] ?? "blocked"}`;
  const shown = Math.max(width, 1);
  const parts = [];
  const told = () => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", "title");
    element.textContent = title;
    return element;
  };
  const middle = height / 2;
  if (kind === "blocked") {
    parts.push(svg("line", { class: css, x1: x, x2: x + shown, y1: middle, y2: middle }, title && told()));
  } else if (kind === "queued") {
    parts.push(svg("rect", { class: css, x: x + 0.5, y: middle - 3.5, width: Math.max(shown - 1, 0.5), height: 7 }, title && told()));
  } else {
    const shape = { class: css, x, y: 5, width: shown, height: height - 10, rx: Math.min(2, shown / 2) };
    // Stripes tell those apart in which no work was done.
    const fill = kind === "running" ? {} : { fill: `url(#${stripes(kind)})` };
    parts.push(svg("rect", { ...shape, ...fill }, title && told()));
  }
  return parts;
}

/** A small picture of a kind for a legend. */
export function spanKey(kind) {
  const picture = svg("svg", { class: "gantt-key", viewBox: "0 0 28 20", width: 28, height: 20, "aria-hidden": "true" });
  picture.append(...drawSpan(kind.name, 2, 24, 20, ""));
  return picture;
}
