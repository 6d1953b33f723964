"""The outcome of a step: done, failed, to be retried, or followed by another action."""

import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from cache.node_state.errors import NodeError
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.definition import AttributePath, NodeData
from orchestrator.errors import IsothermError, text_of, typed_message
from orchestrator.model.actions import CHECK, SNAPSHOT
from orchestrator.model.messages import CONVERGE
from orchestrator.planning.decision import Action, restricting, restrictions_of, unplanned
from orchestrator.planning.fingerprints import definition_hash, metadata_hash
from orchestrator.plugins.clients import ProjectClients
from orchestrator.plugins.properties import PropertyNotVerified
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import Busy, NothingDone, ResourceFailure, RetryableFailure
from orchestrator.store.nodes.claims import Ending, Outcome
from orchestrator.store.traversals.operation_rows import TakenOver
from orchestrator.template.template_resource import kind_of_type
from workers.check.attributes import read_attributes, secret_paths
from workers.check.cancellation import whatever_plugins_raise
from workers.check.changing import is_doubted
from workers.check.creating import with_mark
from workers.check.deleting import what_is_kept, without_old_snapshot
from workers.check.operating import is_operation, is_resumed_first
from workers.check.rebuilding import DRIFT, Attempt
from workers.check.replacing import prepare_for_replace, take_from_others

log = get_logger()

Verdict = TypeVar("Verdict")

#: The longest pause before an unreachable node is tried again.
_LONGEST_PAUSE_SECONDS: Final = 10.0
#: How far back from an error the failed request is looked for that led to it.
_CAUSES: Final = 4


def backoff_seconds(retries: int, settings: Settings, chance: random.Random) -> float:
    """Return the pause before the next retry: doubled each time, with jitter.

    The jitter spreads siblings that failed together.
    """
    ceiling = min(settings.retry_max_seconds, settings.retry_base_seconds * 2.0**retries)
    return ceiling * (0.5 + chance.random() / 2)


def pause_seconds(waited_seconds: float, chance: random.Random) -> float:
    """Return the pause for a node that does not answer: longer the longer it has been silent, with jitter."""
    ceiling = min(_LONGEST_PAUSE_SECONDS, max(1.0, waited_seconds / 4))
    return ceiling * (0.5 + chance.random() / 2)


class Outcomes:
    """The outcomes of a claim's step."""

    def __init__(self, attempt: Attempt, masked: Callable[[str], str] = str) -> None:
        """Keep the arguments; ``masked`` takes the secrets out of a text."""
        self._attempt, self._claim, self._check = attempt, attempt.claim, attempt.check
        self._masked = masked

    @property
    def carries_on(self) -> bool:
        """Whether this step ends an action that comes first: one begun for another definition, or a resume."""
        if is_resumed_first(self._claim) or self._is_restored_first:
            return True
        if self._claim.action == "ADOPT":
            # An import leaves the object as it is; an update that took the place of one does not.
            differs = bool(self._attempt.seen) and self._claim.planned != "ADOPT"
            return differs or bool(self._attempt.unknown) or self._attempt.given != self._attempt.target
        return (
            self._claim.started
            and self._attempt.target is not None
            and self._attempt.given != self._attempt.target
        )

    @property
    def _is_restored_first(self) -> bool:
        """Whether an object gets to the snapshot it is being brought back to before another definition is applied."""
        return self._claim.action == "RESTORE" and self._claim.planned != "RESTORE"

    @property
    def then(self) -> str:
        """The action that follows once the resource is what its definition says; empty for none."""
        restored = self._claim.action in ("CREATE", "UPDATE") and "restore" in self._claim.fragment
        return "RESTORE" if restored and not self.carries_on else ""

    @property
    def is_unbegun_update(self) -> bool:
        """Whether this is an update, and nothing was done to the resource for it yet."""
        return self._claim.action == "UPDATE" and not self._attempt.acts

    @property
    def _is_unbegun_operation(self) -> bool:
        """Whether the resource was to be taken as it is, and nothing was done with it yet."""
        begun = self._claim.started or self._attempt.resource is not None
        return is_operation(self._claim) and not is_resumed_first(self._claim) and not begun

    def paused(self) -> Outcome:
        """Return the outcome that a hook must be cleared before anything is done."""
        return self.left_behind(Ending.PAUSED)

    def _hook(self, ending: Ending) -> str:
        """Return the hook at which the node stands after this step; empty for none."""
        action = self._claim.action.lower()
        if ending is Ending.PAUSED:
            return f"pre-{action}"
        # An update that is followed by another action is not over yet.
        over = ending is Ending.DONE or (ending is Ending.NEXT and action == "create")
        hook = f"post-{action}"
        return hook if over and self._attempt.acts and hook in self._claim.hooks else ""

    def replaced(self, reason: str) -> Outcome:
        """Return the outcome that another resource takes the place of this one.

        Unless that is restricted, or the applied plan does not list it: then the action failed.
        """
        refusal = unplanned(self._claim.fragment.get("planned", ()), Action.REPLACE, reason)
        if restricted := restricting(restrictions_of(self._claim.fragment), Action.REPLACE):
            refusal = f"{restricted}; it would be needed because {reason}"
        if refusal:
            # What an action under way made of it is not known.
            return self.left_behind(Ending.FAILED, reason=refusal, untouched=not self._claim.started)
        try:
            prepare_for_replace(self._attempt)
            take_from_others(self._attempt)
        except Busy as error:
            return self.busy(error)
        except whatever_plugins_raise() as error:  # the boundary to other people's code
            may_help = isinstance(error, Exception) and self._tried_again(error)
            said = f"it could not be prepared for its replacement: {typed_message(error)}"
            return self._again(said) if may_help else self.left_behind(Ending.FAILED, reason=said)
        return self.left_behind(Ending.REPLACE, reason=reason)

    def busy(self, error: Busy) -> Outcome:
        """Return the outcome that another system cannot do it yet: it is tried again, within a limit of time.

        An action under way continues from where it is.
        """
        waited = self._claim.now - self._claim.started_at
        if waited >= self._check.settings.busy_limit_seconds:
            return self.failed(f"{text_of(error)} (for {waited:.0f} seconds)")
        seconds = error.seconds
        if seconds is None:
            seconds = pause_seconds(waited, self._check.random)
        return self._later(text_of(error), seconds)

    def _later(self, reason: str, seconds: float) -> Outcome:
        """Return the outcome that the step is taken again, which counts as no retry."""
        if self._claim.started and self._attempt.over is None:
            token = self._claim.token
            return self.left_behind(Ending.WAITING, reason=reason, seconds=seconds, token=token)
        return self.left_behind(Ending.RETRY, reason=reason, seconds=seconds, counts=False)

    def failed(self, reason: str, *, untouched: bool = False) -> Outcome:
        """Return the outcome of an action that failed for good; ``untouched``: it never began."""
        if (
            is_resumed_first(self._claim)
            and self._attempt.resource is not None
            and self._attempt.resource.supersedes
        ):
            # A stack brings back itself what its update finds at rest.
            return self.left_behind(Ending.NEXT, reason=reason)
        if self.carries_on and self._claim.action != "ADOPT":
            # What failed is not desired any more.
            return self.replaced(reason)
        if self._claim.retries < self._patience:
            return self._again(reason)
        if self._patience:
            reason = f"{reason} (after {self._claim.retries} retries)"
        ending = Ending.FAULT if self._claim.action == CHECK else Ending.FAILED
        return self.left_behind(ending, reason=reason, untouched=untouched)

    def went_wrong(self, error: ResourceFailure | IsothermError) -> Outcome:
        """Return the outcome of what was raised on purpose."""
        no_call = self._attempt.resource is None or isinstance(error, PropertyNotVerified)
        untouched = no_call and (self.is_unbegun_update or self._is_unbegun_operation)
        resource = self._attempt.resource
        self._attempt.undone = isinstance(error, NothingDone) or (
            resource is not None and resource.made_nothing(error)
        )
        if isinstance(error, PropertyNotVerified):
            if self._claim.started and self._attempt.resource is None:
                # The action under way was not checked: it goes on.
                self._attempt.over = [self._claim.token]
            return self.retry_or_fail(self._attempt.tellable(error.fault).full_message, untouched=untouched)
        if isinstance(error, TakenOver):
            # Nothing was begun: another process is at it, or died at it and holds it no longer than its lease.
            return self._again(str(error), untouched=untouched)
        if isinstance(error, Busy):
            return self.busy(error)
        if isinstance(error, RetryableFailure) or getattr(error, "retryable", False):
            return self.retry_or_fail(self._traceable(text_of(error), error), untouched=untouched)
        return self.failed(self._traceable(text_of(error), error), untouched=untouched)

    def retry_or_fail(self, reason: str, *, untouched: bool = False) -> Outcome:
        """Return the outcome of a try that failed: another one, unless there were enough."""
        limit = self._check.settings.action_retry_limit
        if self._claim.retries < limit:
            return self._again(reason, untouched=untouched)
        last = f"{reason} (after {limit} retries)" if limit and not self._patience else reason
        return self.failed(last, untouched=untouched)

    @property
    def _patience(self) -> int:
        """How often what failed for good is tried again all the same: what is wanted is there meanwhile."""
        return self._check.settings.cleanup_retry_limit if self._claim.fragment.get("retried") else 0

    def _again(self, reason: str, *, untouched: bool = False) -> Outcome:
        """Return the outcome that another try follows, later each time; ``untouched``: the action never began."""
        seconds = backoff_seconds(self._claim.retries, self._check.settings, self._check.random)
        return self.left_behind(Ending.RETRY, reason=reason, seconds=seconds, untouched=untouched)

    def unanswered(self, error: NodeError) -> Outcome:
        """Return the outcome that the object's state is unknown: it is tried again, as long as the stack has time.

        Nothing is missing, and nothing has failed. An action under way continues from where it is.
        """
        seconds = pause_seconds(self._claim.now - self._claim.started_at, self._check.random)
        return self._later(str(error), seconds)

    def raised(self, error: BaseException) -> Outcome:
        """Return the outcome of an exception outside the contract, or of an unreachable node."""
        if isinstance(error, NodeError):
            return self.unanswered(error) if error.passing else self.failed(str(error))
        sentence = typed_message(error)
        if isinstance(error, Exception):
            if (seconds := self._judged(error, ProjectClients.busy_seconds)) is not None:
                return self.busy(Busy(f"the other system is busy: {sentence}", seconds or None))
            sentence = self._traceable(sentence, error)
            if self._is_worth_another(error):
                return self.retry_or_fail(sentence)
            if self._judged(error, ProjectClients.is_over_limit):
                return self.failed(f"a quota is exceeded: {sentence}")
        about = {"resource": self._claim.order.key, "type": self._claim.type}
        if isinstance(error, Exception) and (request := self._judged(error, ProjectClients.request_id_of)):
            # The other system's own decision: where the plugin was is of no interest.
            log.warning("a request was refused", **about, request=request, reason=self._masked(sentence))
        else:
            log.warning("a plugin raised", **about, exc_info=error)
        return self.failed(sentence)

    def _traceable(self, reason: str, error: BaseException) -> str:
        """Return a reason with the id of the request that failed, by which the other system's operators find it."""
        request = self._request_of(error)
        return f"{reason} (request {request})" if request and request not in reason else reason

    def _request_of(self, error: BaseException) -> str:
        found: BaseException | None = error
        for _ in range(_CAUSES):
            if isinstance(found, Exception) and (
                request := self._judged(found, ProjectClients.request_id_of)
            ):
                return request
            found = None if found is None else found.__cause__
        return ""

    def _is_worth_another(self, error: Exception) -> bool:
        """Whether the type, or a client that it used, says that the same may succeed later."""
        resource = self._attempt.resource
        return resource is not None and bool(
            self._judged(error, lambda _, it: resource.is_retryable(it))
            or self._judged(error, ProjectClients.is_retryable)
        )

    def _judged(
        self, error: Exception, judge: Callable[[ProjectClients, Exception], Verdict]
    ) -> Verdict | None:
        """Return what plugins make of an error; None if there is no resource yet, or they fail at that."""
        resource = self._attempt.resource
        try:
            return None if resource is None else judge(resource.clients, error)
        except Exception as fault:
            log.warning("an error could not be judged", resource=self._claim.order.key, exc_info=fault)
            return None

    def done(self, resource: Resource, ending: Ending) -> Outcome:
        """Return the outcome of an action that is over, with the attributes that others refer to."""
        if self._claim.order.phase != CONVERGE or (ending is Ending.NEXT and self._claim.action != "ADOPT"):
            return self.left_behind(ending, reason=what_is_kept(resource.state.data, self._claim.action))
        attributes, unread = read_attributes(
            resource, self._claim.wanted, again=self._tried_again, recorded=self._recorded_attributes()
        )
        # Dependents get the sentence, too, and know nothing of this resource's secrets.
        unread = {path: self._masked(why) for path, why in unread.items()}
        reference = resource.reference_id()
        node_data = NodeData(
            uuid=self._claim.resource_id,
            name=self._claim.order.key,
            action=self._claim.action,
            status="COMPLETE",
            physical_id=resource.state.physical_id,
            reference_id=reference,
            attributes=attributes,
            unread=unread,
            secrets=secret_paths(resource, attributes, reference),
        )
        drift = [f"changed by others: {self._attempt.drift}"] if self._attempt.drift else []
        names = ", ".join(sorted(self._attempt.seen))
        found = [f"the object differs from the template: {names}"] if names and ending is Ending.DONE else []
        reason = "; ".join([*drift, *found, *(node_data.why_unread(path) for path in unread)])
        return self.left_behind(ending, reason=reason, reference=reference, node_data=node_data)

    def _recorded_attributes(self) -> Mapping[AttributePath, Any]:
        """Return the recorded attributes of the resource, if it is unchanged."""
        claim = self._claim
        is_as_it_was = claim.action == "UPDATE" and not self._attempt.acts and "reread" not in claim.fragment
        if claim.recorded is None or not is_as_it_was or is_doubted(claim) or self._may_have_other_metadata:
            return {}
        before = NodeData.from_wire(list(claim.recorded))
        return before.attributes if before.uuid == claim.resource_id else {}

    @property
    def _may_have_other_metadata(self) -> bool:
        """Whether references to other resources in the metadata may have new values since the plan was made."""
        expression = self._attempt.definition.metadata_expression if self._attempt.definition else None
        return self._claim.changed and expression is not None and any(expression.requirements())

    def _tried_again(self, error: Exception) -> bool:
        """Return whether a retry may help, and the limit is not reached."""
        if isinstance(error, NodeError) and error.passing:
            return True
        may_help = isinstance(error, RetryableFailure) or getattr(error, "retryable", False)
        if not may_help and self._attempt.resource is not None and not isinstance(error, ResourceFailure):
            may_help = self._is_worth_another(error)
        return bool(may_help) and self._claim.retries < self._check.settings.action_retry_limit

    def _with_drift(self, data: Mapping[str, Any], ending: Ending) -> dict[str, Any]:
        """Return the private facts with the drift of the object, as long as the update that corrects it goes on."""
        kept = without_old_snapshot(data, self._claim.action)
        others = {name: value for name, value in kept.items() if name != DRIFT}
        goes_on = ending in (Ending.WAITING, Ending.RETRY) and self._claim.action == "UPDATE"
        return {**others, DRIFT: self._attempt.drift} if goes_on and self._attempt.drift else others

    def left_behind(
        self,
        ending: Ending,
        *,
        reason: str = "",
        seconds: float = 0.0,
        token: object = None,
        reference: str | None = None,
        node_data: NodeData | None = None,
        untouched: bool = False,
        counts: bool = True,
    ) -> Outcome:
        """Return the outcome with everything that is recorded of the resource in any case."""
        claim = self._claim
        # An action that is over is not repeated because a value could not be read.
        over = self._attempt.over if ending is Ending.RETRY else None
        if over is not None:
            (token,) = over
        state = self._attempt.resource.state if self._attempt.resource else None
        data: Any = state.data if state else claim.data
        if isinstance(data, Mapping):
            undone = self._attempt.undone or not self._attempt.acts
            data = with_mark(self._with_drift(data, ending), claim, ending, made_nothing=undone)
        converging = claim.order.phase == CONVERGE and not is_operation(claim)
        done = ending is Ending.DONE
        # Until an update is complete, the earlier definition is the base of the next one.
        creating = claim.action == "CREATE" and ending is not Ending.REPLACE
        applied = self._attempt.given if converging and (done or creating or ending is Ending.NEXT) else None
        if applied is not None and self._attempt.unknown:
            applied = {name: value for name, value in applied.items() if name not in self._attempt.unknown}
        if applied is not None and self._attempt.seen:
            applied = {**applied, **self._attempt.seen}
        kind = kind_of_type(self._check.types, claim.type)
        version = kind.type_version if kind else 0
        return Outcome(
            ending=ending,
            reason=reason,
            seconds=seconds,
            physical_id=state.physical_id if state else claim.physical_id,
            on_node=state.on_node if state else None,
            reference_id=reference,
            data=data,
            token=token,
            is_over=over is not None,
            counts=counts,
            in_flight=self._attempt.given
            if claim.action == "UPDATE" and (over or ending is Ending.WAITING)
            else None,
            properties=applied,
            definition_hash=definition_hash(claim.type, applied, version)
            if ending in (Ending.DONE, Ending.NEXT) and applied is not None
            else None,
            attributes=node_data.recorded_attributes() if node_data else (),
            metadata=self._attempt.metadata if done and converging else None,
            metadata_hash=metadata_hash(self._attempt.metadata or {}) if done and converging else None,
            requires=self._attempt.requires,
            node_data=node_data.to_wire() if node_data else None,
            # The dependents of an adopted object have its values already.
            changed=node_data is None or (claim.action != "ADOPT" and _differs(node_data, claim.recorded)),
            new_id=str(uuid.uuid4()) if ending is Ending.REPLACE else "",
            then=self.then if ending is Ending.NEXT else "",
            # Also of a snapshot that is never complete: its entries are deleted with it.
            entry=token if claim.action == SNAPSHOT else None,
            untouched=untouched,
            hook=self._hook(ending),
        )


def _differs(now: NodeData, recorded: Sequence[Any] | None) -> bool:
    """Return whether dependents would see a difference; the action that led to it is none."""
    if recorded is None:
        return True
    before = NodeData.from_wire(list(recorded))
    return replace(now, action=before.action, status=before.status) != before
