// The drawing of a graph as a file: an SVG of all that is drawn, and a PNG of that.

import { el, svg } from "./dom.js";
import { FILLED, ICONS } from "./states.js";

const MARGIN = 24;
const LINE_HEIGHT = 15;
const ICON = 16;
/** Larger pictures are made smaller: browsers refuse canvases of more pixels. */
const LONGEST = 8000;
const SHARPNESS = 2;

/**
 * The whole drawing as the text of an SVG file.
 *
 * Args:
 *   geometry: `boxes` with their middle, `width`, `height`, `label` (lines) and `state` (null for a group); the `courses`
 *     of arrows, each a list of points; and the `width` and `height` of all of it.
 *   theme: colours as `colours()` of graph_style.js returns them.
 *   title: what it shows.
 */
export function svgText({ boxes, courses, width, height }, theme, title) {
  const size = { width: width + 2 * MARGIN, height: height + 2 * MARGIN };
  const head = svg(
    "marker",
    { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    svg("path", { d: "M0 0L8 4L0 8z", fill: theme.line }),
  );
  const drawing = svg(
    "svg",
    { viewBox: `${-MARGIN} ${-MARGIN} ${size.width} ${size.height}`, ...size, "font-family": theme.font, "font-size": 12 },
    svg("title", { text: title }),
    svg("defs", {}, head),
    svg("rect", { x: -MARGIN, y: -MARGIN, ...size, fill: theme.surface }),
    ...courses.map((points) => arrow(points, theme)),
    ...boxes.map((each) => box(each, theme)),
  );
  return new XMLSerializer().serializeToString(drawing);
}

function arrow(points, theme) {
  const d = points.map(({ x, y }, at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  return svg("path", { class: "arrow", d, fill: "none", stroke: theme.line, "marker-end": "url(#head)" });
}

function box({ x, y, width, height, label, state }, theme) {
  const colour = theme.states[state] ?? theme.line;
  const [left, top] = [x - width / 2, y - height / 2];
  const inset = state ? ICON + 18 : 14;
  const lines = label.map((text, at) => {
    const place = y + (at - (label.length - 1) / 2) * LINE_HEIGHT;
    return svg("text", { x: left + inset, y: place, fill: theme.text, "dominant-baseline": "central", "font-weight": at ? 400 : 600, text });
  });
  return svg(
    "g",
    { class: "box" },
    svg("rect", { x: left, y: top, width, height, rx: 8, fill: theme.surface }),
    svg("rect", { x: left, y: top, width, height, rx: 8, fill: colour, "fill-opacity": 0.1, stroke: colour, "stroke-width": state === "failed" ? 3 : 1.5 }),
    state && svg("path", { d: ICONS[state], transform: `translate(${left + 9} ${y - ICON / 2})`, fill: FILLED.has(state) ? colour : "none", stroke: colour, "stroke-width": 2 }),
    ...lines,
  );
}

/** A picture of an SVG file's text, as a PNG. Throws an Error if the browser cannot draw it. */
export async function pngOf(text) {
  const image = new Image();
  // Our policy allows images from data: addresses, and none from blob:.
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const scale = Math.min(SHARPNESS, LONGEST / image.naturalWidth, LONGEST / image.naturalHeight);
  const canvas = el("canvas", { width: Math.round(image.naturalWidth * scale), height: Math.round(image.naturalHeight * scale) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const made = await new Promise((done) => canvas.toBlob(done, "image/png"));
  if (!made) throw new Error("the picture is too large");
  return made;
}

/** Have the browser save something under a name. */
export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
