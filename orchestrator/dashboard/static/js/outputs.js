// A stack's outputs as they are now.

import { byId, el, setText, stackUrl } from "./dom.js";
import { onHead, streamUrl } from "./head.js";
import { badge } from "./states.js";
import { fetchJson, follow } from "./stream.js";

function valueCell(output, shows) {
  if (!shows) return el("td", { class: "muted", text: "not shown" });
  if (output.error) return el("td", { class: "wrap" }, badge("failed", "no value"), el("div", { class: "small", text: output.error }));
  const text = typeof output.value === "string" ? output.value : JSON.stringify(output.value, null, 2);
  return el("td", {}, el("pre", { class: "value", text }));
}

let shown = "";
function show({ outputs, shows_values: shows }) {
  const told = JSON.stringify([outputs, shows]);
  if (told === shown) return;
  shown = told;
  byId("outputs-rows").replaceChildren(
    ...outputs.map((output) =>
      el(
        "tr",
        {},
        el("th", { scope: "row", class: "wrap", text: output.key }),
        el("td", { class: "wrap", text: output.description }),
        valueCell(output, shows),
      ),
    ),
  );
  byId("outputs-table").hidden = !outputs.length;
  byId("outputs-empty").hidden = outputs.length > 0;
  const note = byId("outputs-note");
  note.hidden = shows || !outputs.length;
  setText(note, "Values of outputs are shown only to users who have logged in: start the dashboard with --basic_auth or --auth.");
}

onHead(({ deleted_at: deletedAt }) => {
  setText(byId("outputs-empty"), deletedAt ? "This stack is deleted, and has no outputs any more." : "The template of this stack declares no outputs.");
});

const followed = follow(streamUrl(), {
  async load(signal) {
    const answer = await fetchJson(stackUrl("outputs.json"), { signal });
    show(answer);
    return answer;
  },
  apply: () => followed.refresh(),
  every: 2000,
});
