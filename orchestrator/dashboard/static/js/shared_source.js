// Where a page's events come from: the connection that all pages of a browser share, or, where there are no shared
// workers, one of its own.

/** Open the stream at an address, after the event with the id `since`, or null: an EventSource, or what is used like one. */
export function openSource(url, since) {
  const { stacks, stack, stackId } = document.getElementById("stacks-page")?.dataset ?? {};
  const all = `${stacks}/stream`;
  if (window.SharedWorker && url === all) return new SharedSource(all, null, since);
  if (window.SharedWorker && stack && url === `${stack}/stream`) return new SharedSource(all, stackId, since);
  return new EventSource(since === null ? url : `${url}${url.includes("?") ? "&" : "?"}since=${since}`);
}

/** A page's part of the shared connection; has what an EventSource has, as far as it is used. */
class SharedSource {
  readyState = EventSource.CONNECTING;
  onopen = () => {};
  onerror = () => {};
  #heard = new Map();
  #port;

  constructor(url, stack, since) {
    this.#port = new SharedWorker(new URL("stream_worker.js", import.meta.url)).port;
    this.#port.addEventListener("message", ({ data }) => this.#take(data));
    this.#port.start();
    this.#port.postMessage({ open: true, url: new URL(url, location.href).href, stack, since });
  }

  addEventListener(name, heard) {
    this.#heard.set(name, heard);
  }

  close() {
    if (this.readyState !== EventSource.CLOSED) this.#port.postMessage({ open: false });
    this.readyState = EventSource.CLOSED;
    this.#port.close();
  }

  #take({ name, data, id }) {
    if (this.readyState === EventSource.CLOSED) return;
    if (name === "error") {
      this.readyState = data;
      this.onerror();
      return;
    }
    const wasOpen = this.readyState === EventSource.OPEN;
    this.readyState = EventSource.OPEN;
    if (!wasOpen) this.onopen();
    this.#heard.get(name)?.({ data, lastEventId: id === null || id === undefined ? "" : String(id) });
  }
}
