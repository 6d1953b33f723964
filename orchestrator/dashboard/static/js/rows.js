// Rows that stay the same elements while their contents change, so that the focus stays and nothing jumps.

/**
 * Show `items` as the children of `body`, in their order. `key` names an item; `make` makes the element of one that is
 * new, and `update` brings an element up to date.
 */
export function showRows(body, items, { key, make, update }) {
  const there = new Map([...body.children].map((row) => [row.dataset.key, row]));
  let place = body.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let row = there.get(name);
    if (row) {
      there.delete(name);
    } else {
      row = make(item);
      row.dataset.key = name;
    }
    update(row, item);
    if (row === place) place = place.nextElementSibling;
    else body.insertBefore(row, place);
  }
  for (const row of there.values()) row.remove();
}

/** Put elements into a place, unless it shows what `told` names already. */
export function showOnce(place, told, make) {
  const name = JSON.stringify(told);
  if (place.dataset.told === name) return;
  place.dataset.told = name;
  place.replaceChildren(...make());
}
