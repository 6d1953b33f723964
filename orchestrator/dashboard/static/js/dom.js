// Elements made from plain values. Text is never parsed as markup: names and reasons come from users.

/**
 * Make an element. `attributes`: `class`, `text`, `on` (listeners by event), `data` (dataset), `style` (custom
 * properties and others, through the CSSOM, which a strict policy allows), and any attribute; those that are null,
 * undefined or false are left out, true is an empty one.
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  apply(element, attributes);
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** The same for what is drawn. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  apply(element, attributes);
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function apply(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name === "on") for (const [event, heard] of Object.entries(value)) element.addEventListener(event, heard);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "style") for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
    else element.setAttribute(name, value === true ? "" : value);
  }
}

/** Set an element's text if it differs, so that nothing is announced or selected anew. */
export function setText(element, text) {
  const told = String(text);
  if (element.textContent !== told) element.textContent = told;
}

/** Replace an element's children; the focus stays at the control with the same position. */
export function keepFocus(element, change) {
  const reachable = () => [...element.querySelectorAll("a[href], button, summary, input, select, [tabindex]")];
  const at = reachable().indexOf(document.activeElement);
  change();
  if (at >= 0) reachable()[at]?.focus({ preventScroll: true });
}

/** A function that has `draw` called in the next frame, once, however often it is called before that. */
export function onceAFrame(draw) {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      draw();
    });
  };
}

/** An element of the page that must be there. */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element ${id}`);
  return element;
}

/** The data attributes of this page: `stacks` (address of the list), `stack` (of this one), `traversal`. */
export function page() {
  return byId("stacks-page").dataset;
}

/** A resource type, as a link to its page; an alias or a file name is text alone. */
export function typeElement(name) {
  return isType(name) ? el("a", { href: typeUrl(name), text: name }) : el("span", { text: name });
}

/** Whether a name can be that of an installed type. */
export function isType(name) {
  return /^\w+(::\w+)+$/.test(name);
}

/** The address of the page about a resource type. */
export function typeUrl(name) {
  return `${page().stacks}/types/${encodeURIComponent(name)}`;
}

/** The address of one of this stack's data, with the operation that is looked at and other arguments. */
export function stackUrl(path, parameters = {}) {
  const { stack, traversal } = page();
  const query = new URLSearchParams();
  if (traversal) query.set("traversal", traversal);
  for (const [key, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== "") query.set(key, value);
  }
  const asked = query.toString();
  return asked ? `${stack}/${path}?${asked}` : `${stack}/${path}`;
}

/** The stream of this page; null for an operation of the past, and a deleted stack, which do not change any more. */
export function streamUrl() {
  const { stack, current } = page();
  return current === "true" ? `${stack}/stream` : null;
}

/** The address of a resource's page, of this stack or of another one. */
export function resourceUrl(name, stack = null) {
  const quoted = encodeURIComponent(name);
  return stack === null ? stackUrl(`resource/${quoted}`) : `${stack}/resource/${quoted}`;
}
