// The columns, rows and cells of the grid of runs, and their words.

import { el, svg } from "./dom.js";
import { count, dateTime, duration } from "./format.js";
import { outcomeOf } from "./runs_model.js";
import { icon, lookOf } from "./states.js";

export const ROW_HEIGHT = 26;
export const BAR_ROOM = 48;

/** The mark of an outcome; its shape tells it as well as its colour. */
export function mark(letter) {
  const { path, state } = outcomeOf(letter);
  const picture = svg("svg", { viewBox: "0 0 16 16", class: `run-mark run-${letter === "-" ? "none" : letter} state-${state}`, "aria-hidden": "true" });
  if (path) picture.append(svg("path", { d: path, fill: letter === "w" ? "currentColor" : null }));
  return picture;
}

/** How many resources an operation did what to: `2 made, 1 replaced`. */
export function didWords(operation) {
  const did = ["made", "changed", "replaced", "deleted", "failed"].filter((each) => operation[each]);
  return did.map((each) => `${count(operation[each])} ${each}`).join(", ") || "no resource changed";
}

/** An operation in words: `UPDATE_COMPLETE, begun 2026-11-24 10:12:01Z, took 2.1 s, by ann`. */
export function runWords(operation, seconds) {
  const took = operation.ended_at ? `took ${duration(seconds)}` : `${duration(seconds)} so far`;
  const user = operation.user ? `, by ${operation.user}` : "";
  return `${operation.action}_${operation.status}, begun ${dateTime(operation.begun_at)}, ${took}${user}`;
}

/** A cell in words: `server, replaced, 1.2 s: reason`. */
export function cellWords(name, cell) {
  const { letter = "-", seconds = null, reason = "" } = cell ?? {};
  const took = seconds === null ? "" : `, ${duration(seconds)}`;
  return `${name}: ${outcomeOf(letter).word}${took}${reason ? `: ${reason}` : ""}`;
}

/** The time below a column, and the day where it is another than that of the column before. */
export function columnTimes(operation, before) {
  const [day, time] = dateTime(operation.begun_at).split(" ");
  return { time: time.slice(0, 5), day: before && dateTime(before.begun_at).startsWith(day) ? "" : day.slice(5) };
}

/** The head of a column: a bar as high as the operation took long. */
export function columnHead(operation, before, height) {
  const look = lookOf(operation.action, operation.status);
  const { time, day } = columnTimes(operation, before);
  const bar = svg(
    "svg",
    { class: `run-bar state-${look}`, width: 16, height: BAR_ROOM, "aria-hidden": "true" },
    svg("rect", { class: `run-bar-${look}`, x: 1, y: BAR_ROOM - height, width: 14, height, rx: 1.5 }),
  );
  return [el("span", { class: "run-bar-frame" }, bar), el("span", { class: `run-state state-${look}` }, icon(look)), el("span", { class: "run-time", text: time }), el("span", { class: "run-day", text: day })];
}
