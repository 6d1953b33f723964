// Times, durations and counts in words. Times are seconds since the epoch by the database's clock.

let ahead = 0; // How far that clock is ahead of the browser's, in seconds.

/** Take over the database's clock from an answer's `as_of`. */
export function setClock(asOf) {
  if (Number.isFinite(asOf)) ahead = asOf - Date.now() / 1000;
}

/** Now, by the database's clock. */
export function now() {
  return Date.now() / 1000 + ahead;
}

const two = (number) => String(number).padStart(2, "0");

/** `420 ms`, `4.2 s`, `12 s`, `3 min 07 s`, `2 h 05 min`, `3 d 4 h`; a dash where there is none. The same as on terminals. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const all = Math.max(0, seconds);
  if (Math.round(all * 1000) < 1000) return `${Math.round(all * 1000)} ms`;
  if (all < 9.95) return `${all.toFixed(1)} s`;
  const whole = Math.round(all);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  const minutes = Math.round(all / 60);
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  const hours = Math.round(all / 3600);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** As `duration`, in whole seconds: for what is counted up while one looks. */
export function elapsed(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  return seconds < 10 ? `${Math.max(0, Math.floor(seconds))} s` : duration(Math.floor(seconds));
}

// Every time is shown in UTC, as on terminals and in logs, and says so by its `Z`.

/** The time of day: `23:40:07Z`. */
export function clock(at) {
  return `${new Date(at * 1000).toISOString().slice(11, 19)}Z`;
}

/** The day and the time of day: `2026-11-21 23:40:07Z`. */
export function dateTime(at) {
  return `${new Date(at * 1000).toISOString().slice(0, 10)} ${clock(at)}`;
}

/** The same to the millisecond: `2026-11-21 23:40:07.042Z`. */
export function preciseTime(at) {
  return new Date(at * 1000).toISOString().replace("T", " ");
}

/** Since when something is so: the time of day, and the day before it unless that is today. */
export function sinceWords(at) {
  const [today, day] = [dateTime(now()), dateTime(at)].map((each) => each.slice(0, 10));
  return today === day ? clock(at) : dateTime(at);
}

/** How old something is, in its largest unit: `12 s`, `24 min`, `3 h`, `9 d`; a dash where there is none. */
export function age(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const all = Math.max(0, seconds);
  if (all < 60) return `${Math.floor(all)} s`;
  if (all < 3600) return `${Math.floor(all / 60)} min`;
  return all < 48 * 3600 ? `${Math.floor(all / 3600)} h` : `${Math.floor(all / 86400)} d`;
}

/** How long ago something was that is so old: `just now`, `12 s ago`, `3 h ago`. */
export function agoWords(seconds) {
  return seconds < 1 ? "just now" : `${age(seconds)} ago`;
}

/** The same of a moment; a dash where there is none. */
export function ago(at) {
  return at === null || at === undefined ? "–" : agoWords(now() - at);
}

/** How long it is until a moment: `in 12 s`, `in 3 min 07 s`; `now` once it has come. */
export function until(at) {
  const seconds = at - now();
  return seconds > 0 ? `in ${elapsed(Math.ceil(seconds))}` : "now";
}

const WITH_THOUSANDS = new Intl.NumberFormat("en-GB");

/** A number with its thousands apart: `2,000`. */
export function count(number) {
  return WITH_THOUSANDS.format(number);
}

/** `1 resource`, `2 resources`. */
export function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** A `<time>` that shows the day and the time of day, to the millisecond. */
export function timeElement(at) {
  const element = document.createElement("time");
  element.dateTime = new Date(at * 1000).toISOString();
  element.textContent = preciseTime(at);
  return element;
}

/** A `<time>` that shows how long ago it was, and is kept up to date. */
export function agoElement(at) {
  const element = document.createElement("time");
  element.className = "ago";
  showAgo(element, at);
  return element;
}

/** A `<time>` that shows how long it is until then, and is kept up to date. */
export function untilElement(at) {
  const element = timeElement(at);
  element.className = "until";
  element.dataset.at = String(at);
  element.textContent = until(at);
  return element;
}

/** Make a `<time>` show how long ago a moment was; null for a dash. */
export function showAgo(element, at) {
  if (at === null || at === undefined) {
    delete element.dataset.at;
    element.removeAttribute("datetime");
    element.removeAttribute("title");
    element.textContent = "–";
    return;
  }
  element.dataset.at = String(at);
  element.dateTime = new Date(at * 1000).toISOString();
  element.title = dateTime(at);
  element.textContent = ago(at);
}

/** Bring every element that shows how long ago something was, or until when it is, up to date. */
function refreshTimes() {
  for (const element of document.querySelectorAll("time:is(.ago, .until)[data-at]")) {
    const tell = element.className === "until" ? until : ago;
    const text = tell(Number(element.dataset.at));
    if (element.textContent !== text) element.textContent = text;
  }
}

setInterval(refreshTimes, 1000);
