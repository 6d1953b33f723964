// One action on many stacks: a preview of what happens to each, a confirmation, and then an order for each, which names
// the operation that the preview showed. What comes of each is shown in its row.

import { actionFields } from "./action_fields.js";
import { byId, el, page, setText } from "./dom.js";
import { count, counted } from "./format.js";
import { DESTROYS, EACH, VERBS } from "./many_words.js";
import { sendOrder } from "./order.js";
import { badge, lookOf, showBadge } from "./states.js";

/** How many orders are on their way at once; the dashboard carries out four. */
const LANES = 3;
const LOOK_MILLISECONDS = 2000;
/** Refusals that the next order would get, too: not logged in, no right, no broker or database. */
const FOR_ALL = new Set([undefined, 401, 403, 503]);

/** Show what an action would do to the stacks of a `choice`, and do it if that is confirmed; then call `done`. */
export async function askForMany(action, choice, done) {
  const dialog = new ManyDialog(action, done);
  dialog.open();
  await dialog.load(choice);
}

class ManyDialog {
  #action;
  #done;
  #rows = []; // What the preview says of each stack, with its place in the table.
  #orders = []; // Those that can be acted on.
  #counts = { sent: 0, accepted: 0, refused: 0 };
  #isSending = false;
  #isStopped = false;
  #fields = null;
  #stay = (event) => event.preventDefault();

  constructor(action, done) {
    this.#action = action;
    this.#done = done;
    this.title = el("h2", { id: "many-title", text: `${VERBS[action]}: reading the stacks …` });
    this.said = el("p", { id: "many-said", class: "many-said", role: "status" });
    this.error = el("p", { class: "trouble", role: "alert", hidden: true });
    this.bar = el("progress", { class: "many-bar", "aria-label": "Orders sent", hidden: true });
    this.body = el("tbody");
    this.table = el(
      "div",
      { class: "table-frame many-frame", role: "region", "aria-label": "What happens to each stack", tabindex: "0", hidden: true },
      el(
        "table",
        { class: "list many-list" },
        el("thead", {}, el("tr", {}, ...["Stack", "State", "What happens"].map((text) => el("th", { scope: "col", text })))),
        this.body,
      ),
    );
    this.asked = el("div", { class: "many-fields" });
    this.leave = el("button", { type: "button", class: "btn btn-sm btn-outline-secondary", text: "Leave them" });
    this.send = el("button", { type: "submit", class: `btn btn-sm ${DESTROYS.has(action) ? "btn-danger" : "btn-primary"}`, hidden: true });
    const form = el("form", {}, this.title, this.said, this.error, this.bar, this.table, this.asked);
    form.append(el("div", { class: "act-buttons" }, this.leave, this.send));
    this.dialog = el("dialog", { class: "act-dialog many-dialog panel", "aria-labelledby": "many-title" }, form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.send.getAttribute("aria-disabled") !== "true" && !this.send.hidden) this.#sendAll();
    });
    this.leave.addEventListener("click", () => (this.#isSending ? this.#stop() : this.dialog.close()));
    this.dialog.addEventListener("cancel", (event) => {
      // Escape must not hide what is still being sent.
      if (this.#isSending) event.preventDefault();
    });
    this.dialog.addEventListener("close", () => this.#close());
  }

  open() {
    byId("stacks-page").append(this.dialog);
    this.dialog.showModal();
  }

  async load(choice) {
    try {
      this.#rows = (await this.#preview(choice)).map((stack) => ({ stack, ...this.#newRow(stack) }));
    } catch (problem) {
      setText(this.title, `${VERBS[this.#action]}: nothing is done`);
      this.#fail(problem.message);
      return;
    }
    this.#orders = this.#rows.filter(({ stack }) => !stack.unfit);
    this.body.append(...this.#rows.map(({ element }) => element));
    this.table.hidden = false;
    this.#ask();
  }

  async #preview(choice) {
    const answer = await sendOrder(`${page().stacks}/act/${this.#action}/preview`, choice);
    return answer.stacks;
  }

  #newRow(stack) {
    const state = el("span");
    const outcome = el("td", { class: "wrap", text: stack.unfit || EACH[this.#action] });
    const element = el(
      "tr",
      { data: { id: stack.stack_id } },
      el("th", { scope: "row", class: "wrap", text: stack.stack }),
      el("td", {}, state),
      outcome,
    );
    element.classList.toggle("is-left-out", Boolean(stack.unfit));
    if (stack.unfit) outcome.prepend(badge("unreached", "left out"), " ");
    showState(state, stack);
    return { element, state, outcome };
  }

  /** Ask for what the action needs, and for the confirmation. */
  #ask() {
    const [all, number] = [this.#rows.length, this.#orders.length];
    const verb = VERBS[this.#action];
    const left = all - number;
    if (!number) {
      setText(this.title, `${verb}: not possible for ${all === 1 ? "this stack" : `any of ${counted(all, "stack")}`}`);
      setText(this.said, "Each row says why.");
      this.leave.focus();
      return;
    }
    setText(this.title, `${verb} ${counted(number, "stack")}?`);
    setText(this.said, left ? `${counted(left, "stack")} of ${count(all)} ${left === 1 ? "is" : "are"} left out; the rows say why.` : "");
    setText(this.send, `${verb} ${counted(number, "stack")}`);
    this.send.hidden = false;
    this.#fields = this.#action === "delete" ? null : actionFields(this.#action, { send: this.send });
    this.comment = el("input", { id: "act-comment", class: "form-control", maxlength: 500, autocomplete: "off" });
    this.asked.append(
      ...(this.#fields?.elements ?? []),
      el("label", { for: "act-comment", text: "Reason, for the history of each (optional)" }),
      this.comment,
      ...(DESTROYS.has(this.#action) ? this.#typedNumber(number) : []),
    );
    this.comment.focus();
  }

  #typedNumber(number) {
    const input = el("input", { id: "many-number", class: "form-control", autocomplete: "off", inputmode: "numeric" });
    const judge = () => this.send.setAttribute("aria-disabled", String(input.value.trim() !== String(number)));
    input.addEventListener("input", judge);
    judge();
    return [el("label", { for: "many-number" }, "Type the number of stacks, ", el("strong", { text: String(number) }), ", to confirm"), input];
  }

  async #sendAll() {
    this.#isSending = true;
    addEventListener("beforeunload", this.#stay);
    const more = { ...(this.#fields?.read() ?? {}), comment: this.comment.value.trim() };
    setText(this.title, `${VERBS[this.#action]} ${counted(this.#orders.length, "stack")}`);
    this.send.hidden = true;
    this.asked.hidden = true;
    setText(this.leave, "Stop");
    this.leave.focus();
    this.bar.hidden = false;
    this.bar.max = this.#orders.length;
    const waiting = [...this.#orders];
    const lane = async () => {
      while (waiting.length && !this.#isStopped) await this.#sendOne(waiting.shift(), more);
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    for (const row of waiting) tell(row, "unreached", "not sent");
    this.#isSending = false;
    removeEventListener("beforeunload", this.#stay);
    this.bar.hidden = true;
    setText(this.leave, "Close");
    this.leave.setAttribute("aria-disabled", "false");
    this.#count();
    this.#watch();
  }

  async #sendOne(row, more) {
    const { stack_id, stack, traversal_id } = row.stack;
    tell(row, "running", "sending");
    try {
      const address = `${page().stacks.replace(/s$/, "")}/${encodeURIComponent(stack_id)}/act/${this.#action}`;
      const came = await sendOrder(address, { ...more, stack_id, traversal_id, confirm: stack });
      row.isAccepted = true;
      this.#counts.accepted += 1;
      tell(row, "done", "accepted", came.message);
    } catch (problem) {
      this.#counts.refused += 1;
      tell(row, "failed", problem.status ? "refused" : "unknown", problem.message);
      if (FOR_ALL.has(problem.status)) {
        this.#fail(`Stopped: ${problem.message}`);
        this.#isStopped = true;
      }
    }
    this.#counts.sent += 1;
    this.bar.value = this.#counts.sent;
    this.#count();
  }

  #stop() {
    this.#isStopped = true;
    this.leave.setAttribute("aria-disabled", "true");
  }

  #count(over = "") {
    const { sent, accepted, refused } = this.#counts;
    const number = this.#orders.length;
    const words = [`${count(sent)} of ${counted(number, "order")} sent`, `${count(accepted)} accepted`];
    if (refused) words.push(`${count(refused)} not`);
    setText(this.said, `${words.join(", ")}.${over}`);
  }

  /** Follow the operations that were begun until all are over. */
  async #watch() {
    const begun = this.#rows.filter((row) => row.isAccepted);
    const stack_ids = begun.map(({ stack }) => stack.stack_id);
    while (stack_ids.length && this.dialog.open) {
      // What cannot be read now is read the next time.
      const found = await this.#preview({ stack_ids }).catch(() => []);
      const now = new Map(found.map((stack) => [stack.stack_id, stack]));
      for (const { stack, state } of begun) if (now.has(stack.stack_id)) showState(state, now.get(stack.stack_id));
      const over = found.filter(({ status }) => status !== "IN_PROGRESS");
      const failed = over.filter(({ status }) => status === "FAILED").length;
      this.#count(` ${count(over.length)} ${over.length === 1 ? "is" : "are"} over${failed ? `, ${count(failed)} of them failed` : ""}.`);
      if (found.length && over.length === found.length) return;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MILLISECONDS));
    }
  }

  #fail(sentence) {
    setText(this.error, sentence);
    this.error.hidden = false;
  }

  #close() {
    this.#isStopped = true;
    this.dialog.remove();
    if (this.#counts.sent) this.#done();
  }
}

function showState(element, { action, status, is_deleted: isDeleted }) {
  showBadge(element, isDeleted ? "unreached" : lookOf(action, status), `${action}_${status}`);
}

/** Say in a row what came of its order. */
function tell({ outcome }, look, word, sentence = "") {
  outcome.replaceChildren(badge(look, word), sentence ? ` ${sentence}` : "");
}
