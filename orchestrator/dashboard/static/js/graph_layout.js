// Where the boxes of a graph are and how its arrows run round them: ELK's layered layout, worked out in a worker, so that
// the page goes on meanwhile.

import ELK, { workerUrl } from "./elk.js";

const LONGEST_MILLISECONDS = 30_000;
/** From how many boxes on crossings are looked for less thoroughly: it takes most of the time. */
const MANY = 150;
const OPTIONS = Object.freeze({
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.layered.nodePlacement.strategy": "LINEAR_SEGMENTS",
  // Those of one layer stay in the order of the template, where that costs no crossings.
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
  "elk.layered.spacing.nodeNodeBetweenLayers": "40",
  "elk.layered.spacing.edgeNodeBetweenLayers": "16",
  "elk.spacing.nodeNode": "24",
  "elk.spacing.edgeNode": "14",
  "elk.padding": "[top=0,left=0,bottom=0,right=0]",
});

export class Layouts {
  /** Args: `longest`: after so many milliseconds a layout is given up; `url` of what runs in the worker. */
  constructor({ longest = LONGEST_MILLISECONDS, url = workerUrl } = {}) {
    this.longest = longest;
    this.url = url;
    this.elk = null;
    this.busy = null;
  }

  /**
   * Work out a layout; one that is under way is given up for it.
   *
   * Args:
   *   boxes: with `id`, `width` and `height`.
   *   arrows: with `id`, and the ids of their boxes, `source` and `target`.
   *   ratio: how wide the picture is to be for its height, where parts that are not connected can be put side by side.
   * Returns `places`, the middles of the boxes by id; `courses`, by the arrows' ids the points of each from its source's
   * edge to its target's edge; and the picture's `width` and `height`, from 0. Throws an Error whose `name` is
   * "AbortError" if another layout was asked for meanwhile.
   */
  async of(boxes, arrows, ratio) {
    this.busy?.(Object.assign(new Error("another picture is laid out"), { name: "AbortError" }));
    if (!boxes.length) return { places: new Map(), courses: new Map(), width: 0, height: 0 };
    let timer;
    const given = new Promise((_, refuse) => {
      const giveUp = (error) => {
        this.end();
        refuse(error);
      };
      this.busy = giveUp;
      timer = setTimeout(() => giveUp(new Error(`it took longer than ${this.longest / 1000} seconds`)), this.longest);
    });
    const mine = this.busy;
    try {
      return read(await Promise.race([given, this.begin().layout(graphOf(boxes, arrows, ratio))]));
    } finally {
      clearTimeout(timer);
      if (this.busy === mine) this.busy = null;
    }
  }

  /** The worker, which is kept for the next layout. */
  begin() {
    this.elk ??= new ELK({
      algorithms: ["layered"],
      workerFactory: () => {
        const worker = new Worker(this.url);
        worker.addEventListener("error", (event) => this.busy?.(new Error(event.message || "its program could not be loaded")));
        return worker;
      },
    });
    return this.elk;
  }

  end() {
    this.elk?.terminateWorker();
    this.elk = null;
    this.busy = null;
  }
}

/** A graph as ELK has it. All arrows out of a box begin at one point, and each comes in at a point of its own. */
function graphOf(boxes, arrows, ratio) {
  const port = (id, side) => ({ id, width: 0, height: 0, layoutOptions: { "elk.port.side": side } });
  const ports = new Map(boxes.map(({ id }) => [id, []]));
  const begun = new Set();
  for (const { id, source, target } of arrows) {
    if (!begun.has(source)) ports.get(source).push(port(`from ${source}`, "SOUTH"));
    begun.add(source);
    ports.get(target).push(port(`to ${id}`, "NORTH"));
  }
  return {
    id: "graph",
    layoutOptions: { ...OPTIONS, "elk.aspectRatio": String(ratio), "elk.layered.thoroughness": boxes.length > MANY ? "2" : "7" },
    children: boxes.map(({ id, width, height }) => ({
      id,
      width,
      height,
      ports: ports.get(id),
      layoutOptions: { "elk.portConstraints": "FIXED_SIDE" },
    })),
    edges: arrows.map(({ id, source }) => ({ id, sources: [`from ${source}`], targets: [`to ${id}`] })),
  };
}

function read({ children, edges, width, height }) {
  const places = children.map((box) => [box.id, { x: box.x + box.width / 2, y: box.y + box.height / 2 }]);
  const courses = edges.map(({ id, sections: [{ startPoint, bendPoints = [], endPoint }] }) => [id, [startPoint, ...bendPoints, endPoint]]);
  return { places: new Map(places), courses: new Map(courses), width, height };
}
