"""A process that asks a constraint cache from many threads at once; told what to do by lines on its standard input.

Says "ready", and on the first line "begun" as soon as all threads have been started; "asking" at each question, which
is answered at the second line; then what it counted and was told.
"""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from tests.unit.cache.places import NAME, Place


def main(place: dict[str, Any], options: dict[str, Any], threads: int) -> None:
    cache = Place(**place).cache(**options)
    go_on = threading.Event()
    begun = threading.Semaphore(0)

    def ask() -> str:
        print("asking", flush=True)
        assert go_on.wait(30)
        return "f-1"

    def look() -> str:
        begun.release()
        return cache.get(*NAME, ask)

    print("ready", flush=True)
    sys.stdin.readline()
    with ThreadPoolExecutor(threads) as pool:
        looking = [pool.submit(look) for _ in range(threads)]
        for _ in range(threads):
            begun.acquire()
        print("begun", flush=True)
        sys.stdin.readline()
        go_on.set()
        answers = sorted({looked.result() for looked in looking})
    print(json.dumps({**asdict(cache.counters), "answers": answers}), flush=True)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
