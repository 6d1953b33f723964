// The labels of boxes: as much of a name or a type as there is room for.

/** A text that is no longer than so many letters: its beginning and its end, which tells `web_017` from `web_018`. */
export function shortened(text, longest) {
  if (text.length <= longest) return text;
  const end = Math.floor(longest / 2.5);
  return `${text.slice(0, Math.max(1, longest - end - 1))}…${text.slice(text.length - end)}`;
}

const measuring = document.createElement("canvas").getContext("2d");

/** A text that is no longer than so many letters: its beginning. */
export function begun(text, longest) {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}

/** As much of a text as there is room for. */
export function fitted(text, { width, size }, font, shorten = shortened) {
  measuring.font = `500 ${size}px ${font}`;
  const wide = measuring.measureText(text).width;
  if (wide <= width) return text;
  let longest = Math.ceil((text.length * width) / wide);
  while (longest > 3 && measuring.measureText(shorten(text, longest)).width > width) longest -= 1;
  return shorten(text, longest);
}

/** A type without what all types have in front: `Server` of `OS::Nova::Server`. */
export function shortType(type) {
  return type.split("::").pop() || type;
}
