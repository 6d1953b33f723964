// A bar with one part for each state, and the counts in words beside it.

import { el, setText } from "./dom.js";
import { count } from "./format.js";
import { STATES, badge, lookIn, stateOf } from "./states.js";

// Finished states come first, so that the bar fills from the left.
const ORDER = ["done", "unchanged", "failed", "running", "retrying", "held", "waiting", "ready", "unreached", "blocked"];

/** Show how many of `total` are in each state of an operation as a bar; parts are kept, so that their widths move smoothly. */
export function showBar(bar, counts, total, action) {
  const parts = new Map([...bar.children].map((part) => [part.dataset.state, part]));
  for (const state of ORDER) {
    let part = parts.get(state);
    if (!part) {
      part = el("span", { data: { state } });
      bar.append(part);
    }
    part.className = `progress-part ${stateOf(lookIn(action, state)).css}`;
    const share = total ? (100 * (counts[state] ?? 0)) / total : 0;
    part.style.width = `${share}%`;
    part.hidden = share === 0;
  }
}

/** The finished share of an operation, as `42 %`; never 100 % before all of it is. */
export function percent(done, total) {
  if (!total) return "–";
  return `${Math.floor((100 * done) / total)} %`;
}

/** The counts in words: `12 done, 3 running`. */
export function countsInWords(counts) {
  return STATES.filter(({ name }) => counts[name])
    .map(({ name, word }) => `${count(counts[name])} ${word}`)
    .join(", ");
}

/**
 * Show the counts as a list of icons and words. While `goesOn` all states have their places, so that nothing moves when
 * a resource comes to one in which none was; they keep them when all is over, until the page is opened anew.
 */
export function showCounts(list, counts, goesOn, action) {
  const items = new Map([...list.children].map((item) => [item.dataset.state, item]));
  let before = null;
  for (const { name, meaning } of STATES) {
    let item = items.get(name);
    const number = counts[name] ?? 0;
    if (!number && !item && !goesOn) continue;
    const look = lookIn(action, name);
    // Another operation may have begun since.
    if (item && item.firstChild.dataset.state !== look) {
      item.remove();
      item = null;
    }
    if (!item) {
      item = el("li", { title: meaning, data: { state: name } }, badge(look, name));
      item.firstChild.append(el("span", { class: "number" }));
      if (before) before.after(item);
      else list.prepend(item);
    }
    item.classList.toggle("is-none", !number);
    setText(item.querySelector(".number"), count(number));
    before = item;
  }
}
