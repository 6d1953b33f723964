"""A coordinator is killed with a job in its hands: the stack is whole or absent, and the job is done by the next."""

import psutil
import pytest
import redis

from orchestrator.views.stacks import StackView
from tests.bench.shapes import template
from tests.faults.history import assert_made_once_and_in_order
from tests.faults.installation import Installation
from tests.faults.statement_stop import stop_before
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.slow

SIZE = 600
#: Longer than it takes to kill a coordinator; the test ends it sooner.
STANDSTILL_MS = 300_000


def held_by_consumers(broker: redis.Redis) -> int:
    """Return how many messages were taken and are not yet done, as kombu keeps account of it."""
    return int(broker.hlen("unacked"))


def only_stack(installation: Installation) -> StackView | None:
    stacks = installation.service.stacks()
    assert len(stacks) <= 1
    return stacks[0] if stacks else None


def no_job_left(installation: Installation, broker: redis.Redis) -> bool:
    """Whether no job is queued or held; workers that have nothing to do hold nothing."""
    return not broker.llen("stacks") and not held_by_consumers(broker)


def test_a_job_whose_coordinator_died_before_it_began_is_done_by_the_next(installation: Installation) -> None:
    database_url = installation.settings.database_url
    with installation.broker() as broker, stop_before(database_url, "traversal") as stop:
        installation.submit(template("wide", 1))
        stop.wait()
        assert held_by_consumers(broker)
        installation.engine("coordinator").kill()
        stop.end()
        assert only_stack(installation) is None
        installation.start_another("coordinator")
        stack = until(lambda: only_stack(installation))
        assert installation.ended(stack.id).state == "CREATE_COMPLETE"
        until(lambda: no_job_left(installation, broker))
    assert_made_once_and_in_order(installation.events(stack.id), {"r0": []})


def test_a_stack_whose_coordinator_died_when_it_had_begun_is_made_once(installation: Installation) -> None:
    database_url = installation.settings.database_url
    with installation.broker() as broker, stop_before(database_url, "traversal") as stop:
        installation.submit(template("wide", SIZE))
        stop.wait()
        # No check is published before the coordinator is dead.
        broker.client_pause(STANDSTILL_MS, all=False)
        stop.go_on()
        stack = until(lambda: only_stack(installation))
        installation.engine("coordinator").kill()
        assert held_by_consumers(broker), "the job was done before the coordinator died"
        broker.client_unpause()
        installation.start_another("coordinator")
        assert installation.ended(stack.id).state == "CREATE_COMPLETE"
        # The job comes back, and is recognized.
        until(lambda: no_job_left(installation, broker))
    found = only_stack(installation)
    assert found
    assert (found.id, found.state) == (stack.id, "CREATE_COMPLETE")
    requires: dict[str, list[str]] = {f"r{number}": [] for number in range(SIZE)}
    assert_made_once_and_in_order(installation.events(stack.id), requires)


def test_a_coordinator_that_is_killed_alone_leaves_no_process_behind(installation: Installation) -> None:
    children = installation.engine("coordinator").kill_alone()
    assert children
    _, alive = psutil.wait_procs(children, PATIENCE_SECONDS)
    assert alive == []
