// How times become places on a line: pure, and without a page.

const STEPS = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800,
  604800,
];

/** The seconds between two marks so that there are at most `most` of them in `seconds`. */
export function stepOf(seconds, most) {
  return STEPS.find((step) => seconds / step <= most) ?? STEPS.at(-1) * Math.ceil(seconds / (STEPS.at(-1) * most));
}

/** The marks of an axis of which at most `most` lie in `seconds`: those from one time to another, from 0 on. */
export function marks(seconds, most, from = 0, to = seconds) {
  const step = stepOf(seconds, Math.max(1, most));
  const found = [];
  for (let number = Math.max(0, Math.floor(from / step)); number * step <= to * 1.0001; number += 1) found.push(number * step);
  return found;
}

/** A mark in words: `0`, `0.5 s`, `20 s`, `1:30`, `2:05:00`. */
export function markWord(seconds) {
  if (seconds === 0) return "0";
  if (seconds < 60) return `${Number(seconds.toFixed(2))} s`;
  const two = (number) => String(number).padStart(2, "0");
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** How many seconds of each kind there are in spans, those that go on counted until `until`; and all together. */
export function secondsByKind(spans, until) {
  const found = {};
  let total = 0;
  for (const { kind, start, end } of spans) {
    const seconds = Math.max(0, (end ?? until) - start);
    found[kind] = (found[kind] ?? 0) + seconds;
    total += seconds;
  }
  return { ...found, total };
}
