// A stack's timeline: a bar a resource, of the spans in which it waited, was queued, ran, was tried again.
//
// Only the rows that can be seen are in the page, so that thousands of resources cost no more than some dozens.

import { GanttRow, ROW_HEIGHT, drawAxis, drawGrid } from "./gantt.js";
import { barDetails } from "./bar_details.js";
import { keepInAddress } from "./address.js";
import { byId, el, onceAFrame, setText, stackUrl } from "./dom.js";
import { count, counted, duration, now } from "./format.js";
import { onHead, streamUrl } from "./head.js";
import { secondsByKind } from "./scale.js";
import { SPANS, spanKey } from "./spans.js";
import { badge, lookIn } from "./states.js";
import { fetchJson, follow } from "./stream.js";
import { rowsOf, spansOf } from "./timeline_rows.js";
import { firstView, isOurs, resumed, scaleOf, stopped, topOf, zoomed } from "./timeline_view.js";
import { workerWords } from "./worker_names.js";

const NAMES_WIDTH = matchMedia("(max-width: 40rem)").matches ? 140 : 240; // As --names-width.
const SPARE = 12; // Rows above and below those that are seen.
// Free space behind the last bar, for its duration: `23 min 04 s` at most, or `create 1 min 02 s, delete 420 ms`.
const EDGE = 92;
const EDGE_OF_SEVERAL = 180;

const chart = byId("timeline-chart");
const inner = byId("timeline-inner");
const list = byId("timeline-rows");
const search = byId("timeline-search");
const onlyCritical = byId("timeline-critical");
const onlyBegun = byId("timeline-begun");

let timeline = null;
let all = []; // A row for each resource.
let bars = []; // Those that are shown, in their order.
let view = firstView();
let edge = EDGE;
let scrolled = { left: 0, top: 0 }; // Where the chart was scrolled to by this page itself.
let chosen = null; // The number of the bar that the keyboard is at.
let opened = null; // The number of the bar whose details are shown.
const rows = new Map(); // Rows in the page by the bar's number.

for (const kind of SPANS) byId("timeline-legend").append(el("li", {}, spanKey(kind), el("span", { text: kind.word })));
byId("timeline-legend").append(el("li", {}, el("span", { class: "gantt-key-critical", text: "◆" }), el("span", { text: "critical path" })));

/** From when to when the operation is drawn. */
function extent() {
  const { operation } = timeline;
  const until = operation.ended_at ?? now();
  const last = Math.max(until, ...timeline.critical.map((no) => endOf(timeline.bars.find((bar) => bar.no === no), until)));
  return { start: operation.begun_at, seconds: Math.max(0.05, last - operation.begun_at), until };
}

function endOf(bar, until) {
  return bar?.spans.length ? (bar.spans.at(-1).end ?? until) : until;
}

function select() {
  const text = search.value.trim().toLowerCase();
  bars = all.filter(
    (bar) =>
      (!onlyCritical.checked || bar.critical) &&
      (!onlyBegun.checked || spansOf(bar).some((span) => span.kind !== "blocked")) &&
      (!text || bar.name.toLowerCase().includes(text) || bar.type.toLowerCase().includes(text)),
  );
  const empty = byId("timeline-empty");
  empty.hidden = bars.length > 0;
  setText(empty, all.length ? "No resource matches." : "This operation has no resources to work on.");
  if (!bars.some((bar) => bar.no === chosen)) chosen = bars[0]?.no ?? null;
}

/** The pixels in which an operation is drawn where all of it is in sight, and how many seconds that are. */
function given(seconds = extent().seconds) {
  return { room: Math.max(140, chart.clientWidth - NAMES_WIDTH - edge), seconds };
}

function chartWidth() {
  const { seconds } = extent();
  return scaleOf(view, given(seconds)) * seconds;
}

function isUnderWay() {
  return Boolean(timeline) && !timeline.operation.ended_at;
}

/** Scroll there; that is no move of the user. */
function scrollTo(place) {
  scrolled = { ...scrolled, ...place };
  if (place.left !== undefined) chart.scrollLeft = place.left;
  if (place.top !== undefined) chart.scrollTop = place.top;
}

/** Look at it otherwise from now on. */
function lookAt(next) {
  view = next;
  const button = byId("timeline-follow");
  button.hidden = !isUnderWay();
  button.setAttribute("aria-pressed", String(view.follows));
  drawSoon();
}

/** Keep now, and what was begun last, in sight. */
function keepUp() {
  if (!isUnderWay() || !view.follows) return;
  const begun = bars.findLastIndex((bar) => spansOf(bar).some((span) => span.kind !== "blocked")) + 1;
  const room = chart.clientHeight - byId("timeline-axis").offsetHeight - ROW_HEIGHT;
  scrollTo({ left: chart.scrollWidth, top: topOf({ begun, rowHeight: ROW_HEIGHT, room }) });
}

/** Draw what can be seen. */
function draw() {
  if (!timeline || byId("timeline-chart").hidden) return;
  const { start, seconds, until } = extent();
  const width = chartWidth();
  const scale = { start, until, perSecond: width / seconds, end: width, width: width + edge };
  inner.style.width = `${NAMES_WIDTH + width + edge}px`;
  list.style.height = `${bars.length * ROW_HEIGHT}px`;
  keepUp();
  const seen = [chart.scrollLeft - edge, chart.scrollLeft + chart.clientWidth];
  const marks = drawAxis(byId("timeline-axis"), scale, seconds, ...seen);
  drawGrid(byId("timeline-grid"), marks, bars.length * ROW_HEIGHT);
  const first = Math.max(0, Math.floor(chart.scrollTop / ROW_HEIGHT) - SPARE);
  const last = Math.min(bars.length, Math.ceil((chart.scrollTop + chart.clientHeight) / ROW_HEIGHT) + SPARE);
  const drawn = new Set();
  for (let place = first; place < last; place += 1) {
    const bar = bars[place];
    drawn.add(bar.no);
    let row = rows.get(bar.no);
    if (!row) {
      row = new GanttRow(bar.no, () => open(bar.no));
      rows.set(bar.no, row);
    }
    row.draw(bar, { action: timeline.operation.action, place, of: bars.length, scale, isChosen: bar.no === chosen, isOpen: bar.no === opened });
    if (row.element.parentNode !== list) list.append(row.element);
  }
  for (const [no, row] of rows) {
    if (drawn.has(no)) continue;
    row.element.remove();
    rows.delete(no);
  }
  const shown = rows.get(chosen);
  if (shown) list.setAttribute("aria-activedescendant", shown.element.id);
  else list.removeAttribute("aria-activedescendant");
}

const drawSoon = onceAFrame(() => draw());

/** Show one more resource's times in words; a second time, hide them. */
function open(no) {
  chosen = no;
  opened = opened === no ? null : no;
  showDetails();
  // They stand under the timeline, which may be as high as the screen.
  byId("timeline-details").scrollIntoView({ block: "nearest" });
  drawSoon();
}

function showDetails() {
  const place = byId("timeline-details");
  const bar = all.find((each) => each.no === opened);
  place.hidden = !bar;
  if (bar) place.replaceChildren(...barDetails(bar, timeline.operation.action, extent().until));
}

function showNote() {
  const parts = [];
  if (timeline.critical.length) {
    const spent = Object.entries(timeline.critical_seconds)
      .filter(([, seconds]) => seconds > 0)
      .sort((one, other) => other[1] - one[1]);
    const all = spent.reduce((sum, [, seconds]) => sum + seconds, 0);
    const kinds = spent.map(([kind, seconds]) => `${kind} ${duration(seconds)}`).join(", ");
    const words = timeline.operation.ended_at ? "determined the total duration" : "determine the total duration so far";
    const word = timeline.critical.length === 1 && !timeline.operation.ended_at ? words.replace("determine", "determines") : words;
    parts.push(`Critical path: ${counted(timeline.critical.length, "resource")} ${word}, ${duration(all)} (${kinds}).`);
  }
  parts.push(`${count(bars.length)} of ${counted(all.length, "resource")} shown.`);
  if (timeline.trimmed) parts.push("Events of this operation have been removed from the history: some spans are missing.");
  setText(byId("timeline-note"), parts.join(" "));
}

/** The same as a table. */
function showTable() {
  const place = byId("timeline-table");
  if (place.hidden) return;
  const { start, until } = extent();
  const heads = ["Resource", "State", "Begun after", ...SPANS.map((kind) => kind.word), "Together", "Attempts", "Critical", "Worker"];
  const head = el("tr", {}, ...heads.map((text, at) => el("th", { scope: "col", class: at > 1 && at < 10 ? "number" : null, text })));
  const body = bars.map((bar) => {
    const spent = secondsByKind(spansOf(bar), until);
    const begun = bar.spans.find((span) => span.kind === "running");
    return el(
      "tr",
      {},
      el("th", { scope: "row", class: "clip", text: bar.olds.length ? `${bar.name} (replace)` : bar.name, title: `${bar.name}, ${bar.type}` }),
      el("td", {}, badge(lookIn(timeline.operation.action, bar.state), bar.state)),
      el("td", { class: "number", text: begun ? duration(begun.start - start) : "–" }),
      ...SPANS.map((kind) => el("td", { class: "number", text: spent[kind.name] ? duration(spent[kind.name]) : "–" })),
      el("td", { class: "number", text: duration(spent.total) }),
      el("td", { class: "number", text: bar.attempts ? String(bar.attempts) : "–" }),
      el("td", { text: bar.critical ? "yes" : "" }),
      el("td", { class: "clip", text: workerWords(bar.worker), title: bar.worker }),
    );
  });
  const { scrollTop, scrollLeft } = place;
  place.replaceChildren(el("table", { class: "list gantt-list" }, el("thead", {}, head), el("tbody", {}, ...body)));
  place.scrollTo(scrollLeft, scrollTop);
}

function showAll() {
  select();
  draw();
  showTable();
  showNote();
  showDetails();
}

function zoomBy(factor, atX = chart.clientWidth / 2) {
  const before = chartWidth();
  // What is under the pointer stays there.
  const behind = chart.scrollLeft + atX - NAMES_WIDTH;
  lookAt(zoomed(view, factor, given()));
  draw();
  if (view.perSecond !== null) scrollTo({ left: behind * (chartWidth() / before) - atX + NAMES_WIDTH });
  drawSoon();
}

/** The user moves it: it no longer moves by itself. */
function stop() {
  if (isUnderWay() && view.follows) lookAt(stopped(view, given()));
}

function scrollBy(left) {
  stop();
  chart.scrollBy({ left });
}

function move(by) {
  const place = bars.findIndex((bar) => bar.no === chosen);
  const next = Math.min(bars.length - 1, Math.max(0, place + by));
  if (next < 0) return;
  stop();
  chosen = bars[next].no;
  const top = next * ROW_HEIGHT;
  const room = chart.clientHeight - byId("timeline-axis").offsetHeight - ROW_HEIGHT - 16;
  if (top < chart.scrollTop) chart.scrollTop = top;
  else if (top > chart.scrollTop + room) chart.scrollTop = top - room;
  reveal(bars[next]);
  draw();
}

/** Bring the beginning of a bar into sight; what it waited before may be out of it. */
function reveal(bar) {
  const { start, seconds } = extent();
  const begun = (bar.spans.find((span) => span.kind !== "blocked") ?? bar.spans[0])?.start ?? start;
  const x = ((begun - start) * chartWidth()) / seconds;
  const room = chart.clientWidth - NAMES_WIDTH;
  if (x < chart.scrollLeft || x > chart.scrollLeft + room - edge) chart.scrollLeft = x - room / 4;
}

const KEYS = {
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  PageDown: () => move(20),
  PageUp: () => move(-20),
  Home: () => move(-Infinity),
  End: () => move(Infinity),
  ArrowRight: () => scrollBy(80),
  ArrowLeft: () => scrollBy(-80),
  Enter: () => chosen !== null && open(chosen),
  " ": () => chosen !== null && open(chosen),
  "+": () => zoomBy(1.5),
  "-": () => zoomBy(1 / 1.5),
  0: () => zoomBy(0),
};
list.addEventListener("keydown", (event) => {
  const act = event.ctrlKey || event.metaKey || event.altKey ? null : KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
chart.addEventListener(
  "scroll",
  () => {
    const most = { left: chart.scrollWidth - chart.clientWidth, top: chart.scrollHeight - chart.clientHeight };
    if (!isOurs({ left: chart.scrollLeft, top: chart.scrollTop }, scrolled, most)) stop();
    drawSoon();
  },
  { passive: true },
);
chart.addEventListener(
  "wheel",
  (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoomBy(event.deltaY < 0 ? 1.2 : 1 / 1.2, event.clientX - chart.getBoundingClientRect().left);
  },
  { passive: false },
);
byId("timeline-in").addEventListener("click", () => zoomBy(1.5));
byId("timeline-out").addEventListener("click", () => zoomBy(1 / 1.5));
byId("timeline-fit").addEventListener("click", () => zoomBy(0));
byId("timeline-follow").addEventListener("click", () => lookAt(view.follows ? stopped(view, given()) : resumed(view)));
keepInAddress({ search, critical: onlyCritical, begun: onlyBegun }, () => timeline && showAll());
for (const filter of [search, onlyCritical, onlyBegun]) {
  filter.addEventListener("input", () => {
    scrollTo({ top: 0 });
    if (timeline) showAll();
  });
}
for (const way of ["chart", "table"]) {
  byId(`timeline-as-${way}`).addEventListener("click", () => {
    for (const each of ["chart", "table"]) {
      byId(`timeline-${each}`).hidden = each !== way;
      byId(`timeline-as-${each}`).setAttribute("aria-pressed", String(each === way));
    }
    draw();
    showTable();
  });
}
new ResizeObserver(drawSoon).observe(chart);

let pause = 1000;
const followed = follow(streamUrl(), {
  async load(signal) {
    const asked = performance.now();
    timeline = await fetchJson(stackUrl("timeline.json"), { signal });
    all = rowsOf(timeline.bars);
    edge = all.some(({ olds }) => olds.length) ? EDGE_OF_SEVERAL : EDGE;
    lookAt(view);
    showAll();
    // A large timeline is loaded less often.
    pause = Math.max(1000, 5 * (performance.now() - asked));
    return timeline;
  },
  apply: () => setTimeout(() => followed.refresh(), pause - 1000),
  every: 1000,
});
// Running spans grow with the time.
setInterval(() => timeline && !timeline.operation.ended_at && drawSoon(), 500);
// Another operation may have begun.
onHead((head) => {
  if (timeline && head.operation.traversal_id !== timeline.operation.traversal_id) followed.refresh();
});
