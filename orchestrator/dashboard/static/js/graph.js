// The graph page: loads the picture, draws and lists it, and keeps it up to date.

import { byId, el, page, setText, stackUrl } from "./dom.js";
import { Focus } from "./focus.js";
import { count, counted } from "./format.js";
import { Drawing } from "./graph_drawing.js";
import { Picture } from "./graph_model.js";
import { onHead, readHead, streamUrl } from "./head.js";
import { Legend } from "./legend.js";
import { Panel } from "./panel.js";
import { stateOf } from "./states.js";
import { fetchJson, follow } from "./stream.js";
import { VertexList } from "./vertex_list.js";

/** The least interval between two repaints: a large drawing takes a while. */
const PAINT_MILLISECONDS = 200;
const PAINT_MANY_MILLISECONDS = 600;
const MANY = 600;
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
let opening = null; // The name of the resource to open once the picture is there.
let paints = null;
let asks = null;
let took = 0;
const changed = new Set();

const focus = new Focus((otherData) => (otherData ? loadAnew() : look()));
const legend = new Legend(byId("legend"), byId("graph-every-state"), (states) => {
  focus.keepStates(states);
  drawing.filter(states);
  list.filter(states);
});
legend.choose(focus.now.states);
const panel = new Panel(byId("vertex"), {
  closed(byHand) {
    if (byHand) (focus.now.list ? list : drawing).takeFocus();
  },
  focus: focusOn,
  go,
});
const drawing = new Drawing(frame, {
  chosen(item, open, byKey) {
    say(item);
    if (open) panel.open(item, byKey);
    else panel.close();
  },
  focus: focusOn,
});
const list = new VertexList(listFrame, (item) => {
  drawing.mark(item);
  panel.open(item, true);
});
drawing.filter(legend.states);
list.filter(legend.states);

const followed = follow(streamUrl(), { load, apply, every: PAINT_MILLISECONDS });

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
    else panel.close();
    look();
    if (read) drawing.mark(read);
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
  paints ??= setTimeout(() => paint(false), picture.vertices.size > MANY ? PAINT_MANY_MILLISECONDS : 0);
}

/** Show the present states of what changed; `groups`: the server has told those anew. */
function paint(groups) {
  clearTimeout(paints);
  paints = null;
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
  frame.hidden = listed;
  byId("graph-zoom").hidden = listed;
  listFrame.hidden = !listed;
  if (listed) list.show(picture);
  else list.clear();
  if (!listed && drawing.picture !== picture) drawing.show(picture);
  byId("graph-empty").hidden = picture.total > 0;
  byId("graph-names").replaceChildren(...[...picture.named.keys()].map((name) => el("option", { value: name })));
  note();
  // For those who wait for it: what is drawn, and of how many.
  requestAnimationFrame(() => Object.assign(section.dataset, { part: picture.part, drawn: picture.total }));
  if (opening !== null) {
    const name = opening;
    opening = null;
    if (picture.named.has(name)) go(name);
  }
}

/** Describe the shown part of the operation, and its failures. */
function note() {
  if (!head) return;
  const { part, omitted } = picture;
  const { total, counts } = head;
  const resources = [...picture.vertices.values()].filter((vertex) => vertex.kind === "resource").length;
  const seen = {
    all: `${counted(total, "resource")}. An arrow leads from what is required to what requires it.`,
    groups: `${counted(total, "resource")} in ${counted(picture.groups.size, "group")}: those of one type in one step. Find one by its name to see its neighbourhood.`,
    focus: `${count(resources)} of ${counted(total, "resource")}${omitted ? `; ${count(omitted)} more are as near and left out` : ""}.`,
  };
  setText(byId("graph-note"), total ? seen[part] : "");
  const { failed, unreached } = counts;
  const told = failed
    ? `${count(failed)} failed${unreached ? `, ${count(unreached)} never begun` : ""}: `
    : "";
  byId("graph-failed").hidden = !failed;
  setText(byId("graph-failed-words"), told);
}

/** Look at what is around one resource alone. */
function focusOn({ name, no }) {
  const same = picture.named.get(name) ?? [];
  const first = same.find((vertex) => vertex.phase !== "cleanup") ?? same[0];
  // Its name stands in the address, unless that means another: what is made has the name of what is cleaned up.
  const key = first && no !== undefined && first.no !== no ? String(no) : name;
  opening = null;
  focus.go({ focus: key });
}

/** Open the resource of a name; if it is not in the picture, look at what is around it. */
function go(name) {
  const [vertex] = picture.named.get(name) ?? [];
  if (!vertex && picture.whole) {
    byId("graph-search").setCustomValidity(`There is no resource with “${name}” in its name.`);
    byId("graph-search").reportValidity();
    return;
  }
  if (!vertex) {
    opening = name;
    focus.go({ focus: name });
    return;
  }
  drawing.mark(vertex);
  if (focus.now.list) list.reveal(vertex);
  else drawing.reveal(vertex);
  panel.open(vertex, true);
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
