// Shows only what has all the words that are typed; without it, everything is shown.
const place = document.getElementById("filter-place");
place.innerHTML = '<label for="filter">Filter</label> <input id="filter" type="search" autocomplete="off">' +
  '<p id="filter-count" role="status"></p>';
const items = [...document.querySelectorAll("[data-filter]")];
document.getElementById("filter").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const item of items) {
    const text = item.textContent.toLowerCase();
    item.hidden = !words.every((word) => text.includes(word));
    shown += item.hidden ? 0 : 1;
  }
  for (const family of document.querySelectorAll(".family")) {
    family.hidden = !family.querySelector("[data-filter]:not([hidden])");
  }
  document.getElementById("filter-count").textContent = words.length ? `${shown} of ${items.length}` : "";
});
