"""The lifecycle plugin ``webhook`` around the engine: who is asked before an operation is told how it ended."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from hooks.builtin.webhook import Webhook, WebhookOptions
from orchestrator.errors import Conflict
from orchestrator.model.messages import StackJob
from tests.operations import operations_of
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_lifecycle import carried_out
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World
from tests.services.receiver import Received, Receiver, Reply

FROZEN = 'frozen: {"until": "Monday"}'


class Ledger:
    """A receiver that refuses deletions, and knows a call that comes again by its key."""

    def __init__(self) -> None:
        self.calls: dict[str, Any] = {}
        self.came = 0

    def forget(self) -> None:
        """Be as if nobody had called."""
        self.calls.clear()
        self.came = 0

    def __call__(self, message: Received) -> Reply:
        said = message.document
        self.came += 1
        self.calls.setdefault(message.headers["idempotency-key"], said)
        if said["phase"] == "pre" and said["action"] == "DELETE":
            return Reply(status=403, body=FROZEN.encode())
        return Reply(body={"annotations": {"resources": {"a": {"zone": "b"}}}})

    def told(self) -> list[tuple[str, str, str]]:
        return [(each["action"], each["phase"], each.get("outcome", "")) for each in self.calls.values()]


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def receiver(ledger: Ledger) -> Iterator[Receiver]:
    with Receiver(ledger) as started:
        yield started


def hook(receiver: Receiver) -> Webhook:
    secret = SecretStr("a secret of length")
    return Webhook(WebhookOptions(url=receiver.url, secrets=(secret,), retries=0))


def test_who_was_asked_is_told_and_whom_it_refuses_does_not_begin(receiver: Receiver, ledger: Ledger) -> None:
    world = World()
    world.plug(hook(receiver))
    world.create(template({"a": value("1")}))
    world.settle()
    world.cloud.failing_updates = {"a": True}
    world.update(template({"a": value("1", "l")}))
    world.settle()
    with pytest.raises(Conflict) as refused:
        world.delete()
    assert str(refused.value) == f"refused by lifecycle plugin 'webhook': {FROZEN}"
    assert ledger.told() == [
        ("CREATE", "pre", ""),
        ("CREATE", "post", "complete"),
        ("UPDATE", "pre", ""),
        ("UPDATE", "post", "failed"),
        ("DELETE", "pre", ""),
    ]
    created, _, updated, failed, _ = ledger.calls.values()
    assert created["current_stack"] is None
    assert updated["stack"]["resources"]["a"]["properties"] == {"value": 1, "size": "l"}
    assert failed["current_stack"]["resources"]["a"]["status"] == "FAILED"
    assert len(world.cloud.objects) == 1


@die_everywhere
def test_whatever_dies_one_call_before_and_one_after_are_known_by_their_keys(
    receiver: Receiver, ledger: Ledger, instruction: int
) -> None:
    ledger.forget()
    world = World()
    world.plug(hook(receiver))
    world.cloud.crash_after(instruction)
    carried_out(world, StackJob(name="s", template=template({"a": value("1")})))
    while not world.survive(world.settle):
        pass
    world.cloud.crash_at = None
    assert world.state() == "CREATE_COMPLETE"
    assert ledger.told() == [("CREATE", "pre", ""), ("CREATE", "post", "complete")]
    # One call may have been cut short before its answer was on record.
    assert ledger.came <= 3


def test_receiver_that_is_away_afterwards_is_told_of_in_a_sentence(
    receiver: Receiver, ledger: Ledger
) -> None:
    world = World()
    world.plug(hook(receiver))
    stack_id = world.create(template({"a": value("1")}))
    receiver.close()
    with capture_logs() as lines:
        world.settle()
    assert world.state() == "CREATE_COMPLETE"
    (operation,) = operations_of(world.store, stack_id)
    (call,) = operation.calls
    assert call.error == f"POST {receiver.url}: it cannot be connected to"
    (line,) = [each for each in lines if each["event"] == "a lifecycle plugin failed after the operation"]
    assert (line["reason"], line["exception"]) == (call.error, None)
