// On a narrow screen a table's rows are a few lines each, below each other (stacks.css): then what stands in a cell says
// itself of which column it is.

const narrow = matchMedia("(max-width: 40rem)");

function labelAll() {
  for (const table of document.querySelectorAll(".stacks-page table.list")) {
    const heads = table.tHead?.rows[0]?.cells ?? [];
    for (const { cells, parentElement } of table.rows) {
      // A row of another shape has no column headings.
      if (parentElement === table.tHead || cells.length !== heads.length) continue;
      for (const cell of cells) if (cell.tagName === "TD") cell.dataset.label ??= heads[cell.cellIndex].textContent;
    }
  }
}

const seen = new MutationObserver(labelAll);

function follow() {
  seen.disconnect();
  if (!narrow.matches) return;
  labelAll();
  seen.observe(document.querySelector(".stacks-page"), { childList: true, subtree: true });
}

narrow.addEventListener("change", follow);
follow();
