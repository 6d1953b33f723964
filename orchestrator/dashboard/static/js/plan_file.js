// Files of saved plans: opened on this machine, sent and received as base64, and saved again.

import { save } from "./graph_export.js";

/** The content of a file in base64. */
export async function fileInBase64(file) {
  const address = await new Promise((done, failed) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => done(reader.result));
    reader.addEventListener("error", () => failed(new Error(`${file.name} cannot be read: ${reader.error.message}`)));
    reader.readAsDataURL(file);
  });
  // An empty file has no comma and nothing behind it in some browsers.
  return address.split(",")[1] ?? "";
}

/** Have the browser save a plan, as the server sent it. */
export function savePlan({ name, plan }) {
  const content = Uint8Array.from(atob(plan), (each) => each.charCodeAt(0));
  save(new Blob([content], { type: "application/octet-stream" }), name);
}
