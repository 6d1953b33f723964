// How long something usually takes, in words: see UsualView in orchestrator/views/usual.py. Pure functions.

const SECOND_STEPS = [
  [10, 1],
  [60, 5],
  [300, 10],
  [3600, 60],
  [Infinity, 300],
];

/** A duration that is known roughly: `less than a second`, `7 s`, `45 s`, `2 min 10 s`, `12 min`, `1 h 05 min`. */
export function roughly(seconds) {
  if (seconds < 1) return "less than a second";
  const step = SECOND_STEPS.find(([most]) => seconds < most)[1];
  const whole = Math.max(1, Math.round(seconds / step)) * step;
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  if (hours) return minutes ? `${hours} h ${String(minutes).padStart(2, "0")} min` : `${hours} h`;
  if (minutes) return rest ? `${minutes} min ${rest} s` : `${minutes} min`;
  return `${rest} s`;
}

/** Until when an operation has not taken longer than usual, in seconds: the differences between past ones count. */
export function longestUsual({ seconds, high_seconds: high }) {
  return Math.max(high, 1.25 * seconds, seconds + 2);
}

/**
 * What to say of an operation that has taken so many seconds: `{ word, value }`; null where too little is known. How much
 * is left is only said while past ones were alike, before the usual time is over, and unless it `isStanding`.
 */
export function usualWords(usual, elapsed, { isStanding = false } = {}) {
  if (!usual) return null;
  const { seconds, low_seconds: low, high_seconds: high, is_steady: isSteady } = usual;
  const [from, to] = [roughly(low), roughly(high)];
  const takes = isSteady || from === to ? roughly(seconds) : low < 1 ? `up to ${to}` : `${from} to ${to}`;
  if (elapsed > longestUsual(usual)) return { word: "Longer than usual:", value: takes };
  const left = seconds - elapsed;
  if (!isSteady || isStanding || left <= 0) return { word: "Usually takes", value: takes };
  return { word: "Usually takes", value: `${takes}; ${left < 5 ? "a few seconds" : `about ${roughly(left)}`} left` };
}

const UNDER_WAY = new Set(["running", "waiting", "retrying"]);

/** What to say of a resource's action, as `usualWords`: it counts down while the action is under way; `now` in seconds. */
export function usualOfResource({ usual, vertex, spans }, now) {
  const begun = spans.find(({ attempt }) => attempt > 0)?.start;
  const isUnderWay = UNDER_WAY.has(vertex.state) && begun !== undefined;
  return usualWords(usual, isUnderWay ? now - begun : 0, { isStanding: !isUnderWay });
}
