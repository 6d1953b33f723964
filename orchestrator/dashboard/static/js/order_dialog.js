// The question before an order: what is done and what follows from it, with a reason for the history.

import { byId, el, setText } from "./dom.js";
import { sendOrder } from "./order.js";

/**
 * Ask for confirmation, and send the order; what comes of it is said in `#act-said`.
 *
 * Args:
 *   words: what the order is called, with its subject: `Delete web`.
 *   after: what follows from it.
 *   address: where it is sent.
 *   order: its parts; what `fields(send)` reads is added. `send` is the button, which fields may disable.
 *   isDangerous: whether it destroys something.
 *   done: called with the result once the order is accepted.
 */
export function askForOrder({ words, after, address, order, fields = () => null, isDangerous = false, done = () => {} }) {
  const comment = el("input", { id: "act-comment", class: "form-control", maxlength: 500, autocomplete: "off" });
  const error = el("p", { class: "trouble", role: "alert", hidden: true });
  const send = el("button", { type: "submit", class: `btn btn-sm ${isDangerous ? "btn-danger" : "btn-primary"}`, text: words });
  const leave = el("button", { type: "button", class: "btn btn-sm btn-outline-secondary", text: "Leave it" });
  const more = fields(send);
  const form = el(
    "form",
    {},
    el("h2", { id: "act-title", text: `${words}?` }),
    el("p", { id: "act-after", text: after }),
    ...(more?.elements ?? []),
    el("label", { for: "act-comment", text: "Reason, for the history (optional)" }),
    comment,
    error,
    el("div", { class: "act-buttons" }, leave, send),
  );
  const dialog = el("dialog", { class: "act-dialog panel", "aria-labelledby": "act-title", "aria-describedby": "act-after" }, form);
  leave.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (send.getAttribute("aria-disabled") === "true") return;
    error.hidden = true;
    send.setAttribute("aria-disabled", "true");
    try {
      const came = await sendOrder(address, { ...order, comment: comment.value.trim(), ...(more?.read() ?? {}) });
      dialog.close();
      setText(byId("act-said"), came.message);
      await done(came);
    } catch (problem) {
      setText(error, problem.message);
      error.hidden = false;
      send.setAttribute("aria-disabled", "false");
    }
  });
  byId("stacks-page").append(dialog);
  dialog.showModal();
}
