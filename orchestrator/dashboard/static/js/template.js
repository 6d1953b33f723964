// The definition that an operation gave a stack: the template's text, parameters, environments and files.

import { byId, el, setText, stackUrl } from "./dom.js";
import { counted } from "./format.js";
import { onHead, streamUrl } from "./head.js";
import { fetchJson, follow } from "./stream.js";

function valueInWords(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function pair(name, value) {
  return el("div", {}, el("dt", { text: name }), value === null ? null : el("dd", { text: value }));
}

function none(text) {
  return el("div", {}, el("dt", { class: "muted", text }));
}

function show(definition) {
  setText(byId("template-file"), definition.file.split("/").pop() || "Template");
  byId("template-file").title = definition.file;
  setText(byId("template-source"), definition.source);
  const lines = definition.source.replace(/\n$/, "").split("\n").length;
  setText(byId("template-numbers"), Array.from({ length: lines }, (_, at) => at + 1).join("\n"));
  const shows = definition.shows_values;
  const parameters = Object.entries(definition.parameters);
  byId("template-parameters").replaceChildren(
    ...(parameters.length
      ? parameters.map(([name, value]) => pair(name, shows ? valueInWords(value) : null))
      : [none("none")]),
  );
  const files = [
    ...definition.environments.map((name) => pair(name, "environment")),
    ...definition.files.map(([name, size]) => pair(name, counted(size, "character"))),
  ];
  byId("template-files").replaceChildren(...(files.length ? files : [none("none")]));
  const note = byId("template-note");
  note.hidden = shows;
  setText(
    note,
    "Values of parameters and their defaults are shown only to users who have logged in: " +
      "start the dashboard with --basic_auth or --auth.",
  );
}

let operation = null;
const followed = follow(streamUrl(), {
  async load(signal) {
    const definition = await fetchJson(stackUrl("template.json"), { signal });
    operation = definition.traversal_id;
    show(definition);
    return definition;
  },
});
// Another operation may have another definition.
onHead((head) => {
  if (operation !== null && head.operation.traversal_id !== operation) followed.refresh();
});

const copy = byId("template-copy");
copy.addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(byId("template-source").textContent);
    setText(copy, "Copied");
  } catch {
    // Browsers allow the clipboard only on secure pages.
    getSelection().selectAllChildren(byId("template-source"));
    setText(copy, "Selected");
  }
  setTimeout(() => setText(copy, "Copy"), 2000);
});
