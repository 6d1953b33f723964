"""What a graph's page has drawn, read back from the canvas's own objects: boxes, and the lines between them."""

from typing import Any

from tests.browser.visit import Visit

#: Boxes by name and edges as polylines, in the drawing's pixels. Corners are rounded inside of their polyline.
_READ = """() => {
  const { cy } = document.getElementById("graph-frame")._cyreg;
  const nameOf = (node) => node.scratch("item").name ?? node.scratch("item").id;
  const shape = { includeLabels: false, includeOverlays: false };
  const boxes = cy.nodes().map((node) => ({ name: nameOf(node), ...node.boundingBox(shape) }));
  const edges = cy.edges().map((edge) => ({
    from: nameOf(edge.source()),
    to: nameOf(edge.target()),
    points: [edge.sourceEndpoint(), ...(edge.segmentPoints() ?? []), edge.targetEndpoint()],
  }));
  return { boxes, edges };
}"""
#: The boxes that an edge runs through and that are not its ends; and pairs of boxes that overlap.
_FAULTS = """({ boxes, edges }) => {
  const faults = [];
  const overlap = (one, other) => one.x1 < other.x2 && other.x1 < one.x2 && one.y1 < other.y2 && other.y1 < one.y2;
  const around = (one, other) => ({
    x1: Math.min(one.x, other.x) - 0.01,
    x2: Math.max(one.x, other.x) + 0.01,
    y1: Math.min(one.y, other.y) - 0.01,
    y2: Math.max(one.y, other.y) + 0.01,
  });
  // A segment misses a box beside its own rectangle, and one whose corners are all on one side of it.
  const meets = (one, other, box) => {
    if (!overlap(around(one, other), box)) return false;
    const side = (x, y) => Math.sign((other.x - one.x) * (y - one.y) - (other.y - one.y) * (x - one.x));
    const sides = [side(box.x1, box.y1), side(box.x2, box.y1), side(box.x1, box.y2), side(box.x2, box.y2)];
    return new Set(sides).size > 1 || sides[0] === 0;
  };
  for (const { from, to, points } of edges) {
    for (const box of boxes) {
      if (box.name === from || box.name === to) continue;
      if (points.some((point, at) => at && meets(points[at - 1], point, box))) {
        faults.push(`${from} -> ${to} runs through ${box.name}`);
      }
    }
  }
  boxes.forEach((box, at) => {
    for (const other of boxes.slice(at + 1)) if (overlap(box, other)) faults.push(`${box.name} lies on ${other.name}`);
  });
  return faults;
}"""


class Drawn:
    """The drawing on a graph's page, as it was when this was made."""

    def __init__(self, seen: Visit) -> None:
        seen.until("() => document.getElementById('graph')?.dataset.drawn !== undefined")
        seen.until("() => document.getElementById('graph-laying')?.hidden !== false")
        self._page = seen.page
        self._read: dict[str, list[dict[str, Any]]] = self._page.evaluate(_READ)

    @property
    def boxes(self) -> list[str]:
        """The names of all boxes."""
        return sorted(box["name"] for box in self._read["boxes"])

    @property
    def arrows(self) -> list[tuple[str, str]]:
        """The names at the ends of all arrows: from what is done first to what waits for it."""
        return sorted((edge["from"], edge["to"]) for edge in self._read["edges"])

    @property
    def faults(self) -> list[str]:
        """What the drawing says that is not so: arrows that run through boxes, and boxes on others."""
        found: list[str] = self._page.evaluate(_FAULTS, self._read)
        return found

    def loose_ends(self) -> list[tuple[str, str]]:
        """The arrows that do not lead from the lower edge of one box to the upper edge of the other."""
        boxes = {box["name"]: box for box in self._read["boxes"]}
        return [
            (edge["from"], edge["to"])
            for edge in self._read["edges"]
            if not (
                _is_at(edge["points"][0], boxes[edge["from"]], "y2")
                and _is_at(edge["points"][-1], boxes[edge["to"]], "y1")
            )
        ]


def _is_at(point: dict[str, float], box: dict[str, float], side: str) -> bool:
    # An edge has a width, and so has a box's outline.
    return abs(point["y"] - box[side]) < 4 and box["x1"] <= point["x"] <= box["x2"]
