// Mapping of times to positions on an axis. Pure functions.

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

/** A mark in words: `0`, `500 ms`, `1.5 s`, `20 s`, `1 min 30 s`, `2 h 5 min`, `3 d 12 h`. */
export function markWord(seconds) {
  if (seconds === 0) return "0";
  const thousandths = Math.round(seconds * 1000);
  if (thousandths < 1000) return `${thousandths} ms`;
  if (thousandths < 60_000 && thousandths % 1000) return `${thousandths / 1000} s`;
  const whole = Math.round(seconds);
  const parts = [
    [Math.floor(whole / 86400), "d"],
    [Math.floor(whole / 3600) % 24, "h"],
    [Math.floor(whole / 60) % 60, "min"],
    [whole % 60, "s"],
  ];
  return parts.filter(([number]) => number).map(([number, unit]) => `${number} ${unit}`).join(" ");
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
