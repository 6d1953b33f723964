"""One step of a resource's action: which plugin methods are called, in which order, and what their results mean.

A plugin's inputs are the claim, the traversal's context and its direct requirements' data; its
results are in the outcome. Nothing here touches the store or the queue.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchestrator.config.logger import get_logger
from orchestrator.config.step_log import StepLog
from orchestrator.errors import IsothermError, typed_message
from orchestrator.model.actions import SNAPSHOT
from orchestrator.model.plain import NotPlain, refuse_not_plain
from orchestrator.model.plan import is_imported
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.stack_resource import StackResource
from orchestrator.plugins.steps import CannotTell, ResourceFailure, Wait
from orchestrator.plugins.validating import valid_properties
from orchestrator.store.nodes.claims import Claim, Ending, Outcome
from orchestrator.template.definitions import RETAIN
from workers.check.adopting import differing, with_observed
from workers.check.cancellation import whatever_plugins_raise
from workers.check.changing import RefusedChange, ReplaceResource, changes_of, is_doubted
from workers.check.context import CheckContext
from workers.check.contract import refuse_mistakes_of
from workers.check.creating import has_made_nothing, may_have_made
from workers.check.deleting import is_begun, snapshot_first
from workers.check.gate import Unreadable, admitted, broken, refuse_unreadable
from workers.check.operating import NotFit, is_operation, operate, refuse_unfit
from workers.check.outcomes import Outcomes
from workers.check.rebuilding import Attempt
from workers.check.replacing import take_from_others
from workers.check.secrets import AttemptSecrets

log = get_logger()

#: The default pause of a step whose check is not complete and names no time.
POLL_SECONDS = 1.0
#: The token of an update for which nothing is to be done: the plugin has none, because none of its methods was called.
UNCHANGED = "isotherm:unchanged"


def take_step(claim: Claim, check: CheckContext) -> Outcome:
    """Take one step of the claimed action and return its outcome; a plugin's exception is one too.

    The outcome can be recorded, whatever values the plugin left behind.
    """
    attempt = Attempt(claim, check)
    secrets = AttemptSecrets(attempt)
    with StepLog(secrets.masked, keeps=check.settings.max_log_lines_per_resource > 0) as step_log:
        try:
            outcome = _taken(attempt, secrets)
        except Exception as error:
            # The plugin's own code fails again where its failure is looked at, such as its ``state``.
            log.warning("a plugin cannot be used", resource=claim.order.key, type=claim.type, exc_info=error)
            outcome = broken(claim, attempt, typed_message(error))
        outcome = admitted(claim, outcome, check.settings, masked=secrets.masked)
    return outcome if step_log.lines is None else replace(outcome, log=step_log.kept())


def _taken(attempt: Attempt, secrets: AttemptSecrets) -> Outcome:
    outcomes = Outcomes(attempt, secrets.masked)
    try:
        return _Step(attempt, outcomes).take()
    except (Pause, ReplaceResource) as error:
        return outcomes.paused() if attempt.claim.looks else outcomes.replaced(str(error))
    except (NotFit, RefusedChange, Unreadable) as error:
        # A resource whose record cannot be read does not stay sound: the next update replaces it.
        return outcomes.failed(str(error), untouched=not isinstance(error, Unreadable))
    except PropertyError as error:
        return outcomes.failed(attempt.tellable(error).full_message, untouched=outcomes.is_unbegun_update)
    except (ResourceFailure, IsothermError) as error:
        return outcomes.went_wrong(error)
    except whatever_plugins_raise() as error:  # the boundary to other people's code
        return outcomes.raised(error)


class Pause(Exception):
    """The next action must not begin before a breakpoint is cleared."""


class _Step:
    def __init__(self, attempt: Attempt, outcomes: Outcomes) -> None:
        self.attempt, self.claim, self.outcomes = attempt, attempt.claim, outcomes

    def take(self) -> Outcome:
        if is_operation(self.claim):
            refuse_unfit(self.claim)
        refuse_unreadable(self.claim)
        resource = self.attempt.rebuild()
        actions = {
            "CREATE": self._create,
            "ADOPT": self._adopt,
            "UPDATE": self._update,
            "RESTORE": self._restore,
            "DELETE": self._delete,
        }
        token, answer = actions.get(self.claim.action, self._operate)(resource)
        refuse_mistakes_of(resource, self.claim.action, answer)
        if isinstance(answer, Wait):
            seconds = max(0.0, answer.seconds)
            return self.outcomes.left_behind(Ending.WAITING, seconds=seconds, token=answer.next_token(token))
        if not answer:
            return self.outcomes.left_behind(Ending.WAITING, seconds=POLL_SECONDS, token=token)
        if self.claim.action == SNAPSHOT:
            return self.outcomes.left_behind(Ending.DONE, token=token)
        self.attempt.over = [token]
        goes_on = self.outcomes.carries_on or self.outcomes.then
        return self.outcomes.done(resource, Ending.NEXT if goes_on else Ending.DONE)

    def _begin(self) -> None:
        """Note that the object is touched from here on."""
        if self.claim.looks:
            raise Pause
        self.attempt.acts = True

    def _create(self, resource: Resource) -> tuple[Any, bool | Wait]:
        claim = self.claim
        if refusal := claim.fragment.get("refused"):
            raise RefusedChange(refusal)
        self._begin()
        if self.attempt.external_id is not None:
            return None, self._taken_as_it_is(resource, self.attempt.external_id)
        if self._goes_on(resource):
            token = claim.token
        else:
            # An earlier attempt died at an unknown point, perhaps after the effect and before its record.
            found = resource.find() if may_have_made(claim) else None
            if found is None:
                token = resource.handle_create()
            elif claim.fragment.get("old") and not resource.supersedes:
                raise ReplaceResource("what an interrupted create made may follow another definition")
            else:
                resource.state.physical_id = found
                token = resource.resume_create()
        return token, resource.check_create_complete(token)

    def _goes_on(self, resource: Resource) -> bool:
        """Return whether the action is under way, and for the present definition."""
        if not self.claim.started:
            return False
        token = self.claim.token
        if not (resource.supersedes and (token == UNCHANGED or resource.is_outdated(token))):
            return True
        # It is begun anew, for properties that were not validated yet.
        valid_properties(type(resource), self.attempt.given or {}, clients=self.attempt.clients)
        return False

    def _adopt(self, resource: Resource) -> tuple[Any, bool | Wait]:
        claim = self.claim
        if self.attempt.external_id not in (None, claim.physical_id):
            raise ResourceFailure(f"the template's external_id is another than {claim.physical_id!r}")
        imports = is_imported(claim.fragment)
        observes = not claim.started or self.attempt.unknown or imports
        observed = resource.observe() if observes else None
        if self.attempt.unknown:
            self._refuse_not_plain(observed)
            self.attempt.given, self.attempt.unknown = with_observed(
                observed, self.attempt.given or {}, self.attempt.unknown, resource
            )
        if imports and isinstance(observed, Mapping):
            self._refuse_not_plain(observed)
            self.attempt.seen = differing(observed, resource)
        if claim.started:
            return claim.token, resource.check_adopt_complete(claim.token)
        if observed is None:
            if claim.fragment.get("old"):
                raise ReplaceResource("what it was to adopt is gone")
            raise ResourceFailure(f"there is no object with the id {claim.physical_id!r}")
        token = None if self.attempt.external_id else resource.handle_adopt()
        return token, resource.check_adopt_complete(token)

    def _refuse_not_plain(self, observed: Mapping[str, Any] | CannotTell | None) -> None:
        """Refuse observed values that cannot be recorded as properties."""
        settings = self.attempt.check.settings
        try:
            if isinstance(observed, Mapping):
                refuse_not_plain(
                    dict(observed), most_bytes=settings.max_value_bytes, deepest=settings.max_value_depth
                )
        except NotPlain as error:
            raise ResourceFailure(f"observe() returned what is no plain value: {error}") from error

    @staticmethod
    def _taken_as_it_is(resource: Resource, external_id: str) -> bool:
        resource.state.physical_id = external_id
        if resource.observe() is None:
            raise ResourceFailure(f"there is no object with the external_id {external_id!r}")
        return True

    def _update(self, resource: Resource) -> tuple[Any, bool | Wait]:
        claim = self.claim
        if self.attempt.external_id is not None:
            if claim.physical_id != self.attempt.external_id:
                raise RefusedChange("the external_id of a resource cannot be changed")
            if is_doubted(claim):
                return None, self._taken_as_it_is(resource, self.attempt.external_id)
            return None, True
        if self._goes_on(resource):
            is_complete = claim.token == UNCHANGED or resource.check_update_complete(claim.token)
            return claim.token, is_complete
        changes, self.attempt.drift = changes_of(
            resource, claim, self.attempt.is_open, is_other_inside=self.attempt.is_other_inside
        )
        if not changes.names and not resource.always_updates:
            return UNCHANGED, True
        self._begin()
        take_from_others(self.attempt)
        token = resource.handle_update(changes)
        return token, resource.check_update_complete(token)

    def _restore(self, resource: Resource) -> tuple[Any, bool | Wait]:
        claim = self.claim
        token = claim.token if claim.started else resource.handle_restore(claim.fragment["restore"][0])
        return token, resource.check_restore_complete(token)

    def _delete(self, resource: Resource) -> tuple[Any, bool | Wait]:
        claim = self.claim
        if claim.was[0] == "INIT":
            # Nothing was ever begun.
            return None, True
        if self._was_never_made(resource):
            return None, True
        self._begin()
        # What a nested stack made stays too if it is abandoned, but it is no stack any more.
        is_given_up = bool(claim.fragment.get("abandon")) and isinstance(resource, StackResource)
        if claim.fragment.get("policy") == RETAIN and not is_given_up:
            resource.handle_retain()
            return None, True
        if is_begun(claim):
            token = claim.token
        else:
            if resource.state.physical_id is None:
                resource.state.physical_id = resource.find()
            if (snapshot := snapshot_first(resource, claim, poll_seconds=POLL_SECONDS)) is not None:
                return None, snapshot
            token = resource.handle_delete()
        return token, resource.check_delete_complete(token)

    def _was_never_made(self, resource: Resource) -> bool:
        """Return whether a create failed before it made anything, and nothing can have made it since.

        A failed resource that is updated in place may have been made by that.
        """
        is_replaced = not isinstance(resource, StackResource) and has_made_nothing(self.claim)
        return is_replaced and resource.needs_replace_failed()

    def _operate(self, resource: Resource) -> tuple[Any, bool | Wait]:
        return operate(resource, self.claim, self.attempt.is_open)
