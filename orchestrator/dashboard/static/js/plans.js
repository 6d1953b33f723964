// Saved plans: one that is opened, dropped, or made of a deletion is shown for a review, and applied.

import { byId, el, page, setText } from "./dom.js";
import { onDrop } from "./drop.js";
import { planElements } from "./edit_plan.js";
import { count, counted, timeElement } from "./format.js";
import { sendOrder } from "./order.js";
import { askForOrder } from "./order_dialog.js";
import { fileInBase64, savePlan } from "./plan_file.js";
import { withSeconds } from "./times.js";

const TITLES = { CREATE: "Create", UPDATE: "Update", DELETE: "Delete" };
const UNVERIFIED = "not verified here: its key is not in the dashboard's file of keys; the coordinator verifies it";

const { stacks, stack, any, refused, most } = page();
let seen = null; // The plan that is shown: its file's `name` and content, and the server's `view` of it.
let asked = 0; // Counts the plans that were opened: an answer about an earlier one is dropped.

function say(words) {
  setText(byId("plan-said"), words);
}

/** Have the server read the plan that `read` returns, with the `name` of its file, and show what it says. */
async function look(read) {
  const mine = (asked += 1);
  seen = null;
  byId("plan-panel").hidden = true;
  say("The plan is being read…");
  try {
    const { name, plan } = await read();
    const view = withSeconds(await sendOrder(`${stacks}/act/plan/show`, { plan }));
    if (mine !== asked) return;
    seen = { name, plan, view };
    show(view);
    say("");
  } catch (problem) {
    if (mine === asked) say(problem.message);
  }
}

function open(file) {
  return look(async () => {
    if (file.size > Number(most)) {
      throw new Error(`${file.name} has ${counted(file.size, "byte")}, and at most ${count(Number(most))} can be sent here: apply it with isotherm stack apply`);
    }
    return { name: file.name, plan: await fileInBase64(file) };
  });
}

function show(view) {
  const why = view.obstacle || view.refused;
  setText(byId("plan-head"), `${TITLES[view.action]} ${view.stack}`);
  const obstacle = byId("plan-obstacle");
  obstacle.hidden = !why;
  setText(obstacle, why ? `It cannot be applied: ${why}` : "");
  setText(byId("act-said"), "");
  byId("plan-apply").setAttribute("aria-disabled", String(Boolean(why)));
  byId("plan-facts").replaceChildren(...facts(view).map(([word, value]) => el("div", {}, el("dt", { text: word }), el("dd", {}, value))));
  byId("plan").replaceChildren(...planElements(view), ...annotations(view.annotations));
  byId("plan-panel").hidden = false;
  byId("plan-head").focus();
}

function facts(view) {
  const name = view.stack_id ? el("a", { href: `${any}${view.stack_id}`, text: view.stack }) : view.stack;
  const signature = { true: "verified", false: UNVERIFIED }[view.is_verified];
  return [
    ["Stack", name],
    ["State then", view.state || "there was no stack yet"],
    ["Planned", timeElement(view.planned_at)],
    ["By", view.user],
    ["Signature", signature],
    ["Tags", view.tags.join(", ")],
    ["Parameters", Object.entries(view.parameters).map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(", ")],
    ["Plan", el("code", { text: view.id })],
    ["Changes", view.has_changes ? "" : "nothing is to be done"],
  ].filter(([, value]) => value);
}

/** What lifecycle plugins say of the stack and its resources. */
function annotations(all) {
  const rows = Object.entries(all).flatMap(([plugin, resources]) =>
    Object.entries(resources).flatMap(([resource, values]) =>
      Object.entries(values).map(([name, value]) => `${plugin}, ${resource || "the stack"}: ${name} ${JSON.stringify(value)}`),
    ),
  );
  return rows.length ? [el("ul", { class: "plan-annotations small", "aria-label": "Annotations of lifecycle plugins" }, ...rows.map((text) => el("li", { text })))] : [];
}

/** What destroys something is confirmed by typing of how many resources. */
function typedNumber(number, send) {
  const input = el("input", { id: "plan-number", class: "form-control", autocomplete: "off", inputmode: "numeric" });
  const judge = () => send.setAttribute("aria-disabled", String(input.value.trim() !== String(number)));
  input.addEventListener("input", judge);
  judge();
  const label = el("label", { for: "plan-number" }, "Type the number of resources that are deleted or replaced, or may be, ", el("strong", { text: String(number) }), ", to confirm");
  return { elements: [label, input], read: () => ({ destroys: number }) };
}

byId("plan-apply").addEventListener("click", () => {
  if (!seen || byId("plan-apply").getAttribute("aria-disabled") === "true") return;
  const { plan, view } = seen;
  askForOrder({
    words: `Apply the plan: ${TITLES[view.action].toLowerCase()} ${view.stack}`,
    after: "Exactly what the plan says is done, or nothing if the stack has changed since it was made.",
    address: `${stacks}/act/plan/apply`,
    order: { plan, confirm: view.stack },
    fields: (send) => (view.destroys ? typedNumber(view.destroys, send) : null),
    isDangerous: view.destroys > 0,
    done: ({ stack_id: id }) => location.assign(`${any}${id}`),
  });
});

byId("plan-save").addEventListener("click", () => seen && savePlan(seen));

byId("plan-open").addEventListener("change", ({ target }) => {
  if (target.files.length) open(target.files[0]);
  target.value = "";
});
onDrop(byId("plan-drop"), ([file]) => open(file));
// One that was chosen before this script was there.
const [chosen] = byId("plan-open").files;
if (chosen) open(chosen);

if (stack) {
  const button = byId("plan-deletion");
  button.addEventListener("click", () => {
    if (button.getAttribute("aria-disabled") === "true") {
      say(refused);
      return;
    }
    look(() => sendOrder(`${stack}/act/plan_deletion`, {}));
  });
}
