// Data without events: polled while the page is visible, and shown with their age.

import { showAsOf } from "./as_of.js";
import { setClock } from "./format.js";
import { Refused, fetchJson } from "./stream.js";

const STALE_AFTER = 10_000; // Milliseconds without an answer.
const LONGEST_PAUSE = 10_000;

/**
 * Fetch `url` every so many milliseconds, and have each answer shown. An answer has `as_of`, when its data were read,
 * `now`, both by the database's clock, and `trouble`: why they are not newer, if they are not.
 */
export function poll(url, { every, show }) {
  let asOf = null;
  let heardAt = performance.now();
  let trouble = "";
  let failures = 0;
  let timer = null;

  async function look() {
    timer = null;
    try {
      const answer = await fetchJson(url, { signal: AbortSignal.timeout(STALE_AFTER) });
      failures = 0;
      heardAt = performance.now();
      asOf = answer.as_of;
      trouble = answer.trouble;
      setClock(answer.now);
      show(answer);
    } catch (error) {
      failures += 1;
      trouble = told(error);
      if (error.status === 401) return tell();
    }
    tell();
    if (document.visibilityState === "visible") timer = setTimeout(look, pause());
  }

  function pause() {
    return failures ? Math.min(LONGEST_PAUSE, every * 2 ** Math.min(failures, 5)) : every;
  }

  function tell() {
    showAsOf(state(), asOf, trouble);
  }

  function state() {
    if (performance.now() - heardAt > STALE_AFTER || (trouble && !failures)) return "stale";
    if (failures) return "reconnecting";
    return asOf === null ? "connecting" : "live";
  }

  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible" && timer === null) look();
  });
  setInterval(tell, 1000);
  look();
}

function told(error) {
  if (error instanceof Refused) return error.message;
  if (error.name === "TimeoutError") return "the dashboard does not answer";
  console.error(error);
  return "this page cannot be drawn";
}
