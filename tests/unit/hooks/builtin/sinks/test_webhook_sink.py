"""The sink ``webhook`` sends what is wanted, in order, signed; what was not taken is an error."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from hooks.builtin.sinks.webhook import EnvironmentWebhookOptions, WebhookOptions, WebhookSink
from hooks.events import TARGETS
from hooks.http.outcome import RequestFailed
from hooks.http.signing import header_of, verify
from hooks.http.targets import Targets
from tests.services.receiver import Receiver, Reply
from tests.unit.hooks.builtin.sinks.histories import event, stack_event

SECRET = "a secret of length"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        yield server


@pytest.fixture
def sinks() -> Iterator[list[WebhookSink]]:
    made: list[WebhookSink] = []
    yield made
    for sink in made:
        sink.close()


def sink(sinks: list[WebhookSink], receiver: Receiver, **options: Any) -> WebhookSink:
    said = {"url": receiver.url, "secrets": [SECRET], "retries": 0, **options}
    sinks.append(WebhookSink(WebhookOptions.model_validate(said)))
    return sinks[-1]


def batches(receiver: Receiver) -> list[list[int]]:
    return [[each["id"] for each in message.document["events"]] for message in receiver.messages]


def test_events_arrive_in_order_as_signed_batches(sinks: list[WebhookSink], receiver: Receiver) -> None:
    sink(sinks, receiver, max_events=2).consume([event(1), event(2), event(3)])
    assert batches(receiver) == [[1, 2], [3]]
    last = receiver.messages[-1]
    assert last.document["version"] == 1
    assert last.document["events"][0].items() >= {
        ("version", 1),
        ("resource", "disk"),
        ("status", "COMPLETE"),
    }
    assert verify([SECRET], last.body, header_of(last.headers))


def test_only_what_is_wanted_is_sent(sinks: list[WebhookSink], receiver: Receiver) -> None:
    events = [
        stack_event(1, status="FAILED"),
        event(2, status="FAILED"),
        event(3, status="FAILED", action="DELETE"),
        event(4),
        event(5, status="FAILED", stack_name="other"),
        event(6, status="FAILED", project="other"),
        event(7, status="FAILED", type="Acme::Thing"),
    ]
    choice = {"stacks": ["sho*"], "projects": ["default"], "types": ["stack", "OS::Heat::*"]}
    told = sink(sinks, receiver, actions=["create"], statuses=["FAILED"], **choice)
    told.consume(events)
    told.consume([event(8)])
    assert batches(receiver) == [[1, 2]]


def test_what_was_not_taken_is_an_error(sinks: list[WebhookSink], receiver: Receiver) -> None:
    answers = iter([Reply(), Reply(status=500)])
    receiver.answering = lambda _: next(answers)
    with pytest.raises(RequestFailed, match="500"):
        sink(sinks, receiver, max_events=1).consume([event(1), event(2), event(3)])
    assert batches(receiver) == [[1], [2]]


def test_it_gives_up_before_it_is_given_up(sinks: list[WebhookSink], receiver: Receiver) -> None:
    told = sink(sinks, receiver)
    told.time_limit_seconds = 0.0
    with pytest.raises(RequestFailed, match="in time"):
        told.consume([event(1)])
    assert receiver.messages == []


def test_an_environment_says_where_and_what_with_a_secret_of_its_own(
    sinks: list[WebhookSink], receiver: Receiver
) -> None:
    said = {"target": receiver.url, "secrets": [SECRET], "statuses": ["COMPLETE"]}
    sinks.append(WebhookSink(EnvironmentWebhookOptions.model_validate(said)))
    sinks[-1].consume([event(1), event(2, status="FAILED")])
    assert batches(receiver) == [[1]]
    (message,) = receiver.messages
    assert verify([SECRET], message.body, header_of(message.headers))


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"ca_file": "/etc/shadow"}, "ca_file"),
        ({"secret_files": ["/etc/shadow"]}, "secret_files"),
        ({"verify": False}, "verify"),
        ({"stacks": ["*"]}, "stacks"),
        ({"target": "file:///etc/shadow"}, "target: expected a URL such as"),
        ({"target": "https://anna:hunter2@example.org"}, "neither a user"),
        ({"secrets": ["hunter2"]}, "secrets: a secret has 16 characters at least"),
        ({"secrets": []}, "messages are signed"),
        ({"actions": ["CRATE"]}, "did you mean 'CREATE'"),
    ],
)
def test_what_an_environment_must_not_say_is_refused(said: dict[str, Any], sentence: str) -> None:
    whole = {"target": "https://example.org/hook", "secrets": [SECRET], **said}
    with pytest.raises(ValidationError, match=sentence) as refused:
        EnvironmentWebhookOptions.model_validate(whole)
    told = [fault["msg"] for fault in refused.value.errors()]
    assert "hunter2" not in str(told)


def test_an_environment_names_a_target_that_the_operator_permits(
    sinks: list[WebhookSink], receiver: Receiver
) -> None:
    said = {"target": receiver.url, "secrets": [SECRET]}
    permitted = {TARGETS: Targets(["127.0.0.1"])}
    sinks.append(WebhookSink(EnvironmentWebhookOptions.model_validate(said, context=permitted)))
    sinks[-1].consume([event(1)])
    with pytest.raises(ValidationError, match=r"target: 127\.0\.0\.1:\d+: .* outgoing_targets") as refused:
        EnvironmentWebhookOptions.model_validate(said, context={TARGETS: Targets(["*"])})
    assert SECRET not in str([fault["msg"] for fault in refused.value.errors()])
    assert batches(receiver) == [[1]]


def test_what_a_permitted_name_leads_to_is_known_when_it_is_sent(
    sinks: list[WebhookSink], receiver: Receiver
) -> None:
    said = {"target": f"http://localhost:{receiver.port}", "secrets": [SECRET]}
    permitted = {TARGETS: Targets(["*"])}
    sinks.append(WebhookSink(EnvironmentWebhookOptions.model_validate(said, context=permitted)))
    with pytest.raises(RequestFailed, match="outgoing_targets"):
        sinks[-1].consume([event(1)])
    assert receiver.messages == []
