"""Polls of servers: how many requests they are, and how new the answers."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.waiting import until
from workers.resources.openstack.nova.server.watch import ServerWatch, instant, since


class Cloud:
    """A compute service with servers, which counts its requests."""

    def __init__(self, *names: str) -> None:
        self.servers = {name: {"id": name, "status": "BUILD"} for name in names}
        self.requests: list[str] = []
        #: The seconds of the clock, which stands still unless a test moves it.
        self.now = 1000.0
        self.times_read = 0
        #: Called within each list.
        self.during: Callable[[], None] = lambda: None

    def clock(self) -> float:
        self.times_read += 1
        return self.now

    def ask(self, method: str, path: str, **_: Any) -> Any:
        self.requests.append(f"{method} {path}")
        found = self.servers.get(path.removeprefix("/servers/"))
        if found is None:
            raise LookupError(path)
        return {"server": dict(found)}

    def listed(self, path: str, *_: Any, **__: Any) -> Any:
        self.requests.append(f"GET {path}")
        seen = [dict(each) for each in self.servers.values()]
        self.during()
        return seen

    def is_not_found(self, error: Exception) -> bool:
        return isinstance(error, LookupError)


def look(watch: ServerWatch, cloud: Any, name: str, after: float = 0.0) -> Any:
    return watch.server(cloud, name, after)


def test_a_single_server_is_requested_by_itself() -> None:
    cloud = Cloud("a", "b")
    watch = ServerWatch(cloud.clock)
    for _ in range(3):
        assert look(watch, cloud, "a")["id"] == "a"
    assert set(cloud.requests) == {"GET /servers/a"}


def test_several_servers_are_one_list() -> None:
    names = [f"s{number}" for number in range(20)]
    cloud = Cloud(*names)
    watch = ServerWatch(cloud.clock)
    for name in names * 2:
        assert look(watch, cloud, name)["id"] == name
    assert cloud.requests == ["GET /servers/s0", "GET /servers/detail"]


def test_an_answer_is_never_older_than_a_change() -> None:
    cloud = Cloud("a", "b")
    watch = ServerWatch(cloud.clock)
    for name in ("a", "b"):
        look(watch, cloud, name)
    cloud.servers["a"]["status"] = "ACTIVE"
    assert look(watch, cloud, "a")["status"] == "BUILD"
    cloud.now += 0.1
    assert look(watch, cloud, "a", cloud.now)["status"] == "ACTIVE"
    assert look(watch, cloud, "b")["status"] == "BUILD"


def test_a_list_that_began_before_a_change_does_not_answer_for_it() -> None:
    cloud = Cloud("a", "b")
    watch = ServerWatch(cloud.clock)
    look(watch, cloud, "a")
    begun, answers = threading.Event(), []

    def change() -> None:
        begun.wait()
        answers.append(look(watch, cloud, "a", cloud.now)["status"])

    def during() -> None:
        cloud.during = lambda: None
        cloud.servers["a"]["status"] = "ACTIVE"
        cloud.now += 0.1
        begun.set()

    cloud.during = during
    thread = threading.Thread(target=change)
    thread.start()
    look(watch, cloud, "b")
    thread.join()
    assert answers == ["ACTIVE"]


def test_those_who_wait_for_a_slow_list_share_the_next_one() -> None:
    names = ["a", "b", "c", "d"]
    cloud = Cloud(*names, "e")
    watch = ServerWatch(cloud.clock)
    for name in names[:2]:
        look(watch, cloud, name)
    cloud.requests.clear()
    cloud.now += 1.2
    threads: list[threading.Thread] = []

    def slow() -> None:
        """Be asked for all others long after the list began, and end long after that."""
        cloud.during = lambda: None
        cloud.now += 1.5
        read = cloud.times_read
        for name in names:
            threads.append(threading.Thread(target=look, args=(watch, cloud, name)))
            threads[-1].start()
        # Each reads the clock before it waits.
        until(lambda: cloud.times_read == read + len(names))
        cloud.now += 3

    cloud.during = slow
    assert look(watch, cloud, "e")["id"] == "e"
    for thread in threads:
        thread.join()
    assert cloud.requests == ["GET /servers/detail"] * 2


def test_what_a_list_lacks_is_asked_for_before_it_counts_as_gone() -> None:
    cloud = Cloud("a", "b", "c")
    watch = ServerWatch(cloud.clock)
    for name in ("a", "b"):
        look(watch, cloud, name)
    cloud.servers["d"] = {"id": "d", "status": "BUILD"}
    assert look(watch, cloud, "d")["id"] == "d"
    assert look(watch, cloud, "e") is None


def test_a_list_that_fails_holds_up_nobody() -> None:
    cloud = Cloud("a", "b")
    watch = ServerWatch(cloud.clock)
    look(watch, cloud, "a")

    def fail() -> None:
        raise TimeoutError

    cloud.during = fail
    with pytest.raises(TimeoutError):
        look(watch, cloud, "b")
    cloud.during = lambda: None
    assert look(watch, cloud, "b")["id"] == "b"


def test_instants_of_other_processes_are_not_compared() -> None:
    noted = instant()
    assert since(noted, 5.0) == noted[1]
    assert since(["another", 1.0], 5.0) == 5.0
    assert since(None, 5.0) == 5.0
