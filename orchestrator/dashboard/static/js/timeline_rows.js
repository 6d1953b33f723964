// The rows of a timeline: a resource that is replaced is one row, with the bar of the new one and those of the old. Pure.

/**
 * The rows of these bars, in their order. A row is a bar with `olds`, the bars of the deletions of what it replaces; its
 * state is that of the new one until that is done, and then that of the deletion.
 */
export function rowsOf(bars) {
  const numbers = new Set(bars.map(({ no }) => no));
  const olds = new Map();
  for (const bar of bars) {
    if (!isOld(bar, numbers)) continue;
    if (!olds.has(bar.replaced_by)) olds.set(bar.replaced_by, []);
    olds.get(bar.replaced_by).push(bar);
  }
  return bars.filter((bar) => !isOld(bar, numbers)).map((bar) => rowOf(bar, olds.get(bar.no) ?? []));
}

/** Whether a bar belongs to that of what replaces it; one that an earlier operation replaced has a row of its own. */
function isOld(bar, numbers) {
  return bar.replaced_by !== null && bar.replaced_by !== undefined && numbers.has(bar.replaced_by);
}

function rowOf(bar, olds) {
  const last = bar.state === "done" && olds.find(({ state }) => state !== "done");
  return { ...bar, olds, state: last ? last.state : bar.state, critical: bar.critical || olds.some(({ critical }) => critical) };
}

/** All spans of a row: while the new one is made, the old one's blocked span says nothing. */
export function spansOf({ spans, olds = [] }) {
  const end = endOf(spans);
  return [...spans, ...olds.flatMap((old) => behind(old.spans, end))];
}

/** The bars of a row as they are drawn, each with a word for it if there are several: `create` and `delete`. */
export function partsOf(row) {
  const end = endOf(row.spans);
  if (!row.olds?.length) return [{ word: "", spans: row.spans, state: row.state, critical: row.critical }];
  const olds = row.olds.map((old) => ({ word: "delete", spans: behind(old.spans, end), state: old.state, critical: old.critical, isOld: true }));
  const isDone = row.olds.some(({ state }) => state === row.state) && endOf(row.spans) !== null;
  return [{ word: "create", spans: row.spans, state: isDone ? "done" : row.state, critical: row.critical }, ...olds];
}

function endOf(spans) {
  return spans.length ? spans.at(-1).end : null;
}

/** Spans without what was blocked before a time; null for a time that has not come. */
function behind(spans, time) {
  return spans.flatMap((span) => {
    if (span.kind !== "blocked") return [span];
    if (time === null || (span.end !== null && span.end <= time)) return [];
    return [{ ...span, start: Math.max(span.start, time) }];
  });
}
