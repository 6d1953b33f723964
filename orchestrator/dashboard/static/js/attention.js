// What needs a person: findings by kind, each with one action.

import { byId, el, page, setText } from "./dom.js";
import { count, counted, dateTime, showAgo } from "./format.js";
import { askForOrder } from "./order_dialog.js";
import { poll } from "./poll.js";
import { showOnce, showRows } from "./rows.js";

const EVERY = 5000; // Milliseconds. The server keeps its answer for almost as long, for all pages together.
const LINKS = {
  machine: "See the node",
  failed: "See why it failed",
  stuck: "See the workers",
  held: "See it in the graph",
  quiet: "See the timeline",
  rolled_back: "See why it failed",
  partial: "See the stack",
  drift: "See its events",
  stale: "See the stack",
  sink: "See its events",
  cache: "See the caches",
};
const ACTIONS = {
  retry: { button: "Try again", after: "The stack is updated with its present definition." },
  cancel: { button: "Cancel", after: "The operation under way ends, and is rolled back." },
  clear_hook: { button: "Clear breakpoint", after: "The resource continues." },
};
// What is done on a terminal.
const BY_COMMAND = new Set(["database", "broker", "process"]);

let may = new Set(); // The actions that the visitor may do.

function root() {
  return page().stacks.replace(/stacks$/, "");
}

function makeGroup(group) {
  const id = `attention-${group.kind}`;
  return el(
    "section",
    { class: "panel attention-group", "aria-labelledby": id, data: { kind: group.kind } },
    el("div", { class: "panel-head" }, el("h2", { id }), el("span", { class: "muted small" })),
    el("ul", { class: "findings" }),
    el("p", { class: "findings-more small", hidden: true }),
  );
}

function updateGroup(section, group) {
  const [head, list, more] = section.children;
  setText(head.firstElementChild, group.title);
  setText(head.lastElementChild, counted(group.total, "finding"));
  showRows(list, group.findings, {
    key: (each) => [each.subject, each.stack_id, each.resource, each.hook].join("\n"),
    make: makeFinding,
    update: updateFinding,
  });
  const left = group.total - group.findings.length;
  more.hidden = !left;
  showOnce(more, [left, group.page], () => {
    const words = `and ${count(left)} more`;
    return [group.page ? el("a", { href: root() + group.page, text: words }) : words];
  });
}

function makeFinding() {
  return el(
    "li",
    { class: "finding" },
    el(
      "div",
      { class: "finding-text" },
      el("p", { class: "finding-subject" }),
      el("p", { class: "finding-what" }),
      el("p", { class: "muted small" }),
    ),
    el(
      "div",
      { class: "finding-side" },
      el("span", { class: "finding-since muted small" }, el("time", { class: "ago" })),
      el("span", { class: "finding-action" }),
    ),
  );
}

function updateFinding(row, finding) {
  const [subject, what, why] = row.firstElementChild.children;
  const name = finding.stack && finding.stack !== finding.subject ? `${finding.subject} of ${finding.stack}` : finding.subject;
  showOnce(subject, [name, finding.page], () => [finding.page ? el("a", { href: root() + finding.page, text: name }) : name]);
  setText(what, finding.what);
  setText(why, finding.why);
  const [since, action] = row.lastElementChild.children;
  since.hidden = finding.since === null;
  showAgo(since.lastElementChild, finding.since);
  const acts = finding.action && may.has(finding.action);
  const told = [acts, finding.action, finding.stack_id, finding.traversal_id, finding.page, finding.command];
  showOnce(action, told, () => [acts ? button(finding) : elsewhere(finding)]);
}

function button(finding) {
  const words = ACTIONS[finding.action].button;
  const subject = finding.resource ? `${finding.resource} of ${finding.stack}` : finding.stack;
  return el("button", {
    type: "button",
    class: "btn btn-sm btn-outline-secondary",
    text: words,
    "aria-label": `${words}: ${subject}`,
    "aria-haspopup": "dialog",
    on: { click: () => ask(finding, subject) },
  });
}

function elsewhere(finding) {
  if (!finding.page || BY_COMMAND.has(finding.kind)) return el("code", { text: finding.command });
  const words = LINKS[finding.kind];
  return el("a", {
    class: "btn btn-sm btn-outline-secondary",
    href: root() + finding.page,
    text: words,
    "aria-label": `${words}: ${finding.subject}`,
  });
}

/** Ask for confirmation, and send the order for the operation that the finding is about. */
function ask(finding, subject) {
  const { button: words, after } = ACTIONS[finding.action];
  const { stack_id, traversal_id, stack: confirm, resource, hook: kind } = finding;
  askForOrder({
    words: `${words}: ${subject}`,
    after,
    address: `${root()}stack/${encodeURIComponent(stack_id)}/act/${finding.action}`,
    order: { stack_id, traversal_id, confirm, ...(finding.action === "clear_hook" ? { resource, kind } : {}) },
  });
}

function show(answer) {
  may = new Set(answer.may);
  showRows(byId("attention-groups"), answer.groups, { key: (group) => group.kind, make: makeGroup, update: updateGroup });
  byId("attention-empty").hidden = answer.total > 0;
  if (!answer.total) {
    const time = byId("attention-empty-time");
    time.dateTime = new Date(answer.as_of * 1000).toISOString();
    setText(time, dateTime(answer.as_of));
  }
  setText(byId("attention-summary"), answer.total ? counted(answer.total, "finding") : "nothing needs attention");
  const number = document.querySelector(".section[aria-current] .section-number");
  if (number) {
    number.hidden = !answer.total;
    setText(number, count(answer.total));
  }
}

poll(`${page().stacks}/attention/data`, { every: EVERY, show });
