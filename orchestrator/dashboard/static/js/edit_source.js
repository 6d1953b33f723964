// A field for YAML in which problems are marked at their lines, and on which files can be dropped.

import {
  EditorView,
  history,
  historyKeymap,
  indentOnInput,
  keymap,
  lintGutter,
  lintKeymap,
  setDiagnostics,
} from "./codemirror.js";
import { onDrop } from "./drop.js";
import { resourcesIn } from "./template_resources.js";
import { placeOf, yamlSource } from "./yaml_source.js";

/** Make the field in a place; `changed` is called after each change. */
export function sourceField(place, { label, changed, extensions = [] }) {
  let isWrong = false;
  const view = yamlSource(place, {
    label,
    extensions: [
      EditorView.contentAttributes.of(() => ({ "aria-invalid": String(isWrong), autocapitalize: "off" })),
      history(),
      indentOnInput(),
      lintGutter(),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) changed();
      }),
      keymap.of([...historyKeymap, ...lintKeymap]),
      ...extensions,
    ],
  });

  function set(text) {
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  }

  onDrop(place, async ([file]) => set(await file.text()));
  return {
    text: () => view.state.doc.toString(),
    /** The names of the resource types in it, each once. */
    types: () => [...new Set(resourcesIn(view.state).flatMap(({ type }) => (type ? [type.name] : [])))].sort(),
    set,
    /** Mark the lines of problems, with their messages. */
    mark(problems) {
      isWrong = problems.length > 0;
      const { doc } = view.state;
      const diagnostics = problems.map(({ position, message, hint }) => {
        const from = placeOf(doc, position.line, position.column);
        return { from, to: doc.lineAt(from).to, severity: "error", message: hint ? `${message} (${hint})` : message };
      });
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    goTo({ line, column }) {
      const at = placeOf(view.state.doc, line, column);
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
      view.focus();
    },
  };
}
