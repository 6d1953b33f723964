"""Claims about the lifecycle plugin ``webhook``, held against a real receiver on loopback."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from hooks.builtin.webhook import Webhook, WebhookOptions
from hooks.errors import Refusal
from hooks.http.outcome import RequestFailed
from hooks.http.signing import header_of, verify
from hooks.lifecycle import COMPLETE, FAILED, Annotations, LifecycleContext, PlannedOperation
from hooks.stack import FrozenResource, FrozenStack
from hooks.values.frozen import frozen
from hooks.values.unknown import UNKNOWN
from tests.services.receiver import CLOSE, Receiver, Reply
from tests.waiting import PATIENCE_SECONDS

SECRET = "a secret of length"
CONTEXT = LifecycleContext(operation_id="op-1", project="shop")
SERVER = FrozenResource(
    name="server",
    type="Cloud::Server",
    properties=frozen({"size": 3, "net": {"id": UNKNOWN}, "key": "******", "odd": [float("inf"), 1.5, None]}),
    requires=("net",),
)
STACK = FrozenStack(
    name="web",
    id="s-1",
    project="shop",
    root_id="s-1",
    tags=("prod",),
    parameters=frozen({"size": 3, "key": "******"}),
    resources=frozen({"server": SERVER}),
)
REPLACED = FrozenResource(
    name="server", type="Cloud::Host", uuid="r-0", action="CREATE", status="COMPLETE", physical_id="p-0"
)
NOW = FrozenStack(
    name="web",
    id="s-1",
    project="shop",
    root_id="s-1",
    resources=frozen(
        {
            "server": replace(
                SERVER, uuid="r-1", action="CREATE", status="FAILED", physical_id="p-1", others=(REPLACED,)
            ),
            "planned": FrozenResource(name="planned", type="Cloud::Disk"),
        }
    ),
)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        yield server


def webhook(url: str, **options: Any) -> Webhook:
    said = {"url": url, "secrets": (SECRET,), "retries": 0, **options}
    return Webhook(WebhookOptions.model_validate(said))


def answer(receiver: Receiver, document: Any, status: int = 200) -> None:
    receiver.answering = lambda _: Reply(status=status, body=document)


def test_receiver_is_shown_what_is_to_be_and_what_is(receiver: Receiver) -> None:
    plan = PlannedOperation(
        id="p", user="alice", planned_at=1.5, actions={"server": ("REPLACE", "UPDATE")}, deletes=("net",)
    )
    moved = frozen({"server": "host"})
    context = replace(CONTEXT, root_action="ROLLBACK", user="bob", plan=plan, moved=moved)
    assert webhook(receiver.url).do_pre_op(context, STACK, NOW, "UPDATE") is None
    (message,) = receiver.messages
    assert verify([SECRET], message.body, header_of(message.headers))
    assert message.headers["idempotency-key"] == "op-1/pre"
    assert message.document == {
        "operation_id": "op-1",
        "phase": "pre",
        "action": "UPDATE",
        "root_action": "ROLLBACK",
        "project": "shop",
        "user": "bob",
        "plan": {
            "id": "p",
            "user": "alice",
            "planned_at": 1.5,
            "actions": {"server": ["REPLACE", "UPDATE"]},
            "deletes": ["net"],
        },
        "moved": [{"from": "host", "to": "server"}],
        "stack": {
            "id": "s-1",
            "name": "web",
            "parent_id": "",
            "root_id": "s-1",
            "tags": ["prod"],
            "parameters": {"size": 3, "key": "******"},
            "resources": {
                "server": {
                    "type": "Cloud::Server",
                    "requires": ["net"],
                    "properties": {
                        "size": 3,
                        "net": {"id": {"$unknown": True}},
                        "key": "******",
                        "odd": ["inf", 1.5, None],
                    },
                }
            },
        },
        "current_stack": {
            "id": "s-1",
            "name": "web",
            "parent_id": "",
            "root_id": "s-1",
            "tags": [],
            "resources": {
                "server": {
                    "type": "Cloud::Server",
                    "id": "r-1",
                    "action": "CREATE",
                    "status": "FAILED",
                    "physical_id": "p-1",
                    "others": [
                        {
                            "type": "Cloud::Host",
                            "id": "r-0",
                            "action": "CREATE",
                            "status": "COMPLETE",
                            "physical_id": "p-0",
                        }
                    ],
                }
            },
        },
    }


def test_a_preview_has_the_moves_too_and_an_ended_operation_has_none(receiver: Receiver) -> None:
    plugin = webhook(receiver.url)
    plugin.do_preview(replace(CONTEXT, moved=frozen({"server": "host"})), STACK, NOW, "UPDATE")
    plugin.do_pre_op(CONTEXT, STACK, NOW, "UPDATE")
    plugin.do_post_op(replace(CONTEXT, outcome=COMPLETE), STACK, NOW, "UPDATE", False)
    preview, before, after = receiver.messages
    assert preview.document["moved"] == [{"from": "host", "to": "server"}]
    assert before.document["moved"] == []
    assert "moved" not in after.document


def test_values_can_be_kept_back(receiver: Receiver) -> None:
    webhook(receiver.url, send_values=False).do_pre_op(CONTEXT, STACK, None, "CREATE")
    (message,) = receiver.messages
    assert message.document["stack"]["resources"] == {
        "server": {"type": "Cloud::Server", "requires": ["net"]}
    }
    assert "parameters" not in message.document["stack"]
    assert message.document["current_stack"] is None


def test_receiver_is_told_how_it_ended(receiver: Receiver) -> None:
    context = replace(CONTEXT, outcome=FAILED, reason="server: no host")
    webhook(receiver.url).do_post_op(context, STACK, NOW, "UPDATE", True)
    (message,) = receiver.messages
    assert message.headers["idempotency-key"] == "op-1/post"
    told = message.document
    assert (told["phase"], told["outcome"], told["reason"], told["is_stack_failure"]) == (
        "post",
        "failed",
        "server: no host",
        True,
    )
    assert told["stack"]["name"] == "web"


def test_preview_asks_without_an_operation(receiver: Receiver) -> None:
    answer(receiver, {"warnings": ["large"]})
    said = webhook(receiver.url).do_preview(CONTEXT, STACK, None, "CREATE")
    assert said == Annotations(warnings=("large",))
    assert [each.headers["idempotency-key"] for each in receiver.messages] == ["op-1/preview"]
    assert receiver.messages[0].document["phase"] == "preview"


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (200, {"allow": False, "reason": "freeze until Monday"}, "freeze until Monday"),
        (403, {"reason": "freeze until Monday"}, "freeze until Monday"),
        (403, b"freeze until\nMonday", "freeze until Monday"),
        (403, {"allow": True, "reason": "freeze"}, "freeze"),
        (403, {"allow": "no"}, '{"allow": "no"}'),
        (403, None, "gave no reason"),
        (200, {"allow": False}, "gave no reason"),
    ],
    ids=["allow-false", "json", "text", "contradiction", "other-json", "nothing", "no-reason"],
)
@pytest.mark.parametrize("on_error", ["refuse", "allow"])
def test_refusal_is_told_in_the_receivers_words(
    receiver: Receiver, status: int, body: Any, words: str, on_error: str
) -> None:
    answer(receiver, body, status)
    hook = webhook(receiver.url, on_error=on_error)
    for ask in (hook.do_pre_op, hook.do_preview):
        with pytest.raises(Refusal) as refused:
            ask(CONTEXT, STACK, None, "CREATE")
        assert words in str(refused.value)
        assert len(str(refused.value)) < 400


def test_annotations_come_with_the_answer(receiver: Receiver) -> None:
    said: dict[str, Any] = {"stack": {"ticket": "CHG-7"}, "resources": {"server": {"zone": "b", "rank": 1}}}
    answer(receiver, {"warnings": ["large"], "annotations": said, "a later field": 1})
    assert webhook(receiver.url).do_pre_op(CONTEXT, STACK, None, "CREATE") == Annotations(
        warnings=("large",), stack=said["stack"], resources=said["resources"]
    )


def test_answer_that_says_nothing_leaves_standing_what_was_said_before(receiver: Receiver) -> None:
    answer(receiver, {"allow": True}, 202)
    assert webhook(receiver.url).do_pre_op(CONTEXT, STACK, NOW, "CHECK") is None


@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=500, body=b"out of order"),
        Reply(status=404),
        Reply(status=302, headers={"Location": "/elsewhere"}),
        Reply(body=b"<html>welcome</html>"),
        Reply(body=["yes"]),
        Reply(body={"allow": "yes"}),
        Reply(body={"warnings": "one"}),
        Reply(body={"annotations": {"stacks": {}}}),
        CLOSE,
    ],
    ids=["500", "404", "302", "html", "list", "text-for-allow", "text-for-warnings", "unknown", "closed"],
)
def test_anything_else_is_a_fault_and_the_settings_say_what_becomes_of_it(
    receiver: Receiver, reply: Reply | None
) -> None:
    receiver.answering = lambda _: reply
    with pytest.raises(Refusal):
        webhook(receiver.url).do_pre_op(CONTEXT, STACK, None, "CREATE")
    assert webhook(receiver.url, on_error="allow").do_pre_op(CONTEXT, STACK, None, "CREATE") is None


def test_fault_names_the_field_and_shows_nothing_of_it(receiver: Receiver) -> None:
    answer(receiver, {"allow": "hunter2"})
    with pytest.raises(Refusal, match="allow: expected true or false") as caught:
        webhook(receiver.url).do_pre_op(CONTEXT, STACK, None, "CREATE")
    assert "hunter2" not in str(caught.value)


def test_receiver_that_is_away_afterwards_is_told_to_the_engine_whatever_the_settings_say() -> None:
    with Receiver() as receiver:
        url = receiver.url
    for on_error in ("refuse", "allow"):
        with pytest.raises(RequestFailed, match="cannot be connected to"):
            webhook(url, on_error=on_error).do_post_op(CONTEXT, STACK, NOW, "UPDATE", False)


@pytest.mark.parametrize(
    ("options", "action", "project", "is_asked"),
    [
        ({"actions": ["CREATE", "DELETE"]}, "CREATE", "shop", True),
        ({"actions": ["CREATE", "DELETE"]}, "CHECK", "shop", False),
        ({"projects": ["sh*"]}, "CREATE", "shop", True),
        ({"projects": ["sh*"]}, "CREATE", "crew", False),
        ({"resource_types": ["Cloud::S*"]}, "CREATE", "shop", True),
        ({"resource_types": ["Cloud::Net", "Cloud::Host"]}, "DELETE", "shop", True),
        ({"resource_types": ["Cloud::Net"]}, "CREATE", "shop", False),
        ({"resource_types": ["Cloud::S*"], "actions": ["DELETE"]}, "CREATE", "shop", False),
    ],
    ids=[
        "action",
        "other-action",
        "project",
        "other-project",
        "type",
        "type-of-replaced",
        "other-type",
        "one-of-two",
    ],
)
def test_receiver_is_called_about_what_the_settings_name(
    receiver: Receiver, options: dict[str, Any], action: str, project: str, is_asked: bool
) -> None:
    hook = webhook(receiver.url, **options)
    context = replace(CONTEXT, project=project)
    hook.do_pre_op(context, STACK, NOW, action)
    hook.do_preview(context, STACK, NOW, action)
    hook.do_post_op(context, STACK, NOW, action, False)
    assert len(receiver.messages) == (3 if is_asked else 0)


def test_who_was_asked_about_the_last_resource_of_a_type_is_told_that_it_is_gone(receiver: Receiver) -> None:
    hook = webhook(receiver.url, resource_types=["Cloud::Server"])
    empty = replace(STACK, resources=frozen({}))
    said = hook.do_pre_op(CONTEXT, empty, NOW, "UPDATE")
    hook.do_post_op(replace(CONTEXT, outcome=COMPLETE, annotations=said), empty, empty, "UPDATE", False)
    assert [each.document["phase"] for each in receiver.messages] == ["pre", "post"]


def test_who_answered_too_late_is_told_all_the_same(receiver: Receiver) -> None:
    hook = webhook(receiver.url, resource_types=["Cloud::Server"])
    hook.do_post_op(
        replace(CONTEXT, outcome="refused"), replace(STACK, resources=frozen({})), NOW, "UPDATE", True
    )
    assert [each.document["outcome"] for each in receiver.messages] == ["refused"]


def test_call_that_comes_again_is_the_same_message(receiver: Receiver) -> None:
    hook = webhook(receiver.url)
    for _ in range(2):
        hook.do_pre_op(CONTEXT, STACK, NOW, "UPDATE")
    for _ in range(2):
        hook.do_post_op(CONTEXT, STACK, NOW, "UPDATE", False)
    first, again, told, told_again = receiver.messages
    assert (first.body, first.headers["idempotency-key"]) == (again.body, again.headers["idempotency-key"])
    assert (told.body, told.headers["idempotency-key"]) == (
        told_again.body,
        told_again.headers["idempotency-key"],
    )


def test_call_ends_before_the_plugins_own_time_limit(receiver: Receiver) -> None:
    held = threading.Event()
    receiver.answering = lambda _: Reply() if held.wait(PATIENCE_SECONDS) else CLOSE
    hook = webhook(receiver.url)
    hook.time_limit_seconds = 0.4
    with pytest.raises(Refusal, match="no whole answer came in time"):
        hook.do_pre_op(CONTEXT, STACK, None, "CREATE")
    held.set()


def test_options_do_not_show_the_secret() -> None:
    hook = webhook("http://127.0.0.1:1")
    assert SECRET not in f"{hook.options!r} {hook.options.model_dump_json()}"


def test_operation_that_there_is_not_is_refused_with_the_nearest_that_there_is() -> None:
    with pytest.raises(ValidationError, match=r"there is no operation 'CREAT'; did you mean 'CREATE'"):
        webhook("http://127.0.0.1:1", actions=["CREAT"])
