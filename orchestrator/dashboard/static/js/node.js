// One node: its capacity, the promised part of it, and its resources.

import { meter, mib, pairs, showMeter } from "./amounts.js";
import { byId, el, page, setText } from "./dom.js";
import { agoWords, dateTime, duration } from "./format.js";
import { nodeUrl, showRawState, showState } from "./node_states.js";
import { poll } from "./poll.js";
import { showRows } from "./rows.js";

const EVERY = 5000; // Milliseconds.

/** The address of one of the pages about a stack. */
function stackUrl(stackId, tab) {
  const base = page().stacks.replace(/stacks$/, "stack");
  return `${base}/${encodeURIComponent(stackId)}/${tab}`;
}

function showFacts(node, answer, version) {
  const told = node.age_seconds === null ? null : answer.as_of - node.age_seconds;
  const facts = [
    ["Reported", told === null ? "not cached" : `${dateTime(told)} (${agoWords(node.age_seconds + answer.age_seconds)})`],
    ["Agent last seen", node.seen_at === null ? "never" : `${dateTime(node.seen_at)} (${agoWords((node.seen_seconds ?? 0) + answer.age_seconds)})`],
    ["Agent", [node.incarnation, node.holder].filter(Boolean).join(" ") || "–"],
    ["Version", version || "–"],
    ["Boot", node.boot_id || "–"],
    ["Labels", pairs(node.labels)],
    ["Hypervisors", node.hypervisors.join(", ") || "–"],
    ["Storage", pairs(node.storage)],
    ["Memory", mib(node.memory_mib)],
    ["Kept for the machine itself", mib(node.reserved_memory_mib)],
    ["Memory free, as reported", mib(node.memory_free_mib)],
    ["VCPUs", node.vcpus ?? "–"],
    ["Drained", node.drained ? `since ${dateTime(node.drained_at)}` : "no"],
    ["Invalidated by its agent", pairs({ ...answer.bumps, ...prefixed(answer.flushes) })],
  ];
  showRows(byId("node-facts"), facts, {
    key: ([name]) => name,
    make: ([name]) => el("div", {}, el("dt", { text: name }), el("dd")),
    update: (place, [, value]) => setText(place.querySelector("dd"), value),
  });
}

function prefixed(flushes) {
  return Object.fromEntries(Object.entries(flushes).map(([name, number]) => [`all: ${name}`, number]));
}

function amountsOf(node) {
  const amounts = [];
  if (node.memory_mib !== null) {
    const most = (node.memory_mib - node.reserved_memory_mib) * node.memory_ratio;
    amounts.push(["Memory", node.promised.memory_mib ?? 0, most, mib]);
  }
  if (node.vcpus !== null) {
    amounts.push(["VCPUs", node.promised.vcpus ?? 0, node.vcpus * node.vcpu_ratio, (number) => Number(number.toFixed(1))]);
  }
  for (const [kind, amount] of Object.entries(node.promised)) {
    if (kind !== "memory_mib" && kind !== "vcpus") amounts.push([kind, amount, null, kind.startsWith("disk:") ? mib : String]);
  }
  return amounts;
}

function showAmounts(node) {
  showRows(byId("node-amounts"), amountsOf(node), {
    key: ([name]) => name,
    make: ([name]) => el("div", {}, el("h3", { text: name }), meter()),
    update(place, [, taken, most, tell]) {
      showMeter(place.lastElementChild, taken, most, most === null ? `${tell(taken)}` : `${tell(taken)} of ${tell(most)}`);
    },
  });
}

/** Show a table, or the sentence in its place if there is nothing in it. */
function showTable(name, items, how) {
  showRows(byId(`node-${name}`), items, how);
  byId(`node-${name}-frame`).hidden = !items.length;
  byId(`node-${name}-empty`).hidden = Boolean(items.length);
}

function row(...cells) {
  return el("tr", {}, ...cells);
}

function set(place, ...values) {
  values.forEach((value, at) => {
    if (value === undefined) return;
    setText(place.children[at], value);
    place.children[at].title = value;
  });
}

const SECTIONS = {
  key: (each) => `${each.kind} ${each.name}`,
  make: () =>
    row(el("td"), el("th", { scope: "row", class: "clip" }), el("td", {}, el("span")), el("td", { class: "number" }), el("td", { class: "wrap small" })),
  update(place, each) {
    const said = Object.fromEntries(Object.entries(each.data).filter(([, value]) => value !== null && typeof value !== "object"));
    set(place, each.kind, each.type ? `${each.name} (${each.type})` : each.name, undefined, each.instances ?? "–", each.message || pairs(said));
    showState(place.children[2].firstElementChild, each.status);
  },
};

const INSTANCES = {
  key: (each) => `${each.hypervisor} ${each.id} ${each.name}`,
  make: () =>
    row(
      el("th", { scope: "row", class: "clip" }),
      el("td", {}, el("span")),
      el("td", { class: "clip" }),
      el("td", { class: "clip" }),
      el("td", {}, meter()),
      el("td", { class: "number" }),
      el("td", { class: "number" }),
    ),
  update(place, each) {
    set(place, each.name, undefined, undefined, each.hypervisor, undefined, each.vcpus, duration(each.cpu_seconds));
    showRawState(place.children[1].firstElementChild, each.state);
    set(place, undefined, undefined, `${each.stack} ${each.resource}`);
    const used = each.memory_used_mib;
    showMeter(place.children[4].firstElementChild, used ?? 0, used === null ? null : each.memory_mib, used === null ? `– of ${mib(each.memory_mib)}` : `${mib(used)} of ${mib(each.memory_mib)}`);
  },
};

const RESIDENTS = {
  key: (each) => `${each.stack_id} ${each.resource} ${each.physical_id}`,
  make: (each) =>
    row(
      el(
        "td",
        { class: "clip" },
        el("a", { href: stackUrl(each.stack_id, "resources"), text: each.stack }),
      ),
      el("th", { scope: "row", class: "clip" }),
      el("td", {}, el("span")),
      el("td", { class: "clip" }),
      el("td", { class: "clip" }),
    ),
  update(place, each) {
    set(place, undefined, each.resource, undefined, each.type, each.physical_id ?? "–");
    showRawState(place.children[2].firstElementChild, each.state);
  },
};

function show(answer) {
  const { node } = answer;
  byId("node-all").hidden = false;
  showState(byId("node-state"), node.states);
  setText(byId("node-summary"), `${node.name} is ${node.states}`);
  const booted = node.booted ? "It has booted, and not all its resources have been checked since." : "";
  const why = [node.drain_reason, node.reason, booted].filter(Boolean).join(" · ");
  byId("node-why").hidden = !why;
  setText(byId("node-why"), why);
  showAmounts(node);
  showFacts(node, answer, answer.version);
  showTable("sections", answer.sections, SECTIONS);
  showTable("residents", answer.residents, RESIDENTS);
  const found = answer.instances;
  setText(byId("node-instances-empty"), answer.no_instances || "There are none of this project.");
  setText(byId("node-instances-age"), found ? [`as reported ${agoWords(found.age_seconds + answer.age_seconds)}`, found.stale && "it does not answer now", ...found.faults].filter(Boolean).join(" · ") : "");
  showTable("instances", found?.instances ?? [], INSTANCES);
}

poll(`${nodeUrl(page().node)}/data`, { every: EVERY, show });
