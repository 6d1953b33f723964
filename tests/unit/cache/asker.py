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

SAYING = threading.Lock()


def say(word: str) -> None:
    """Write a line, whole also if other threads write."""
    with SAYING:
        print(word, flush=True)


def main(place: dict[str, Any], options: dict[str, Any], threads: int) -> None:
    cache = Place(**place).cache(**options)
    go_on = threading.Event()
    begun = threading.Semaphore(0)

    def ask() -> str:
        say("asking")
        assert go_on.wait(300)
        return "f-1"

    def look() -> str:
        begun.release()
        return cache.get(*NAME, ask)

    say("ready")
    sys.stdin.readline()
    with ThreadPoolExecutor(threads) as pool:
        looking = [pool.submit(look) for _ in range(threads)]
        for _ in range(threads):
            begun.acquire()
        say("begun")
        sys.stdin.readline()
        go_on.set()
        answers = sorted({looked.result() for looked in looking})
    say(json.dumps({**asdict(cache.counters), "answers": answers}))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
