// Orders to the server: what changes something is sent as JSON, with the token of this page.

/**
 * Send an order, and return its result; throws the refusal of the server, with its `status`, and its `problems` if it
 * names any. Without a `status`, there was no answer.
 */
export async function sendOrder(address, order, { signal } = {}) {
  let answer;
  try {
    answer = await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-XSRFToken": token() },
      body: JSON.stringify(order),
      signal,
    });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Error("The dashboard does not answer: the result is unknown. Check the stack before you try again.");
  }
  const told = await answer.json().catch(() => ({}));
  if (answer.ok) return told;
  throw Object.assign(new Error(told.error ?? `The dashboard answered ${answer.status}.`), { problems: told.problems, status: answer.status });
}

function token() {
  return document.cookie.match(/(?:^|;\s*)_xsrf=([^;]*)/)?.[1] ?? "";
}
