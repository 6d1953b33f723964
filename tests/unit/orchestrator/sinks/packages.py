"""Sinks as packages bring them, installed for a test."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import Field, SecretStr

from hooks.events import Event, EventSink
from hooks.options import HookOptions
from tests.waiting import PATIENCE_SECONDS


class TargetOptions(HookOptions):
    """What an environment may say."""

    target: str = Field(min_length=1)
    number: int = 0
    secret: SecretStr = SecretStr("")


class Target(EventSink):
    """Keeps what each target is told; targets that are stopped take nothing until they go on."""

    in_environments = True
    EnvironmentOptions = TargetOptions
    enabled_by_default = False
    time_limit_seconds = 5.0
    told: ClassVar[dict[str, list[Event]]] = {}
    stopped: ClassVar[dict[str, threading.Event]] = {}
    #: Those that are called and do not answer.
    waiting: ClassVar[set[str]] = set()
    broken: ClassVar[set[str]] = set()
    changed: ClassVar[threading.Condition] = threading.Condition()

    def consume(self, events: Sequence[Event]) -> None:
        target = self.options.target
        if target in self.broken:
            raise ConnectionError(f"{target} refused {self.options.secret.get_secret_value()}")
        if target in self.stopped:
            with self.changed:
                self.waiting.add(target)
                self.changed.notify_all()
            assert self.stopped[target].wait(PATIENCE_SECONDS)
            with self.changed:
                self.waiting.discard(target)
        with self.changed:
            self.told.setdefault(target, []).extend(events)
            self.changed.notify_all()

    @classmethod
    def said(cls, target: str) -> list[str]:
        """Return what a target was told, in words."""
        return [
            f"{event.resource or event.stack_name} {event.action}_{event.status}"
            for event in cls.told.get(target, [])
        ]

    @classmethod
    def until(cls, target: str, count: int) -> None:
        """Return when a target was told so many events."""
        with cls.changed:
            assert cls.changed.wait_for(lambda: len(cls.told.get(target, [])) >= count, PATIENCE_SECONDS)

    @classmethod
    @contextmanager
    def stops(cls, *targets: str) -> Iterator[None]:
        """Have targets take nothing for a while."""
        cls.stopped.update({target: threading.Event() for target in targets})
        try:
            yield
        finally:
            for target in targets:
                cls.stopped.pop(target).set()


class Settled(EventSink):
    """A sink that only the settings can name."""

    enabled_by_default = False


def install(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install both, as ``target`` and ``settled``."""
    metadata = directory / "sinks_for_tests-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sinks_for_tests\nVersion: 1.0\n")
    entries = [f"target = {__name__}:Target", f"settled = {__name__}:Settled"]
    (metadata / "entry_points.txt").write_text("\n".join(["[isotherm.event_sinks]", *entries, ""]))
    monkeypatch.syspath_prepend(directory)
    Target.told, Target.broken = {}, set()
