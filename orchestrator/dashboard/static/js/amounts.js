// Meters: the used part of an amount as a bar, and in words.

import { el, setText } from "./dom.js";

/** An amount of MiB in words: `512 MiB`, `15.6 GiB`, `2 TiB`; a dash if unknown. */
export function mib(amount) {
  if (amount === null || amount === undefined) return "–";
  const units = ["MiB", "GiB", "TiB"];
  let value = amount;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${Number(value.toFixed(1))} ${units[unit]}`;
}

/** A share from 0 to 1 as `42.0 %`; a dash where there is none. */
export function share(part) {
  return part === null || part === undefined ? "–" : `${(100 * part).toFixed(1)} %`;
}

/** Pairs as `a=1, b=2`; a dash where there are none. */
export function pairs(values, tell = String) {
  const told = Object.entries(values).map(([name, value]) => `${name}=${tell(value)}`);
  return told.length ? told.join(", ") : "–";
}

/** An empty meter, with an element for its words. */
export function meter() {
  return el(
    "div",
    { class: "amount" },
    el("span", { class: "amount-words number" }),
    el("span", { class: "amount-bar", "aria-hidden": "true" }, el("span", { class: "amount-part" })),
  );
}

/** Show the used part of an amount; an excess is highlighted. Only words if the amount is unknown. */
export function showMeter(element, taken, there, words) {
  const part = element.querySelector(".amount-part");
  const ratio = there ? taken / there : 0;
  setText(element.querySelector(".amount-words"), words);
  part.style.width = `${Math.min(100, 100 * ratio)}%`;
  element.classList.toggle("full", ratio >= 0.9);
  element.classList.toggle("none", !there);
}
