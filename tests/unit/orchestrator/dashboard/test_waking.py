"""What hears Celery's events goes on trying while the broker is away, and is not long in coming back."""

import pytest
from celery import Celery
from tornado.ioloop import IOLoop

from orchestrator.dashboard.waking import LONGEST_PAUSE_SECONDS, waking_events
from tests.unit.orchestrator.dashboard.serving import option_values


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
