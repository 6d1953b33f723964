"""Processes that share a store ask once for all of them, and none suffers from another's end."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cache.places import NAME, OURS, Cloud, Place

ROOT = Path(__file__).parents[3]


class Asker:
    """A process of many threads (:mod:`tests.unit.cache.asker`)."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def say(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()


@contextmanager
def asker(place: Place, threads: int, **options: Any) -> Iterator[Asker]:
    said = json.dumps({"place": asdict(place), "threads": threads, "options": options})
    command = [sys.executable, "-m", "tests.unit.cache.asker", said]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Asker(process)
        finally:
            process.kill()


@pytest.mark.parametrize("kind", OURS)
def test_two_processes_of_a_hundred_threads_ask_once(place: Place) -> None:
    # A pause, as in earnest: a store that is busy must not be taken for one that fails.
    with asker(place, 100, pause_seconds=2) as one, asker(place, 100, pause_seconds=2) as other:
        both = (one, other)
        assert [asking.hear() for asking in both] == ["ready", "ready"]
        for asking in both:
            asking.say()
        heard = []
        for asking in both:
            while (word := asking.hear()) != "begun":
                heard.append(word)
        for asking in both:
            asking.say()
        counts = []
        for asking in both:
            while not (word := asking.hear()).startswith("{"):
                heard.append(word)
            counts.append(json.loads(word))
    assert heard == ["asking"]
    assert [count["answers"] for count in counts] == [["f-1"], ["f-1"]]
    assert sum(count["hits"] for count in counts) == 199
    assert sum(count["misses"] for count in counts) == 1
    assert sum(count["generated"] for count in counts) == 1
    assert sum(count["errors"] for count in counts) == 0


# memcached counts a lock's life in whole seconds: test_constraints.py.
@pytest.mark.parametrize("kind", ["redis", "file"])
def test_killed_while_asking_holds_up_others_no_longer_than_its_lock(place: Place) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    with asker(place, 1, lock_seconds=0.5) as doomed:
        assert doomed.hear() == "ready"
        doomed.say()
        assert {doomed.hear(), doomed.hear()} == {"begun", "asking"}
        doomed.process.kill()
        doomed.process.wait()
    assert [cache.get(*NAME, cloud.ask) for _ in range(2)] == ["f-1", "f-1"]
    assert cloud.asked == 1


@pytest.mark.parametrize("kind", ["memory", *OURS])
def test_forked_processes_share_no_connection_and_no_count(place: Place) -> None:
    command = [sys.executable, "-m", "tests.unit.cache.forker", json.dumps(asdict(place))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
