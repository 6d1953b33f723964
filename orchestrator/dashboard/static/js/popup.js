// A panel below a button: the button opens and closes it, Escape closes it, and so does whatever happens elsewhere.

/** Make `opener` open `panel`, which stands beside it in one element; `opened` is called before it is shown. */
export function popup(opener, panel, opened = () => {}) {
  const around = opener.parentElement;
  const open = (opens) => {
    if (opens) opened();
    panel.hidden = !opens;
    opener.setAttribute("aria-expanded", String(opens));
  };
  opener.addEventListener("click", () => open(panel.hidden));
  around.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || panel.hidden) return;
    open(false);
    opener.focus();
    event.preventDefault();
  });
  for (const name of ["click", "focusin"]) {
    document.addEventListener(name, ({ target }) => {
      // What a click has removed from the page was in the panel.
      if (!panel.hidden && target.isConnected && !around.contains(target)) open(false);
    });
  }
  return { close: () => open(false) };
}
