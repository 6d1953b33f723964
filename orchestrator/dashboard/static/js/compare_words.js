// Two operations compared, in words: see Comparison in orchestrator/views/comparisons.py. Pure functions.

import { counted, duration } from "./format.js";

/** What more time of a kind of span means. */
const KINDS = Object.freeze({
  queued: ["waited", "for a worker"],
  running: ["worked", ""],
  retrying: ["was tried again for", ""],
  held: ["stood at a hook for", ""],
});

/** A difference in words: `+ 2.1 s`, `− 300 ms`, `0`. */
export function differenceWords(seconds) {
  if (Math.abs(seconds) < 0.001) return "0";
  return `${seconds > 0 ? "+" : "−"} ${duration(Math.abs(seconds))}`;
}

/** What was done with a resource: `changed`, `replaced`. */
export function didWord({ actions, state }) {
  if (state === "failed") return "failed";
  if (state === "unreached") return "not reached";
  if (actions.length > 1) return "replaced";
  return { CREATE: "made", ADOPT: "made", UPDATE: "changed", DELETE: "deleted" }[actions[0]] ?? String(actions[0]).toLowerCase();
}

/** A difference of one kind in words: `waited 2.1 s longer for a worker`. */
function kindWords(kind, seconds) {
  const [verb, more] = KINDS[kind] ?? [kind, ""];
  return [verb, duration(Math.abs(seconds)), seconds > 0 ? "longer" : "less", more].filter(Boolean).join(" ");
}

/** Why a resource took longer, or shorter, in the second operation. */
export function whyWords({ a, b, mainly }) {
  if (!a || !b) {
    const did = didWord(a ?? b);
    return `only in the ${a ? "first" : "second"}: ${did}`;
  }
  const parts = [];
  if (mainly) parts.push(kindWords(mainly, b.seconds[mainly] - a.seconds[mainly]));
  const [before, after] = [didWord(a), didWord(b)];
  if (before !== after) parts.push(`${after} in place of ${before}`);
  if (a.attempts && b.attempts && a.attempts !== b.attempts) parts.push(`${counted(b.attempts, "attempt")} in place of ${a.attempts}`);
  return parts.join("; ") || "as long as before";
}

/** What took longer in the whole, and where its critical path spent that time. */
export function totalWords({ seconds: [before, after], critical }) {
  const difference = after - before;
  if (Math.abs(difference) < 0.001) return "Both took the same time.";
  const whole = `The second took ${duration(Math.abs(difference))} ${difference > 0 ? "longer" : "less"}.`;
  const kinds = Object.keys(KINDS)
    .map((kind) => [kind, (critical[1][kind] ?? 0) - (critical[0][kind] ?? 0)])
    .filter(([, each]) => each * difference > 0 && Math.abs(each) >= 0.001)
    .sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]));
  if (!kinds.length) return whole;
  return `${whole} Its critical path ${kinds.map(([kind, each]) => kindWords(kind, each)).join(", ")}.`;
}
