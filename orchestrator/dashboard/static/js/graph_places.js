// Positions of boxes in the drawing's pixels. The server sends them in units of a box; what is much taller than the frame
// (a long chain, groups of many steps) is folded into columns here, for only here it is known how much room there is.

/** A picture that is seen in at least this size is left as it is, and one is folded only if that makes it so much larger. */
const LARGE_ENOUGH = 0.6;
const WORTH_IT = 1.25;
const MOST_COLUMNS = 16;
/** From how many units on what is below is another step. */
const STEP_APART = 2;

/**
 * Args:
 *   items: with `x` and `y`.
 *   unit: `across` and `down`: how many pixels the server's units are; `width` and `height` of a box.
 *   room: `x` and `y`, how many pixels of the screen there are.
 * Returns the places of the items' middles, in their order.
 */
export function placesOf(items, unit, room) {
  const places = items.map(({ x, y }) => ({ x: x * unit.across, y: y * unit.down }));
  const steps = stepsOf(places, unit);
  if (steps.length < 2) return places;
  const gap = unit.width / 2;
  const left = Math.min(...places.map((place) => place.x));
  const wide = Math.max(...places.map((place) => place.x)) - left + unit.width;
  const size = (columns) =>
    Math.min(room.x / (columns.length * (wide + gap) - gap), room.y / Math.max(...columns.map(tall)));
  let best = [steps];
  const asItIs = size(best);
  for (let number = 2; asItIs < LARGE_ENOUGH && number <= MOST_COLUMNS; number += 1) {
    const columns = folded(steps, number);
    if (size(columns) > size(best)) best = columns;
  }
  if (size(best) < asItIs * WORTH_IT) return places;
  best.forEach((column, index) => {
    for (const step of column) {
      for (const at of step.members) {
        places[at].x += index * (wide + gap);
        places[at].y -= column[0].top - steps[0].top;
      }
    }
  });
  return places;
}

/** The steps from top to bottom, as far as they are drawn apart: where each begins and ends, and which items are in it. */
function stepsOf(places, unit) {
  const order = places.map((_, at) => at).sort((one, other) => places[one].y - places[other].y);
  const steps = [];
  let last = -Infinity;
  for (const at of order) {
    const { y } = places[at];
    // The rows of one step are nearer to each other.
    if (y - last > STEP_APART * unit.down) steps.push({ top: y - unit.height / 2, bottom: 0, members: [] });
    steps.at(-1).bottom = y + unit.height / 2;
    steps.at(-1).members.push(at);
    last = y;
  }
  return steps;
}

function tall(column) {
  return column.at(-1).bottom - column[0].top;
}

/** So many columns of about the same height, or fewer. */
function folded(steps, number) {
  const most = tall(steps) / number;
  const columns = [[]];
  for (const step of steps) {
    const last = columns.at(-1);
    if (last.length && step.bottom - last[0].top > most && columns.length < number) columns.push([step]);
    else last.push(step);
  }
  return columns;
}
