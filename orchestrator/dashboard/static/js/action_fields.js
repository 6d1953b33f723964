// What an action on a stack is asked for before it is ordered: the fields of each, and how they are read.

import { el } from "./dom.js";
import { dateTime } from "./format.js";

const FIELDS = {
  cancel: cancelFields,
  delete: typedName,
  snapshot: snapshotFields,
  restore: restoreFields,
  protect: protectionFields,
  unprotect: protectionFields,
  mark_unhealthy: markFields,
  mark_healthy: markFields,
  signal: signalFields,
  clear_hook: hookFields,
};

/**
 * The `elements` of an action's fields, and `read`, which returns them as parts of the order and throws what is wrong;
 * undefined where there are none. `offers` is the server's answer about the actions, with the button `send`.
 */
export function actionFields(action, offers) {
  return FIELDS[action]?.(offers);
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

/** What a cancelled operation leaves behind. */
function cancelFields() {
  const box = el("input", { id: "act-rollback", class: "form-check-input", type: "checkbox", checked: true });
  const label = el("label", { class: "form-check-label", for: "act-rollback", text: "Roll back to the last complete definition" });
  const note = el("p", {
    class: "small muted",
    text: "Otherwise the stack stays as it is, and is failed. A check, a suspend or a resume cannot be rolled back.",
  });
  return { elements: [el("p", { class: "act-choice" }, box, label), note], read: () => ({ rollback: box.checked }) };
}

function snapshotFields() {
  const input = el("input", { id: "act-snapshot", class: "form-control", maxlength: 255, autocomplete: "off", spellcheck: "false" });
  return {
    elements: [el("label", { for: "act-snapshot", text: "Name of the snapshot (optional)" }), input],
    read: () => (input.value.trim() ? { snapshot: input.value.trim() } : {}),
  };
}

function restoreFields({ snapshots }) {
  const choice = el("select", { id: "act-snapshot", class: "form-select" });
  for (const { id, name, created_at: at } of snapshots) {
    choice.append(el("option", { value: id, text: `${name || id}, taken ${dateTime(at)}` }));
  }
  const label = el("label", { for: "act-snapshot", text: "Which snapshot" });
  return { elements: [label, choice], read: () => ({ snapshot: choice.value }) };
}

function markFields() {
  const resource = el("input", { id: "act-resource", class: "form-control", required: true, autocomplete: "off", spellcheck: "false" });
  return { elements: [el("label", { for: "act-resource", text: "Resource" }), resource], read: () => ({ resource: resource.value }) };
}

/** A resource, or without one the stack itself. */
function protectionFields() {
  const resource = el("input", { id: "act-resource", class: "form-control", autocomplete: "off", spellcheck: "false", "aria-describedby": "act-path" });
  const label = el("label", { for: "act-resource", text: "Resource (optional; without one, the stack itself)" });
  const note = el("p", { id: "act-path", class: "small muted", text: "One in a nested stack by its path, such as web/server." });
  return { elements: [label, resource, note], read: () => (resource.value.trim() ? { resource: resource.value.trim() } : {}) };
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
