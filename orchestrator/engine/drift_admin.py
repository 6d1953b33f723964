"""Drift for faces: the policy of a stack, an observation on demand, and what was found."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from orchestrator.config.settings import Settings
from orchestrator.engine.observation_round import ObservationRound, RoundState, carry_out
from orchestrator.engine.stack_actions import refuse_deleted, refuse_nested
from orchestrator.errors import Conflict, Unavailable
from orchestrator.model.messages import DetectDriftJob, Job
from orchestrator.model.observation_policy import ObservationPolicy
from orchestrator.model.observation_times import next_due
from orchestrator.planning.repairing import still_counted
from orchestrator.queries.drift import drift_view
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.views.drift import DriftView, ObservationView, RoundView

#: How long a command waits for an observation that it has begun, in seconds.
PATIENCE_SECONDS: Final = 600.0
_PAUSE_SECONDS: Final = 0.05


class DriftAdmin:
    """The drift of the stacks of the settings' project; a stack that does not exist raises NotFound."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        *,
        find: Callable[[str], StackRow],
        submit: Callable[..., str],
        record: Callable[[str, str], None],
        start: Callable[[], None],
    ) -> None:
        """Keep the arguments.

        ``find`` returns a stack by name or id; ``submit`` begins a job and returns the id of its stack; ``record``
        notes an action in the audit log, with its target; ``start`` has an embedded engine carry out what is due.
        """
        self._settings, self._store, self._find = settings, store, find
        self._submit, self._record, self._start = submit, record, start

    def set_policy(self, name: str, changes: Mapping[str, Any]) -> ObservationView:
        """Change parts of the observation policy of a stack; return its observation.

        Raises:
            InvalidInput: a part is unknown or wrong; nothing was changed.
            Conflict: the stack is nested in another one, or deleted.
        """
        stack = self._find(name)
        refuse_deleted(stack)
        refuse_nested(stack)
        turn = self._store.observation_turns.read(stack.id)
        present = turn.policy if turn else ObservationPolicy()
        policy = ObservationPolicy.of({**present.to_wire(), **changes})
        self._record("stack.observe", stack.name)
        due_at = next_due(stack.id, policy, self._store.database.time())
        self._store.observation_turns.set_policy(stack.id, policy, due_at=due_at)
        return self.observation(name)

    def observation(self, name: str) -> ObservationView:
        """Return the observation of a stack."""
        stack = self._find(name)
        turn = self._store.observation_turns.read(stack.root_id)
        policy = turn.policy if turn else ObservationPolicy()
        return ObservationView(
            stack=stack.name,
            observed_at=turn.observed_at if turn else None,
            due_at=turn.due_at if turn else None,
            trouble=turn.trouble if turn else "",
            repairs=len(still_counted(turn.repairs, now=turn.now)) if turn else 0,
            **policy.to_wire(),
        )

    def drift(self, name: str) -> list[DriftView]:
        """Return the drift of a stack, by resource and key; that of an outermost one with those nested in it."""
        stack = self._find(name)
        rows = self._store.drifts.of_tree(stack.root_id)
        is_whole = stack.parent_id is None
        return [drift_view(row) for row in rows if is_whole or row.stack_id == stack.id]

    def observe_due(self, report: Callable[[RoundState], None] = lambda _: None) -> list[RoundView]:
        """In embedded mode, observe the stacks that are due by their policies, and repair what those say.

        ``report`` is called with how far it is, some times a second.

        Raises:
            Conflict: there is a broker: coordinators do this by themselves.
            Unavailable: no observation has ended for long.
        """
        if not self._settings.embedded:
            raise Conflict("coordinators observe what is due by themselves: this is for embedded mode alone")
        observations = ObservationRound(self._store, self._settings.project)
        self._record("stack.observe", "*")
        self._start()
        return carry_out(observations, report)

    def detect(self, name: str, report: Callable[[], None] = lambda: None) -> list[DriftView]:
        """Observe a stack now, whatever its policy; return its drift once that is done.

        ``report`` is called some times a second meanwhile. ``trouble`` of :meth:`observation` says what could not be
        observed.

        Raises:
            Conflict: the stack is busy, suspended, deleted or nested, or an operation has begun meanwhile.
            Unavailable: no worker has carried it out in time.
        """
        stack = self._find(name)
        job: Job = DetectDriftJob(name=stack.id, project=self._settings.project)
        self._submit(job, stack=stack.name)
        begun = self._store.observation_turns.read(stack.id)
        until = time.monotonic() + PATIENCE_SECONDS
        while begun is not None and time.monotonic() < until:
            turn = self._store.observation_turns.read(stack.id)
            if turn is None or turn.ended_attempt >= begun.attempt:
                if turn is not None and turn.observed_at == begun.observed_at and turn.trouble:
                    raise Conflict(f"stack {stack.name!r} was not observed: {turn.trouble}")
                return self.drift(name)
            report()
            time.sleep(_PAUSE_SECONDS)
        raise Unavailable(
            f"no worker has observed stack {stack.name!r} within {PATIENCE_SECONDS:g} seconds; "
            "'isotherm stack drift show' shows what comes of it"
        )
