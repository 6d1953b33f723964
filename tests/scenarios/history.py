"""One stack's history: what histories have in common that look at the objects of one stack."""

import sys
from collections.abc import Callable
from typing import ClassVar, Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from orchestrator.errors import Conflict
from orchestrator.model.messages import StackJob
from tests.scenarios.commands import HISTORIES
from tests.scenarios.definitions import Definition, parameters_of, template_of
from tests.scenarios.test_interleavings import moves, play
from tests.scenarios.world import World

#: How many histories are played, and how long ones.
PLAYED: Final = settings(
    max_examples=HISTORIES or 12,
    stateful_step_count=20,
    deadline=None,
    derandomize=not HISTORIES,
    suppress_health_check=list(HealthCheck),
)


class History(RuleBasedStateMachine):
    """The world of one stack, ``s``, and commands for it; a subclass says what must be there in :meth:`_check`."""

    #: The errors by which a command is refused.
    refusals: ClassVar[tuple[type[Exception], ...]] = (Conflict,)

    def __init__(self) -> None:
        super().__init__()
        #: A history may be played again while the exception of its first play is being handled.
        self.handled = sys.exc_info()[1]
        self.world = World(action_retry_limit=1000)
        self.stack_id = ""
        self.jobs = 0

    @rule(moves=st.lists(moves, min_size=1, max_size=10))
    def fate(self, moves: list[tuple[str, int]]) -> None:
        play(self.world, moves)
        self._check()

    @rule()
    def rest(self) -> None:
        self.world.settle()
        self._check()

    def _check(self) -> None:
        """Check what holds at any time; by default nothing."""

    def _given(self, command: Callable[[], str], crash: int | None) -> bool:
        """Give a command, again if a coordinator dies over it; return whether it was accepted."""
        try:
            if crash is not None:
                self.world.cloud.crash_after(crash)
            if not self.world.survive(command):
                command()
        except self.refusals:
            return False
        finally:
            self.world.cloud.crash_at = None
        return True

    def _job(self, definition: Definition) -> StackJob:
        return StackJob(
            name="s",
            template=template_of(definition),
            parameters=parameters_of(definition),
            job_id=self._job_id(),
        )

    def _job_id(self) -> str:
        self.jobs += 1
        return f"job-{self.jobs}"

    def teardown(self) -> None:
        try:
            if sys.exc_info()[1] is self.handled:
                self.rest()
        finally:
            self.world.close()
