// Which part of a timeline is in sight, and whether it follows an operation under way. Pure: each function returns a view.
//
// A view is `{ perSecond, isWhole, follows }`: the pixels of a second, whether all seconds are in sight, and whether the
// right edge is kept at now. Whole, the scale comes from the seconds that there are.

export const MOST_ZOOM = 400;

/** The view of a timeline that is opened. */
export function firstView() {
  return { perSecond: null, isWhole: true, follows: true };
}

/** The pixels of a second, where `room` pixels are in sight and the operation has taken so many seconds. */
export function scaleOf(view, { room, seconds }) {
  return view.perSecond ?? room / seconds;
}

/** The view after zooming; at most so far out that all is in sight, which is followed again. */
export function zoomed(view, factor, given) {
  const whole = given.room / given.seconds;
  const perSecond = Math.min(MOST_ZOOM * whole, scaleOf(view, given) * factor);
  return perSecond <= whole * 1.0001 ? firstView() : { perSecond, isWhole: false, follows: false };
}

/** The view after the user has moved it: what is in sight stays there. */
export function stopped(view, given) {
  return view.follows ? { ...view, perSecond: scaleOf(view, given), follows: false } : view;
}

/** The view that follows again, as far zoomed as before. */
export function resumed(view) {
  return view.isWhole ? firstView() : { ...view, follows: true };
}

/** Whether a place that is scrolled to is where we have scrolled to, as far as that was possible. */
export function isOurs(place, ours, most) {
  const near = (one, other) => Math.abs(one - other) <= 2;
  return near(place.left, Math.min(ours.left, most.left)) && near(place.top, Math.min(ours.top, most.top));
}

/** How far a list is scrolled so that the last of its first rows, which have begun, is in sight. */
export function topOf({ begun, rowHeight, room }) {
  return Math.max(0, begun * rowHeight - room);
}
