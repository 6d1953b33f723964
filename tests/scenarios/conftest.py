"""Every world ends with its test."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hooks.errors import HookError
from hooks.loading.calling import call_within
from orchestrator.lifecycle import post_op, pre_op
from tests.scenarios.cloud import Crash
from tests.scenarios.world import World


@pytest.fixture(autouse=True)
def processes_die_of_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a process die that dies within a call of a plugin: what else ends a thread there is the plugin's fault."""

    def call_or_die(call: Callable[[], Any], **arguments: Any) -> Any:
        try:
            return call_within(call, **arguments)
        except HookError as error:
            if isinstance(error.__cause__, Crash):
                raise error.__cause__ from None
            raise

    monkeypatch.setattr(pre_op, "call_within", call_or_die)
    monkeypatch.setattr(post_op, "call_within", call_or_die)


@pytest.fixture(autouse=True)
def worlds_end() -> Iterator[None]:
    """Close the stores that a test left open."""
    yield
    while World.open:
        World.open[-1].close()
