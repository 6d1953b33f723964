// Where a template has its resources: found in the syntax tree, so that any way to write YAML, or JSON, will do.

import { Decoration, EditorView, ensureSyntaxTree, RangeSetBuilder } from "./codemirror.js";

const MILLISECONDS = 1000; // For how long a text may be parsed at once.
const SECTIONS = ["resources", "Resources"]; // Of HOT, and of CFN.
const TYPES = ["type", "Type"];

function textOf(node, doc) {
  const text = doc.sliceString(node.from, node.to);
  if (node.name !== "QuotedLiteral") return text;
  if (text.startsWith("'")) return text.slice(1, -1).replaceAll("''", "'");
  try {
    return JSON.parse(text);
  } catch {
    return text.slice(1, -1);
  }
}

/** The pairs of a mapping: the text of each key, and the nodes of key and value. */
function pairsOf(mapping, doc) {
  return (mapping?.getChildren("Pair") ?? []).flatMap((pair) => {
    const key = pair.getChild("Key")?.firstChild;
    const value = pair.lastChild;
    return key && value && value.name !== "Key" ? [{ text: textOf(key, doc), key, value }] : [];
  });
}

function valueAt(mapping, doc, names) {
  return pairsOf(mapping, doc).find(({ text }) => names.includes(text))?.value;
}

/** The resources of a template, in its order: name, and the places of the name and of the type; `type` may be null. */
export function resourcesIn(state) {
  const { doc } = state;
  const top = ensureSyntaxTree(state, doc.length, MILLISECONDS)?.topNode;
  const content = top?.getChild("Document")?.lastChild;
  return pairsOf(valueAt(content, doc, SECTIONS), doc).map(({ text: name, key, value }) => {
    const type = valueAt(value, doc, TYPES);
    const isText = type && ["Literal", "QuotedLiteral"].includes(type.name);
    return {
      name,
      at: { from: key.from, to: key.to },
      type: isText ? { name: textOf(type, doc), at: { from: type.from, to: type.to } } : null,
    };
  });
}

/** An extension that makes links of parts of resources; `linksOf` gives `at`, `href` and `title` of each of a resource. */
export function resourceLinks(linksOf) {
  return EditorView.decorations.compute(["doc"], (state) => {
    const links = resourcesIn(state).flatMap(linksOf);
    const marks = new RangeSetBuilder();
    for (const { at, href, title } of links.sort((one, other) => one.at.from - other.at.from)) {
      marks.add(at.from, at.to, Decoration.mark({ tagName: "a", class: "link", attributes: { href, title } }));
    }
    return marks.finish();
  });
}
