// The rows and the axis of a timeline's drawing.

import { el, svg } from "./dom.js";
import { duration } from "./format.js";
import { markWord, marks, secondsByKind } from "./scale.js";
import { drawSpan } from "./spans.js";
import { ICONS, FILLED, icon, lookIn } from "./states.js";
import { workerWords } from "./worker_names.js";

export const ROW_HEIGHT = 26;
const MARK_EVERY = 90; // Pixels between two marks of the axis at least.

/** Draw the axis of so many seconds, as far as it can be seen: from one place on it, in pixels, to another. */
export function drawAxis(place, { perSecond, width }, seconds, from, to) {
  const most = (perSecond * seconds) / MARK_EVERY;
  const found = marks(seconds, most, from / perSecond, Math.min(seconds, to / perSecond));
  const picture = svg("svg", { class: "gantt-axis-marks", width, height: 24 });
  for (const mark of found) {
    const x = mark * perSecond;
    picture.append(
      svg("line", { x1: x + 0.5, x2: x + 0.5, y1: 16, y2: 24 }),
      svg("text", { x: x + (mark ? 0 : 1), y: 13, "text-anchor": mark ? "middle" : "start", text: markWord(mark) }),
    );
  }
  place.replaceChildren(el("div", { class: "gantt-axis-name", text: "Resource" }), picture);
  return found.map((mark) => mark * perSecond);
}

/** Draw a line from each of these places through all rows. */
export function drawGrid(place, places, height) {
  place.setAttribute("height", String(height));
  place.replaceChildren(...places.map((x) => svg("line", { x1: x + 0.5, x2: x + 0.5, y1: 0, y2: height })));
}

/** One resource's row. */
export class GanttRow {
  #drawn = "";

  constructor(no, onClick) {
    this.name = el("span", { class: "gantt-name" });
    this.picture = svg("svg", { class: "gantt-bar", height: ROW_HEIGHT, "aria-hidden": "true" });
    this.element = el("div", { class: "gantt-row", role: "option", id: `bar-${no}`, on: { click: onClick } }, this.name, this.picture);
  }

  draw(bar, { action, place, of, scale, isChosen, isOpen }) {
    this.element.style.setProperty("top", `${place * ROW_HEIGHT}px`);
    this.element.setAttribute("aria-posinset", String(place + 1));
    this.element.setAttribute("aria-setsize", String(of));
    this.element.setAttribute("aria-selected", String(isOpen));
    this.element.classList.toggle("is-chosen", isChosen);
    this.element.classList.toggle("is-critical", bar.critical);
    const goesOn = bar.spans.some((span) => span.end === null);
    const drawn = JSON.stringify([bar, scale.start, scale.perSecond, scale.width, goesOn && scale.until]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    this.#drawName(bar, action);
    this.#drawBar(bar, action, scale);
    this.element.setAttribute("aria-label", barInWords(bar, scale.until));
  }

  #drawName(bar, action) {
    const look = lookIn(action, bar.state);
    this.name.className = `gantt-name state-${look}`;
    this.name.title = `${bar.name}, ${bar.type}`;
    const word = el("span", { class: "gantt-name-text", text: bar.name });
    const removal = bar.phase === "cleanup" ? el("span", { class: "muted", text: " (delete)" }) : null;
    if (removal) word.append(removal);
    this.name.replaceChildren(icon(look), word, ...(bar.critical ? [el("span", { class: "gantt-critical", text: "◆" })] : []));
  }

  #drawBar(bar, action, { start, until, perSecond, end: last, width }) {
    // What went on when the operation was over ends with it here; how long it took is said behind it.
    const placeOf = (at) => Math.min((at - start) * perSecond, last);
    this.picture.setAttribute("width", String(width));
    const parts = [];
    let end = 0;
    for (const span of bar.spans) {
      const x = placeOf(span.start);
      end = placeOf(span.end ?? until);
      parts.push(...drawSpan(span.kind, x, end - x, ROW_HEIGHT, spanInWords(span, until)));
    }
    if (bar.critical && bar.spans.length) {
      const from = placeOf(bar.spans[0].start);
      const done = bar.spans.find((span) => span.kind !== "blocked");
      const begun = done ? placeOf(done.start) : from;
      parts.push(svg("line", { class: "span-critical", x1: begun, x2: end, y1: ROW_HEIGHT - 2.5, y2: ROW_HEIGHT - 2.5 }));
    }
    if (bar.spans.length && bar.state !== "blocked") {
      const look = lookIn(action, bar.state);
      const mark = svg("path", { d: ICONS[look] ?? ICONS.blocked, class: `gantt-end state-${look}` });
      if (FILLED.has(bar.state)) mark.setAttribute("fill", "currentColor");
      parts.push(svg("g", { transform: `translate(${end + 5} ${ROW_HEIGHT / 2 - 6}) scale(0.75)` }, mark));
      const spent = secondsByKind(bar.spans.filter((span) => span.kind !== "blocked"), until);
      parts.push(svg("text", { class: "gantt-took", x: end + 21, y: ROW_HEIGHT / 2 + 4, text: spent.total ? duration(spent.total) : "" }));
    }
    this.picture.replaceChildren(...parts);
  }
}

/** A span in words: `running 1.2 s, attempt 2, by w1: what it failed with`. */
export function spanInWords(span, until) {
  const seconds = (span.end ?? until) - span.start;
  const parts = [`${span.kind} ${duration(seconds)}${span.end === null ? " so far" : ""}`];
  if (span.attempt > 1) parts.push(`attempt ${span.attempt}`);
  if (span.worker) parts.push(`by ${workerWords(span.worker)}`);
  return `${parts.join(", ")}${span.reason ? `: ${span.reason}` : ""}`;
}

/** A bar in words, for those who cannot see it. */
export function barInWords(bar, until) {
  const spent = secondsByKind(bar.spans, until);
  const parts = Object.entries(spent)
    .filter(([kind, seconds]) => kind !== "total" && seconds > 0)
    .map(([kind, seconds]) => `${kind} ${duration(seconds)}`);
  const critical = bar.critical ? ", on the critical path" : "";
  const attempts = bar.attempts > 1 ? `, ${bar.attempts} attempts` : "";
  return `${bar.name}, ${bar.state}${critical}${attempts}${parts.length ? `: ${parts.join(", ")}` : ""}`;
}

