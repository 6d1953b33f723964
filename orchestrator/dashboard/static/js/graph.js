// The graph page: loads the picture, draws and lists it, and keeps it up to date.

import { byId, el, page, setText, stackUrl } from "./dom.js";
import { Focus } from "./focus.js";
import { count, counted, now } from "./format.js";
import { Drawing } from "./graph_drawing.js";
import { Picture } from "./graph_model.js";
import { onHead, readHead, streamUrl } from "./head.js";
import { Legend } from "./legend.js";
import { Panel } from "./panel.js";
import { stateOf } from "./states.js";
import { fetchJson, follow } from "./stream.js";
import { VertexList } from "./vertex_list.js";

/** The interval between two repaints: so many times what one takes, within these bounds, for the page has other work. */
const PAINT_FACTOR = 4;
const LEAST_PAINT_MILLISECONDS = 40;
const MOST_PAINT_MILLISECONDS = 600;
/** Events lack some changes: the delay after an event until the states are fetched, and the greatest share of time for it. */
const ASK_MILLISECONDS = 1000;
const PAUSE_FACTOR = 10;

const section = byId("graph");
const frame = byId("graph-frame");
const listFrame = byId("graph-list");

let picture = null;
let head = null; // Its counts are those of the whole page.
let grown = false; // Whether that is asked for because there is more in this one than is shown: a replaced resource's deletion.
let anew = true; // Whether the next answer is to be of another picture, and not of the states in this one.
let led = true; // Whether an address led here that may name a resource which is in no box of the picture.
let paints = null;
let painting = 0; // How many milliseconds the last repaint took, with what the browser did for it.
let asks = null;
let took = 0;
const changed = new Set();

const focus = new Focus((otherData, cameBack) => {
  led = cameBack;
  if (cameBack) {
    legend.choose(focus.now.states);
    drawing.filter(legend.states);
    list.filter(legend.states);
  }
  if (otherData) loadAnew();
  else look();
});
const legend = new Legend(byId("legend"), byId("graph-every-state"), (states) => {
  focus.keepStates(states);
  drawing.filter(states);
  list.filter(states);
});
legend.choose(focus.now.states);
const panel = new Panel(byId("vertex"), {
  closed(byHand) {
    byId("graph-body").classList.remove("has-opened");
    if (!byHand) return;
    focus.keepOpened({});
    drawing.mark(null);
    (focus.now.list ? list : drawing).takeFocus();
  },
  focus: focusOn,
  go,
  open: (item) => open(item, true),
});
const drawing = new Drawing(frame, {
  chosen(item, opens, byKey) {
    say(item);
    if (opens) open(item, byKey);
    else close();
  },
  focus: focusOn,
});
const list = new VertexList(listFrame, (item) => {
  drawing.mark(item);
  open(item, true);
});
drawing.filter(legend.states);
list.filter(legend.states);

// The worker takes a while to start: it does so while the picture is fetched.
if (!focus.now.list) drawing.layouts.begin();
const followed = follow(streamUrl(), { load, apply, every: paintPause });

onHead((read) => {
  head = read;
  legend.show(head.counts);
  if (picture) note();
});

function loadAnew() {
  anew = true;
  followed.refresh();
}

/** Fetch the picture that is to be looked at, or the states in the one that is shown. */
async function load(signal) {
  const whole = anew || picture === null;
  const asked = JSON.stringify(focus.asked);
  const begun = performance.now();
  const answer = await fetchJson(stackUrl("graph.json", { ...focus.asked, states: whole ? null : 1 }), { signal });
  took = performance.now() - begun;
  clearTimeout(asks);
  asks = null;
  // Something else is to be looked at by now: it is asked for next.
  if (asked !== JSON.stringify(focus.asked)) return answer;
  if (whole) {
    const { no } = (grown && panel.item) || {};
    anew = grown = false;
    picture = new Picture(answer);
    // The panel is left as it is while it is read.
    const read = picture.vertices.get(no);
    if (read) panel.keep(read);
    look();
  } else if (picture.differs(answer)) {
    grown = answer.operation.traversal_id === picture.operation.traversal_id;
    loadAnew();
  } else {
    const { changed: found, ahead } = picture.merge(answer);
    for (const vertex of found) changed.add(vertex);
    if (ahead) askSoon();
    if (found.length) readHead();
    paint(true);
  }
  return answer;
}

/** Take over what happened. */
function apply(events) {
  const { traversal_id: shown } = picture.operation;
  // Another operation has begun: show it, unless this one was requested by its id.
  if (!page().traversal && events.some((event) => event.traversal_id && event.traversal_id !== shown)) {
    loadAnew();
    return;
  }
  for (const vertex of picture.apply(events)) changed.add(vertex);
  paintSoon();
  askSoon();
}

function askSoon() {
  asks ??= setTimeout(() => {
    asks = null;
    followed.refresh();
  }, Math.max(ASK_MILLISECONDS, took * PAUSE_FACTOR));
}

function paintSoon() {
  paints ??= setTimeout(() => paint(false));
}

function paintPause() {
  return Math.min(MOST_PAINT_MILLISECONDS, Math.max(LEAST_PAINT_MILLISECONDS, painting * PAINT_FACTOR));
}

/** Show the present states of what changed; `groups`: the server has told those anew. */
function paint(groups) {
  clearTimeout(paints);
  paints = null;
  const begun = performance.now();
  requestAnimationFrame(() => setTimeout(() => (painting = performance.now() - begun)));
  const vertices = [...changed];
  changed.clear();
  drawing.update(vertices);
  list.update(vertices);
  panel.update(vertices);
  if (groups && picture.part === "groups") {
    drawing.updateGroups();
    list.updateGroups();
    panel.updateGroups(picture.groups);
  }
  note();
}

/** Show the picture as it is to be looked at: drawn, or as a list. */
function look() {
  if (!picture) return;
  const { list: listed } = focus.now;
  focus.show(picture);
  showFrame(listed);
  if (listed) list.show(picture);
  else list.clear();
  byId("graph-empty").hidden = picture.total > 0;
  byId("graph-names").replaceChildren(...[...picture.named.keys()].map((name) => el("option", { value: name })));
  note();
  showOpened();
  if (listed) tellDrawn();
  else if (drawing.picture !== picture) draw(picture);
}

function showFrame(listed) {
  frame.hidden = listed;
  byId("graph-zoom").hidden = listed;
  listFrame.hidden = !listed;
  byId("graph-unlaid").hidden = true;
}

/** Draw a picture; if it cannot be laid out, list it and say so. */
async function draw(drawn) {
  byId("graph-laying").hidden = false;
  try {
    if (!(await drawing.show(drawn))) return;
  } catch (error) {
    if (picture !== drawn || focus.now.list) return;
    drawing.clear();
    showFrame(true);
    list.show(drawn);
    setText(byId("graph-unlaid-words"), `The graph could not be drawn: ${error.message}. This list has the same ${drawn.part === "groups" ? "groups" : "resources"}.`);
    byId("graph-unlaid").hidden = false;
  } finally {
    if (picture === drawn || !picture) byId("graph-laying").hidden = true;
  }
  note();
  tellDrawn();
}

/** For those who wait for it: what is shown, and of how many. */
function tellDrawn() {
  requestAnimationFrame(() => picture && Object.assign(section.dataset, { part: picture.part, drawn: picture.total }));
}

/** Describe the shown part of the operation, and its failures. */
function note() {
  if (!head) return;
  const { part, omitted, groups } = picture;
  const { total, counts } = head;
  const all = counted(total, "resource");
  const isForced = part === "groups" && focus.now.part === "all";
  const why = isForced
    ? "It has too many arrows to be drawn one by one"
    : focus.now.part === "groups" ? "Resources of one type in one step are one box" : "It is folded, for so many boxes cannot be told apart: those of one type in one step are one";
  const seen = {
    all: `${all}. An arrow leads from what is done first to what waits for it.`,
    groups: `${all} in ${counted(groups.size, "group")}. ${why}. Find one by its name to see what is around it.`,
    focus: `${count(picture.vertices.size)} of ${all}${omitted ? `; ${count(omitted)} more are as near and left out` : ""}.`,
  };
  const replaced = picture.replaced.size
    ? ` A box with three lines is a resource that is replaced: the new one is made, and then the old one is deleted; each counts.`
    : "";
  const large = !focus.now.list && drawing.picture === picture && drawing.isLarge ? " It is larger than this frame: drag it, or press Fit." : "";
  setText(byId("graph-note"), total ? seen[part] + replaced + large : "");
  const opensAll = byId("graph-open-all");
  opensAll.hidden = part !== "groups" || isForced || byId("graph-all").disabled;
  setText(opensAll, `Open all ${count(total)}`);
  const { failed, unreached } = counts;
  const told = failed
    ? `${count(failed)} failed${unreached ? `, ${count(unreached)} never begun` : ""}: `
    : "";
  byId("graph-failed").hidden = !failed;
  setText(byId("graph-failed-words"), told);
}

/** Open the details of one, and have it in the address. */
function open(item, byKey) {
  focus.keepOpened(item.counts ? { group: item.id } : { resource: picture.keyOf(item) });
  showPanel(item, byKey);
}

function showPanel(item, byKey) {
  byId("graph-body").classList.add("has-opened");
  panel.open(item, byKey, item.counts ? [] : picture.replacedBy(item.no));
}

function close() {
  if (!panel.item) return;
  focus.keepOpened({});
  panel.close();
}

/** Open what the address names, or close what it does not name. */
function showOpened() {
  const { resource, group } = focus.now;
  const item = group !== null ? picture.groups.get(group) : resource !== null ? picture.find(resource) : undefined;
  if (!item && resource !== null && led && picture.part === "groups") {
    led = false;
    focus.now = { ...focus.now, focus: resource };
    focus.write(true);
    loadAnew();
    return;
  }
  led = false;
  if (!item) {
    if (resource !== null || group !== null) focus.keepOpened({}, true);
    drawing.mark(null);
    panel.close();
    return;
  }
  drawing.mark(item);
  if (panel.item?.no === item.no && panel.item?.id === item.id) panel.keep(item);
  else showPanel(item, false);
}

/** Look at what is around one resource alone. */
function focusOn(item) {
  // What a group names is in no box yet, and stands in the address by its name.
  const key = item.no === undefined ? item.name : picture.keyOf(item);
  focus.go({ focus: key, group: null, resource: item.no === undefined ? key : focus.now.resource });
}

/** Open the resource of a name; if it is not in the picture, look at what is around it. */
function go(name) {
  const vertex = picture.find(name);
  if (!vertex && picture.whole) {
    byId("graph-search").setCustomValidity(`There is no resource with “${name}” in its name.`);
    byId("graph-search").reportValidity();
    return;
  }
  if (!vertex) {
    focus.go({ focus: name, resource: name, group: null });
    return;
  }
  drawing.mark(vertex);
  if (focus.now.list) list.reveal(vertex);
  else drawing.reveal(vertex);
  open(vertex, true);
}

/** Save the drawing as a file, all of it, in the colours of the page. */
async function saveDrawing(kind) {
  if (drawing.picture !== picture) return;
  const { stack, action } = picture.operation;
  const { pngOf, save, svgText } = await import("./graph_export.js");
  const text = svgText(drawing.geometry(), drawing.theme, `${stack}, ${action}, as of ${new Date(now() * 1000).toISOString()}`);
  try {
    save(kind === "svg" ? new Blob([text], { type: "image/svg+xml" }) : await pngOf(text), `${stack}-graph.${kind}`);
  } catch (error) {
    setText(byId("graph-said"), `It could not be saved: ${error.message}`);
  }
}

/** Announce the chosen item to screen readers. */
function say(item) {
  const told = !item
    ? ""
    : item.counts
      ? `${item.type}, step ${item.layer + 1}, ${counted(item.total, "resource")}`
      : `${item.name}, ${stateOf(item.state).word}, step ${item.layer + 1}`;
  setText(byId("graph-said"), told);
}

byId("graph-find").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = byId("graph-search").value.trim();
  if (!text || !picture) return;
  const within = [...picture.named.keys()].find((name) => name.toLowerCase().includes(text.toLowerCase()));
  go(picture.named.has(text) || !within ? text : within);
});
byId("graph-search").addEventListener("input", (event) => event.target.setCustomValidity(""));
byId("graph-in").addEventListener("click", () => drawing.zoomBy(1.3));
byId("graph-out").addEventListener("click", () => drawing.zoomBy(1 / 1.3));
byId("graph-fit").addEventListener("click", () => drawing.fit());
for (const kind of ["svg", "png"]) byId(`graph-${kind}`).addEventListener("click", () => saveDrawing(kind));
byId("graph-open-all").addEventListener("click", () => byId("graph-all").click());
byId("graph-again").addEventListener("click", look);
