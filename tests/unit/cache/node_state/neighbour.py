"""Another process over the same stores: for each line on its input, ``look`` or ``flush`` and a store's number, it does
so and says whether what it was served was kept.
"""

import json
import sys
from pathlib import Path

from cache.node_state.cache import NodeStateCache
from cache.node_state.file_store import FileNodeStore
from cache.node_state.redis_store import RedisNodeStore
from tests.unit.cache.node_state.worlds import Node
from tests.waiting import PATIENCE_SECONDS


def main(directory: str, url: str) -> None:
    node = Node()
    caches = [
        NodeStateCache(store, lambda _name, request, _seconds: node.answer(request))
        for store in (
            FileNodeStore(Path(directory), timeout_seconds=PATIENCE_SECONDS),
            RedisNodeStore(url, timeout_seconds=PATIENCE_SECONDS),
        )
    ]
    for line in sys.stdin:
        what, number = line.split()
        cache = caches[int(number)]
        if what == "flush":
            cache.flush("test")
            print(json.dumps(None), flush=True)
        else:
            print(json.dumps(cache.machine_state("n1").cached), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
