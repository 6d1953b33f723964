"""What log lines tell of what a process is at: stack, traversal, node and attempt, whoever writes them."""

from typing import Any

import structlog
from structlog.testing import capture_logs

from hooks.lifecycle import LifecyclePlugin
from orchestrator.config.log_context import about_job, merge_context
from orchestrator.plugins.resource import Resource
from tests.scenarios.telling import patched
from tests.scenarios.test_updates import template
from tests.scenarios.world import World

log = structlog.get_logger()


class Talker(LifecyclePlugin):
    """Writes a line before each operation, and one after it."""

    name = "talker"

    def do_pre_op(self, *_: Any) -> None:
        log.info("about to begin")

    def do_post_op(self, *_: Any) -> None:
        log.info("over")


def test_a_line_of_a_check_tells_the_stack_the_traversal_the_node_and_the_attempt() -> None:
    world = World()

    def broken(self: Resource) -> Any:
        log.info("looking", node_no="mine")
        raise ZeroDivisionError

    patched(world).handle_create = broken  # type: ignore[method-assign]
    stack_id = world.create(template({"a": ""}))
    with capture_logs(processors=[merge_context]) as lines:
        world.settle()
    traversal = world.store.stacks.by_id(stack_id)
    assert traversal is not None
    ids = {
        "stack": "s",
        "stack_id": stack_id,
        "traversal_id": traversal.traversal_id,
        "resource": "a",
        "attempt": 1,
    }
    by_event = {line["event"]: line for line in lines}
    told = by_event["a plugin raised"]
    assert {name: told[name] for name in ids} == ids
    assert isinstance(told["node_no"], int)
    # What a line says itself goes before that.
    assert by_event["looking"]["node_no"] == "mine"
    with capture_logs(processors=[merge_context]) as idle:
        log.info("idle")
    assert idle == [{"event": "idle", "log_level": "info"}]


def test_a_line_of_a_job_tells_the_operation_that_it_begins_and_its_last_words_do() -> None:
    world = World()
    world.plug(Talker())
    with capture_logs(processors=[merge_context]) as lines, about_job("stack.create", job_id="j", stack="s"):
        stack_id = world.create(template({"a": ""}))
        log.info("taken")
    with capture_logs(processors=[merge_context]) as after:
        world.settle()
    stack = world.store.stacks.by_id(stack_id)
    assert stack is not None
    operation = {"stack": "s", "stack_id": stack_id, "traversal_id": stack.traversal_id}
    begun, taken = (line for line in lines if line["event"] in ("about to begin", "taken"))
    assert begun.items() >= {**operation, "job": "stack.create", "job_id": "j"}.items()
    assert "traversal_id" not in taken
    (over,) = (line for line in after if line["event"] == "over")
    assert over.items() >= operation.items()
    assert "resource" not in over
    assert "attempt" not in over
