// Filters of the list that are kept under a name, in this browser.

import { byId, el, page, setText } from "./dom.js";
import { popup } from "./popup.js";

/** Several dashboards may be below one origin: each has its own. */
const PLACE = `isotherm.filters:${page().stacks}`;
const MOST = 50;

/** The saved filters by name, in the order of names; none where the browser keeps nothing. */
function load() {
  try {
    const kept = JSON.parse(localStorage.getItem(PLACE) ?? "[]");
    const sound = kept.filter((each) => typeof each?.name === "string" && typeof each?.query === "string");
    return new Map(sound.map(({ name, query }) => [name, query]));
  } catch {
    return new Map();
  }
}

function keep(filters) {
  const sorted = [...filters].sort(([a], [b]) => a.localeCompare(b));
  localStorage.setItem(PLACE, JSON.stringify(sorted.map(([name, query]) => ({ name, query }))));
}

/** Offer to save what `filter` shows, and to choose what was saved. */
export function offerSavedFilters(filter) {
  const opener = byId("stacks-saved");
  const list = byId("stacks-saved-list");
  const form = byId("stacks-save");
  const name = form.elements.namedItem("title");
  const panel = popup(opener, byId("stacks-saved-panel"), show);

  function show() {
    const filters = load();
    list.replaceChildren(...[...filters].map(([title, query]) => item(title, query)));
    byId("stacks-saved-none").hidden = filters.size > 0;
  }

  function item(title, query) {
    const isNow = query === filter.saved;
    const choose = el("button", {
      type: "button",
      class: "act-item saved-choose",
      text: title,
      "aria-current": isNow ? "true" : null,
      on: {
        click: () => {
          panel.close();
          opener.focus();
          filter.choose(query);
        },
      },
    });
    const remove = el("button", {
      type: "button",
      class: "btn btn-sm btn-outline-secondary",
      text: "Remove",
      "aria-label": `Remove the filter ${title}`,
      on: { click: () => removed(title) },
    });
    return el("li", { class: "saved" }, choose, remove);
  }

  function removed(title) {
    const filters = load();
    filters.delete(title);
    if (!kept(filters)) return;
    show();
    name.focus();
    setText(byId("stacks-saved-said"), `removed: ${title}`);
  }

  function kept(filters) {
    try {
      keep(filters);
      return true;
    } catch {
      setText(byId("stacks-saved-said"), "This browser keeps nothing for this page: bookmark its address.");
      return false;
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const title = name.value.trim();
    const filters = load();
    if (!title) return;
    if (filters.size >= MOST && !filters.has(title)) {
      setText(byId("stacks-saved-said"), `At most ${MOST} filters are kept: remove one first.`);
      return;
    }
    if (!kept(filters.set(title, filter.saved))) return;
    show();
    name.value = "";
    setText(byId("stacks-saved-said"), `saved: ${title}`);
  });
}
