"""Projects that use the same words see each what is theirs, whatever is remembered, wherever, and by whomever."""

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.config.settings import Settings
from orchestrator.plugins.asking import EntityNotFound
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.custom import ClientConstraint

BACKENDS = ("memory", "file", "redis", "memcached")
#: Projects and names that make the same text when they are put together carelessly.
PROJECTS = ("a", "b", "a:b", "a/b", "ab", "ä", "")
NAMES = ("b:c", "c", "b/c", "bc", "b", "x" * 300)
#: What is remembered of one example is of no use in the next.
EXAMPLES = itertools.count()
THING = "thing"


class System(ClientPlugin):
    """An outside system where every project has things of its own."""

    name = "system"
    entities = frozenset({THING})
    #: The ids there are, by project and name.
    ids: ClassVar[dict[tuple[str, str], str]] = {}
    #: Where they are.
    region: ClassVar[str] = ""

    def scope(self, entity: str) -> tuple[str, ...]:
        return (self.region,)

    def look_up(self, entity: str, name: str) -> str:
        try:
            return self.ids[self.context.project, name]
        except KeyError:
            raise EntityNotFound(entity, name) from None


@dataclass(frozen=True)
class Ask:
    """Somebody looks something up."""

    process: int
    project: str
    name: str
    forced: bool


@dataclass(frozen=True)
class Change:
    """Something comes into being, or is gone."""

    project: str
    name: str
    there: bool


CHANGES = st.builds(
    Change, project=st.sampled_from(PROJECTS), name=st.sampled_from(NAMES), there=st.booleans()
)
ASKS = st.builds(
    Ask,
    process=st.integers(0, 1),
    project=st.sampled_from(PROJECTS),
    name=st.sampled_from(NAMES),
    forced=st.booleans(),
)


@pytest.fixture(params=BACKENDS)
def processes(request: pytest.FixtureRequest, tmp_path: Path) -> list[Clients]:
    """The clients of two processes that share what they remember, where the backend can be shared."""
    backend: str = request.param
    if backend in ("redis", "memcached"):
        url = request.getfixturevalue(f"{backend}_server").url
    else:
        url = str(tmp_path / "answers") if backend == "file" else ""
    described = Settings(cache_backend=backend, cache_url=url)
    return [Clients(described, {"system": System}) for _ in range(2)]


class Thing(ClientConstraint):
    name = "test.thing"
    client = "system"
    entity = THING


def told(processes: Sequence[Clients], ask: Ask) -> tuple[str | None, str | None]:
    """Return what somebody who looks up is told, and what whoever validates is."""
    clients = processes[ask.process].of(ask.project)
    try:
        found = clients.get("system").find(THING, ask.name, use_cache=not ask.forced)
    except EntityNotFound:
        found = None
    return found, Thing().fault_by(ask.name, clients)


class Truth:
    """What each project has, and ever had: an old answer of one's own may still be remembered."""

    def __init__(self) -> None:
        System.ids, System.region = {}, f"region-{next(EXAMPLES)}"
        self._ever: dict[tuple[str, str], set[str | None]] = {}
        self._numbers = itertools.count()

    def change(self, change: Change) -> None:
        key = change.project, change.name
        System.ids.pop(key, None)
        if change.there:
            System.ids[key] = f"{next(self._numbers)} is {change.name} in {change.project}"
            self._ever.setdefault(key, set()).add(System.ids[key])

    def judge(self, ask: Ask, found: str | None, fault: str | None) -> None:
        key = ask.project, ask.name
        now, ever = System.ids.get(key), self._ever.get(key, set())
        assert found in ({now} if ask.forced else {now, *ever})
        if now is not None or not ever:
            assert (found is None, fault is None) == (now is None, now is not None)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(rounds=st.lists(st.tuples(st.lists(CHANGES, max_size=6), st.lists(ASKS, max_size=12)), max_size=4))
def test_nobody_is_told_what_another_project_has(
    processes: list[Clients], rounds: list[tuple[list[Change], list[Ask]]]
) -> None:
    truth = Truth()
    with ThreadPoolExecutor(4) as pool:
        for changes, asks in rounds:
            for change in changes:
                truth.change(change)
            for ask, (found, fault) in zip(asks, pool.map(partial(told, processes), asks), strict=True):
                truth.judge(ask, found, fault)
