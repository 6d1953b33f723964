// Flower's tables, mended for those who use no mouse or no screen: DataTables writes the role of its links into an
// attribute that means nothing, `aria-role`, and cells that scroll cannot be reached with the keyboard.

function mend() {
  for (const link of document.querySelectorAll("[aria-role]")) {
    link.setAttribute("role", link.getAttribute("aria-role"));
    link.removeAttribute("aria-role");
  }
  for (const cell of document.querySelectorAll("td.overflow-auto:not([tabindex])")) {
    if (cell.scrollWidth > cell.clientWidth) cell.tabIndex = 0;
  }
}

new MutationObserver(mend).observe(document.getElementById("main-content"), { childList: true, subtree: true });
addEventListener("resize", mend);
mend();
