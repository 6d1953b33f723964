// A field for YAML: numbered lines, colours, marks at the lines of problems, and files that are dropped on it.

import { el } from "./dom.js";

const KEY = /^(\s*(?:- +)*)(?!- )((?:"[^"]*"|'[^']*'|[^\s"'#&*!|>{}[\],:][^#:]*?)\s*:)(?=\s|$)/;
const TOKEN = /("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|((?:^|\s)#.*$)|([\w:]+(?=:\s))/g;

/** Split a line into pieces of text with the class of their colour; pure, for tests. */
export function coloured(line) {
  const pieces = [];
  let rest = line;
  const key = rest.match(KEY);
  if (key) {
    pieces.push(["", key[1]], ["key", key[2]]);
    rest = rest.slice(key[0].length);
  }
  let last = 0;
  for (const found of rest.matchAll(TOKEN)) {
    pieces.push(["", rest.slice(last, found.index)]);
    pieces.push([found[1] ? "text" : found[2] ? "remark" : "key", found[0]]);
    last = found.index + found[0].length;
  }
  pieces.push(["", rest.slice(last)]);
  return pieces.filter(([, text]) => text);
}

/** Make the field in a place; `changed` is called after each change. */
export function sourceField(place, { id, label, changed }) {
  const numbers = el("div", { class: "editor-numbers", "aria-hidden": "true" });
  const drawn = el("pre", { "aria-hidden": "true" });
  const field = el("textarea", {
    id,
    "aria-label": label,
    "aria-describedby": "problems",
    spellcheck: "false",
    autocapitalize: "off",
    wrap: "off",
  });
  place.replaceChildren(numbers, drawn, field);
  let wrong = new Map(); // Messages by line.

  function draw() {
    const lines = field.value.split("\n");
    drawn.replaceChildren(
      ...lines.map((line, at) =>
        el(
          "span",
          { class: wrong.has(at + 1) ? "line is-wrong" : "line" },
          ...coloured(line).map(([kind, text]) => (kind ? el("span", { class: kind, text }) : text)),
        ),
      ),
    );
    numbers.replaceChildren(
      ...lines.map((_, at) =>
        el("div", { class: wrong.has(at + 1) ? "is-wrong" : null, title: wrong.get(at + 1), text: String(at + 1) }),
      ),
    );
    field.setAttribute("aria-invalid", String(wrong.size > 0));
  }

  function set(text) {
    field.value = text;
    draw();
    changed();
  }

  field.addEventListener("input", () => {
    draw();
    changed();
  });
  onDrop(place, async ([file]) => set(await file.text()));
  draw();
  return {
    field,
    set,
    mark(problems) {
      wrong = new Map(problems.map(({ position, message }) => [position.line, message]));
      draw();
    },
    goTo({ line, column }) {
      const before = field.value.split("\n").slice(0, line - 1);
      const at = before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1;
      field.focus();
      field.setSelectionRange(at, at);
      drawn.children[line - 1]?.scrollIntoView({ block: "nearest" });
    },
  };
}

/** Call `taken` with the files that are dropped on an element. */
export function onDrop(element, taken) {
  element.addEventListener("dragover", (event) => {
    event.preventDefault();
    element.classList.add("is-over");
  });
  element.addEventListener("dragleave", () => element.classList.remove("is-over"));
  element.addEventListener("drop", (event) => {
    element.classList.remove("is-over");
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    taken([...event.dataTransfer.files]);
  });
}
