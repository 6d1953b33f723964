// The rows and the axis of a timeline's drawing.

import { el, svg } from "./dom.js";
import { duration } from "./format.js";
import { markWord, marks, secondsByKind } from "./scale.js";
import { drawSpan } from "./spans.js";
import { ICONS, FILLED, icon, lookIn } from "./states.js";
import { partsOf, spansOf } from "./timeline_rows.js";
import { workerWords } from "./worker_names.js";

export const ROW_HEIGHT = 26;
const LABEL_ROOM = 100; // Pixels between two bars of a row in which a label has its place,
const LETTER = 6; // and those that a letter of it takes, roughly.
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
    const goesOn = spansOf(bar).some((span) => span.end === null);
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
    const kind = bar.olds?.length ? " (replace)" : bar.phase === "cleanup" ? " (delete)" : "";
    if (kind) word.append(el("span", { class: "muted", text: kind }));
    this.name.replaceChildren(icon(look), word, ...(bar.critical ? [el("span", { class: "gantt-critical", text: "◆" })] : []));
  }

  #drawBar(row, action, scale) {
    this.picture.setAttribute("width", String(scale.width));
    const bars = partsOf(row).filter(({ spans }) => spans.length);
    const drawn = [];
    const unsaid = []; // Labels of bars behind which there is no place for them.
    let free = 0; // Where nothing is written any more.
    bars.forEach((bar, place) => {
      const next = bars[place + 1];
      const { parts, end } = this.#drawSpans(bar, scale, free);
      drawn.push(bar.isOld ? svg("g", { class: "gantt-old" }, ...parts) : svg("g", {}, ...parts));
      if (!hasWork(bar)) return;
      const spent = secondsByKind(bar.spans.filter((span) => span.kind !== "blocked"), scale.until);
      unsaid.push(`${bar.word} ${spent.total ? duration(spent.total) : ""}`.trim());
      const begins = next && hasWork(next) ? placeOf(next.spans.find(({ kind }) => kind !== "blocked").start, scale) : Infinity;
      if (begins - end < LABEL_ROOM) return;
      const text = unsaid.splice(0).join(", ");
      drawn.push(...label(lookIn(action, bar.state), bar.state, end, text));
      free = end + 25 + LETTER * text.length;
    });
    this.picture.replaceChildren(...drawn);
  }

  /** Draw one bar, where it is blocked only from a free place on; returns its elements, and where it ends. */
  #drawSpans(bar, scale, free) {
    const parts = [];
    let end = 0;
    for (const span of bar.spans) {
      end = placeOf(span.end ?? scale.until, scale);
      const x = span.kind === "blocked" ? Math.max(free, placeOf(span.start, scale)) : placeOf(span.start, scale);
      if (x > end) continue;
      const words = spanInWords(span, scale.until);
      parts.push(...drawSpan(span.kind, x, end - x, ROW_HEIGHT, bar.word ? `${bar.word}: ${words}` : words));
    }
    if (bar.critical) {
      const begun = placeOf((bar.spans.find((span) => span.kind !== "blocked") ?? bar.spans[0]).start, scale);
      parts.push(svg("line", { class: "span-critical", x1: begun, x2: end, y1: ROW_HEIGHT - 2.5, y2: ROW_HEIGHT - 2.5 }));
    }
    return { parts, end };
  }
}

/** Where a time is drawn. What went on when the operation was over ends with it; how long it took is said behind it. */
function placeOf(at, { start, perSecond, end }) {
  return Math.min((at - start) * perSecond, end);
}

function hasWork({ spans, state }) {
  return state !== "blocked" && spans.some(({ kind }) => kind !== "blocked");
}

function label(look, state, x, text) {
  const mark = svg("path", { d: ICONS[look] ?? ICONS.blocked, class: `gantt-end state-${look}` });
  if (FILLED.has(state)) mark.setAttribute("fill", "currentColor");
  return [
    svg("g", { transform: `translate(${x + 5} ${ROW_HEIGHT / 2 - 6}) scale(0.75)` }, mark),
    svg("text", { class: "gantt-took", x: x + 21, y: ROW_HEIGHT / 2 + 4, text }),
  ];
}

/** A span in words: `running 1.2 s, attempt 2, by w1: what it failed with`. */
export function spanInWords(span, until) {
  const seconds = (span.end ?? until) - span.start;
  const parts = [`${span.kind} ${duration(seconds)}${span.end === null ? " so far" : ""}`];
  if (span.attempt > 1) parts.push(`attempt ${span.attempt}`);
  if (span.worker) parts.push(`by ${workerWords(span.worker)}`);
  return `${parts.join(", ")}${span.reason ? `: ${span.reason}` : ""}`;
}

/** A row in words, for those who cannot see it; of a replacement, the new one and the old one by themselves. */
export function barInWords(row, until) {
  const critical = row.critical ? ", on the critical path" : "";
  const attempts = row.attempts > 1 ? `, ${row.attempts} attempts` : "";
  const kind = row.olds?.length ? ", replaced" : "";
  const parts = partsOf(row).map(({ word, spans }) => {
    const spent = Object.entries(secondsByKind(spans, until)).filter(([each, seconds]) => each !== "total" && seconds > 0);
    const words = spent.map(([each, seconds]) => `${each} ${duration(seconds)}`).join(", ");
    return word && words ? `${word} ${words}` : words;
  });
  const told = parts.filter(Boolean).join("; ");
  return `${row.name}${kind}, ${row.state}${critical}${attempts}${told ? `: ${told}` : ""}`;
}
