"""A process that takes tokens from a shared bucket: says "ready", waits for a line, and says what it got."""

import json
import sys
from typing import Any

from tests.unit.cache.places import Clock
from tests.unit.cache.rates.places import buckets_at, of_text


def main(kind: str, url: str, draw: dict[str, Any], now: float, attempts: int) -> None:
    buckets = buckets_at(kind, url, Clock(now))
    wanted = of_text(draw)
    print("ready", flush=True)
    sys.stdin.readline()
    waits = [buckets.take("shared", wanted) for _ in range(attempts)]
    print(json.dumps([wait for wait in waits if wait <= wanted.patience_seconds]), flush=True)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
