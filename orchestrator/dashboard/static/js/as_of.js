// Freshness of a page's data in its #as-of, and faults in #trouble; see stacks/base.html.

import { setText } from "./dom.js";
import { clock } from "./format.js";

/**
 * Show it. `state` is connecting, live, reconnecting, stale or past; `asOf` the time of the data by the database's clock,
 * null before there are any; `trouble` a sentence, or nothing.
 */
export function showAsOf(state, asOf, trouble) {
  const place = document.getElementById("as-of");
  if (place) {
    place.dataset.state = state;
    setText(document.getElementById("as-of-word"), state);
    if (asOf !== null) {
      const time = document.getElementById("as-of-time");
      time.dateTime = new Date(asOf * 1000).toISOString();
      setText(time, clock(asOf));
    }
  }
  const told = document.getElementById("trouble");
  if (told) {
    told.hidden = !trouble;
    setText(told, trouble ? capital(trouble) : "");
  }
}

function capital(sentence) {
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`.replace(/\.\.$/, ".");
}
