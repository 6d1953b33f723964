// A shared worker: the one connection of all pages of a browser, which have only six to one server. It listens to the
// events of all stacks, and passes on to each page those of the stack that the page is about.
//
// A page sends `{ open: true, url, stack, since }`, where a `stack` of null stands for all, and `{ open: false }`. It is
// sent `{ name, data, id }`: `open`, `error` with the state of the connection, and the messages of the stream as text.

const KEPT = 5000; // Events for pages that come later: what they have loaded is a little older than the connection.

const pages = new Map(); // What each page follows, by its port.
let source = null;
let lastId = null;
let kept = [];
let keptAfter = null; // Every event after this id is kept.

self.onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data }) => (data.open ? join(port, data) : leave(port));
};

function join(port, { url, stack, since }) {
  pages.set(port, { stack });
  if (source === null) connect(url, since);
  else if (source.readyState === EventSource.OPEN) port.postMessage({ name: "open" });
  if (since === null || since >= (lastId ?? since)) return;
  if (keptAfter === null || since < keptAfter) port.postMessage({ name: "resync", data: "{}", id: lastId });
  else passOn(port, stack, kept.filter((event) => event.id > since));
}

function leave(port) {
  pages.delete(port);
  if (pages.size) return;
  source?.close();
  source = null;
}

function connect(url, since) {
  // After a break, the other pages have all until then.
  if (lastId === null) lastId = keptAfter = since;
  source = new EventSource(lastId === null ? url : `${url}?since=${lastId}`);
  const on = (name, heard) =>
    source.addEventListener(name, ({ data, lastEventId }) => {
      if (lastEventId) lastId = Number(lastEventId);
      keptAfter ??= lastId;
      heard(data);
    });
  on("events", (data) => {
    const events = JSON.parse(data);
    kept.push(...events);
    if (kept.length > KEPT) keptAfter = kept.splice(0, kept.length - KEPT).at(-1).id;
    for (const [port, { stack }] of pages) passOn(port, stack, events);
  });
  on("resync", (data) => {
    kept = [];
    keptAfter = lastId;
    tell({ name: "resync", data, id: lastId });
  });
  for (const name of ["tick", "trouble"]) on(name, (data) => tell({ name, data, id: lastId }));
  source.onopen = () => tell({ name: "open" });
  source.onerror = () => {
    const state = source.readyState;
    // The browser tries again by itself, unless it was refused: then a page does, which knows why.
    if (state === EventSource.CLOSED) source = null;
    tell({ name: "error", data: state });
  };
}

function passOn(port, stack, events) {
  const wanted = stack === null ? events : events.filter((event) => event.stack_id === stack);
  if (wanted.length) port.postMessage({ name: "events", data: JSON.stringify(wanted), id: wanted.at(-1).id });
}

function tell(message) {
  for (const port of pages.keys()) port.postMessage(message);
}
