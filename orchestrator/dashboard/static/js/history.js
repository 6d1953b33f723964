// A stack's operations, newest first, and the changes of each to the definition.

import { keepInAddress } from "./address.js";
import { changesView } from "./changes.js";
import { byId, el, page, setText, stackUrl } from "./dom.js";
import { count, counted, duration, elapsed, now, timeElement } from "./format.js";
import { streamUrl } from "./head.js";
import { actionBadge } from "./states.js";
import { fetchJson, follow } from "./stream.js";

const PAGE = 50;
const TYPING_MILLISECONDS = 250;
const body = byId("history-rows");
const form = byId("history-filters");
let asked = ""; // The filter of the operations that are shown.
let operations = [];
let more = false;
const rows = new Map(); // Rows, and what they show, by the operation's id.

/** How many resources an operation did what to: `2 made, 1 replaced`. */
function didWords(operation) {
  const did = ["made", "changed", "replaced", "deleted", "failed"].filter((each) => operation[each]);
  return did.map((each) => `${count(operation[each])} ${each}`).join(", ") || "–";
}

function planWords({ plan, planned_by: by }) {
  return `Applied the plan ${plan}${by ? `, made by ${by}` : ""}.`;
}

function newRow(operation) {
  const { stack } = page();
  const past = `?traversal=${encodeURIComponent(operation.id)}`;
  const link = (tab) => el("a", { href: `${stack}/${tab}${past}`, text: tab });
  const changes = el("button", {
    type: "button",
    class: "btn btn-sm btn-outline-secondary",
    "aria-expanded": "false",
    text: "Changes",
    on: { click: () => toggle(operation.id) },
  });
  const compared = el("a", { href: `${stack}/compare?b=${encodeURIComponent(operation.id)}`, text: "compare", title: "Compare it with the operation before it" });
  const element = el(
    "tr",
    {},
    el("th", { scope: "row" }, actionBadge(operation.action, operation.status)),
    el("td", {}, timeElement(operation.begun_at)),
    el("td", { class: "wrap small", text: operation.user || "–" }),
    el("td", { class: "number took" }),
    el("td", { class: "wrap did", text: didWords(operation) }),
    el(
      "td",
      { class: "wrap small" },
      operation.comment ? el("p", { class: "comment", text: `“${operation.comment}”` }) : null,
      operation.plan ? el("p", { class: "applied-plan muted", text: planWords(operation) }) : null,
      operation.reason,
    ),
    el("td", {}, el("span", { class: "links" }, link("graph"), link("timeline"), link("events"), compared, changes)),
  );
  return { element, changes, detail: null };
}

/** The filter, as arguments of the server. */
function filter() {
  const { action, status, user } = form.elements;
  return { action: action.value, status: status.value, user: user.value.trim() };
}

function address(parameters = {}) {
  return stackUrl("history.json", { ...filter(), limit: PAGE, ...parameters });
}

function show() {
  const shown = new Set(operations.map((each) => each.id));
  for (const [id, row] of rows) {
    if (shown.has(id)) continue;
    row.element.remove();
    row.detail?.remove();
    rows.delete(id);
  }
  byId("history-empty").hidden = operations.length > 0;
  let before = null;
  for (const operation of operations) {
    const told = JSON.stringify(operation);
    let row = rows.get(operation.id);
    if (row?.told !== told) {
      const made = { ...newRow(operation), told, operation };
      if (row) {
        row.element.replaceWith(made.element);
        made.detail = row.detail;
        made.changes.setAttribute("aria-expanded", String(Boolean(row.detail)));
      } else if (before) before.after(made.element);
      else body.prepend(made.element);
      rows.set(operation.id, made);
      row = made;
    }
    before = row.detail ?? row.element;
  }
  setText(byId("history-range"), `${counted(operations.length, "operation")}${more ? "" : ", all there are"}`);
  byId("history-older").disabled = !more;
  tick();
}

function tick() {
  for (const { element, operation } of rows.values()) {
    const took = operation.duration_seconds;
    setText(element.querySelector(".took"), took === null ? elapsed(now() - operation.begun_at) : duration(took));
  }
}

/** Show an operation's changes below it, or hide them again. */
async function toggle(id) {
  const row = rows.get(id);
  if (row.detail) {
    row.detail.remove();
    row.detail = null;
    row.changes.setAttribute("aria-expanded", "false");
    return;
  }
  const cell = el("td", { colspan: "7" }, el("p", { class: "muted", text: "Comparing …" }));
  row.detail = el("tr", { class: "changes-row" }, cell);
  row.changes.setAttribute("aria-expanded", "true");
  row.element.after(row.detail);
  try {
    const changes = await fetchJson(`${page().stack}/changes.json?traversal=${encodeURIComponent(id)}`);
    cell.replaceChildren(changesView(changes));
  } catch (error) {
    cell.replaceChildren(el("p", { class: "trouble", text: error.message }));
  }
}

byId("history-older").addEventListener("click", async (click) => {
  click.target.disabled = true;
  const last = operations.at(-1).id;
  const wanted = address({ after: last });
  const answer = await fetchJson(wanted).catch(() => null);
  // Another filter may have been chosen meanwhile.
  if (answer && wanted === address({ after: last })) {
    operations = [...operations, ...answer.operations];
    more = answer.more;
  }
  show();
});

const { action, status, user } = form.elements;
keepInAddress({ action, status, user }, () => followed.refresh());
let typing = null;
form.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => followed.refresh(), TYPING_MILLISECONDS);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  followed.refresh();
});

const followed = follow(streamUrl(), {
  async load(signal) {
    const wanted = address();
    const answer = await fetchJson(wanted, { signal });
    if (wanted !== asked) operations = [];
    asked = wanted;
    // Older ones that were loaded on demand stay.
    const told = new Set(answer.operations.map((each) => each.id));
    const older = answer.more ? operations.filter((each) => !told.has(each.id)) : [];
    operations = [...answer.operations, ...older];
    more = older.length ? more : answer.more;
    show();
    return answer;
  },
  apply: () => followed.refresh(),
  every: 1000,
});
setInterval(tick, 1000);
