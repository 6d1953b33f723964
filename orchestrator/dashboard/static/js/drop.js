// Files that are dropped on an element of the page.

/** Call `taken` with the files that are dropped on an element; nothing in it gets them. */
export function onDrop(element, taken) {
  const hasFiles = (event) => event.dataTransfer.types.includes("Files");
  element.addEventListener(
    "dragover",
    (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      element.classList.add("is-over");
    },
    { capture: true },
  );
  element.addEventListener("dragleave", () => element.classList.remove("is-over"));
  element.addEventListener(
    "drop",
    (event) => {
      element.classList.remove("is-over");
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      event.stopPropagation();
      taken([...event.dataTransfer.files]);
    },
    { capture: true },
  );
}
