// The states of a resource in an operation and how each is shown: a word, an icon and a colour, never a colour alone.
//
// The words and their order are those of orchestrator/views/vertex_states.py (STATES).

/** Paths of 16 by 16 icons: drawn with a round stroke 2 wide and no fill, but for those in FILLED. */
export const ICONS = Object.freeze({
  blocked: "M3.2 8h.01M8 8h.01M12.8 8h.01",
  ready: "M3 4.2h10M3 8h10M3 11.8h5.5",
  running: "M5 3.2 12.6 8 5 12.8z",
  waiting: "M4 2.5h8M4 13.5h8M5 2.5c0 3 2.2 3.8 3 5.5.8-1.7 3-2.5 3-5.5M5 13.5c0-3 2.2-3.8 3-5.5.8 1.7 3 2.5 3 5.5",
  retrying: "M13 8a5 5 0 1 1-1.6-3.7M11.9 1.6v3.1H8.8",
  held: "M5.5 3.5v9M10.5 3.5v9",
  done: "M3 8.6 6.4 12 13 4.4",
  unchanged: "M3.5 6h9M3.5 10h9",
  failed: "M4 4l8 8M12 4l-8 8",
  undone: "M3 6.5h6.5a3.5 3.5 0 0 1 0 7H6M5.8 3.4 2.7 6.5l3.1 3.1",
  unreached: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM4.2 4.2l7.6 7.6",
});

/** Icons that are filled, too. */
export const FILLED = Object.freeze(new Set(["running"]));

/** All states in the order of a resource's life, with what each means. */
export const STATES = Object.freeze(
  [
    ["blocked", "waits for its requirements"],
    ["ready", "in the queue, no worker has taken it yet"],
    ["running", "a worker is at work on it"],
    ["waiting", "under way in another system; polled later"],
    ["retrying", "failed, and is tried again"],
    ["held", "held at a hook until an operator clears it"],
    ["done", "is complete"],
    ["unchanged", "needed no change"],
    ["failed", "failed, and is not tried again"],
    ["unreached", "not done when the operation ended"],
  ].map(([name, meaning]) => Object.freeze({ name, word: name, meaning, icon: ICONS[name], css: `state-${name}` })),
);

/** How it looks that something was taken back, or away: that is done, and no success. */
const UNDONE = Object.freeze({ name: "undone", word: "done", meaning: "is taken back", icon: ICONS.undone, css: "state-undone" });
const UNDOING = new Set(["ROLLBACK", "DELETE"]);

const BY_NAME = new Map([...STATES, UNDONE].map((state) => [state.name, state]));

/** How a state is shown; what is unknown is shown as blocked under its own word. */
export function stateOf(name) {
  return BY_NAME.get(name) ?? { ...BY_NAME.get("blocked"), name, word: String(name) };
}

/** The state whose look a stack, a traversal, a resource's row or an event has: by action and status, and an event's cause. */
export function lookOf(action, status, cause = "") {
  if (cause) return "retrying";
  if (action === "ROLLBACK" && status === "COMPLETE") return "undone";
  return { IN_PROGRESS: "running", COMPLETE: "done", FAILED: "failed", SUPERSEDED: "unreached" }[status] ?? "blocked";
}

/** Action and status of a state such as `CREATE_COMPLETE`. */
export function split(state) {
  const at = state.indexOf("_");
  return [state.slice(0, at), state.slice(at + 1)];
}

/** The look of a state of resources in an operation: what a rollback or a deletion has done is no success. */
export function lookIn(action, state) {
  return UNDOING.has(action) && (state === "done" || state === "unchanged") ? "undone" : state;
}

const SVG = "http://www.w3.org/2000/svg";

/** An icon as an element; hidden from screen readers, for a word stands beside it. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "state-icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name] ?? ICONS.blocked);
  if (FILLED.has(name)) path.setAttribute("fill", "currentColor");
  svg.append(path);
  return svg;
}

/** Icon and word of one of the states; `word` stands in place of the state's own. */
export function badge(name, word = stateOf(name).word) {
  const span = document.createElement("span");
  showBadge(span, name, word);
  return span;
}

/** Make an element show a state; it is left alone where it shows it already. */
export function showBadge(element, name, word = stateOf(name).word) {
  if (element.dataset.state === name && element.dataset.word === word) return;
  element.dataset.state = name;
  element.dataset.word = word;
  element.className = `state ${stateOf(name).css}`;
  const text = document.createElement("span");
  text.textContent = word;
  element.replaceChildren(icon(name), text);
}

/** Icon and word of a stack's, a resource's or an event's state: `CREATE_COMPLETE`. */
export function actionBadge(action, status, cause = "") {
  const word = cause ? `${action}_${status} · ${cause}` : `${action}_${status}`;
  // What is only planned has nothing done to it.
  return badge(action === "INIT" ? "blocked" : lookOf(action, status, cause), word);
}
