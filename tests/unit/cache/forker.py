"""A process that uses a constraint cache, forks, and uses it on both sides at once; ends with 0 if all was right."""

import json
import os
import sys

from cache.constraints.cache import ConstraintCache
from tests.unit.cache.places import Place

LOOKS = 40


def look(cache: ConstraintCache, who: str) -> None:
    for number in range(LOOKS):
        name = f"{who}-{number % 10}"
        assert cache.get("flavor", name, (), lambda name=name: f"id of {name}") == f"id of {name}"  # type: ignore[misc]


def main(place: dict[str, object]) -> None:
    cache = Place(**place).cache(pause_seconds=2)  # type: ignore[arg-type]
    look(cache, "before")
    children = []
    for who in ("one", "other"):
        child = os.fork()
        if child == 0:
            # What the parent counted is the parent's to tell.
            fine = cache.counters.hits == 0
            look(cache, who)
            counts = cache.counters
            fine &= counts.hits + counts.misses == LOOKS and counts.errors == counts.garbage == 0
            os._exit(0 if fine else 1)
        children.append(child)
    look(cache, "before")
    assert cache.counters.misses == 10
    assert cache.counters.errors == cache.counters.garbage == 0
    for child in children:
        assert os.waitpid(child, 0)[1] == 0


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
