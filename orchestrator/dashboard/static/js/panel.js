// The panel beside a graph: the details of one resource, or of one group.

import { el, keepFocus, page, resourceUrl, setText, stackUrl, typeElement } from "./dom.js";
import { agoElement, count, duration, now, preciseTime, untilElement } from "./format.js";
import { actionBadge, badge, showBadge, STATES, stateOf } from "./states.js";
import { seconds, withSeconds } from "./times.js";
import { usualOfResource } from "./usual.js";
import { workerElement } from "./worker_names.js";

const AGAIN_MILLISECONDS = 500;
/** What the list of tasks that `tasksUrl` leads to has in it. */
export const TASKS_FOUND = "Celery's tasks that began with it. A task continues with resources that it made ready, so this one may be part of a task that began with another";

export class Panel {
  /**
   * Args:
   *   frame: the element to fill; it is hidden while nothing is shown.
   *   heard: `closed(byHand)` when it is closed; `focus(vertex)`, and `go(name)` or `open(vertex)` when another resource
   *     is asked for.
   */
  constructor(frame, heard) {
    this.frame = frame;
    this.heard = heard;
    this.item = null;
    this.asked = 0;
    frame.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.close(true);
    });
  }

  /** Show one; with `byKey` the focus moves into the panel. `deletions` of what it replaces are vertices, too. */
  async open(item, byKey = false, deletions = []) {
    this.item = item;
    this.deletions = deletions;
    this.frame.hidden = false;
    this.title = el("h2", { tabindex: "-1", text: item.counts ? item.type : item.name });
    this.body = el("div", { class: "vertex-body" });
    const close = el("button", { type: "button", class: "btn-close", "aria-label": "Close", on: { click: () => this.close(true) } });
    this.frame.replaceChildren(el("header", { class: "vertex-head" }, this.title, close), this.body);
    this.frame.scrollTop = 0;
    if (byKey) this.title.focus({ preventScroll: true });
    if (item.counts) this.showGroup(item);
    else await this.load();
  }

  /** Close it; with `byHand` the focus returns to where it was opened. */
  close(byHand = false) {
    if (this.frame.hidden) return;
    clearTimeout(this.timer);
    this.item = null;
    this.frame.hidden = true;
    this.frame.replaceChildren();
    this.heard.closed(byHand);
  }

  /** Go on with the same vertex of another picture. */
  keep(vertex) {
    this.item = vertex;
    this.update([vertex]);
  }

  /** Something of these vertices changed. */
  update(vertices) {
    if (!this.item || this.item.counts || !vertices.includes(this.item)) return;
    if (this.state) showBadge(this.state, this.item.state);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), AGAIN_MILLISECONDS);
  }

  /** The groups were loaded anew. */
  updateGroups(groups) {
    if (!this.item?.counts) return;
    const group = groups.get(this.item.id);
    if (group) this.showGroup((this.item = group));
    else this.close();
  }

  async load() {
    const asked = ++this.asked;
    const { item } = this;
    let details;
    try {
      const answer = await fetch(stackUrl(`vertex/${item.no}.json`));
      details = withSeconds(await answer.json());
      if (!answer.ok) throw new Error(details.error);
    } catch (error) {
      if (asked === this.asked && item === this.item) this.body.replaceChildren(el("p", { class: "trouble", text: error.message }));
      return;
    }
    // Something else may have been chosen meanwhile.
    if (asked === this.asked && item === this.item) this.showDetails(details);
  }

  showDetails(details) {
    const { vertex } = details;
    const open = new Set([...this.body.querySelectorAll("details[open]")].map((each) => each.dataset.part));
    this.state = badge(vertex.state);
    const parts = [
      el("p", { class: "vertex-state" }, this.state, el("span", { class: "muted", text: stateOf(vertex.state).meaning })),
      vertex.reason && el("p", { class: vertex.state === "failed" ? "trouble" : "note", text: vertex.reason }),
      this.links(vertex),
      this.replaced(),
      this.facts(details),
      this.neighbours("Requires", details.requires, new Set(details.implied)),
      this.neighbours("Required by", details.required_by),
      this.spans(details),
      this.events(details, open),
      this.properties(details, open),
    ];
    const { scrollTop } = this.frame;
    keepFocus(this.body, () => this.body.replaceChildren(...parts.filter(Boolean)));
    this.frame.scrollTop = scrollTop;
  }

  links(vertex) {
    const links = [
      el("button", { type: "button", class: "btn btn-sm btn-outline-primary", text: "Focus", title: "Show only its neighbourhood", on: { click: () => this.heard.focus(vertex) } }),
      el("a", { class: "btn btn-sm btn-outline-secondary", href: resourceUrl(vertex.name), text: "Its page", title: "All about it: attempts, values and events" }),
      el("a", { class: "btn btn-sm btn-outline-secondary", href: stackUrl("events", { resource: vertex.name }), text: "Events" }),
      el("a", { class: "btn btn-sm btn-outline-secondary", href: stackUrl("template", { resource: vertex.name }), text: "Template" }),
      el("a", { class: "btn btn-sm btn-outline-secondary", href: tasksUrl(vertex), text: "Tasks", title: TASKS_FOUND }),
    ];
    if (vertex.nested_stack_id) links.splice(1, 0, el("a", { class: "btn btn-sm btn-outline-secondary", href: stackOf(vertex.nested_stack_id), text: "Its stack" }));
    return el("p", { class: "vertex-links" }, ...links);
  }

  /** What it replaces. */
  replaced() {
    if (!this.deletions.length) return null;
    const olds = this.deletions.map((old) =>
      el("li", {}, el("button", { type: "button", class: "btn btn-link", text: "the old one", on: { click: () => this.heard.open(old) } }), " ", badge(old.state)),
    );
    return el("section", { class: "vertex-part" }, el("h3", { text: "Replaces" }), el("ul", { class: "vertex-names" }, ...olds));
  }

  facts(details) {
    const { vertex } = details;
    const usual = usualOfResource(details, now());
    const retried = vertex.retries ? ` (${count(vertex.retries)} of them again after a failure)` : "";
    const facts = [
      ["Type", typeElement(vertex.type)],
      ["Action", vertex.replaced_by !== null ? `${vertex.action}, of what is replaced` : vertex.phase === "cleanup" ? `${vertex.action}, cleanup` : vertex.action],
      ["Physical id", vertex.physical_id],
      ["Resource id", vertex.resource_id],
      ["Attempts", vertex.attempt ? `${count(vertex.attempt)}${retried}` : null],
      ...nextLook(details),
      ["Worker", workerElement(vertex.worker)],
      ["Hook", vertex.hook],
      ["Step", count(vertex.layer + 1)],
      ["Made", details.created_at ? agoElement(details.created_at) : null],
      ["Changed", details.updated_at ? agoElement(details.updated_at) : null],
      ...(usual ? [[usual.word.replace(/:$/, ""), usual.value]] : []),
    ];
    const rows = facts.map(([word, value]) => el("div", {}, el("dt", { text: word }), el("dd", {}, value || "–")));
    return el("dl", { class: "vertex-facts" }, ...rows);
  }

  neighbours(word, names, implied = new Set()) {
    const note = (name) => (implied.has(name) ? el("span", { class: "muted", text: "implied by its type" }) : null);
    const shown = names.map((name) => el("li", {}, el("button", { type: "button", class: "btn btn-link", text: name, on: { click: () => this.heard.go(name) } }), note(name)));
    return el("section", { class: "vertex-part" }, el("h3", { text: `${word} (${count(names.length)})` }), names.length ? el("ul", { class: "vertex-names" }, ...shown) : el("p", { class: "muted", text: "nothing" }));
  }

  spans(details) {
    if (!details.spans.length) return null;
    const rows = details.spans.map((span) => {
      const lasted = duration((span.end ?? now()) - span.start);
      const attempt = span.attempt ? `, attempt ${span.attempt}` : "";
      return el("li", {}, el("span", { text: `${span.kind}${attempt}` }), el("span", { class: "number", text: span.end ? lasted : `${lasted} so far` }), span.reason ? el("span", { class: "vertex-reason", text: span.reason }) : null);
    });
    return el("section", { class: "vertex-part" }, el("h3", { text: "Where its time went" }), el("ol", { class: "vertex-spans" }, ...rows));
  }

  events(details, open) {
    const rows = details.events.map(([, moment, state, reason]) => {
      const at = seconds(moment);
      const split = state.indexOf("_");
      return el("li", {}, el("time", { text: preciseTime(at), datetime: new Date(at * 1000).toISOString() }), actionBadge(state.slice(0, split), state.slice(split + 1)), reason ? el("span", { class: "vertex-reason", text: reason }) : null);
    });
    return folded("events", `Last events (${count(rows.length)})`, el("ol", { class: "vertex-events" }, ...rows), open);
  }

  properties(details, open) {
    const text = Object.keys(details.properties).length ? JSON.stringify(details.properties, null, 2) : "none";
    return folded("definition", "Definition", el("pre", { class: "vertex-definition", tabindex: "0", "aria-label": "Definition" }, text), open);
  }

  showGroup(group) {
    const states = STATES.filter(({ name }) => group.counts[name]).map(({ name, word }) => el("li", {}, badge(name, `${count(group.counts[name])} ${word}`)));
    const names = group.names.map((name) => el("li", {}, el("button", { type: "button", class: "btn btn-link", text: name, on: { click: () => this.heard.focus({ name }) } })));
    const more = group.total - group.names.length;
    setText(this.title, group.type);
    const parts = [
      el("p", { class: "muted", text: `${count(group.total)} in step ${count(group.layer + 1)}` }),
      el("ul", { class: "chips" }, ...states),
      el("section", { class: "vertex-part" }, el("h3", { text: "Show the neighbourhood of one" }), el("ul", { class: "vertex-names" }, ...names), more > 0 ? el("p", { class: "muted small", text: `and ${count(more)} more: find them by their names above` }) : null),
    ];
    keepFocus(this.body, () => this.body.replaceChildren(...parts));
  }
}

/** When a resource that waits is tried, or looked at, again. */
function nextLook({ vertex, due_at: due }) {
  if (due === null) return [];
  return [[vertex.state === "retrying" ? "Next try" : "Looked at again", untilElement(due)]];
}

function folded(part, word, content, open) {
  return el("details", { class: "vertex-part", data: { part }, open: open.has(part) }, el("summary", { text: word }), content);
}

/** The address of another stack's pages. */
export function stackOf(id) {
  const { stack, stackId } = page();
  return stack.replace(stackId, id);
}

/** Flower's list of the tasks that were about a resource; it reads what stands in `name` as one search. */
export function tasksUrl(vertex) {
  const quoted = (text) => `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
  const { stacks, stackName } = page();
  const search = `resource.check ${quoted(`kwargs:stack=${stackName}`)} ${quoted(JSON.stringify(vertex.name))}`;
  const flower = stacks.replace(/\/stacks$/, "/tasks");
  return `${flower}?name=${encodeURIComponent(search)}`;
}
