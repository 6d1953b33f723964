"""Observation of a stack: reads its objects, compares them with its rows, and records the drift."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.config.limits import Limits
from orchestrator.config.log_masking import masking_logs
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.definition import StackSource
from orchestrator.engine.nested_stacks import NestedStacks
from orchestrator.errors import IsothermError, cut, text_of, typed_message
from orchestrator.model.actions import CHECK, SUSPEND, is_suspended
from orchestrator.model.drift import GONE_KEY, Finding, Standing
from orchestrator.model.messages import OPERATE, CheckOrder
from orchestrator.model.observation_times import next_due
from orchestrator.model.plain import refuse_not_plain
from orchestrator.planning.repairing import Drifted, repairing, still_counted
from orchestrator.planning.rows import names_of
from orchestrator.planning.stored_templates import load_registry
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import CannotTell
from orchestrator.sandbox.budget import shared_time
from orchestrator.store.nodes.claims import Claim
from orchestrator.store.stacks.drifts import DriftedResource, Observed, Overtaken
from orchestrator.store.stacks.observation_turns import ObservationTurn, TurnEnd
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store
from orchestrator.template.document import Path
from orchestrator.template.resource_registry import Registry
from workers.check.context import CheckContext
from workers.check.drift import drift_of, findings_of
from workers.check.mending import prevents_repair, repairs_in_place
from workers.check.rebuilding import Attempt
from workers.check.secrets import AttemptSecrets

if TYPE_CHECKING:
    from orchestrator.engine.stack_outputs import OutputSource

log = get_logger()

#: After how long an observation that gave way to an operation is tried again.
AGAIN_SECONDS: Final = 30.0
#: The key of a resource's metadata in the template that lists the paths whose differences are no drift.
IGNORE_DRIFT: Final = "ignore_drift"
#: The most characters of the sentence why some resources were not observed.
_LONGEST: Final = 1000
_GONE: Final = "it is not there any more"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """A resource that is observed."""

    row: ResourceRow
    #: The name, with those of the resources that it is nested in before it, separated by slashes.
    path: str
    attempt: Attempt
    is_external: bool


class StackObserver:
    """Observes stacks; thread-safe.

    ``context``, ``file`` and ``source`` load what the checks of a process share.
    """

    def __init__(
        self,
        *,
        store: Store,
        types: Mapping[str, type[Resource]],
        settings: Settings,
        clients: Clients,
        children: NestedStacks,
        context: Callable[[str], Mapping[str, Any]],
        files: Callable[[Mapping[str, str]], Mapping[str, str]],
        source: Callable[[str], StackSource],
    ) -> None:
        self._store, self._types, self._settings, self._clients = store, types, settings, clients
        self._limits = Limits.of(settings)
        self._children, self._context, self._files, self._source = children, context, files, source

    @cached_property
    def _outputs(self) -> "OutputSource":
        # As in the checker.
        from orchestrator.engine.stack_outputs import OutputSource

        return OutputSource(self._store, self._settings)

    def observe(self, order: CheckOrder) -> None:
        """Carry an order out, unless it is outdated: nothing is recorded that an operation has come in between.

        Raises:
            Unavailable: the database does not answer.
        """
        turn = self._store.observation_turns.read(order.key)
        if turn is None or turn.attempt != order.no or not turn.is_begun:
            return
        stacks = self._store.families.in_tree(order.key)
        due_at = next_due(turn.stack_id, turn.policy, turn.now)
        if why := _refusal(stacks):
            is_brief = any(stack.status == "IN_PROGRESS" for stack in stacks)
            self._give_way(turn, why, due_at, again=is_brief)
            return
        outermost = sorted(stacks, key=lambda stack: stack.depth)
        try:
            with shared_time(self._limits):
                observed, trouble = self._observed(outermost, turn)
            end = TurnEnd(turn=turn, due_at=due_at, trouble=trouble)
            if observed.drifted or self._store.drifts.of_tree(turn.stack_id):
                self._store.drifts.record(end, observed)
            else:
                self._store.observation_turns.end(end)
        except Overtaken:
            self._give_way(turn, "an operation began meanwhile", due_at, again=True)
        except IsothermError as error:
            self._give_way(turn, str(error), due_at, again=False)
        except Exception as error:  # what cannot be observed now is tried at its time, and no sooner
            log.warning("a stack could not be observed", stack_id=turn.stack_id, exc_info=error)
            # Its message may have values of the stack.
            trouble = f"an error of type {type(error).__name__}, which the log of the worker has"
            self._give_way(turn, trouble, due_at, again=False)

    def _give_way(self, turn: ObservationTurn, why: str, due_at: float | None, *, again: bool) -> None:
        """End an attempt that observed nothing; ``again``: soon, if the stack has a policy."""
        soon = turn.now + AGAIN_SECONDS
        due = min(soon, due_at) if again and due_at is not None else due_at
        self._store.observation_turns.end(TurnEnd(turn=turn, due_at=due, trouble=why, is_observed=False))

    def _observed(self, stacks: Sequence[StackRow], turn: ObservationTurn) -> tuple[Observed, str]:
        """Return what was observed, and in words what could not be."""
        rows = self._store.stacks.resources_in_tree(turn.stack_id)
        subjects = list(self._subjects(stacks, rows, turn))
        by_type: dict[type[Resource], list[tuple[_Subject, Resource]]] = defaultdict(list)
        troubles: list[str] = []
        for subject in subjects:
            try:
                resource = subject.attempt.rebuild()
            except Exception as error:  # noqa: BLE001  # a type that is not installed, a value that cannot be read
                troubles.append(_trouble(subject, error))
                continue
            if type(resource).implements("observe") or type(resource).implements("observe_all"):
                by_type[type(resource)].append((subject, resource))
        sound: list[str] = []
        drifted: list[DriftedResource] = []
        repairs = still_counted(turn.repairs, now=turn.now)
        # Read at most once, and only where a repair may begin.
        registry = cache(partial(load_registry, self._store, stacks[0].template_id, self._settings))
        for kind, some in by_type.items():
            for (subject, resource), seen in zip(some, _seen(kind, some), strict=True):
                try:
                    found = self._compared(subject, resource, seen, turn)
                except Exception as error:  # noqa: BLE001  # of the object's system, or what its type returned
                    troubles.append(_trouble(subject, error))
                    continue
                if found is None:
                    continue
                findings, words = found
                if not findings:
                    sound.append(subject.row.id)
                    continue
                standing, why = self._standing(
                    subject,
                    resource,
                    findings,
                    seen,
                    turn=turn,
                    root=stacks[0],
                    registry=registry,
                    repairs=repairs,
                )
                if standing is Standing.REPAIRING:
                    repairs.append((subject.path, turn.now))
                drifted.append(
                    DriftedResource(
                        row=subject.row,
                        path=subject.path,
                        findings=findings,
                        standing=standing,
                        why=why,
                        words=words,
                    )
                )
        observed = Observed(
            stacks=stacks,
            drifted=drifted,
            # What the policy ignores by now is no drift any more.
            sound={*sound, *(row.id for row in rows if turn.policy.ignores(row.name, row.type))},
            present=frozenset(row.id for row in rows),
            repairs=repairs,
        )
        return observed, cut("; ".join(troubles), _LONGEST)

    def _subjects(
        self, stacks: Sequence[StackRow], rows: Sequence[ResourceRow], turn: ObservationTurn
    ) -> Iterator[_Subject]:
        by_stack: dict[str, list[ResourceRow]] = defaultdict(list)
        names = {}
        for row in rows:
            by_stack[row.stack_id].append(row)
            names[row.id] = row.name
        prefixes: dict[str, str] = {}
        for stack in stacks:
            outer = prefixes.get(stack.parent_id or "", "")
            prefixes[stack.id] = (
                f"{outer}{names.get(stack.parent_resource or '', '?')}/" if outer or stack.parent_id else ""
            )
            context = self._context(stack.traversal_id)
            for row in by_stack[stack.id]:
                if _is_observable(row) and not turn.policy.ignores(row.name, row.type):
                    attempt, is_external = self._attempt(stack, row, context, turn.now)
                    yield _Subject(
                        row=row,
                        path=f"{prefixes[stack.id]}{row.name}",
                        attempt=attempt,
                        is_external=is_external,
                    )

    def _attempt(
        self, stack: StackRow, row: ResourceRow, context: Mapping[str, Any], now: float
    ) -> tuple[Attempt, bool]:
        """Return a row as an attempt at a check of it, which nothing claims."""
        applied = partial(self._store.histories.applied, row.id)
        # Only a resource without properties can be external: reading what was applied to each would cost the most.
        is_external = not row.properties and _is_external(applied())
        order = CheckOrder(
            stack_id=stack.id,
            traversal_id=stack.traversal_id,
            no=0,
            key=row.name,
            phase=OPERATE,
            stack=stack.name,
            action=CHECK,
        )
        claim = Claim(
            order=order,
            attempt=0,
            action=CHECK,
            now=now,
            retries=0,
            fragment={**names_of(row), **({"external": True} if is_external else {})},
            wanted=(),
            dependents=(),
            requirements=(),
            resource_id=row.id,
            type=row.type,
            physical_id=row.physical_id,
            on_node=row.on_node,
            properties=row.properties,
            data=dict(row.data),
            metadata=dict(row.metadata),
            token=None,
            started=False,
            started_at=now,
            was=(row.action, row.status),
        )
        check = CheckContext(
            types=self._types,
            settings=self._settings,
            limits=self._limits,
            context=context,
            inputs=(),
            files=self._files,
            metadata_of=partial(self._store.stacks.metadata_of, stack.id),
            annotations_of=partial(self._store.annotations.when_looked_at, stack.id),
            random=random.Random(0),  # no retry of an observation has jitter
            child_of=self._children.of,
            clients=self._clients,
            source=partial(self._source, stack.traversal_id),
            applied=applied,
            outputs=lambda: self._outputs.of_project(context["project"]),
        )
        return Attempt(claim, check), is_external

    def _compared(
        self, subject: _Subject, resource: Resource, seen: object, turn: ObservationTurn
    ) -> tuple[list[Finding], str] | None:
        """Return how an object differs, and that in words; None where its type cannot tell.

        Raises:
            Exception: it could not be observed.
        """
        if isinstance(seen, Exception):
            raise seen
        if isinstance(seen, CannotTell):
            return None
        if seen is None:
            return [Finding(key=GONE_KEY)], _GONE
        if subject.is_external:
            return [], ""
        settings, row = self._settings, subject.row
        observed: Mapping[str, Any] = dict(seen)  # type: ignore[call-overload]  # as the contract says
        refuse_not_plain(observed, most_bytes=settings.max_value_bytes, deepest=settings.max_value_depth)
        if all(resource.properties.get(name) == value for name, value in observed.items()):
            return [], ""

        of_template = _ignored_by_template(row)

        def is_ignored(path: Path) -> bool:
            if path[0] in resource.ignores_drift or ".".join(map(str, path)) in of_template:
                return True
            return turn.policy.ignores(row.name, row.type, path)

        is_open = subject.attempt.is_open
        findings = findings_of(resource.properties, observed, is_open, is_ignored)
        return findings, drift_of(resource.properties, observed, is_open, is_ignored)

    def _standing(
        self,
        subject: _Subject,
        resource: Resource,
        findings: Sequence[Finding],
        seen: object,
        *,
        turn: ObservationTurn,
        root: StackRow,
        registry: Callable[[], Registry],
        repairs: Sequence[tuple[str, float]],
    ) -> tuple[Standing, str]:
        row = subject.row
        it = Drifted(path=subject.path, name=row.name, type=row.type, is_gone=findings[0].is_gone)
        if not turn.policy.only_reports(row.name, row.type):
            it = replace(it, in_place=it.is_gone or repairs_in_place(resource, seen))
            prevented = prevents_repair(
                resource,
                it,
                is_external=subject.is_external,
                is_protected=row.protected,
                restricted=lambda: registry().restricted_actions(tuple(subject.path.split("/"))),
            )
            it = replace(it, prevented=prevented)
        standing, why = repairing(it, turn.policy, repairs, now=turn.now)
        if standing is Standing.REPAIRING and (unfit := _unfit_for_repair(root)):
            return Standing.POSTPONED, unfit
        return standing, why


def _seen(kind: type[Resource], some: Sequence[tuple[_Subject, Resource]]) -> Sequence[object]:
    """Return what a type sees of each resource; an exception where it raised one, of all if it raised for all."""
    masks = [AttemptSecrets(subject.attempt).masked for subject, _ in some]

    def masked(text: str) -> str:
        for each in masks:
            text = each(text)
        return text

    with masking_logs(masked):
        try:
            seen = list(kind.observe_all([resource for _, resource in some]))
        except Exception as error:  # noqa: BLE001  # the boundary to other people's code
            return [error] * len(some)
    return seen if len(seen) == len(some) else [ValueError("observe_all returned another number")] * len(some)


def _trouble(subject: _Subject, error: Exception) -> str:
    sentence = AttemptSecrets(subject.attempt).masked(text_of(error) or typed_message(error))
    return f"resources.{subject.path}: {sentence}"


def _refusal(stacks: Sequence[StackRow]) -> str:
    """Return why a tree of stacks is not observed now; empty if it is."""
    if not stacks:
        return "the stack is deleted"
    busy = next((stack for stack in stacks if stack.status == "IN_PROGRESS"), None)
    if busy is not None:
        return f"stack {busy.name!r} is {busy.action}_IN_PROGRESS"
    resting = next((stack for stack in stacks if stack.action in ("DELETE", SUSPEND)), None)
    return f"stack {resting.name!r} is {resting.action}_{resting.status}" if resting else ""


def _unfit_for_repair(root: StackRow) -> str:
    """Return why no repair of a stack can begin; empty if one can."""
    if root.partial:
        return "the stack was converged in part: update it without targets first"
    is_sound = root.status == "COMPLETE" or root.action == CHECK
    if is_sound and root.completed_template_id == root.template_id:
        return ""
    return f"the stack is {root.action}_{root.status}: update it first"


def _is_observable(row: ResourceRow) -> bool:
    if row.replaced_by is not None or row.lock_traversal is not None or row.unhealthy:
        return False
    if row.action in ("INIT", "DELETE") or is_suspended(row.action, row.status):
        return False
    return row.status == "COMPLETE" or row.action == CHECK


def _ignored_by_template(row: ResourceRow) -> frozenset[str]:
    """Return the paths that the metadata of a resource name under ``ignore_drift``."""
    given = row.metadata.get(IGNORE_DRIFT)
    return frozenset(map(str, given)) if isinstance(given, (list, tuple)) else frozenset()


def _is_external(fragment: Mapping[str, Any] | None) -> bool:
    return (fragment or {}).get("definition", {}).get("e") is not None
