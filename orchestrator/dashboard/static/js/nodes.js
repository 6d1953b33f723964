// The list of nodes.

import { meter, mib, pairs, showMeter } from "./amounts.js";
import { byId, el, page, setText } from "./dom.js";
import { counted, now, showAgo } from "./format.js";
import { nodeUrl, showState, showStateCounts } from "./node_states.js";
import { poll } from "./poll.js";
import { showRows } from "./rows.js";

const EVERY = 5000; // Milliseconds.
let nodes = [];

function make(node) {
  const cells = ["state", "labels", "memory", "free", "vcpus", "instances", "age", "reason"];
  return el(
    "tr",
    {},
    el("th", { scope: "row", class: "clip" }, el("a", { href: nodeUrl(node.name), text: node.name, title: node.name })),
    ...cells.map((name) => el("td", { class: CLASSES[name], data: { cell: name } }, ...within(name))),
  );
}

const CLASSES = { labels: "clip", free: "number", instances: "number", reason: "wrap small" };

function within(name) {
  if (name === "state") return [el("span")];
  if (name === "memory" || name === "vcpus") return [meter()];
  return name === "age" ? [el("time", { class: "ago" })] : [];
}

function update(row, node) {
  const cell = (name) => row.querySelector(`[data-cell="${name}"]`);
  showState(cell("state").firstElementChild, node.states);
  const labels = pairs(node.labels);
  setText(cell("labels"), labels);
  cell("labels").title = labels;
  const promised = node.promised.memory_mib ?? 0;
  const most = node.memory_mib === null ? null : (node.memory_mib - node.reserved_memory_mib) * node.memory_ratio;
  showMeter(cell("memory").firstElementChild, promised, most, most === null ? "–" : `${mib(promised)} of ${mib(most)}`);
  setText(cell("free"), mib(node.memory_free_mib));
  const vcpus = node.promised.vcpus ?? 0;
  const mostVcpus = node.vcpus === null ? null : node.vcpus * node.vcpu_ratio;
  const vcpusWords = mostVcpus === null ? "–" : `${vcpus} of ${Number(mostVcpus.toFixed(1))}`;
  showMeter(cell("vcpus").firstElementChild, vcpus, mostVcpus, vcpusWords);
  cell("vcpus").title = mostVcpus === null ? "" : `it has ${counted(node.vcpus, "processor")}, each promised ${node.vcpu_ratio} times at most`;
  setText(cell("instances"), node.instances ?? "–");
  showAgo(cell("age").firstElementChild, node.age_seconds === null ? null : now() - node.age_seconds);
  setText(cell("reason"), whyOf(node));
}

function whyOf(node) {
  const booted = node.booted ? "it has booted, and not all its resources have been checked since" : "";
  return [node.drain_reason, node.reason, booted].filter(Boolean).join("; ");
}

function has(node, text) {
  return [node.name, ...Object.entries(node.labels).map(([name, value]) => `${name}=${value}`)].some((each) =>
    each.toLowerCase().includes(text),
  );
}

function showList() {
  const text = byId("nodes-search").value.trim().toLowerCase();
  const shown = text ? nodes.filter((node) => has(node, text)) : nodes;
  showRows(byId("nodes-rows"), shown, { key: (node) => node.name, make, update });
  byId("nodes-frame").hidden = !shown.length;
  byId("nodes-empty").hidden = Boolean(nodes.length);
  byId("nodes-none").hidden = !nodes.length || Boolean(shown.length);
}

byId("nodes-search").addEventListener("input", showList);
poll(`${page().stacks}/nodes/data`, {
  every: EVERY,
  show(answer) {
    // Ages are as of the time of the answer.
    nodes = answer.nodes.map((node) => ({
      ...node,
      age_seconds: node.age_seconds === null ? null : node.age_seconds + answer.age_seconds,
    }));
    showStateCounts(byId("nodes-counts"), answer.counts);
    setText(byId("nodes-summary"), `${counted(nodes.length, "node")}: ${pairs(answer.counts)}`);
    showList();
  },
});
