// What is selected on a page stands in its address: it can be linked to, and the browser's back button leads back.

/** An argument of the page's address; empty if it is not there. */
export function inAddress(name) {
  return new URLSearchParams(location.search).get(name) ?? "";
}

/** Put an argument into the page's address; an empty one is left out. `inPlace`: the back button does not undo it. */
export function putInAddress(name, value, { inPlace = false } = {}) {
  const query = new URLSearchParams(location.search);
  if (value) query.set(name, value);
  else query.delete(name);
  const text = query.toString();
  history[inPlace ? "replaceState" : "pushState"](null, "", text ? `?${text}` : location.pathname);
}

/** Keep controls in the address, by the names of its arguments; `heard` is called when the back button changed them. */
export function keepInAddress(controls, heard) {
  const all = Object.entries(controls).filter(([, control]) => control);
  const read = () => {
    for (const [name, control] of all) {
      if (control.type === "checkbox") control.checked = inAddress(name) === "1";
      else control.value = inAddress(name);
    }
  };
  for (const [name, control] of all) {
    const isText = control.type === "search";
    const valueOf = () => (control.type === "checkbox" ? (control.checked ? "1" : "") : control.value.trim());
    control.addEventListener("input", () => putInAddress(name, valueOf(), { inPlace: isText }));
  }
  read();
  addEventListener("popstate", () => {
    read();
    heard();
  });
}
