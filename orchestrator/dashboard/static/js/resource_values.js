// The values of a resource: properties, attributes, metadata, annotations, and what a server reported of a deployment.

import { el } from "./dom.js";
import { dateTime } from "./format.js";
import { badge, lookOf } from "./states.js";

const HIDDEN = "Values of a resource are shown only to users who have logged in: start the dashboard with --basic_auth or --auth.";

/** The panels with the values of what the page shows; none of what has no values. */
export function valueParts({ resource, deployment, drift, shows_values: shows, operation }) {
  if (!shows) return [el("p", { class: "note", text: HIDDEN })];
  if (!operation.in_force) return [];
  if (!resource) return [el("p", { class: "note", text: "It is gone, and has no values any more." })];
  return [
    drift.length > 0 && driftPanel(drift),
    deployment && deploymentPanel(deployment),
    panel("Properties", "as they were applied last; what may be secret is masked", resource.properties),
    panel("Attributes", "as they were last recorded: those that others refer to", resource.attributes),
    panel("Attributes that could not be read", "", resource.attribute_errors),
    panel("Metadata", "", resource.metadata),
    ...Object.entries(resource.annotations).map(([plugin, each]) => panel(`Annotations of ${plugin}`, "", each)),
  ].filter(Boolean);
}

function panel(title, about, values) {
  const entries = Object.entries(values);
  if (!entries.length) return null;
  const rows = entries.map(([name, value]) => line(name, value));
  return el("section", { class: "panel" }, head(title, about), frame(title, rows));
}

function head(title, about) {
  return el("div", { class: "panel-head" }, el("h2", { text: title }), about && el("p", { class: "muted small", text: about }));
}

function frame(title, rows) {
  return el("div", { class: "table-frame", role: "region", "aria-label": title, tabindex: "0" }, el("table", { class: "list resource-values" }, el("tbody", {}, ...rows)));
}

function line(name, value) {
  return el("tr", {}, el("th", { scope: "row", class: "wrap", text: name }), el("td", {}, valueElement(value)));
}

function valueElement(value) {
  if (value === null || value === "") return el("span", { class: "muted", text: value === null ? "no value" : "empty" });
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return el("pre", { class: "value", text });
}

// How the object differs from what is recorded, a line for each property.
function driftPanel(drift) {
  const title = "Changed by others";
  const rows = drift.map(({ key, hidden, recorded, observed, standing, why, since_at: since }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", class: "wrap", text: key || "the object is gone" }),
      el(
        "td",
        {},
        key && !hidden ? el("div", {}, "recorded ", valueElement(recorded), " observed ", valueElement(observed)) : null,
        hidden ? el("div", { class: "muted", text: "its values are secrets" }) : null,
        el("p", { class: "muted small", text: `since ${dateTime(since)}; ${standing}${why ? `: ${why}` : ""}` }),
      ),
    ),
  );
  return el("section", { class: "panel" }, head(title, "how the object differs from what is recorded"), frame(title, rows));
}

function deploymentPanel(deployment) {
  const { status, outputs, updated_at: updated } = deployment;
  const rows = outputs.map(([name, value]) => line(name, value));
  const at = updated === null ? null : el("span", { class: "muted small", text: `reported ${dateTime(updated)}` });
  const reason = deployment.status_reason ? el("p", { class: "note", text: deployment.status_reason }) : null;
  return el(
    "section",
    { class: "panel" },
    el("div", { class: "panel-head" }, el("h2", { text: "Output of the software deployment" }), el("span", {}, badge(lookOf("", status), status || "no status"), " ", at)),
    reason,
    outputs.length ? frame("Output of the software deployment", rows) : el("p", { class: "empty", text: "The server has reported no output." }),
  );
}
