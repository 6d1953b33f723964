"""Thirty stacks, room for three, four coordinators on one PostgreSQL: just those are placed for which there is room."""

import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import sqlalchemy as sa

from orchestrator.config.settings import Settings
from orchestrator.engine.coordinator import Coordinator
from orchestrator.errors import Conflict
from orchestrator.model.messages import CheckOrder, StackJob
from orchestrator.store import migrations, tables
from orchestrator.store.store import Store
from tests.scenarios.placing import TYPES, PretendedNodes, group, instance, placement

STACKS, ROOM, COORDINATORS = 30, 3, 4
#: Each stack wants this much on two different nodes; each node has room for three, and the rest of a fourth.
WANTED_MIB, SIZE_MIB = 100, 399


class Nowhere:
    """Takes orders, and carries out none."""

    def publish(self, orders: Sequence[CheckOrder]) -> None:
        """Forget them."""

    def backlog(self) -> int:
        return 0


def coordinator(url: str, number: int, nodes: PretendedNodes) -> tuple[Coordinator, Store]:
    """Return a coordinator as another process would have it: with connections of its own."""
    settings = Settings(database_url=url)
    store = Store.of(settings)
    made = Coordinator(
        store=store,
        types=TYPES,
        settings=settings,
        publisher=Nowhere(),
        name=f"coordinator-{number}",
        plugins=(placement(store, settings, nodes),),
    )
    return made, store


def template() -> str:
    """Return two instances apart from each other: half a stack is of no use."""
    one: dict[str, Any] = instance(memory=WANTED_MIB, groups=[{"get_resource": "apart"}])
    resources = {"apart": group("different_host"), "one": one, "other": one}
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources})


def test_of_thirty_stacks_just_those_are_placed_for_which_there_is_room(postgres_url: str) -> None:
    migrations.upgrade(postgres_url)
    nodes = PretendedNodes(n1=SIZE_MIB, n2=SIZE_MIB)
    made = [coordinator(postgres_url, number, nodes) for number in range(COORDINATORS)]
    text = template()

    def create(number: int) -> str:
        coordinator, _ = made[number % COORDINATORS]
        try:
            coordinator.create(StackJob(name=f"s{number}", template=text, job_id=f"j{number}"))
        except Conflict as refused:
            return str(refused)
        return ""

    with ThreadPoolExecutor(2 * COORDINATORS) as threads:
        answers = list(threads.map(create, range(STACKS)))
    placed = {f"s{number}" for number, answer in enumerate(answers) if not answer}
    refusals = [answer for answer in answers if answer]
    assert (len(placed), len(refusals)) == (ROOM, STACKS - ROOM)
    for refusal in refusals:
        # None of them has room for another, and each is told of.
        assert "n1: " in refusal
        assert "n2: " in refusal
        assert "99 free" in refusal
    _, store = made[0]
    assert {row.name for row in store.stacks.all(project="default")} == placed
    promised = store.reservations.promised(["n1", "n2"], stack_id="").totals
    assert promised == {(node, "memory_mib"): ROOM * WANTED_MIB for node in ("n1", "n2")}
    with store.database.read() as connection:
        owners = Counter(connection.execute(sa.select(tables.reservation.c.stack_id)).scalars())
    assert set(owners) == {row.id for row in store.stacks.all(project="default")}
    for _, each in made:
        each.close()
