"""Another system fails when it is asked before an action: the action waits, longer each time, and not for ever."""

import itertools

import pytest

from orchestrator.model.messages import END
from tests.scenarios.telling import reason
from tests.scenarios.world import World, with_patience
from tests.services.demanding import TYPE, Demanding, path_of, template
from tests.services.http_api import Fault, How, HttpApi
from tests.waiting import PATIENCE_SECONDS, until

RETRIES, BASE_SECONDS = 4, 2.0
FAULTS = {
    "500": Fault(status=500),
    "429": Fault(status=429, headers={"Retry-After": "3600"}),
    "hangs": Fault(how=How.HANG),
    "closes": Fault(how=How.CLOSE),
}


@pytest.fixture
def world(http_api: HttpApi) -> World:
    """A world with a stack that has been looked at, and whose only resource has not begun."""
    http_api.put(path_of("cirros"))
    world = World(
        {TYPE: Demanding},
        clients={"http": {"base_url": http_api.url, "retries": 0, "read_seconds": PATIENCE_SECONDS}},
        constraint_cache={"enabled": False},
        action_retry_limit=RETRIES,
        retry_base_seconds=BASE_SECONDS,
    )
    world.create(template(1, ["cirros"]))
    http_api.forget_requests()
    return world


def asked_at(world: World, api: HttpApi) -> list[float]:
    """Let everything happen, and return at which times the API was asked."""
    moments: list[float] = []
    while True:
        while world.messages:
            before, asks = api.count(), world.messages[0].phase != END
            world.deliver()
            if asks:
                # Who gives up may do so before the request is counted.
                until(lambda before=before: api.count() > before)  # type: ignore[misc]  # bound at once
            moments += [world.now] * (api.count() - before)
        due = world.store.sweeper.next_due()
        if due is None:
            return moments
        world.sweep(after=due + 0.001)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_what_nobody_can_tell_is_asked_again_later_each_time_and_then_told(
    world: World, http_api: HttpApi, fault: Fault
) -> None:
    http_api.fail(fault, times=-1)
    if fault.how is How.HANG:
        world = with_patience(world, 0.05)
    moments = asked_at(world, http_api)
    pauses = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert len(pauses) == RETRIES
    for number, pause in enumerate(pauses):
        longest = BASE_SECONDS * 2**number
        assert longest / 2 <= pause <= longest + 0.01
    assert world.state() == "CREATE_FAILED"
    told = reason(world)
    assert "cannot check whether the path '/images/cirros' exists" in told
    assert f"(after {RETRIES} retries)" in told


def test_what_can_be_told_again_is_made(world: World, http_api: HttpApi) -> None:
    http_api.fail(Fault(status=503), times=2)
    assert len(asked_at(world, http_api)) == 3
    assert world.state() == "CREATE_COMPLETE"


def test_what_is_gone_by_now_is_not_asked_for_again(world: World, http_api: HttpApi) -> None:
    http_api.remove(path_of("cirros"))
    assert len(asked_at(world, http_api)) == 1
    assert world.state() == "CREATE_FAILED"
    assert "there is no path '/images/cirros'" in reason(world)
