// The operations of a stack side by side: what each did to each resource. Pure, without the page.
//
// The letters are those of orchestrator/views/runs.py.

/** What an operation can have done to a resource: a word, a mark of its own shape, and the state whose colour it has. */
export const OUTCOMES = Object.freeze(
  [
    ["m", "made", "done", "M8 3.5v9M3.5 8h9"],
    ["c", "changed", "running", "M2.5 9.5c1.8-3.6 3.6-3.6 5.5-1.2s3.7 2.4 5.5-1.2"],
    ["r", "replaced", "waiting", "M3 5.5h9M9.5 3 12 5.5 9.5 8M13 10.5H4M6.5 8 4 10.5 6.5 13"],
    ["d", "deleted", "undone", "M3.5 8h9"],
    ["o", "done", "unchanged", "M3 8.6 6.4 12 13 4.4"],
    ["f", "failed", "failed", "M4 4l8 8M12 4l-8 8"],
    ["w", "running", "running", "M5.5 3.8 12 8 5.5 12.2z"],
    ["p", "not begun yet", "blocked", "M3.2 8h.01M8 8h.01M12.8 8h.01"],
    ["n", "not reached", "unreached", "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM4.2 4.2l7.6 7.6"],
    ["u", "unchanged", "unchanged", "M8 8h.01"],
    ["-", "not in it", "blocked", ""],
  ].map(([letter, word, state, path]) => Object.freeze({ letter, word, state, path })),
);
const BY_LETTER = new Map(OUTCOMES.map((outcome) => [outcome.letter, outcome]));
/** Of these cells, nothing happened to the resource. */
const STILL = new Set(["u", "-"]);
/** What these did to a resource that was there before. */
const EXISTED = new Set(["c", "r", "d", "o", "u"]);
const { compare } = new Intl.Collator("en", { numeric: true }); // r2 before r10.

export function outcomeOf(letter) {
  return BY_LETTER.get(letter) ?? BY_LETTER.get("-");
}

/** The operations of one stack that are known, and its resources. */
export class Runs {
  constructor() {
    this.operations = []; // Oldest first.
    this.rows = new Map(); // By the resource's name.
    this.trimmed = new Set(); // Operations whose steps are no longer kept.
    this.more = false; // Whether there are older operations.
  }

  /** Take an answer of the server: the newest operations, or with `isOlder` those before the ones that are known. */
  take({ operations, rows, more, trimmed }, isOlder = false) {
    const isFirst = this.operations.length === 0;
    const told = new Set(operations.map(({ id }) => id));
    const kept = this.operations.filter(({ id }) => !told.has(id));
    this.operations = [...operations, ...kept].sort((one, other) => one.begun_at - other.begun_at || (one.id < other.id ? -1 : 1));
    if (isFirst || isOlder) this.more = more;
    for (const id of trimmed) this.trimmed.add(id);
    for (const [name, type, nested, cells, seconds, reasons] of rows) {
      let row = this.rows.get(name);
      if (!row) this.rows.set(name, (row = { name, type, nested, cells: new Map() }));
      if (!isOlder) Object.assign(row, { type, nested });
      operations.forEach(({ id }, place) => {
        row.cells.set(id, { letter: cells[place], seconds: seconds[place] ?? null, reason: reasons[place] ?? "" });
      });
    }
    for (const { cells } of this.rows.values()) this.fill(cells);
  }

  /** An operation plans no step for a resource that it leaves alone: between others, that is one without a change. */
  fill(cells) {
    const letters = this.operations.map(({ id }) => cells.get(id)?.letter ?? "-");
    const known = letters.find((letter) => letter !== "-");
    let isThere = EXISTED.has(known);
    this.operations.forEach(({ id }, place) => {
      const letter = letters[place];
      if (letter === "-" && !this.trimmed.has(id)) cells.set(id, { letter: isThere ? "u" : "-", seconds: null, reason: "" });
      if (letter === "d") isThere = false;
      else if (letter !== "-" && letter !== "n") isThere = true;
    });
  }

  /** Whether an answer about the newest operations continues what is known, so that none between them is missing. */
  joins({ operations, more }) {
    const known = new Set(this.operations.map(({ id }) => id));
    return !more || operations.some(({ id }) => known.has(id));
  }

  /** The resources of which something happened in these operations (`some`), that failed in one (`failed`), or all. */
  shown({ which = "some", text = "" } = {}) {
    const wanted = text.trim().toLowerCase();
    const matches = ({ name, type, cells }) => {
      if (wanted && !name.toLowerCase().includes(wanted) && !type.toLowerCase().includes(wanted)) return false;
      if (which === "all") return true;
      return [...cells.values()].some(({ letter }) => (which === "failed" ? letter === "f" : !STILL.has(letter)));
    };
    return [...this.rows.values()].filter(matches).sort((one, other) => compare(one.name, other.name));
  }
}

/** How long an operation took, or has taken so far. */
export function lasted(operation, at) {
  return operation.duration_seconds ?? Math.max(0, at - operation.begun_at);
}

/** The heights of the bars over the columns, of which the longest is as high as `room`; each can be seen. */
export function barHeights(durations, room) {
  const longest = Math.max(0, ...durations);
  return durations.map((each) => (longest ? Math.max(2, Math.round((room * each) / longest)) : 2));
}

/** For each operation of an outer stack, that of a nested one which it began: the last one in its time. */
export function withinEach(outer, nested) {
  const found = new Map();
  for (const { id, begun_at: begun, ended_at: ended } of outer) {
    const inside = nested.filter((each) => each.begun_at >= begun && each.begun_at <= (ended ?? Infinity));
    if (inside.length) found.set(id, inside.at(-1).id);
  }
  return found;
}

/** Where a key leads in a grid, from a place to another; null if it is none of its keys. */
export function moved({ row, column }, key, { rows, columns, page, withControl = false }) {
  const places = {
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    PageUp: [row - page, column],
    PageDown: [row + page, column],
    Home: [withControl ? 0 : row, 0],
    End: [withControl ? rows - 1 : row, columns - 1],
  };
  if (!(key in places)) return null;
  const within = (place, size) => Math.min(Math.max(place, 0), Math.max(0, size - 1));
  return { row: within(places[key][0], rows), column: within(places[key][1], columns) };
}
