"""A process of Celery begins with its runtime, and with a collector that looks only at what is made from then on."""

from collections.abc import Callable

import pytest

from orchestrator.processes import celery_process


class _Runtime:
    """A runtime that records when its process was registered."""

    def __init__(self, did: list[str]) -> None:
        self.attendance = self
        self._did = did

    def begin(self) -> None:
        self._did.append("registered")


def test_process_settles_once_its_runtime_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    did: list[str] = []
    begins: list[Callable[[], None]] = []

    class Replacement:
        def attend(self) -> None:
            did.append("attended")

    monkeypatch.setattr(celery_process, "CeleryReplacement", Replacement)
    monkeypatch.setattr(celery_process, "Runtime", lambda *_, **__: _Runtime(did))
    monkeypatch.setattr(celery_process, "at_the_beginning", begins.append)
    monkeypatch.setattr(celery_process, "at_the_end", lambda _: None)
    monkeypatch.setattr(celery_process, "settle", lambda: did.append("settled"))
    celery_process.runtime_of("worker")
    (begin,) = begins
    begin()
    assert did == ["attended", "registered", "settled"]
