// Style of a graph: Cytoscape's style sheet in the colours of the page's theme.

import { FILLED, ICONS, STATES } from "./states.js";

/** Sizes of a resource's box, of one that replaces another, and of a group's card, in the drawing's pixels. */
export const BOX = Object.freeze({ width: 168, height: 46 });
export const REPLACING = Object.freeze({ width: 168, height: 64 });
export const CARD = Object.freeze({ width: 232, height: 80 });
/** Labels are left out where they would be smaller than this, in pixels of the screen. */
const SMALLEST_LABEL = 6.5;
/** Where boxes are seen smaller than this share of their size, they show the name alone, in large letters. */
export const FAR = 0.55;
/** Smaller than this nothing can be read: boxes show by their fill and their edge how far they are. */
export const VERY_FAR = 0.25;
/** From how many edges on they are drawn thinly. */
const MANY_EDGES = 700;

const LINES = Object.freeze({ blocked: "dashed", unreached: "dotted", retrying: "dashed", held: "double", unchanged: "dotted" });
/** From very far: what is not begun is hollow, what is at work is full, what failed is larger than all else. */
const FILLS = Object.freeze({ blocked: 0.06, unreached: 0.06, ready: 0.3, done: 0.6, unchanged: 0.35, failed: 1 });
const WIDTHS = Object.freeze({ failed: 4, running: 2.5, retrying: 2.5, held: 5 });

/** The colours of the theme that is on, as the page's style sheets say. */
export function colours(element) {
  const style = getComputedStyle(element);
  const colour = (name) => style.getPropertyValue(name).trim();
  const probe = (name) => plain(element, name);
  return {
    text: probe("--bs-body-color"),
    surface: probe("--surface"),
    line: probe("--muted"),
    accent: probe("--bs-primary"),
    states: Object.fromEntries(STATES.map((state) => [state.name, colour(`--st-${state.name}`)])),
    font: style.fontFamily,
  };
}

/** A custom property's colour as `rgb(...)`, whatever it is made of. */
function plain(element, name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

/** An icon of a state in a colour, as an image. */
export function iconImage(state, colour) {
  const fill = FILLED.has(state) ? colour : "none";
  const drawn =
    `<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32" viewBox="0 0 16 16">` +
    `<path d="${ICONS[state]}" fill="${fill}" stroke="${colour}" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/></svg>`;
  return `data:image/svg+xml;utf8,${encodeURIComponent(drawn)}`;
}

/** A bar with a part for each state that there is, as an image. */
export function barImage(counts, total, theme) {
  const width = CARD.width - 28;
  let left = 0;
  let parts = "";
  for (const { name } of STATES) {
    if (!counts[name]) continue;
    const wide = (counts[name] / total) * width;
    const unbegun = name === "blocked" || name === "unreached";
    parts += `<rect x="${left.toFixed(1)}" width="${wide.toFixed(1)}" height="10" fill="${theme.states[name]}" fill-opacity="${unbegun ? 0.25 : 1}"/>`;
    left += wide;
  }
  const drawn = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="10">${parts}</svg>`;
  return `data:image/svg+xml;utf8,${encodeURIComponent(drawn)}`;
}

/** The style sheet for a drawing with so many edges. */
export function styleSheet(theme, edgeCount) {
  return [
    ...nodes(theme),
    ...STATES.flatMap(({ name }) => stateStyle(name, theme)),
    ...edges(theme, edgeCount > MANY_EDGES),
    ...marks(theme),
  ];
}

function nodes(theme) {
  const label = {
    label: "data(label)",
    color: theme.text,
    "font-family": theme.font,
    "text-wrap": "wrap",
    "text-valign": "center",
    "text-halign": "right",
    "text-justification": "left",
    "line-height": 1.25,
    "min-zoomed-font-size": SMALLEST_LABEL,
  };
  return [
    {
      selector: "node.resource",
      style: {
        ...label,
        shape: "round-rectangle",
        "corner-radius": 8,
        width: BOX.width,
        height: BOX.height,
        "font-size": 12,
        "font-weight": 500,
        "text-margin-x": -(BOX.width - 32),
        "background-color": theme.surface,
        "background-width": 16,
        "background-height": 16,
        "background-position-x": 9,
        "background-position-y": "50%",
        "background-clip": "none",
        "border-width": 1.5,
        "overlay-opacity": 0,
      },
    },
    { selector: "node.resource.far", style: { label: "data(far)", "font-size": 20, "text-margin-x": -(BOX.width - 29) } },
    { selector: "node.replacing", style: { height: REPLACING.height } },
    {
      selector: "node.group",
      style: {
        ...label,
        shape: "round-rectangle",
        "corner-radius": 10,
        width: CARD.width,
        height: CARD.height,
        "font-size": 15,
        "font-weight": 500,
        "text-margin-x": -(CARD.width - 14),
        "text-margin-y": -9,
        "background-color": theme.surface,
        "background-image": "data(bar)",
        "background-width": CARD.width - 28,
        "background-height": 10,
        "background-position-x": 14,
        "background-position-y": CARD.height - 22,
        "background-clip": "none",
        "border-width": 1.5,
        "border-color": theme.line,
        "overlay-opacity": 0,
      },
    },
    { selector: "node.group.far", style: { label: "data(far)", "font-size": 22, "text-margin-y": -8, "line-height": 1.15 } },
    { selector: "node.group[?failed]", style: { "border-color": theme.states.failed, "border-width": 3 } },
  ];
}

function stateStyle(name, theme) {
  const colour = theme.states[name];
  return [
    {
      selector: `node.resource[state = "${name}"]`,
      style: {
        "border-color": colour,
        "border-style": LINES[name] ?? "solid",
        "border-width": WIDTHS[name] ?? 1.5,
        "background-color": mixed(colour, theme.surface, name === "failed" ? 0.2 : 0.1),
        "background-image": iconImage(name, colour),
      },
    },
    {
      selector: `node.resource.very-far[state = "${name}"]`,
      style: {
        label: "",
        "background-image": "none",
        "background-color": mixed(colour, theme.surface, FILLS[name] ?? 0.85),
        "border-style": "solid",
        "border-width": name === "failed" ? 36 : 4,
      },
    },
  ];
}

function edges(theme, many) {
  return [
    {
      selector: "edge",
      style: {
        "line-color": theme.line,
        "target-arrow-color": theme.line,
        "overlay-opacity": 0,
        width: many ? 1 : 1.25,
        opacity: many ? 0.45 : 0.7,
        "target-arrow-shape": "triangle",
        "arrow-scale": 0.8,
        "source-endpoint": "data(from)",
        "target-endpoint": "data(to)",
        "curve-style": "straight",
      },
    },
    {
      selector: "edge.bent",
      style: {
        "curve-style": "round-segments",
        "segment-radii": 6,
        "segment-weights": "data(weights)",
        "segment-distances": "data(distances)",
        "edge-distances": "endpoints",
      },
    },
  ];
}

/**
 * The data by which Cytoscape draws an arrow through these points: where it begins and ends, from the middles of its
 * boxes, and for each bend how far along the line between its ends it is, and how far aside.
 */
export function courseData(points, source, target) {
  const [first, last] = [points[0], points.at(-1)];
  const end = { x: last.x - first.x, y: last.y - first.y };
  const long = Math.hypot(end.x, end.y) || 1;
  const bends = points.slice(1, -1).map(({ x, y }) => ({ x: x - first.x, y: y - first.y }));
  return {
    from: offset(first, source),
    to: offset(last, target),
    weights: bends.map(({ x, y }) => (x * end.x + y * end.y) / long ** 2),
    distances: bends.map(({ x, y }) => (y * end.x - x * end.y) / long),
  };
}

function offset(point, middle) {
  return `${(point.x - middle.x).toFixed(2)}px ${(point.y - middle.y).toFixed(2)}px`;
}

function marks(theme) {
  return [
    { selector: ".faded", style: { opacity: 0.13 } },
    { selector: "edge.near", style: { "line-color": theme.accent, "target-arrow-color": theme.accent, width: 2.5, opacity: 1, "z-index": 9 } },
    { selector: "node.chosen", style: { "outline-width": 3, "outline-color": theme.accent, "outline-offset": 3, "z-index": 10 } },
    { selector: "node.middle", style: { "underlay-color": theme.accent, "underlay-opacity": 0.18, "underlay-padding": 9, "underlay-shape": "round-rectangle" } },
  ];
}

/** A colour laid thinly upon another; both as `#rrggbb` or `rgb(...)`. */
function mixed(colour, ground, share) {
  const [above, below] = [channels(colour), channels(ground)];
  return `rgb(${above.map((each, index) => Math.round(each * share + below[index] * (1 - share))).join(",")})`;
}

function channels(colour) {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour);
  if (hex) return hex.slice(1).map((each) => parseInt(each, 16));
  return colour.match(/[\d.]+/g).slice(0, 3).map(Number);
}
