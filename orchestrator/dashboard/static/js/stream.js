// Live data: what a page shows is fetched whole, with the id of the last event that is in it, and then kept up to date
// with the events behind that. All that follows on a page, and all pages of a browser, share one connection for this.
//
//   import { fetchJson, follow } from "./stream.js";
//   const followed = follow(`${stack}/stream`, {
//     async load(signal) { const answer = await fetchJson(url, { signal }); draw(answer); return answer; },
//     apply(events) { ... },   // behind `cursor` of the answer, in their order; the same one twice is harmless
//     every: 250,              // milliseconds between two calls of `apply` at least, or a function that returns them
//   });
//   followed.refresh();        // load again: the events alone are not enough
//
// `load` returns an object with `cursor` and `as_of`. It is called again whenever events may have been missed.
// An address of null stands for what does not change any more: it is loaded, and nothing is followed.
//
// How current the data are stands in the page's #as-of, and what is wrong in #trouble; see stacks/base.html.

import { showAsOf } from "./as_of.js";
import { setClock } from "./format.js";
import { openSource } from "./shared_source.js";
import { withSeconds } from "./times.js";

const MOST_WAITING = 5000; // Events that wait for `apply`: beyond, loading anew is less work.
const STALE_AFTER = 10_000; // Milliseconds without a message from the server.
const HIDDEN_FOR = 30_000; // A page hidden for so long closes its connection: browsers have few.
const LONGEST_PAUSE = 10_000;

/** A refusal of the server, or a failed request; `status` is 0 without an answer. */
export class Refused extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }

  /** Whether asking again later may help. */
  get passes() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Fetch JSON; throws `Refused` with the server's own sentence. */
export async function fetchJson(url, options = {}) {
  let answer;
  try {
    answer = await fetch(url, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("the dashboard does not answer", 0);
  }
  if (!answer.ok) throw await refusal(answer);
  return withSeconds(await answer.json());
}

async function refusal(answer) {
  if (answer.status === 401) return new Refused("you are not logged in any more: load the page again", 401);
  const told = await answer.json().catch(() => ({}));
  return new Refused(told.error || answer.statusText || `the dashboard answers ${answer.status}`, answer.status);
}

const streams = new Map();

/** Load something and keep it up to date; see above. Returns `refresh()` and `stop()`. */
export function follow(url, { load, apply = () => {}, every = 250 }) {
  if (!streams.has(url)) streams.set(url, new Stream(url));
  return new Follower(streams.get(url), { load, apply, every });
}

/** Something that is kept up to date with the events of a stream. */
class Follower {
  #stream;
  #load;
  #apply;
  #every;
  #waiting = [];
  #cursor = null; // Null until it was loaded.
  #loading = null; // What stops the loading that is under way.
  #again = false;
  #failures = 0;
  #timer = null;
  #appliedAt = -Infinity;

  constructor(stream, { load, apply, every }) {
    this.#stream = stream;
    this.#load = load;
    this.#apply = apply;
    this.#every = typeof every === "function" ? every : () => every;
    stream.add(this);
    this.refresh();
  }

  get cursor() {
    return this.#cursor;
  }

  /** Load anew. While that is under way, calls of this are put together to one. */
  refresh() {
    if (this.#loading) this.#again = true;
    else this.#begin();
  }

  /** Follow no more. */
  stop() {
    this.#stream.remove(this);
    this.#loading?.abort();
    clearTimeout(this.#timer);
  }

  async #begin() {
    this.#again = false;
    const loading = new AbortController();
    this.#loading = loading;
    let pause = null;
    try {
      const answer = await this.#load(loading.signal);
      this.#failures = 0;
      this.#cursor = answer.cursor;
      this.#waiting = this.#waiting.filter((event) => event.id > answer.cursor);
      this.#stream.loaded(this, answer.as_of);
    } catch (error) {
      if (loading.signal.aborted) return;
      this.#failures += 1;
      this.#stream.failed(this, error);
      if (!(error instanceof Refused)) console.error(error);
      if (!(error instanceof Refused) || error.passes) pause = backOff(this.#failures);
    }
    this.#loading = null;
    if (pause !== null) setTimeout(() => this.refresh(), pause);
    else if (this.#again) this.refresh();
    else this.#schedule();
  }

  /** Take events from the stream. */
  take(events) {
    for (const event of events) if (this.#cursor === null || event.id > this.#cursor) this.#waiting.push(event);
    if (this.#waiting.length > MOST_WAITING) {
      this.#waiting = [];
      this.refresh();
    }
    this.#schedule();
  }

  #schedule() {
    if (this.#loading || this.#timer !== null || !this.#waiting.length) return;
    const pause = Math.max(0, this.#appliedAt + this.#every() - performance.now());
    this.#timer = setTimeout(() => this.#applyNow(), pause);
  }

  #applyNow() {
    this.#timer = null;
    if (this.#loading || !this.#waiting.length) return;
    const events = this.#waiting;
    this.#waiting = [];
    this.#appliedAt = performance.now();
    this.#cursor = events.at(-1).id;
    try {
      this.#apply(events);
    } catch (error) {
      // What cannot be brought up to date is loaded anew, and not shown as if it were current.
      console.error(error);
      this.refresh();
    }
  }
}

/** The connection of a page: opened once what follows on it was loaded, and opened again whenever it breaks. */
class Stream {
  #url;
  #source = null;
  #followers = new Set();
  #unloaded = new Set();
  #troubles = new Map(); // Sentences by the follower that failed.
  #lastId = null;
  #asOf = null;
  #heardAt = performance.now();
  #attempts = 0;
  #wasOpen = false;
  #over = false;
  #hiddenTimer = null;
  #retryTimer = null;

  constructor(url) {
    this.#url = url;
    this.#show();
    if (url === null) return;
    setInterval(() => this.#show(), 1000);
    addEventListener("pagehide", () => this.#close());
    addEventListener("pageshow", (event) => event.persisted && this.#open());
    document.addEventListener("visibilitychange", () => this.#visibility());
  }

  add(follower) {
    this.#followers.add(follower);
    this.#unloaded.add(follower);
  }

  remove(follower) {
    this.#followers.delete(follower);
    this.#unloaded.delete(follower);
    this.#troubles.delete(follower);
    if (this.#followers.size) this.#openIfAllLoaded();
    else this.#close();
  }

  /** A follower was loaded; the first one sets where the stream begins. */
  loaded(follower, asOf) {
    this.#troubles.delete(follower);
    this.#unloaded.delete(follower);
    this.#current(asOf);
    this.#openIfAllLoaded();
  }

  failed(follower, error) {
    this.#troubles.set(follower, error instanceof Refused ? error.message : "this page cannot be drawn");
    this.#unloaded.delete(follower);
    this.#show();
    this.#openIfAllLoaded();
  }

  #openIfAllLoaded() {
    if (this.#source || this.#unloaded.size || this.#over || this.#url === null) return;
    const cursors = [...this.#followers].map((each) => each.cursor).filter((each) => each !== null);
    // If nothing could be loaded, a working stream shows when to try again.
    if (this.#lastId === null && cursors.length) this.#lastId = Math.min(...cursors);
    this.#open();
  }

  #open() {
    if (this.#source || this.#over || !this.#followers.size) return;
    clearTimeout(this.#retryTimer);
    const source = openSource(this.#url, this.#lastId);
    this.#source = source;
    let blind = this.#lastId === null; // No follower had a position to listen from.
    const on = (name, heard) =>
      source.addEventListener(name, (message) => {
        if (message.lastEventId) this.#lastId = Number(message.lastEventId);
        this.#attempts = 0;
        heard(withSeconds(JSON.parse(message.data)));
      });
    on("events", (events) => {
      for (const each of this.#followers) each.take(events);
    });
    on("resync", () => {
      for (const each of this.#followers) each.refresh();
    });
    on("tick", ({ as_of: asOf }) => {
      this.#troubles.delete(this);
      this.#current(asOf);
      const behind = [...this.#followers].filter((each) => each.cursor !== null && each.cursor < this.#lastId);
      if (blind) for (const each of behind) each.refresh();
      blind = false;
    });
    on("trouble", ({ error }) => {
      this.#troubles.set(this, error);
      this.#show();
    });
    source.onopen = () => {
      this.#wasOpen = true;
      this.#show();
    };
    source.onerror = () => {
      this.#show();
      // The browser tries again by itself, unless it was refused.
      if (source.readyState === EventSource.CLOSED && this.#source === source) this.#refused();
    };
  }

  #close() {
    this.#source?.close();
    this.#source = null;
    clearTimeout(this.#retryTimer);
  }

  /** Find out why, which an EventSource does not report, and try again later if that may help. */
  async #refused() {
    this.#close();
    this.#attempts += 1;
    const probing = new AbortController();
    try {
      const answer = await fetch(this.#url, { credentials: "same-origin", signal: probing.signal });
      if (!answer.ok) {
        const refused = await refusal(answer);
        this.#troubles.set(this, refused.message);
        this.#over = !refused.passes;
      }
    } catch {
      this.#troubles.set(this, "the dashboard does not answer");
    } finally {
      probing.abort();
    }
    this.#show();
    if (!this.#over) this.#retryTimer = setTimeout(() => this.#open(), backOff(this.#attempts));
  }

  #visibility() {
    clearTimeout(this.#hiddenTimer);
    if (document.visibilityState === "hidden") this.#hiddenTimer = setTimeout(() => this.#close(), HIDDEN_FOR);
    else if (!this.#unloaded.size) this.#open();
  }

  #current(asOf) {
    if (Number.isFinite(asOf) && (this.#asOf === null || asOf >= this.#asOf)) this.#asOf = asOf;
    setClock(asOf);
    this.#heardAt = performance.now();
    this.#show();
  }

  #state() {
    if (this.#url === null) return this.#troubles.size ? "stale" : "past";
    if (this.#over || performance.now() - this.#heardAt > STALE_AFTER) return "stale";
    if (this.#troubles.size) return "reconnecting";
    if (this.#source?.readyState === EventSource.OPEN) return "live";
    return this.#wasOpen ? "reconnecting" : "connecting";
  }

  /** Show the freshness of the data. */
  #show() {
    const state = this.#state();
    const silent = state === "stale" ? "the dashboard has not answered for a while: this is the last known state" : undefined;
    const [trouble = silent] = this.#troubles.values();
    showAsOf(state, this.#asOf, trouble);
  }
}

/** How long to wait before the next attempt: longer each time, and not the same for all pages. */
function backOff(attempts) {
  return Math.min(LONGEST_PAUSE, 500 * 2 ** attempts) * (0.75 + Math.random() / 2);
}
