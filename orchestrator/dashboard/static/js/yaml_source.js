// A template as coloured, numbered, folding text that can be searched: CodeMirror, in the page's colours.
//
// It is drawn in a shadow root: there CodeMirror's styles are constructed style sheets, which our policy allows. In the
// page itself they would be <style> elements, which it refuses.

import {
  EditorView,
  HighlightStyle,
  bracketMatching,
  codeFolding,
  defaultKeymap,
  foldGutter,
  foldKeymap,
  highlightActiveLine,
  highlightSelectionMatches,
  keymap,
  lineNumbers,
  search,
  searchKeymap,
  syntaxHighlighting,
  tags,
  yaml,
} from "./codemirror.js";
import { el } from "./dom.js";

const COLOURS = HighlightStyle.define([
  { tag: [tags.definition(tags.propertyName), tags.propertyName], color: "var(--st-running)" },
  { tag: [tags.string, tags.special(tags.string), tags.attributeValue], color: "var(--st-done)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.typeName, tags.labelName, tags.meta], color: "var(--st-waiting)" },
]);

const edge = "1px solid var(--line)";
const LOOK = EditorView.theme({
  "&": { maxHeight: "var(--source-height, 75vh)", color: "var(--bs-body-color)", backgroundColor: "transparent" },
  "&.cm-focused": { outline: "2px solid var(--bs-primary)", outlineOffset: "-2px" },
  ".cm-scroller": { overflow: "auto", fontFamily: "var(--bs-font-monospace)", fontSize: "0.8125rem", lineHeight: "1.5" },
  ".cm-content, .cm-gutter": { minHeight: "var(--source-least, 0)" },
  ".cm-content": { padding: "0.75rem 0", caretColor: "var(--bs-body-color)" },
  ".cm-line": { padding: "0 1rem 0 0.5rem" },
  ".cm-gutters": { color: "var(--muted)", backgroundColor: "var(--subtle)", borderRight: edge },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine, .cm-line.is-sought": { backgroundColor: "color-mix(in srgb, var(--bs-primary) 12%, transparent)" },
  ".cm-foldGutter .cm-gutterElement": { cursor: "pointer" },
  ".cm-foldPlaceholder": { color: "var(--muted)", backgroundColor: "var(--subtle)", border: edge },
  ".cm-selectionMatch": { backgroundColor: "color-mix(in srgb, var(--st-held) 20%, transparent)" },
  ".cm-searchMatch": { backgroundColor: "color-mix(in srgb, var(--st-retrying) 30%, transparent)" },
  ".cm-searchMatch-selected": { outline: "2px solid var(--st-retrying)" },
  ".cm-panels, .cm-tooltip": { color: "var(--bs-body-color)", backgroundColor: "var(--subtle)", border: edge },
  ".cm-panels": { zIndex: 3 },
  ".cm-panel.cm-search label": { whiteSpace: "nowrap" },
  ".cm-textfield": { color: "var(--bs-body-color)", backgroundColor: "var(--surface)", border: "1px solid var(--muted)" },
  ".cm-button": { color: "var(--bs-body-color)", backgroundColor: "var(--surface)", backgroundImage: "none", border: "1px solid var(--muted)" },
  ".cm-panel.cm-search [name=close], .cm-panel.cm-panel-lint [name=close]": { color: "var(--bs-body-color)", minWidth: "1.5rem", minHeight: "1.5rem" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--st-failed)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--st-retrying)" },
  ".cm-panel.cm-panel-lint ul [aria-selected], .cm-panel.cm-panel-lint ul:focus [aria-selected]": { color: "var(--bs-body-color)", background: "var(--bs-primary-bg-subtle)" },
  "a.link": { color: "inherit", textDecoration: "underline", textUnderlineOffset: "0.15em" },
  "a.link:focus-visible": { outline: "2px solid var(--bs-primary)", outlineOffset: "1px" },
});

function foldMark(isOpen) {
  return el("span", { text: isOpen ? "▾" : "▸", title: isOpen ? "Fold" : "Unfold" });
}

/**
 * Show a text in a place. Tab leaves it, as it does any field: indentation is typed as spaces.
 *
 * `label` names it for screen readers; `extensions` are CodeMirror's.
 */
export function yamlSource(place, { label, doc = "", extensions = [] }) {
  const root = place.shadowRoot ?? place.attachShadow({ mode: "open" });
  return new EditorView({
    parent: root,
    root,
    doc,
    extensions: [
      // The text scrolls, and is in the way of the Tab key by itself: not all tools that help people know the latter.
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
      lineNumbers(),
      codeFolding(),
      foldGutter({ markerDOM: foldMark }),
      highlightActiveLine(),
      highlightSelectionMatches(),
      bracketMatching(),
      search(),
      yaml(),
      syntaxHighlighting(COLOURS),
      LOOK,
      // First those that are more particular.
      ...extensions,
      keymap.of([...searchKeymap, ...foldKeymap, ...defaultKeymap]),
    ],
  });
}

/** The place of a line and a column, both from 1, in a text; those beyond its end are at the end. */
export function placeOf(doc, line, column = 1) {
  const found = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(found.from + column - 1, found.to);
}
