"""Commands of a history: how many histories are played, when a command comes, and what the last one was."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from hooks.lifecycle import LifecyclePlugin
from tests.scenarios.definitions import Definition

HISTORIES = int(os.environ.get("ISOTHERM_HISTORIES", "0"))
#: What is done with the resources as they are.
OPERATIONS = ("CHECK", "SUSPEND", "RESUME")
AS_IT_IS = (*OPERATIONS, "SNAPSHOT")
#: How many steps workers take after an operation is planned and before it begins.
meanwhile = st.just(0) | st.integers(0, 4)
crashes = st.none() | st.integers(1, 30)
#: A time-out of minutes, mostly none that matters.
timeouts = st.sampled_from([None, None, None, 1])


class Between(LifecyclePlugin):
    """A lifecycle plugin that acts once, after an operation is planned and before it begins."""

    name = "between"

    def __init__(self, act: Callable[[], object]) -> None:
        self._acts = [act]

    def do_pre_op(self, *_: Any) -> None:
        if self._acts:
            self._acts.pop()()


@dataclass(frozen=True)
class Command:
    """The last command that was accepted."""

    action: str
    traversal_id: str
    definition: Definition = field(default_factory=dict)
    rollback: bool = False


@dataclass
class Known:
    """What was found at rest, when all was as it was asked for."""

    definitions: list[Definition]
    ids: dict[str, str]
    faults: int
    timed_out: int
