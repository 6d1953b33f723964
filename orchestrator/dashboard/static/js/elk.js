// Written by docs/make_frontend.py. The library is imported from here alone.
import "../vendor/elkjs-0.12.1.api.js";

export default window.ELK;
/** What runs in a worker. */
export const workerUrl = new URL("../vendor/elkjs-0.12.1.worker.min.js", import.meta.url).href;
