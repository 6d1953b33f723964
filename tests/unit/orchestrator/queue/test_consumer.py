"""Nothing of a message counts before its envelope is verified, and only what it proves is left of it."""

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgpack
import pytest
from celery.worker.consumer import Consumer

from orchestrator.config.settings import Settings
from orchestrator.keys.envelope import ADDRESSEE, CONTENT, FORM, ID, KEY, KIND, LATE, SIGNATURE, SIZE, Refused
from orchestrator.keys.key import ENGINE, JOB
from orchestrator.model.messages import CHECK_TASK, CHECKS_QUEUE, COORDINATOR_QUEUE, NODE_TASK, STACKS_QUEUE
from orchestrator.queue import consumer, installation
from orchestrator.queue.celery_app import make_app
from orchestrator.queue.consumer import SIGNED_BY, VerifyingConsumer, clean, queue_of, verified
from orchestrator.queue.installation import HEADER, GuardedTask, InstallationApp
from orchestrator.queue.refusals import Refusals
from orchestrator.queue.sealing import sealed, use_of
from orchestrator.store.installation.refused_messages import RefusedMessages

CREATE = "stack.create"
QUEUES = frozenset({STACKS_QUEUE, CHECKS_QUEUE, COORDINATOR_QUEUE})
SETTINGS = Settings(
    broker_url="redis://127.0.0.1:1/0", database_url="sqlite:///none", max_message_bytes=10_000
)


@pytest.fixture
def app() -> InstallationApp:
    app = make_app(SETTINGS)
    for name in (CREATE, "stack.delete", CHECK_TASK, NODE_TASK):
        # Otherwise every other app of this process has it, too.
        app.task(name=name, shared=False)(carry_out)
    return app


def carry_out(job: object) -> None:
    """Stand for a task."""
    begun.append(job)


#: What it was called with.
begun: list[object] = []


def message(app: InstallationApp, task: str = CREATE, **change: Any) -> Any:
    """Return a message as the broker delivers it; ``change`` replaces parts of it, and ``sealed`` of its envelope."""
    seal = {
        "queue": CHECKS_QUEUE if task == CHECK_TASK else STACKS_QUEUE,
        "message_id": "m1",
        "installation": "i",
        "lifetime_seconds": 60.0,
        "summary": "{}",
        "settings": SETTINGS,
        **change.pop("sealed", {}),
    }
    body = sealed(task, {"job": {}}, app.keys(), **seal)
    headers = {
        "task": task,
        "id": "m1",
        "lang": "py",
        "kwargsrepr": "{}",
        "timelimit": [0.001, 0.001],
        "eta": "2000-01-01T00:00:00",
        "shadow": "<b>",
        "reply_to": "elsewhere",
        HEADER: "forged",
    }
    wanted = change.pop("headers", {})
    given = {**headers, **wanted} if isinstance(wanted, dict) else wanted
    properties = {"delivery_tag": "t", "reply_to": "elsewhere", "correlation_id": "c", "priority": 255}
    info = {"exchange": "x", "routing_key": STACKS_QUEUE, "odd": {}}
    parts = {
        "body": body,
        "headers": given,
        "properties": properties,
        "delivery_info": info,
        "errors": None,
    }
    return SimpleNamespace(**{**parts, **change})


def reason(app: InstallationApp, found: Any) -> str:
    with pytest.raises(Refused) as caught:
        verified(found, app, QUEUES)
    return caught.value.reason


def test_of_a_verified_message_only_what_is_proven_is_left(app: InstallationApp) -> None:
    found = message(app)
    envelope, key = verified(found, app, QUEUES)
    clean(found, envelope, key)
    assert found.headers == {
        "lang": "py",
        "task": CREATE,
        "id": "m1",
        "root_id": "m1",
        "argsrepr": "()",
        "kwargsrepr": "{}",
        "ignore_result": True,
        HEADER: "i",
        SIGNED_BY: key.id,
        "expires": found.headers["expires"],
    }
    assert found.properties == {"delivery_tag": "t"}
    assert found.delivery_info == {"exchange": "", "routing_key": STACKS_QUEUE}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"body": b""}, FORM),
        ({"body": "text"}, FORM),
        ({"body": {}}, FORM),
        ({"body": msgpack.packb([[], {"job": {}}, {}])}, FORM),
        ({"body": b"I\x00" + bytes(100)}, FORM),
        ({"errors": [ValueError()]}, FORM),
        ({"body": bytes(10_001)}, SIZE),
        ({"headers": None}, KIND),
        ({"headers": []}, KIND),
        ({"headers": {"task": None}}, KIND),
        ({"headers": {"task": "x" * 1000}}, KIND),
        ({"headers": {"task": "stack.nothing"}}, KIND),
        ({"headers": {"task": {"a": 1}}}, KIND),
        ({"headers": {"task": "stack.delete"}}, KIND),
        ({"headers": {"task": CHECK_TASK}}, KEY),
        ({"headers": {"id": None}}, ID),
        ({"headers": {"id": "m2"}}, ID),
        ({"headers": {"id": "x" * 1000}}, ID),
        ({"headers": {"kwargsrepr": "{'stack': 'other'}"}}, SIGNATURE),
        ({"headers": {"kwargsrepr": ["a"]}}, FORM),
        ({"headers": {"kwargsrepr": "x" * 3000}}, FORM),
        ({"sealed": {"queue": "elsewhere"}}, ADDRESSEE),
        ({"sealed": {"lifetime_seconds": -1e4}}, LATE),
    ],
)
def test_a_message_that_proves_something_else_is_refused(
    app: InstallationApp, change: dict[str, Any], expected: str
) -> None:
    assert reason(app, message(app, **change)) == expected


def test_the_key_of_jobs_signs_no_check(app: InstallationApp) -> None:
    ring = app.keys()
    key = next(each for each in ring if each.use == JOB)
    found = message(app, CHECK_TASK)
    envelope, signed_with = verified(found, app, QUEUES)
    assert (envelope.kind, signed_with.use) == (CHECK_TASK, ENGINE)
    assert reason(app, message(app, CHECK_TASK, body=envelope.seal(key, summary="{}"))) == KEY


def test_a_request_to_a_node_is_judged_by_the_clock_of_the_nodes(app: InstallationApp) -> None:
    assert use_of(NODE_TASK) != use_of(CHECK_TASK)
    old = {"lifetime_seconds": -1e6}
    assert verified(message(app, NODE_TASK, sealed=old), app, QUEUES)[0].kind == NODE_TASK


@pytest.mark.parametrize("info", [None, [], {"routing_key": []}, {"routing_key": "<b>"}, {}])
def test_a_message_that_lies_about_its_queue_is_counted_under_one_that_exists(info: object) -> None:
    assert queue_of(SimpleNamespace(delivery_info=info), QUEUES) in QUEUES  # type: ignore[arg-type]


class Log:
    """What a process has refused."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *modules: Any) -> None:
        self.found: list[tuple[str, str]] = []
        for module in modules:
            monkeypatch.setattr(module, "refusals", self)

    def add(self, place: str, why: Refused, *_: object) -> None:
        self.found.append((place, why.reason))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xc1",
        msgpack.packb([1]),
        msgpack.packb({"order": []}),
        msgpack.packb({"job": {}, "more": 1}),
        b"\x81\xa3job" + b"\x91" * 500 + b"\x90",
        b"\x81\xa3job" + b"\x91" * 100_000 + b"\x90",
        b"\x81\xa3job\xdd\xff\xff\xff\xff",
        msgpack.packb({"job": bytes(20_000)}),
        msgpack.packb({"job": msgpack.ExtType(5, b"x")}),
    ],
    ids=lambda content: content[:12].hex(),
)
def test_a_task_whose_content_is_unreadable_is_refused_and_not_begun(
    app: InstallationApp, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    begun.clear()
    log = Log(monkeypatch, installation)
    task: GuardedTask = app.task(name="a", shared=False)(carry_out)
    task.push_request(delivery_info={"routing_key": STACKS_QUEUE}, id="m1")
    task(content)
    assert begun == []
    assert [reason in (CONTENT, SIZE) for _, reason in log.found] == [True]
    task(msgpack.packb({"job": {"deep": [[[1]]]}}))
    assert begun == [{"deep": [[[1]]]}]


class Handled:
    """Celery's handler of messages, behind the verification."""

    def __init__(self, app: InstallationApp, monkeypatch: pytest.MonkeyPatch) -> None:
        self.messages: list[Any] = []
        self.log = Log(monkeypatch, consumer)
        given: Callable[..., Any] = lambda *_: self.messages.append  # noqa: E731
        monkeypatch.setattr(Consumer, "create_task_handler", given)
        self._consumer = consumer.VerifyingConsumer.__new__(consumer.VerifyingConsumer)
        self._consumer.app, self._consumer.connection_errors = app, ()
        app.amqp.queues.select(QUEUES)

    def __call__(self, found: Any) -> None:
        self._consumer.create_task_handler()(found)


def test_what_is_refused_is_dropped_and_never_returns_to_the_queue(
    app: InstallationApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    handled = Handled(app, monkeypatch)
    rejected: list[tuple[object, ...]] = []
    bad = message(app, body=b"x", reject_log_error=lambda *given: rejected.append(given))
    handled(bad)
    assert handled.messages == []
    assert handled.log.found == [(STACKS_QUEUE, FORM)]
    # Without a third argument, it is not requeued.
    assert [len(given) for given in rejected] == [2]
    good = message(app)
    handled(good)
    assert handled.messages == [good]
    assert "timelimit" not in good.headers


class Kept:
    """A table of refused messages that may fail."""

    def __init__(self) -> None:
        self.counts: list[dict[tuple[str, str], int]] = []
        self.fails = False

    def add(self, counts: dict[tuple[str, str], int], samples: object) -> None:
        if self.fails:
            raise OSError("away")
        self.counts.append(dict(counts))


def refusals_in(kept: Kept) -> Refusals:
    found = Refusals()
    store: Any = lambda: kept  # noqa: E731
    found.keep_in(store)
    found._writer = object()  # type: ignore[assignment]  # flushed by hand
    return found


def test_refusals_are_counted_exactly_also_over_a_database_that_was_away() -> None:
    kept = Kept()
    found = refusals_in(kept)
    for _ in range(1000):
        found.add("stacks", Refused(FORM, "it is not signed"), b"x", {"task": "<\x1b[31m>", "id": 7})
    kept.fails = True
    with pytest.raises(OSError, match="away"):
        found.flush()
    found.add("checks", Refused(LATE, "it is late"))
    kept.fails = False
    found.flush()
    found.flush()
    assert kept.counts == [{("stacks", FORM): 1000, ("checks", LATE): 1}]


def test_a_kept_message_shows_nothing_that_a_terminal_obeys() -> None:
    samples: list[Any] = []

    class Keeping(RefusedMessages):
        def __init__(self) -> None:
            pass

        def add(self, counts: Any, found: Any) -> None:
            samples.extend(found)

    found = Refusals()
    found.keep_in(Keeping)
    found._writer = object()  # type: ignore[assignment]  # flushed by hand
    for no in range(100):
        found.add(
            "stacks\n", Refused(FORM, "no"), b"%d" % no, {"task": "a\x1b[31mb" + "c" * 999, "id": "\u202e"}
        )
    found.flush()
    assert len(samples) == 20
    assert {(each.place, each.task[:8], len(each.task), each.message_id) for each in samples} == {
        ("stacks?", "a?[31mbc", 100, "?")
    }
    assert all(each.received_at <= time.time() for each in samples)


class Waiting(VerifyingConsumer):
    """A consumer without a broker, whose timer only notes what it is to call."""

    def __init__(self) -> None:
        self.hub, self.timer, self.later = self, self, list[Any]()
        self.sent, self.event_dispatcher = 0, self

    def call_after(self, seconds: float, act: Callable[[], None]) -> None:
        assert seconds == consumer.EVENTS_WAIT_SECONDS
        self.later.append(act)

    def flush(self) -> None:
        self.sent += 1


def test_events_wait_for_each_other_and_are_sent_though_the_timer_forgets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    waiting = Waiting()
    for _ in range(3):
        waiting.on_send_event_buffered()
    (send,) = waiting.later
    send()
    assert waiting.sent == 1
    now[0] += consumer.EVENTS_WAIT_SECONDS
    waiting.on_send_event_buffered()
    assert len(waiting.later) == 2


def test_last_events_are_sent_before_a_consumer_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Consumer, "shutdown", lambda _self: None)
    waiting = Waiting()
    waiting.shutdown()
    assert waiting.sent == 1
