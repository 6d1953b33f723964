// The definition that an operation gave a stack: the template's text, parameters, environments and files. In the text,
// the name of each resource leads to its details; `?resource=NAME` or `?line=NUMBER` leads to its line.

import { inAddress, putInAddress } from "./address.js";
import { Decoration, EditorState, EditorView, lineNumbers, StateEffect, StateField } from "./codemirror.js";
import { byId, el, isType, setText, stackUrl, typeUrl } from "./dom.js";
import { counted } from "./format.js";
import { onHead, streamUrl } from "./head.js";
import { fetchJson, follow } from "./stream.js";
import { resourceLinks, resourcesIn } from "./template_resources.js";
import { placeOf, yamlSource } from "./yaml_source.js";

const seek = StateEffect.define();
/** The line that the address names. */
const sought = StateField.define({
  create: () => Decoration.none,
  update(marks, { effects, changes }) {
    for (const each of effects) {
      if (each.is(seek)) return each.value === null ? Decoration.none : Decoration.set([Decoration.line({ class: "is-sought" }).range(each.value)]);
    }
    return marks.map(changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

function linksOf({ name, at, type }) {
  const links = [{ at, href: stackUrl("graph", { resource: name }), title: `Show ${name} in the graph` }];
  if (type && isType(type.name)) links.push({ at: type.at, href: typeUrl(type.name), title: `About ${type.name}` });
  return links;
}

const view = yamlSource(byId("template-source"), {
  label: "Template",
  extensions: [
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    // Otherwise the keyboard could not scroll or search it.
    EditorView.contentAttributes.of({ tabindex: "0", "aria-readonly": "true" }),
    lineNumbers({ domEventHandlers: { click: (_, line) => chooseLine(line.from) } }),
    sought,
    resourceLinks(linksOf),
  ],
});

function chooseLine(at) {
  putInAddress("line", String(view.state.doc.lineAt(at).number));
  putInAddress("resource", "", { inPlace: true });
  goToSought();
  return true;
}

/** Show the line that the address names, if it names one. */
function goToSought() {
  const { state } = view;
  const name = inAddress("resource");
  const line = Number.parseInt(inAddress("line"), 10);
  const found = name ? resourcesIn(state).find((each) => each.name === name)?.at.from : line > 0 ? placeOf(state.doc, line) : undefined;
  const at = found === undefined ? null : state.doc.lineAt(found).from;
  const effects = [seek.of(at)];
  if (at !== null) effects.push(EditorView.scrollIntoView(at, { y: "center" }));
  view.dispatch({ selection: { anchor: at ?? 0 }, effects });
  const isMissing = Boolean(name) && at === null;
  byId("template-missing").hidden = !isMissing;
  setText(byId("template-missing"), isMissing ? `This template has no resource ${name}.` : "");
}

addEventListener("popstate", goToSought);

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
  const { doc } = view.state;
  const source = EditorState.create({ doc: definition.source }).doc;
  if (!source.eq(doc)) {
    view.dispatch({ changes: { from: 0, to: doc.length, insert: source } });
    goToSought();
  }
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
    await navigator.clipboard.writeText(view.state.doc.toString());
    setText(copy, "Copied");
  } catch {
    // Browsers allow the clipboard only on secure pages.
    view.dispatch({ selection: { anchor: 0, head: view.state.doc.length } });
    view.focus();
    setText(copy, "Selected");
  }
  setTimeout(() => setText(copy, "Copy"), 2000);
});
