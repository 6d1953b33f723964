// The operator's actions on the stack of this page: a few buttons at fixed places, the others in a menu; each with a
// confirmation.

import { actionFields } from "./action_fields.js";
import { byId, el, page, setText } from "./dom.js";
import { onHead } from "./head.js";
import { askForOrder } from "./order_dialog.js";
import { fetchJson } from "./stream.js";

const WORDS = {
  cancel: { button: "Cancel", verb: "Cancel", after: "The operation under way ends." },
  retry: { button: "Try again", verb: "Try again", after: "The stack is updated with its present definition." },
  clear_hook: { button: "Clear hook", verb: "Clear hooks of", after: "Resources held at a hook continue." },
  delete: { button: "Delete", verb: "Delete", after: "The stack and all its resources are deleted permanently." },
  check: { button: "Check", verb: "Check", after: "All resources are compared with the objects that they stand for." },
  suspend: { button: "Suspend", verb: "Suspend", after: "All resources are suspended, such as processes stopped." },
  resume: { button: "Resume", verb: "Resume", after: "The suspended resources are resumed." },
  snapshot: { button: "Take a snapshot", verb: "Take a snapshot of", after: "It holds the definition, and what the types of resources can keep." },
  restore: { button: "Restore a snapshot", verb: "Restore", after: "The stack gets the definition and the data of the snapshot." },
  protect: { button: "Protect", verb: "Protect", after: "A protected stack is not deleted. A protected resource is neither deleted nor replaced." },
  unprotect: { button: "Unprotect", verb: "Unprotect", after: "What is not protected can be deleted and replaced." },
  mark_unhealthy: { button: "Mark unhealthy", verb: "Mark a resource unhealthy in", after: "The next update replaces the resource." },
  mark_healthy: { button: "Mark healthy", verb: "Mark a resource healthy in", after: "Updates keep the resource, whatever a check has found." },
  signal: { button: "Signal", verb: "Signal", after: "The resource receives the signal, such as a wait condition waits for." },
};
/** Always at hand; the others are in the menu, by what they are about. */
const PRIMARY = ["cancel", "retry", "clear_hook", "delete"];
const GROUPS = [
  ["Operations", ["check", "suspend", "resume"]],
  ["Snapshots", ["snapshot", "restore"]],
  ["Protection", ["protect", "unprotect"]],
  ["Resources", ["mark_unhealthy", "mark_healthy", "signal"]],
];

let offers = null; // The actions that are possible, by the server's last answer.
let seen = ""; // The stack's state at that answer.

/** Fetch the possible actions, and show them. */
async function load() {
  offers = await fetchJson(`${page().stack}/actions.json`);
  show();
}

/** Why an action is not possible now; empty if it is. */
function obstacle(action) {
  return offers.actions[action] || offers.unfit[action];
}

function show() {
  const place = byId("stack-actions");
  const { traversal } = page();
  const isPast = traversal && traversal !== offers.traversal_id;
  if (!offers.possible || isPast) {
    place.replaceChildren();
    return;
  }
  const refusals = new Set(Object.values(offers.actions));
  if (refusals.size === 1 && !refusals.has("")) {
    // One reason for all actions: the visitor is not an operator.
    place.replaceChildren(el("p", { class: "act-said", text: [...refusals][0] }));
    return;
  }
  if (!document.getElementById("act-said")) {
    const primary = PRIMARY.flatMap((action) => [buttonFor(action), reasonFor(action, "visually-hidden")]);
    place.replaceChildren(...primary, menu(), el("p", { id: "act-said", class: "act-said", role: "status" }));
  }
  for (const action of Object.keys(WORDS)) {
    const button = byId(`act-${action}`);
    const why = obstacle(action);
    // Not `disabled`: the button keeps its focus, and shows the reason.
    button.setAttribute("aria-disabled", String(Boolean(why)));
    if (PRIMARY.includes(action)) button.title = why;
    setText(byId(`why-${action}`), why);
  }
}

function buttonFor(action, look = "btn btn-sm btn-outline-secondary") {
  return el("button", {
    id: `act-${action}`,
    type: "button",
    class: `${look} act-${action}`,
    text: WORDS[action].button,
    "aria-describedby": `why-${action}`,
    "aria-haspopup": "dialog",
    on: { click: () => choose(action) },
  });
}

function reasonFor(action, look) {
  return el("span", { id: `why-${action}`, class: look });
}

/** The button of the menu, and the menu: a list of buttons, each with the reason why it has no point now. */
function menu() {
  const opener = el("button", {
    id: "act-more",
    type: "button",
    class: "btn btn-sm btn-outline-secondary",
    text: "More",
    "aria-expanded": "false",
    "aria-controls": "act-menu",
    on: { click: () => openMenu(byId("act-menu").hidden) },
  });
  const groups = GROUPS.map(([title, actions]) =>
    el(
      "div",
      { role: "group", "aria-label": title },
      el("p", { class: "act-group", "aria-hidden": "true", text: title }),
      ...actions.map((action) => el("div", {}, buttonFor(action, "act-item"), reasonFor(action, "act-why"))),
    ),
  );
  const list = el("div", { id: "act-menu", class: "act-menu panel", hidden: true }, ...groups);
  const around = el("div", { class: "act-around" }, opener, list);
  around.addEventListener("keydown", moveInMenu);
  return around;
}

function openMenu(opens) {
  byId("act-menu").hidden = !opens;
  byId("act-more").setAttribute("aria-expanded", String(opens));
}

/** Arrows go through the menu, and Escape closes it. */
function moveInMenu(event) {
  const list = byId("act-menu");
  if (event.key === "Escape" && !list.hidden) {
    openMenu(false);
    byId("act-more").focus();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    openMenu(true);
    const items = [...list.querySelectorAll("button")];
    const at = items.indexOf(document.activeElement);
    const step = event.key === "ArrowDown" ? at + 1 : at < 0 ? -1 : at - 1;
    items.at(step % items.length).focus();
  } else return;
  event.preventDefault();
}

document.addEventListener("click", (event) => {
  const list = document.getElementById("act-menu");
  if (list && !list.hidden && !list.parentElement.contains(event.target)) openMenu(false);
});
document.addEventListener("focusin", (event) => {
  const list = document.getElementById("act-menu");
  if (list && !list.hidden && !list.parentElement.contains(event.target)) openMenu(false);
});

function choose(action) {
  const why = obstacle(action);
  if (why) {
    setText(byId("act-said"), why);
    return;
  }
  if (!PRIMARY.includes(action)) {
    openMenu(false);
    // Where the focus comes back to when the question is closed.
    byId("act-more").focus();
  }
  ask(action);
}

/** Ask for confirmation and the action's input, and send the order. */
function ask(action) {
  // The confirmation is for the operation that is shown now, even if another begins meanwhile.
  const { stack, stack_id, traversal_id } = offers;
  const { verb, after } = WORDS[action];
  askForOrder({
    words: `${verb} ${stack}`,
    after,
    address: `${page().stack}/act/${action}`,
    order: { stack_id, traversal_id, confirm: stack },
    fields: (send) => actionFields(action, { ...offers, send }),
    isDangerous: action === "delete",
    done: load,
  });
}

// The head changes with the stack's state and its protection, and when a resource is held at a hook.
onHead(({ operation, counts, protected: isProtected }) => {
  const now = `${operation.stack_state} ${operation.traversal_id} ${counts.held ?? 0} ${isProtected}`;
  if (now === seen) return;
  seen = now;
  // The head shows faults of the dashboard; the server checks every order anyway.
  load().catch(() => {});
});
