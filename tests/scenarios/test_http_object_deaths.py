"""Objects behind an HTTP API whose worker dies, stands still, or never gets the answer."""

from collections.abc import Mapping
from itertools import count
from typing import Any

from orchestrator.model.messages import EnvironmentSource
from tests.scenarios.telling import reason
from tests.scenarios.test_http_objects import (
    FOUND,
    KEYED,
    READY,
    TOLD_APART,
    deleted,
    died,
    network,
    settle,
    template,
    there,
    world_of,
)
from tests.services.http_api import Fault, How, HttpApi
from tests.waiting import PATIENCE_SECONDS


@TOLD_APART
def test_a_worker_may_die_at_any_instruction_and_nothing_is_made_twice(how: Mapping[str, Any]) -> None:
    for instructions in count(1):
        with HttpApi() as http_api:
            world = world_of(http_api)
            world.create(template(net={"body": {"name": "a"}, "status": READY, **how}))
            world.cloud.crash_after(instructions)
            settle(world)
            came = died(world)
            assert world.state() == "CREATE_COMPLETE", reason(world)
            assert [each["name"] for each in there(http_api)] == ["a"]
            assert http_api.made <= 1
            world.close()
        if not came:
            break


@TOLD_APART
def test_what_a_dead_worker_made_is_deleted_although_nobody_wrote_it_down(how: Mapping[str, Any]) -> None:
    left = []
    for instructions in count(1):
        with HttpApi() as http_api:
            world = world_of(http_api)
            world.create(template(net={"body": {"name": "a"}, **how}))
            world.cloud.crash_after(instructions)
            world.survive(world.settle)
            came = died(world)
            left.append(len(there(http_api)))
            world.messages.clear()
            assert deleted(world)
            assert there(http_api) == []
            world.close()
        if not came:
            break
    assert {*left} == {0, 1}


@TOLD_APART
def test_a_worker_that_stands_still_and_comes_back_makes_nothing_twice(
    how: Mapping[str, Any], http_api: HttpApi
) -> None:
    world = world_of(http_api)
    world.create(template(net={"body": {"name": "a"}, **how}))
    world.stall(0)
    world.sweep(after=120)
    world.settle()
    assert world.state() == "CREATE_COMPLETE", reason(world)
    assert http_api.count() > 1
    assert [each["name"] for each in there(http_api)] == ["a"]
    assert http_api.made <= 1


def test_the_answer_that_is_lost_makes_nothing_twice(http_api: HttpApi) -> None:
    for how, made in ((FOUND, 1), ({"create": KEYED}, 2)):
        http_api.fail(Fault(how=How.CLOSE, has_effect=True), method="POST")
        world = world_of(http_api)
        world.create(template(net={"body": {"name": "a"}, **how}))
        world.settle()
        assert world.state() == "CREATE_COMPLETE"
        assert http_api.made == made
        world.close()


def test_what_cannot_be_told_is_not_made_again(http_api: HttpApi) -> None:
    """Without a token, a create that was interrupted fails with a sentence, and makes no second object."""
    plain = {"body": {"name": "a"}, "create": {"path": "/networks"}}
    for fault in (
        Fault(how=How.CLOSE, has_effect=True),
        Fault(status=500),
        Fault(how=How.HANG),
        Fault(status=201, body=b"<"),
    ):
        http_api.fail(fault, method="POST")
        http_api.forget_requests()
        world = world_of(http_api, read_seconds=0.1 if fault.how is How.HANG else PATIENCE_SECONDS)
        world.create(template(net=plain))
        world.settle()
        assert world.state() == "CREATE_FAILED"
        assert "nobody can tell whether the object was made: give create.token_header, or find" in reason(
            world
        )
        # Who gives up may do so before the request is counted.
        http_api.wait_for("POST")
        assert http_api.count("POST") == 1
        assert deleted(world)
        world.close()


def test_a_worker_that_dies_without_a_token_makes_nothing_again(http_api: HttpApi) -> None:
    said = set()
    for instructions in count(1):
        http_api.made = 0
        world = world_of(http_api)
        world.create(template(net={"create": {"path": "/networks"}}))
        world.cloud.crash_after(instructions)
        settle(world)
        came = died(world)
        assert http_api.made <= 1
        said.add(world.state())
        if world.state() == "CREATE_FAILED":
            assert "an earlier attempt was interrupted, and nobody can tell" in reason(world)
        if not came:
            break
        world.close()
    assert said == {"CREATE_COMPLETE", "CREATE_FAILED"}


def test_what_certainly_was_not_made_is_made_later_without_a_token(http_api: HttpApi) -> None:
    """Refusals that pass, and an API that is away, are no reason to doubt: also after a pause at a hook."""
    http_api.fail(Fault(status=429, headers={"Retry-After": "60"}), method="POST", times=3)
    world = world_of(http_api)
    hooks = "resource_registry: {resources: {net: {hooks: pre-create}}}"
    environment = EnvironmentSource(file="env.yaml", source=hooks)
    world.create(template(net={"create": {"path": "/networks"}}), environments=(environment,))
    world.settle_clearing()
    assert world.state() == "CREATE_COMPLETE", reason(world)
    assert (http_api.made, http_api.count("POST")) == (1, 4)
    # Nothing of how that was known stays behind.
    (row,) = world.store.stacks.resources(world.store.stacks.find("s", project="default").id)
    assert row.data == {}


def test_an_update_may_die_at_any_instruction(http_api: HttpApi) -> None:
    given = network(update={"method": "PATCH"}, status=READY)
    for instructions in count(1):
        http_api.made = 0
        world = world_of(http_api)
        world.create(template(net=given))
        world.settle()
        made = http_api.made
        world.update(template(net={**given, "body": {"name": "b"}}))
        world.cloud.crash_after(instructions)
        settle(world)
        came = died(world)
        assert world.state() == "UPDATE_COMPLETE"
        assert (http_api.made, there(http_api)[-1]["name"]) == (made, "b")
        if not came:
            break
        world.close()
