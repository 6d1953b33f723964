// The operator's actions on the stack of this page: buttons at fixed places, each with a confirmation.

import { byId, el, page, setText } from "./dom.js";
import { onHead } from "./head.js";
import { sendOrder } from "./order.js";

const WORDS = {
  cancel: { button: "Cancel", verb: "Cancel", after: "The operation under way ends, and is rolled back." },
  retry: { button: "Try again", verb: "Try again", after: "The stack is updated with its present definition." },
  delete: { button: "Delete", verb: "Delete", after: "The stack and all its resources are deleted permanently." },
  signal: { button: "Signal", verb: "Signal", after: "The resource receives the signal, such as a wait condition waits for." },
  clear_hook: { button: "Clear hook", verb: "Clear hooks of", after: "Resources held at a hook continue." },
};

let offers = null; // The actions that are possible, by the server's last answer.
let seen = ""; // The stack's state at that answer.

/** Fetch the possible actions, and show them. */
async function load() {
  const answer = await fetch(`${page().stack}/actions.json`);
  if (!answer.ok) return;
  offers = await answer.json();
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
  for (const action of Object.keys(WORDS)) {
    const button = document.getElementById(`act-${action}`) ?? place.appendChild(buttonFor(action));
    const why = obstacle(action);
    // Not `disabled`: the button keeps its focus, and shows the reason.
    button.setAttribute("aria-disabled", String(Boolean(why)));
    button.title = why;
    setText(document.getElementById(`why-${action}`) ?? place.appendChild(reasonFor(action)), why);
  }
  if (!document.getElementById("act-said")) {
    place.append(el("p", { id: "act-said", class: "act-said", role: "status" }));
  }
}

function buttonFor(action) {
  return el("button", {
    id: `act-${action}`,
    type: "button",
    class: `btn btn-sm btn-outline-secondary act-${action}`,
    text: WORDS[action].button,
    "aria-describedby": `why-${action}`,
    "aria-haspopup": "dialog",
    on: { click: () => choose(action) },
  });
}

function reasonFor(action) {
  return el("span", { id: `why-${action}`, class: "visually-hidden" });
}

function choose(action) {
  const why = obstacle(action);
  if (why) setText(byId("act-said"), why);
  else ask(action);
}

/** Ask for confirmation and the action's input, and send the order. */
function ask(action) {
  // The confirmation is for the operation that is shown now, even if another begins meanwhile.
  const { stack, stack_id, traversal_id, hooks } = offers;
  const { verb, after } = WORDS[action];
  const error = el("p", { class: "trouble", role: "alert", hidden: true });
  const send = el("button", {
    type: "submit",
    class: `btn btn-sm ${action === "delete" ? "btn-danger" : "btn-primary"}`,
    text: `${verb} ${stack}`,
  });
  const leave = el("button", { type: "button", class: "btn btn-sm btn-outline-secondary", text: "Leave it" });
  const fields = { delete: typedName, signal: signalFields, clear_hook: hookFields }[action]?.({ stack, hooks, send });
  const form = el(
    "form",
    {},
    el("h2", { id: "act-title", text: `${verb} ${stack}?` }),
    el("p", { id: "act-after", text: after }),
    ...(fields?.elements ?? []),
    error,
    el("div", { class: "act-buttons" }, leave, send),
  );
  const dialog = el(
    "dialog",
    { class: "act-dialog panel", "aria-labelledby": "act-title", "aria-describedby": "act-after" },
    form,
  );
  leave.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (send.getAttribute("aria-disabled") === "true") return;
    error.hidden = true;
    send.setAttribute("aria-disabled", "true");
    try {
      const order = { stack_id, traversal_id, confirm: stack, ...(fields?.read() ?? {}) };
      const came = await sendOrder(`${page().stack}/act/${action}`, order);
      dialog.close();
      setText(byId("act-said"), came.message);
      await load();
    } catch (problem) {
      setText(error, problem.message);
      error.hidden = false;
      send.setAttribute("aria-disabled", "false");
    }
  });
  byId("stacks-page").append(dialog);
  dialog.showModal();
}

/** A deletion is confirmed by typing the stack's name. */
function typedName({ stack, send }) {
  const input = el("input", { id: "act-name", class: "form-control", autocomplete: "off", spellcheck: "false" });
  const judge = () => send.setAttribute("aria-disabled", String(input.value !== stack));
  input.addEventListener("input", judge);
  judge();
  const label = el("label", { for: "act-name" }, "Type ", el("strong", { text: stack }), " to confirm");
  return { elements: [label, input], read: () => ({ confirm: input.value }) };
}

function signalFields() {
  const resource = el("input", { id: "act-resource", class: "form-control", required: true, autocomplete: "off" });
  const details = el("textarea", { id: "act-details", class: "form-control", rows: 4, spellcheck: "false" });
  details.value = "{}";
  return {
    elements: [
      el("label", { for: "act-resource", text: "Resource" }),
      resource,
      el("label", { for: "act-details", text: "The signal's data: a JSON object" }),
      details,
    ],
    read: () => {
      let told;
      try {
        told = JSON.parse(details.value || "{}");
      } catch (problem) {
        throw new Error(`That is no JSON: ${problem.message}`);
      }
      return { resource: resource.value, details: told };
    },
  };
}

function hookFields({ hooks }) {
  const choice = el("select", { id: "act-hook", class: "form-select" });
  choice.append(el("option", { value: "", text: `All that stand (${hooks.length})` }));
  hooks.forEach(({ resource, kind }, at) => {
    choice.append(el("option", { value: String(at), text: `${resource} (${kind})` }));
  });
  const read = () => {
    const hook = choice.value === "" ? null : hooks[Number(choice.value)];
    return hook ? { resource: hook.resource, kind: hook.kind } : {};
  };
  return { elements: [el("label", { for: "act-hook", text: "Which" }), choice], read };
}

// The head changes with the stack's state and when a resource is held at a hook.
onHead(({ operation, counts }) => {
  const now = `${operation.stack_state} ${operation.traversal_id} ${counts.held ?? 0}`;
  if (now === seen) return;
  seen = now;
  // The head shows faults of the dashboard; the server checks every order anyway.
  load().catch(() => {});
});
