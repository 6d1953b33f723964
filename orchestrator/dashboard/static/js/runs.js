// The runs of a stack: its operations as columns, its resources as rows, and what happened in each cell.
//
// Only the rows that can be seen are in the page, so that thousands of resources cost no more than some dozens.

import { inAddress, keepInAddress, putInAddress } from "./address.js";
import { byId, el, onceAFrame, page, setText } from "./dom.js";
import { count, counted, dateTime, duration, now } from "./format.js";
import { onHead, streamUrl } from "./head.js";
import { BAR_ROOM, ROW_HEIGHT, cellWords, columnHead, didWords, mark, runWords } from "./runs_cells.js";
import { OUTCOMES, Runs, barHeights, lasted, moved, outcomeOf, withinEach } from "./runs_model.js";
import { actionBadge } from "./states.js";
import { fetchJson, follow } from "./stream.js";

const PAGE = 25;
const SPARE = 8; // Rows above and below those that are seen.
const SEPARATOR = " / ";

const frame = byId("runs");
const grid = byId("runs-grid");
const head = byId("runs-head");
const body = byId("runs-rows");
const search = byId("runs-search");
const which = byId("runs-which");
const tip = byId("runs-tip");

const runs = new Runs();
const inside = new Map(); // The runs of nested stacks that are opened, by their ids.
let opened = new Set(); // The paths of the resources below which those of their stacks are shown.
let lines = []; // The rows that are shown: { path, depth, row, runs, stack, columns }.
const drawn = new Map(); // Rows in the page by their path.
let at = { row: 0, column: 0 }; // Where the keyboard is; row 0 has the columns' heads, column 0 the names.
let chosen = null; // { run, path }: the cell whose details are shown; a run without a path for a whole operation.

for (const { letter, word } of OUTCOMES) {
  if (letter !== "-") byId("runs-legend").append(el("li", {}, mark(letter), el("span", { text: word })));
}

/** The address of a stack's pages. */
function stackOf(id) {
  const { stack, stackId } = page();
  return id === stackId ? stack : stack.replace(/[^/]+$/, id);
}

function linkTo(line, run, tab) {
  const own = line?.columns ? line.columns.get(run) : run;
  const query = new URLSearchParams({ traversal: own ?? run });
  if (line) query.set(tab === "timeline" ? "search" : "resource", line.row.name);
  return `${line ? line.stack : page().stack}/${tab}?${query}`;
}

function cellOf(line, run) {
  const own = line.columns ? line.columns.get(run) : run;
  return own === undefined ? undefined : line.row.cells.get(own);
}

/** The rows of a stack's resources, each with those of its nested stack behind it where that is opened. */
function linesOf(of, { stack, path = [], columns = null }) {
  const filter = path.length ? { which: "all" } : { which: which.value || "some", text: search.value };
  return of.shown(filter).flatMap((row) => {
    const own = [...path, row.name];
    const line = { path: own.join(SEPARATOR), depth: path.length, row, stack, columns };
    const nested = opened.has(line.path) ? inside.get(row.nested) : null;
    if (!nested) return [line];
    const outer = columns ? runs.operations.filter(({ id }) => columns.has(id)) : runs.operations;
    return [line, ...linesOf(nested, { stack: stackOf(row.nested), path: own, columns: withinEach(outer, nested.operations) })];
  });
}

function select() {
  lines = linesOf(runs, { stack: page().stack });
  const empty = byId("runs-empty");
  empty.hidden = lines.length > 0;
  const none = runs.rows.size ? "No resource matches." : "These operations had no resources, or their steps are no longer kept.";
  setText(empty, none);
  at = { row: Math.min(at.row, lines.length), column: Math.min(at.column, runs.operations.length) };
  grid.setAttribute("aria-rowcount", String(lines.length + 1));
  grid.setAttribute("aria-colcount", String(runs.operations.length + 1));
  const resources = `${count(lines.filter(({ depth }) => !depth).length)} of ${counted(runs.rows.size, "resource")}`;
  const operations = `${counted(runs.operations.length, "operation")}${runs.more ? "" : ", all there are"}`;
  setText(byId("runs-range"), `${resources}; ${operations}`);
  byId("runs-older").disabled = !runs.more;
}

/** What can have the focus in a cell; only the one where the keyboard is can be reached with Tab. */
function control(tag, attributes, ...children) {
  return el(tag, { tabindex: "-1", ...attributes }, ...children);
}

let headDrawn = "";
function drawHead() {
  const { operations } = runs;
  const durations = operations.map((each) => lasted(each, now()));
  const told = JSON.stringify([operations, durations.map(Math.round), chosen?.path ? null : chosen?.run, [...runs.trimmed]]);
  if (told === headDrawn) return;
  headDrawn = told;
  const heights = barHeights(durations, BAR_ROOM);
  const longest = durations.length ? duration(Math.max(...durations)) : "–";
  const corner = el(
    "div",
    { class: "runs-name runs-corner", role: "columnheader", "aria-colindex": "1" },
    control("span", { class: "runs-corner-words", data: { place: "0 0" } }, el("span", { text: "Resource" }), el("span", { class: "small muted", text: `highest bar: ${longest}` })),
  );
  const heads = operations.map((operation, place) => {
    const gone = runs.trimmed.has(operation.id) ? "; its steps are no longer kept" : "";
    const words = `${runWords(operation, durations[place])}${gone}`;
    const link = control("a", { class: "runs-column", href: linkTo(null, operation.id, "graph"), "aria-label": words, data: { place: `0 ${place + 1}`, run: operation.id, tip: `${words}: ${didWords(operation)}` } }, ...columnHead(operation, operations[place - 1], heights[place]));
    const isChosen = chosen?.run === operation.id && !chosen.path;
    return el("div", { class: `runs-cell runs-column-cell${isChosen ? " is-chosen" : ""}`, role: "columnheader", "aria-colindex": String(place + 2) }, link);
  });
  head.replaceChildren(el("div", { class: "runs-row runs-head-row", role: "row", "aria-rowindex": "1" }, corner, ...heads));
}

function newRow(line, place) {
  const { row, path, depth } = line;
  const name = [];
  if (row.nested) {
    const isOpen = opened.has(path);
    name.push(control("button", { type: "button", class: "runs-opener", "aria-expanded": String(isOpen), data: { place: `${place + 1} 0`, opens: path } }, el("span", { "aria-hidden": "true", text: isOpen ? "▾ " : "▸ " }), row.name));
  } else {
    name.push(control("span", { class: "runs-name-text", data: { place: `${place + 1} 0` }, text: row.name }));
  }
  const header = el("div", { class: "runs-name", role: "rowheader", "aria-colindex": "1", title: `${path}, ${row.type}` }, ...name);
  header.style.setProperty("--depth", String(depth));
  const cells = runs.operations.map(({ id }, column) => {
    const cell = cellOf(line, id);
    const letter = cell?.letter ?? "-";
    const isChosen = chosen?.run === id && chosen.path === path;
    const data = { place: `${place + 1} ${column + 1}`, run: id, path };
    const words = cellWords(path, cell);
    const inner =
      letter === "-"
        ? control("span", { class: "run-cell", data, "aria-label": words, role: "img" })
        : control("a", { class: `run-cell state-${outcomeOf(letter).state} is-${letter}`, href: linkTo(line, id, "graph"), data: { ...data, tip: words }, "aria-label": words }, mark(letter));
    return el("div", { class: `runs-cell${isChosen ? " is-chosen" : ""}`, role: "gridcell", "aria-colindex": String(column + 2) }, inner);
  });
  return el("div", { class: "runs-row", role: "row" }, header, ...cells);
}

/** Draw the rows that can be seen, and the one where the keyboard is. */
function draw() {
  drawHead();
  body.style.height = `${lines.length * ROW_HEIGHT}px`;
  const top = frame.scrollTop - head.offsetHeight;
  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - SPARE);
  const last = Math.min(lines.length, Math.ceil((top + frame.clientHeight) / ROW_HEIGHT) + SPARE);
  const places = new Set(Array.from({ length: Math.max(0, last - first) }, (_, step) => first + step));
  if (at.row) places.add(at.row - 1);
  const there = new Set();
  const focused = document.activeElement?.closest("#runs-grid") ? document.activeElement.dataset.place : null;
  for (const place of [...places].sort((one, other) => one - other)) {
    const line = lines[place];
    if (!line) continue;
    there.add(line.path);
    const cells = runs.operations.map(({ id }) => cellOf(line, id));
    const told = JSON.stringify([place, cells, line.row.type, line.row.nested, opened.has(line.path), chosen?.path === line.path && chosen.run, runs.operations.map(({ id }) => id)]);
    let row = drawn.get(line.path);
    if (row?.told !== told) {
      const element = newRow(line, place);
      element.setAttribute("aria-rowindex", String(place + 2));
      element.style.setProperty("top", `${place * ROW_HEIGHT}px`);
      if (row) row.element.replaceWith(element);
      else body.append(element);
      drawn.set(line.path, (row = { told, element }));
    }
  }
  for (const [path, { element }] of drawn) {
    if (there.has(path)) continue;
    element.remove();
    drawn.delete(path);
  }
  reach(focused !== null);
}

/** Let Tab lead to the cell where the keyboard is; with `takes` it has the focus, too. */
function reach(takes) {
  for (const each of grid.querySelectorAll('[tabindex="0"]')) each.tabIndex = -1;
  const there = grid.querySelector(`[data-place="${at.row} ${at.column}"]`);
  if (!there) return;
  there.tabIndex = 0;
  if (takes && document.activeElement !== there) there.focus({ preventScroll: true });
}

const drawSoon = onceAFrame(() => draw());

/** Go to a cell with the keyboard, and bring it into sight. */
function goTo(place) {
  at = place;
  if (at.row) {
    const top = (at.row - 1) * ROW_HEIGHT;
    const room = frame.clientHeight - head.offsetHeight - ROW_HEIGHT - 12;
    if (top < frame.scrollTop) frame.scrollTop = top;
    else if (top > frame.scrollTop + room) frame.scrollTop = top - room;
  }
  draw();
  reach(true);
  const there = document.activeElement;
  const names = head.querySelector(".runs-corner").offsetWidth;
  if (at.column) {
    const cell = there.closest('[role="gridcell"], [role="columnheader"]');
    const left = cell.offsetLeft;
    if (left < frame.scrollLeft + names) frame.scrollLeft = left - names;
    else if (left + cell.offsetWidth > frame.scrollLeft + frame.clientWidth) frame.scrollLeft = left + cell.offsetWidth - frame.clientWidth;
  } else frame.scrollLeft = 0;
  showTip(there);
}

grid.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideTip();
  if (event.metaKey || event.altKey) return;
  const size = { rows: lines.length + 1, columns: runs.operations.length + 1, page: 20, withControl: event.ctrlKey };
  const place = moved(at, event.key, size);
  if (!place) {
    if (event.key === " " && document.activeElement.matches("a")) {
      event.preventDefault();
      document.activeElement.click();
    }
    return;
  }
  event.preventDefault();
  goTo(place);
});
grid.addEventListener("click", (event) => {
  const target = event.target.closest("[data-place]");
  if (!target) return;
  const [row, column] = target.dataset.place.split(" ").map(Number);
  at = { row, column };
  reach(false);
  if (target.dataset.opens) {
    toggle(target.dataset.opens);
    return;
  }
  // Links open elsewhere as links do; here, what happened is told first.
  if (event.ctrlKey || event.metaKey || event.shiftKey || !target.matches("a")) return;
  event.preventDefault();
  choose(target.dataset);
});

// -- what is chosen ------------------------------------------------------------------------------------------------

function choose({ run, path = "" }) {
  const isSame = chosen?.run === run && chosen.path === path;
  chosen = isSame ? null : { run, path };
  putInAddress("run", chosen?.run ?? "", { inPlace: true });
  putInAddress("cell", chosen?.path ?? "", { inPlace: true });
  draw();
  showChosen();
  if (chosen) byId("runs-chosen").scrollIntoView({ block: "nearest" });
}

let chosenShown = "";
function showChosen() {
  const place = byId("runs-chosen");
  const operation = runs.operations.find(({ id }) => id === chosen?.run);
  const line = chosen?.path ? lines.find(({ path }) => path === chosen.path) : null;
  const isThere = Boolean(operation) && (!chosen.path || Boolean(line));
  place.hidden = !isThere;
  const cell = line && operation ? cellOf(line, operation.id) : null;
  const told = JSON.stringify([isThere && chosen, operation, cell, runs.operations.length]);
  if (!isThere || told === chosenShown) return;
  chosenShown = told;
  place.replaceChildren(...(line ? cellDetails(line, operation, cell) : runDetails(operation)));
}

function links(line, run) {
  const tabs = ["graph", "timeline", "events"];
  const place = runs.operations.findIndex(({ id }) => id === run);
  const before = runs.operations[place - 1];
  const query = before && new URLSearchParams({ a: before.id, b: run });
  const compared = before && el("a", { class: "btn btn-sm btn-outline-secondary", href: `${page().stack}/compare?${query}`, text: "Compare with the one before" });
  return el("p", { class: "runs-links" }, compared, ...tabs.map((tab) => el("a", { class: "btn btn-sm btn-outline-secondary", href: linkTo(line, run, tab), text: `${tab.charAt(0).toUpperCase()}${tab.slice(1)}` })));
}

function facts(all) {
  return el("dl", { class: "stack-facts" }, ...all.filter(([, value]) => value).map(([word, value]) => el("div", {}, el("dt", { text: word }), el("dd", { text: value }))));
}

function cellDetails(line, operation, cell) {
  const { letter = "-", seconds = null, reason = "" } = cell ?? {};
  const { word, state } = outcomeOf(letter);
  const outcome = el("span", { class: `state state-${state}` }, mark(letter), el("span", { text: word }));
  return [
    el("div", { class: "panel-head" }, el("h2", {}, `${line.path} `, el("span", { class: "muted small", text: line.row.type })), outcome),
    el(
      "div",
      { class: "panel-body" },
      reason && el("p", { class: "trouble", text: reason }),
      facts([["Took", seconds === null ? "" : duration(seconds)], ["Operation", `${operation.action}_${operation.status}`], ["Begun", dateTime(operation.begun_at)], ["By", operation.user]]),
      links(line, operation.id),
    ),
  ];
}

function runDetails(operation) {
  const took = lasted(operation, now());
  return [
    el("div", { class: "panel-head" }, el("h2", { text: `Operation of ${dateTime(operation.begun_at)}` }), actionBadge(operation.action, operation.status)),
    el(
      "div",
      { class: "panel-body" },
      operation.reason && el("p", { class: operation.status === "FAILED" ? "trouble" : "note", text: operation.reason }),
      facts([[operation.ended_at ? "Took" : "Running for", duration(took)], ["Resources", didWords(operation)], ["By", operation.user]]),
      links(null, operation.id),
    ),
  ];
}

// -- tips ----------------------------------------------------------------------------------------------------------

function showTip(target) {
  const words = target?.dataset?.tip;
  tip.hidden = !words;
  if (!words) return;
  setText(tip, words);
  const { left, bottom, top } = target.getBoundingClientRect();
  const below = bottom + tip.offsetHeight + 12 < innerHeight;
  tip.style.left = `${Math.max(8, Math.min(left, innerWidth - tip.offsetWidth - 12))}px`;
  tip.style.top = `${below ? bottom + 6 : top - tip.offsetHeight - 6}px`;
}

function hideTip() {
  tip.hidden = true;
}

grid.addEventListener("mouseover", (event) => showTip(event.target.closest("[data-tip]")));
grid.addEventListener("mouseleave", hideTip);
grid.addEventListener("focusout", hideTip);
frame.addEventListener("scroll", () => {
  hideTip();
  drawSoon();
}, { passive: true });

// -- nested stacks -------------------------------------------------------------------------------------------------

/** Show the resources of a nested stack below it, or hide them again. */
async function toggle(path) {
  if (!opened.delete(path)) opened.add(path);
  putInAddress("open", [...opened].sort().join(","));
  await loadInside();
  showAll();
}

function readAddress() {
  opened = new Set(inAddress("open").split(",").filter(Boolean));
  chosen = inAddress("run") ? { run: inAddress("run"), path: inAddress("cell") } : null;
}

/** Load the runs of nested stacks that are opened; again with `anew`, because they may have changed. */
async function loadInside(anew = false) {
  // An opened one may have opened ones inside, which are known only then.
  for (let asked = 0; ; asked += 1) {
    const wanted = linesOf(runs, { stack: page().stack }).filter(({ path, row }) => row.nested && opened.has(path) && (!inside.has(row.nested) || (anew && !asked)));
    if (!wanted.length) return;
    await Promise.all(
      wanted.map(async ({ row }) => {
        const nested = new Runs();
        // One that cannot be read, because it was deleted meanwhile, is shown empty.
        const answer = await fetchJson(`${stackOf(row.nested)}/runs.json?limit=50`).catch(() => null);
        if (answer) nested.take(answer);
        inside.set(row.nested, nested);
      }),
    );
  }
}

// -- data ----------------------------------------------------------------------------------------------------------

function showAll() {
  select();
  draw();
  showChosen();
}

readAddress();
keepInAddress({ search, which }, () => {
  readAddress();
  loadInside().then(showAll);
});
for (const filter of [search, which]) {
  filter.addEventListener("input", () => {
    frame.scrollTop = 0;
    showAll();
  });
}
byId("runs-older").addEventListener("click", async (click) => {
  click.target.disabled = true;
  const first = runs.operations[0].id;
  const answer = await fetchJson(`${page().stack}/runs.json?limit=${PAGE}&after=${encodeURIComponent(first)}`).catch(() => null);
  if (answer) {
    runs.take(answer, true);
    const place = chosen ? at : { ...at, column: at.column ? at.column + answer.operations.length : 0 };
    at = place;
  }
  showAll();
  frame.scrollLeft = 0;
});
new ResizeObserver(drawSoon).observe(frame);

let pause = 1000;
let isFirst = true;
const followed = follow(streamUrl(), {
  async load(signal) {
    const asked = performance.now();
    const url = (limit) => `${page().stack}/runs.json?limit=${limit}`;
    // What is over does not change: the newest, and the one that it may have superseded, are enough.
    let answer = await fetchJson(url(isFirst ? PAGE : 2), { signal });
    if (!isFirst && !runs.joins(answer)) answer = await fetchJson(url(PAGE), { signal });
    const isAtEnd = isFirst || frame.scrollLeft + frame.clientWidth >= frame.scrollWidth - 4;
    runs.take(answer);
    await loadInside(!isFirst);
    isFirst = false;
    showAll();
    if (isAtEnd) frame.scrollLeft = frame.scrollWidth;
    // A large grid is loaded less often.
    pause = Math.max(1000, 5 * (performance.now() - asked));
    return answer;
  },
  apply: () => setTimeout(() => followed.refresh(), pause - 1000),
  every: 1000,
});
// Another operation may have begun, and the bar of one under way grows.
onHead((state) => {
  const known = runs.operations.some(({ id }) => id === state.operation.traversal_id);
  if (!isFirst && !known) followed.refresh();
});
setInterval(() => runs.operations.at(-1)?.ended_at === null && drawSoon(), 1000);
