// Model of an operation's graph: the server's picture, updated by events. Without elements and drawing.

const BY_NAME = new Intl.Collator("en", { numeric: true });
const OVER = new Set(["done", "unchanged"]);

/** The state that an event implies, or null if it implies none. */
export function stateTold(event) {
  if (event.cause === "retry") return "retrying";
  if (event.cause === "lost") return "ready";
  return { IN_PROGRESS: "running", COMPLETE: "done", FAILED: "failed" }[event.status] ?? null;
}

export class Picture {
  /** Args: the server's answer to `graph.json`. */
  constructor(answer) {
    this.part = answer.part;
    this.focus = answer.focus;
    this.depth = answer.depth;
    this.omitted = answer.omitted;
    this.edges = answer.edges;
    this.groupEdges = answer.group_edges;
    this.vertices = new Map(answer.vertices.map((vertex) => [vertex.no, { ...vertex, toldBy: 0 }]));
    this.named = new Map();
    // By the number of what replaces them.
    this.replaced = new Map();
    for (const vertex of this.vertices.values()) {
      push(this.named, vertex.name, vertex);
      if (vertex.replaced_by !== null) push(this.replaced, vertex.replaced_by, vertex);
    }
    this.required = new Map();
    this.requirers = new Map();
    for (const [requirer, required] of this.edges) {
      push(this.required, requirer, required);
      push(this.requirers, required, requirer);
    }
    this.take(answer);
  }

  /** Whether all of the operation is in it, one by one. */
  get whole() {
    return this.part === "all";
  }

  /** Take over what the server says of the whole operation; its counts are those of the head. */
  take(answer) {
    this.operation = answer.operation;
    this.total = answer.total;
    this.cursor = answer.cursor;
    this.asOf = answer.as_of;
    this.groups = new Map(answer.groups.map((group) => [group.id, group]));
  }

  /** Whether the server's states belong to another graph than this one. */
  differs(states) {
    if (states.operation.traversal_id !== this.operation.traversal_id || states.part !== this.part) return true;
    if (states.groups.length !== this.groups.size || states.vertices.length !== this.vertices.size) return true;
    return states.vertices.some(({ no }) => !this.vertices.has(no)) || states.groups.some(({ id }) => !this.groups.has(id));
  }

  /**
   * Take over newer states from the server. States from events that are newer than the answer stay.
   *
   * Returns the vertices that changed, and whether something of theirs is newer than the answer.
   */
  merge(states) {
    const changed = [];
    let ahead = false;
    for (const told of states.vertices) {
      const vertex = this.vertices.get(told.no);
      if (vertex.toldBy > states.cursor && vertex.state !== told.state) {
        ahead = true;
        continue;
      }
      const differs = Object.keys(told).some((field) => vertex[field] !== told[field]);
      if (!differs) continue;
      Object.assign(vertex, told);
      changed.push(vertex);
    }
    this.take(states);
    return { changed, ahead };
  }

  /** Take over events, oldest first; those told before change nothing. Returns the vertices that changed. */
  apply(events) {
    const changed = new Set();
    for (const event of events) {
      const vertex = this.meant(event);
      const state = vertex && stateTold(event);
      if (!state || event.id <= vertex.toldBy) continue;
      vertex.toldBy = event.id;
      vertex.reason = event.reason || "";
      if (event.worker) vertex.worker = event.worker;
      if (event.physical_id) vertex.physical_id = event.physical_id;
      if (event.cause === "retry") vertex.retries += 1;
      vertex.state = state;
      changed.add(vertex);
      if (state === "done") this.release(vertex, changed);
    }
    return [...changed];
  }

  /** The vertex that an event is about; none if it is about none in here. */
  meant(event) {
    if (event.traversal_id !== this.operation.traversal_id || !event.resource) return undefined;
    const all = this.named.get(event.resource) ?? [];
    const rows = all.filter((vertex) => vertex.resource_id && vertex.resource_id === event.resource_id);
    const likely = rows.length ? rows : all;
    return likely.find((vertex) => vertex.action === event.action) ?? likely[0];
  }

  /** What was blocked by nothing but this is ready now. */
  release(vertex, changed) {
    if (!this.whole) return;
    for (const no of this.requirers.get(vertex.replaced_by ?? vertex.no) ?? []) {
      const requirer = this.vertices.get(no);
      if (requirer.state !== "blocked") continue;
      if (!(this.required.get(no) ?? []).every((each) => this.isOver(each, requirer))) continue;
      requirer.state = "ready";
      changed.add(requirer);
    }
  }

  /** Whether a requirement is done; what is deleted waits for the deletion of what that replaces, too. */
  isOver(no, requirer) {
    const deletions = requirer.phase === "cleanup" ? this.replacedBy(no) : [];
    return [this.vertices.get(no), ...deletions].every(({ state }) => OVER.has(state));
  }

  /** The deletions of what a vertex replaces. */
  replacedBy(no) {
    return this.replaced.get(no) ?? [];
  }

  /** The vertices that have a box of their own. */
  get boxes() {
    return [...this.vertices.values()].filter((vertex) => vertex.replaced_by === null);
  }

  /** The vertex that a name, or else a number, means: what is made, before what is cleaned up. */
  find(key) {
    const same = this.named.get(key) ?? [];
    return same.find((vertex) => vertex.phase !== "cleanup") ?? same[0] ?? (/^\d+$/.test(key) ? this.vertices.get(Number(key)) : undefined);
  }

  /** What stands for a vertex in an address: its name, unless that means another. */
  keyOf(vertex) {
    return this.find(vertex.name) === vertex ? vertex.name : String(vertex.no);
  }

  /** All of them, in the order in which they are done: by layer, then by name. */
  inOrder() {
    return [...this.vertices.values()].sort((one, other) => one.layer - other.layer || BY_NAME.compare(one.name, other.name));
  }
}

function push(map, key, value) {
  if (map.has(key)) map.get(key).push(value);
  else map.set(key, [value]);
}
