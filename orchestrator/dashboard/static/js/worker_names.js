// Names of processes: the Celery name of the worker, and the process id on its machine.

import { el, page } from "./dom.js";

/** The parts of a process' name as in leases and events: `w1@host:3520:1795315705.03`. */
function partsOf(process) {
  const [, worker, pid] = /^(.+):(\d+):\d+\.\d+$/.exec(process ?? "") ?? [null, process ?? "", ""];
  return { worker, pid };
}

/** A process in words: `w1@host 3520`; empty for none. */
export function workerWords(process) {
  const { worker, pid } = partsOf(process);
  return pid ? `${worker} ${pid}` : worker;
}

/** The same as an element, which leads to Flower's page about the worker while there may be one; a dash for none. */
export function workerElement(process) {
  const { worker, pid } = partsOf(process);
  if (!worker) return "–";
  const mayBeThere = page().current === "true" && pid && !worker.startsWith("embedded@");
  const name = mayBeThere
    ? el("a", { href: flowerUrl(worker), text: worker, title: "Flower's page about this worker, as long as Celery hears of it" })
    : worker;
  return el("span", { title: process }, name, pid && el("span", { class: "muted", text: ` ${pid}` }));
}

/** Flower's page about one of Celery's workers. */
export function flowerUrl(worker) {
  return `${page().stacks.replace(/\/stacks$/, "/worker")}/${encodeURIComponent(worker)}`;
}
