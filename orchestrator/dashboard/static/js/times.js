// Times of the server's JSON, which are ISO 8601 in UTC, as pages compute with them: seconds since the epoch.

const OTHERS = new Set(["at", "since", "as_of", "now", "start", "end", "deadline", "failing_since", "lease_until"]);
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
/** What users and plugins have put in: their texts stay texts, whatever the keys. */
const THEIRS = new Set(["value", "parameters", "properties", "attributes", "metadata", "annotations", "before", "after"]);

/** A time in seconds since the epoch, to the microsecond. */
export function seconds(text) {
  const [whole, fraction = "0"] = text.slice(0, -1).split(".");
  return Date.parse(`${whole}Z`) / 1000 + Number(`0.${fraction}`);
}

/** The same data with times in seconds; changed in place, and returned. */
export function withSeconds(data) {
  if (data === null || typeof data !== "object") return data;
  for (const [key, value] of Object.entries(data)) {
    if (typeof value === "string") {
      if ((key.endsWith("_at") || OTHERS.has(key)) && ISO.test(value)) data[key] = seconds(value);
    } else if (!THEIRS.has(key)) {
      withSeconds(value);
    }
  }
  return data;
}
