// The environments or files that a stack has: each can be removed from the draft, and put back.

import { el } from "./dom.js";

/** Show names with a word on each; `changed` is called when one is removed or put back. */
export function presentPairs(place, pairs, changed) {
  const gone = new Set();

  function toggle(name) {
    if (!gone.delete(name)) gone.add(name);
    const at = [...place.querySelectorAll("button")].indexOf(document.activeElement);
    show();
    place.querySelectorAll("button")[at]?.focus();
    changed();
  }

  function show() {
    place.replaceChildren(
      ...pairs.map(([name, words]) => {
        const isGone = gone.has(name);
        const act = isGone ? "Keep" : "Remove";
        const button = { type: "button", class: "btn btn-sm btn-outline-secondary", text: act, "aria-label": `${act} ${name}`, on: { click: () => toggle(name) } };
        return el(
          "div",
          {},
          el("dt", {}, isGone ? el("del", { text: name }) : name),
          el("dd", {}, `${isGone ? "will be removed" : words} `, el("button", button)),
        );
      }),
    );
  }

  show();
  return { removed: () => [...gone] };
}
