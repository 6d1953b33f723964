"""Every sink gets every event, whatever becomes of the others."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from hooks.events import Event, EventSink, dispatch


def event(number: int) -> Event:
    return Event(
        id=number,
        at=1_700_000_000.0 + number,
        stack_id="stack-1",
        stack_name="web",
        resource="server",
        type="OS::Heat::None",
        action="CREATE",
        status="COMPLETE",
    )


class Collector(EventSink):
    """Keeps what it gets; a broken one raises afterwards."""

    def __init__(self, name: str, *, broken: bool) -> None:
        self.name, self.broken = name, broken
        self.got: list[Event] = []

    def consume(self, events: Sequence[Event]) -> None:
        self.got.extend(events)
        if self.broken:
            raise ConnectionError("nobody listens")


@given(broken=st.lists(st.booleans(), max_size=6), count=st.integers(1, 4))
def test_broken_sinks_keep_nothing_from_the_others(broken: list[bool], count: int) -> None:
    sinks = [Collector(f"sink-{number}", broken=fails) for number, fails in enumerate(broken)]
    events = [event(number) for number in range(count)]
    with capture_logs() as logs:
        faults = dispatch(sinks, events)
    failing = [sink.name for sink in sinks if sink.broken]
    assert all(sink.got == events for sink in sinks)
    assert [fault.hook for fault in faults] == failing
    assert [(entry["sink"], entry["first"], entry["last"]) for entry in logs] == [
        (name, 0, count - 1) for name in failing
    ]


def test_no_events_wake_nobody() -> None:
    sink = Collector("sink", broken=True)
    assert not dispatch([sink], [])
    assert sink.got == []


def test_sink_that_overrides_nothing_takes_everything() -> None:
    class Void(EventSink):
        pass

    assert not dispatch([Void()], [event(1)])
