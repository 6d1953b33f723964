// Which stacks the list shows, and in which order: kept in the page's address, so that it can be linked to and the
// browser's back button leads back.

import { byId, setText } from "./dom.js";

const USUAL = Object.freeze({
  search: "",
  name: "",
  tags: "",
  moment: "begun",
  over: "",
  within: "",
  states: "",
  partial: "",
  nested: "",
  deleted: "",
  sort: "updated",
  descending: "1",
  offset: 0,
});
const TEXTS = ["search", "name", "tags", "over", "within"];
const BOXES = ["partial", "nested", "deleted"];
/** What stands in the part of the form that is opened on demand. */
const FOLDED = ["name", "tags", "over", "within"];
const TYPING_MILLISECONDS = 250;

export class ListFilter {
  #form = byId("stacks-filters");
  #opener = byId("stacks-more-filters");
  #heard;
  #typed = ""; // The field whose typing made the last entry of the browser's history.

  /** `heard` is called whenever other stacks are to be shown, or in another order. */
  constructor(heard) {
    this.#heard = heard;
    this.#read();
    this.#open(FOLDED.some((name) => this.now[name]));
    this.#opener.addEventListener("click", () => this.#open(byId("stacks-more").hidden));
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#form.reportValidity()) this.#take(TEXTS);
    });
    for (const name of TEXTS) this.#listenToText(name);
    for (const name of [...BOXES, "moment"]) this.#field(name).addEventListener("change", () => this.#take([name]));
    addEventListener("popstate", () => {
      this.#typed = "";
      this.#read();
      this.#heard();
    });
  }

  /** The arguments of the list; what is as usual is left out. */
  query(more = {}) {
    const asked = new URLSearchParams(more);
    for (const [key, value] of Object.entries(this.now)) if (String(value) !== String(USUAL[key])) asked.set(key, value);
    return asked.toString();
  }

  /** The same without the page: what is saved under a name. */
  get saved() {
    const asked = new URLSearchParams(this.query());
    asked.delete("offset");
    return asked.toString();
  }

  /** What chooses stacks, as an object: neither the order nor the page. */
  get conditions() {
    const { sort, descending, offset, ...others } = Object.fromEntries(new URLSearchParams(this.query()));
    return others;
  }

  /** Whether all stacks are shown. */
  get isUsual() {
    return !Object.keys(this.conditions).length;
  }

  /** Show other stacks, or another order; what is not named stays, but for the page unless it `keepsPage`. */
  go(change, { keepsPage = false, typed = "" } = {}) {
    const next = { ...this.now, ...(keepsPage ? {} : { offset: 0 }), ...change };
    if (JSON.stringify(next) === JSON.stringify(this.now)) return;
    this.now = next;
    const asked = this.query();
    // While one types, the history gets one entry, not one for each letter.
    const inPlace = typed && typed === this.#typed;
    this.#typed = typed;
    history[inPlace ? "replaceState" : "pushState"](null, "", asked ? `?${asked}` : location.pathname);
    this.#show();
    this.#heard();
  }

  /** Show what a query that was saved finds. */
  choose(saved) {
    const asked = Object.fromEntries(new URLSearchParams(saved));
    this.go({ ...USUAL, ...Object.fromEntries(Object.entries(asked).filter(([key]) => key in USUAL)) });
    if (FOLDED.some((name) => this.now[name])) this.#open(true);
  }

  /** Show all stacks, in the order that they are in. */
  clear() {
    const { sort, descending } = this.now;
    this.go({ ...USUAL, sort, descending });
  }

  /** Add a tag to those that stacks must have. */
  addTag(tag) {
    const tags = this.now.tags.split(",").map((each) => each.trim()).filter(Boolean);
    this.go({ tags: [...new Set([...tags, tag])].join(",") });
    this.#open(true);
  }

  /** Add a state to those that are shown, or take it away. */
  toggleState(name) {
    const chosen = new Set(this.states);
    if (!chosen.delete(name)) chosen.add(name);
    this.go({ states: [...chosen].sort().join(",") });
  }

  get states() {
    return this.now.states.split(",").filter(Boolean);
  }

  #field(name) {
    return this.#form.elements.namedItem(name);
  }

  #read() {
    const asked = new URLSearchParams(location.search);
    this.now = Object.fromEntries(Object.entries(USUAL).map(([key, usual]) => [key, asked.get(key) ?? usual]));
    this.now.offset = Math.max(0, Number.parseInt(this.now.offset, 10) || 0);
    this.#show();
  }

  /** Show what holds in the form; a field in which one types is left alone. */
  #show() {
    for (const name of TEXTS) {
      const field = this.#field(name);
      if (field !== document.activeElement || !this.#typed) field.value = this.now[name];
    }
    for (const name of BOXES) this.#field(name).checked = this.now[name] === "1";
    this.#field("moment").value = this.now.moment;
    const number = FOLDED.filter((name) => this.now[name]).length;
    setText(this.#opener, number ? `More filters (${number})` : "More filters");
  }

  #open(opens) {
    byId("stacks-more").hidden = !opens;
    this.#opener.setAttribute("aria-expanded", String(opens));
  }

  #listenToText(name) {
    const field = this.#field(name);
    let timer = null;
    const take = () => {
      clearTimeout(timer);
      if (field.checkValidity()) this.#take([name], name);
    };
    field.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(take, TYPING_MILLISECONDS);
    });
    // What is wrong is said when one has finished, not at the first letter.
    field.addEventListener("change", () => {
      take();
      field.reportValidity();
    });
  }

  #take(names, typed = "") {
    const valueOf = (field) => (field.type === "checkbox" ? (field.checked ? "1" : "") : field.value.trim());
    this.go(Object.fromEntries(names.map((name) => [name, valueOf(this.#field(name))])), { typed });
  }
}
