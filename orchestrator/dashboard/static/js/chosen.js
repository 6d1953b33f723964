// The stacks that are chosen in the list, and what is done to all of them.

import { byId, el, page, setText } from "./dom.js";
import { count, counted } from "./format.js";
import { VERBS } from "./many_words.js";

export class Chosen {
  #filter;
  #done;
  #ids = new Set();
  #isAll = false; // Whether all are chosen that the filter finds.
  #conditions = ""; // The filter by which they are.
  #shown = []; // The ids on this page of the list, and how many there are on all.
  #total = 0;
  #may = page().may.split(" ").filter(Boolean);
  #most = Number(page().most);
  #page = byId("stacks-choose-page");

  /** `done` is called when orders have been sent. */
  constructor(filter, done) {
    this.#filter = filter;
    this.#done = done;
    this.#page.hidden = !this.isPossible;
    if (!this.isPossible) return;
    const choice = byId("chosen-action");
    choice.append(...this.#may.map((action) => el("option", { value: action, text: VERBS[action] })));
    this.#page.addEventListener("change", () => this.#choosePage(this.#page.checked));
    byId("chosen-all").addEventListener("click", () => this.#chooseAll());
    byId("chosen-none").addEventListener("click", () => {
      this.#clear();
      this.#page.focus();
    });
    byId("chosen-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#preview(choice.value);
    });
  }

  /** Whether the visitor may act on stacks at all. */
  get isPossible() {
    return this.#may.length > 0;
  }

  /** Whether a stack is chosen. */
  has(id) {
    return this.#isAll || this.#ids.has(id);
  }

  /** Choose a stack, or do not. */
  choose(id, isChosen) {
    if (this.#isAll) {
      this.#ids = new Set(this.#shown);
      this.#isAll = false;
    }
    if (isChosen) this.#ids.add(id);
    else this.#ids.delete(id);
    this.#show();
  }

  /** Take over what the list shows now. */
  update({ rows, total }) {
    this.#shown = rows.map((row) => row.id);
    this.#total = total;
    // All of another filter are others.
    if (this.#isAll && this.#conditions !== JSON.stringify(this.#filter.conditions)) this.#isAll = false;
    this.#show();
  }

  #choosePage(isChosen) {
    if (this.#isAll) this.#ids.clear();
    this.#isAll = false;
    for (const id of this.#shown) isChosen ? this.#ids.add(id) : this.#ids.delete(id);
    this.#show();
  }

  #chooseAll() {
    this.#ids.clear();
    this.#isAll = true;
    this.#conditions = JSON.stringify(this.#filter.conditions);
    this.#show();
    byId("chosen-action").focus();
  }

  #clear() {
    this.#ids.clear();
    this.#isAll = false;
    this.#show();
  }

  #show() {
    if (!this.isPossible) return;
    for (const box of document.querySelectorAll("#stacks-rows .choose")) box.checked = this.has(box.value);
    const onPage = this.#shown.filter((id) => this.has(id)).length;
    this.#page.checked = onPage > 0 && onPage === this.#shown.length;
    this.#page.indeterminate = onPage > 0 && onPage < this.#shown.length;
    const number = this.#isAll ? this.#total : this.#ids.size;
    byId("stacks-chosen").hidden = number === 0;
    if (!number) return;
    const isTooMany = number > this.#most;
    const words = this.#isAll ? `All ${counted(number, "stack")} found` : `${counted(number, "stack")} chosen`;
    setText(byId("chosen-number"), isTooMany ? `${words}: at most ${count(this.#most)} at once, narrow the filter` : words);
    byId("chosen-preview").disabled = isTooMany;
    const all = byId("chosen-all");
    all.hidden = this.#isAll || this.#total <= this.#ids.size;
    setText(all, `Choose all ${count(this.#total)} found`);
  }

  async #preview(action) {
    const { askForMany } = await import("./many.js");
    // Pressed twice while that was on its way.
    if (document.querySelector("dialog[open]")) return;
    const choice = this.#isAll ? { filter: this.#filter.conditions } : { stack_ids: [...this.#ids] };
    await askForMany(action, choice, () => {
      this.#clear();
      this.#done();
    });
  }
}
