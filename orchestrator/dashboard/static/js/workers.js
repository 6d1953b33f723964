// The processes of the engine, grouped by Celery's workers, and stuck resources.

import { byId, el, page, setText } from "./dom.js";
import { agoWords, count, counted, duration, elapsed, now, showAgo } from "./format.js";
import { nodeUrl, showState, showStateCounts } from "./node_states.js";
import { poll } from "./poll.js";
import { showOnce, showRows } from "./rows.js";
import { flowerUrl, workerWords } from "./worker_names.js";

const EVERY = 2000; // Milliseconds.
const COLUMNS = 7;
const MOST_WORKS = 8; // A process with many threads works on many resources.
const MEANINGS = {
  lost: "the lease of its worker has expired; another worker takes over",
  undelivered: "no worker has taken it: is one running, and is the broker healthy?",
  overdue: "its next check is overdue: is a coordinator running?",
};

/** The address of one of a stack's resources in its graph; without one, of the whole graph. */
function resourceUrl(stackId, resource) {
  const base = page().stacks.replace(/stacks$/, "stack");
  const focus = resource && `?focus=${encodeURIComponent(resource)}`;
  return `${base}/${encodeURIComponent(stackId)}/graph${focus}`;
}

/** The words for a piece of work: the end of an operation has no resource. */
function workName(resource) {
  return resource || "the end of the operation";
}

// -- processes ----------------------------------------------------------------------------------------------------

function makeWorker() {
  return el(
    "tbody",
    {},
    el(
      "tr",
      { class: "worker-head", data: { key: "head" } },
      el(
        "th",
        { scope: "rowgroup", colspan: String(COLUMNS) },
        el(
          "div",
          { class: "worker-facts" },
          el("span", { class: "worker-name" }),
          el("span", { class: "muted small worker-celery" }),
          el("span", { class: "small worker-node" }),
        ),
      ),
    ),
  );
}

function updateWorker(body, worker) {
  const name = worker.name || "Without a worker of Celery's";
  const known = worker.name && worker.heartbeat;
  showOnce(body.querySelector(".worker-name"), [name, Boolean(known)], () => [
    known ? el("a", { href: flowerUrl(worker.name), text: name }) : name,
  ]);
  setText(body.querySelector(".worker-celery"), celeryWords(worker));
  showOnce(body.querySelector(".worker-node"), worker.node, () =>
    worker.node ? [el("a", { href: nodeUrl(worker.node), text: `node ${worker.node}` })] : [],
  );
  showProcesses(body, worker);
}

function celeryWords({ name, node, heartbeat, processes, not_shown: others }) {
  const more = others ? ` · ${count(others)} more that have stopped` : "";
  if (!name) return `they serve the API, do the work of a command, or have no known worker${more}`;
  if (!heartbeat) return `Celery has not heard of it since this dashboard began${more}`;
  const heard = heartbeat.seen_seconds === null ? "it has left Celery" : `Celery's last heartbeat ${agoWords(heartbeat.seen_seconds)}`;
  const away = heartbeat.alive || heartbeat.seen_seconds === null ? "" : ", which is too long";
  const works = heartbeat.active === null ? "" : ` · ${counted(heartbeat.active, "task")} now, ${count(heartbeat.processed ?? 0)} so far`;
  const none = processes.length ? "" : node ? " · an agent, which never uses the database" : " · none of its processes is in the database";
  return `${heard}${away}${works}${none}${more}`;
}

function showProcesses(body, worker) {
  // The head of the group is one of its rows.
  showRows(body, [body.firstElementChild, ...worker.processes], {
    key: (each) => (each === body.firstElementChild ? "head" : each.name),
    make: () =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, el("span", { class: "process-name" }), el("span", { class: "process-host muted small clip" })),
        el("td", {}, el("span")),
        el("td", {}, el("time", { class: "ago" })),
        el("td", {}, el("ul", { class: "works" })),
        el("td", { class: "wrap small" }),
        el("td", { class: "clip small" }),
        el("td", {}, el("time", { class: "ago" })),
      ),
    update(row, each) {
      if (row !== each) updateProcess(row, each);
    },
  });
}

function updateProcess(row, process) {
  const [name, state, seen, works, queues, version, started] = row.children;
  setText(name.firstElementChild, `${process.kind} ${process.pid}`);
  setText(name.lastElementChild, process.host);
  name.title = process.name;
  showState(state.firstElementChild, process.state);
  showAgo(seen.firstElementChild, process.seen_at);
  if (process.kind === "api") showLines(works.firstElementChild, [`serves ${process.address}`, ...process.errors]);
  else showWorks(works.firstElementChild, process.works_on);
  setText(queues, process.queues.join(", ") || "–");
  setText(version, process.version || "–");
  showAgo(started.firstElementChild, process.started_at);
}

// What a process of the API reports: where it is reached, and its last errors.
function showLines(list, lines) {
  showRows(list, lines, {
    key: (line) => line,
    make: () => el("li", { class: "wrap small" }),
    update: (item, line) => setText(item, line),
  });
}

function showWorks(list, works) {
  const shown = works.length > MOST_WORKS ? [...works.slice(0, MOST_WORKS), null] : works.length ? works : [null];
  const more = works.length ? `and ${count(works.length - MOST_WORKS)} more` : "nothing";
  showRows(list, shown, {
    key: (work) => (work ? `${work.stack_id} ${work.resource}` : "rest"),
    make: (work) =>
      work
        ? el(
            "li",
            {},
            el("a", { class: "wrap", href: resourceUrl(work.stack_id, work.resource), text: `${work.stack} ${workName(work.resource)}` }),
            el("span", { class: "work-lease muted small" }),
          )
        : el("li", { class: "muted" }),
    update(item, work) {
      if (!work) return setText(item, more);
      const since = work.since === null ? "" : ` for ${elapsed(now() - work.since)}`;
      const left = work.lease_until - now();
      const lease = left >= 0 ? `lease ends in ${elapsed(left)}` : `lease ended ${agoWords(-left)}`;
      setText(item.lastElementChild, `${work.action}${since}, ${lease}`);
    },
  });
}

// -- stuck resources-----------------------------------------------------------------------------------------------

const STUCK = {
  key: (each) => `${each.stack_id} ${each.resource} ${each.why}`,
  make: (each) =>
    el(
      "tr",
      {},
      el("td", { class: "clip", text: each.stack, title: each.stack }),
      el("th", { scope: "row", class: "clip" }, el("a", { href: resourceUrl(each.stack_id, each.resource), text: workName(each.resource), title: workName(each.resource) })),
      el("td"),
      el("td", {}, el("span")),
      el("td", { class: "number" }),
      el("td", { class: "wrap small" }),
    ),
  update(row, each) {
    setText(row.children[2], each.action);
    showState(row.children[3].firstElementChild, each.why);
    setText(row.children[4], duration(each.seconds));
    setText(row.children[5], [MEANINGS[each.why], each.worker && `worker ${workerWords(each.worker)}`].filter(Boolean).join(" · "));
  },
};

function show(answer) {
  const { workers, stuck, counts } = answer;
  const table = byId("workers-frame").firstElementChild;
  showRows(table, [table.tHead, ...workers], {
    key: (each) => (each === table.tHead ? "head" : `worker ${each.name}`),
    make: makeWorker,
    update(body, worker) {
      if (worker !== table.tHead) updateWorker(body, worker);
    },
  });
  byId("workers-frame").hidden = !workers.length;
  byId("workers-empty").hidden = Boolean(workers.length);
  showRows(byId("stuck-rows"), stuck, STUCK);
  byId("stuck-frame").hidden = !stuck.length;
  byId("stuck-empty").hidden = Boolean(stuck.length);
  showStateCounts(byId("workers-counts"), counts);
  const silent = counts.silent ? `${counted(counts.silent, "process")} silent` : "";
  setText(byId("workers-summary"), [silent, stuck.length && `${count(stuck.length)} stuck`].filter(Boolean).join(", ") || "all well");
}

// The head of each table stays where it is.
byId("workers-frame").firstElementChild.tHead.dataset.key = "head";
poll(`${page().stacks}/workers/data`, { every: EVERY, show });
