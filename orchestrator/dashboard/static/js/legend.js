// The legend of a graph: each state with its icon, its word and how many there are; a pressed state is the only one shown.

import { el, setText } from "./dom.js";
import { count } from "./format.js";
import { icon, STATES } from "./states.js";

export class Legend {
  /**
   * Args: the list to fill; the button that shows all again; `heard(states)` when others are to be shown, a set of
   * names, or null for all.
   */
  constructor(list, all, heard) {
    this.heard = heard;
    this.pressed = new Set();
    this.numbers = new Map();
    this.buttons = new Map();
    for (const state of STATES) list.append(this.entry(state));
    this.all = all;
    all.addEventListener("click", () => this.press(null));
    this.tell();
  }

  entry(state) {
    const number = el("span", { class: "number", text: "0" });
    const button = el(
      "button",
      { type: "button", class: `state chip ${state.css}`, title: state.meaning, "aria-pressed": "false", data: { state: state.name }, on: { click: () => this.press(state.name) } },
      icon(state.name),
      el("span", { text: state.word }),
      number,
    );
    this.numbers.set(state.name, number);
    this.buttons.set(state.name, button);
    return el("li", {}, button);
  }

  /** Show how many resources are in each state. */
  show(counts) {
    for (const [name, number] of this.numbers) {
      setText(number, count(counts[name] ?? 0));
      this.buttons.get(name).classList.toggle("none", !counts[name]);
    }
  }

  /** The states to show; null for all. */
  get states() {
    return this.pressed.size ? this.pressed : null;
  }

  /** Show those of these states alone, as an address said. */
  choose(names) {
    this.pressed = new Set(names.filter((name) => this.buttons.has(name)));
    this.tell();
  }

  press(name) {
    if (name === null) this.pressed.clear();
    else if (!this.pressed.delete(name)) this.pressed.add(name);
    this.tell();
    this.heard(this.states);
  }

  tell() {
    for (const [name, button] of this.buttons) button.setAttribute("aria-pressed", String(this.pressed.has(name)));
    // Kept in its place, so that nothing moves.
    this.all.style.visibility = this.pressed.size ? "visible" : "hidden";
  }
}
