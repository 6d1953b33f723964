"""What hears Celery's events goes on trying while the broker is away, and is not long in coming back."""

from collections.abc import Callable
from typing import Any

import pytest
from celery import Celery
from tornado.ioloop import IOLoop

from orchestrator.dashboard.waking import LONGEST_PAUSE_SECONDS, waking_events
from orchestrator.model.messages import CHECK_TASK, SWEEP_TASK
from tests.unit.orchestrator.dashboard.serving import option_values


class Loop:
    """A loop that does at once what it is to do."""

    def add_callback(self, callback: Callable[..., Any], *given: Any) -> None:
        callback(*given)


class Enough(BaseException):
    """Ends what would go on for ever."""


def test_pauses_grow_and_stay_bounded_while_the_broker_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_away() -> None:
        raise OSError("the broker does not answer")

    app = Celery("away", set_as_current=False)
    monkeypatch.setattr(app, "connection", is_away)
    monkeypatch.setattr(IOLoop, "current", lambda: None)
    events = waking_events(app, option_values(), lambda: None)
    pauses: list[float] = []

    def rest(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 6:
            raise Enough

    events.rest = rest
    with pytest.raises(Enough):
        events.run()
    assert events.away_since is not None
    assert pauses == [1, 2, 4, 8, LONGEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS]


def heard(number: int, name: str, kind: str) -> dict[str, Any]:
    named = {"name": name} if kind == "task-received" else {"runtime": 0.5}
    common = {
        "uuid": f"{name}-{number}",
        "hostname": "c@h",
        "timestamp": 1.0,
        "local_received": 1.0,
        "clock": 1,
    }
    return {"type": kind, "utcoffset": 0, "pid": 1, **common, **named}


def test_flower_keeps_nothing_of_internal_tasks_but_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IOLoop, "current", Loop)
    woken: list[bool] = []
    app = Celery("idle", set_as_current=False)
    events = waking_events(app, option_values(max_tasks=10), lambda: woken.append(True))
    for kind in ("task-received", "task-succeeded"):
        events.on_event(heard(0, CHECK_TASK, kind))
    for number in range(20):
        for kind in ("task-received", "task-succeeded"):
            events.on_event(heard(number, SWEEP_TASK, kind))
    assert [task.name for task in events.state.tasks.values()] == [CHECK_TASK]
    assert events.state.counter["c@h"] == {"task-received": 21, "task-succeeded": 21}
    counted = events.state.metrics.events.labels("c@h", "task-succeeded", SWEEP_TASK)
    assert counted._value.get() == 20
    assert len(woken) == 21


def test_no_process_gets_the_command_to_send_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flower does so every few seconds, by a command that our processes do not know."""
    monkeypatch.setattr(IOLoop, "current", lambda: None)
    app = Celery("own", set_as_current=False)
    assert not waking_events(app, option_values(enable_events=True), lambda: None).enable_events
