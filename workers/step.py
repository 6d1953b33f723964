"""One step of one resource's action: what the plugin is asked, in which order, and what its answer means.

Everything a plugin needs is in the claim, the traversal's context and its direct requirements' data; what it
leaves behind is in the outcome. Nothing here touches the store or the queue.
"""

import random
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from orchestrator.definition import (
    AttributePath,
    NodeData,
    ParentResourceProxy,
    ResourceProxy,
    StackDefinition,
)
from orchestrator.definition_hash import definition_hash, metadata_hash
from orchestrator.errors import IsothermError
from orchestrator.limits import Limits
from orchestrator.messages import CLEANUP, CONVERGE
from orchestrator.operable import CHECK, SNAPSHOT
from orchestrator.plugins.clients import Clients, ProjectClients
from orchestrator.plugins.properties import PropertyError, PropertyNotVerified, convert_properties
from orchestrator.plugins.resource import (
    NothingDone,
    Resource,
    ResourceFailure,
    ResourceState,
    RetryableFailure,
    Wait,
)
from orchestrator.plugins.stack_resource import ChildStack, StackResource
from orchestrator.plugins.template_resource import kind_of_type
from orchestrator.plugins.validating import typed_properties, valid_properties
from orchestrator.settings import Settings
from orchestrator.store.claims import Claim, Ending, Outcome
from orchestrator.template.definitions import RETAIN, ResourceDefinition
from workers.adopting import properties_as_found, told_by
from workers.attributes import read_attributes
from workers.changing import RefusedChange, ReplaceResource, changes_of, is_doubted
from workers.creating import may_have_made, with_mark
from workers.operating import NotFit, is_external, is_operation, is_resumed_first, operate, refuse_unfit

log = structlog.get_logger()

#: How long a step waits whose check said "not yet" and not for how long.
POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a step needs besides its claim."""

    types: Mapping[str, type[Resource]]
    settings: Settings
    #: The traversal's context.
    context: Mapping[str, Any]
    inputs: Sequence[Any]
    files: Callable[[Mapping[str, str]], Mapping[str, str]]
    #: Reads the present metadata of the resource with a row id or physical id.
    metadata_of: Callable[[str], Mapping[str, Any]]
    random: random.Random
    #: Returns the stack that a claimed resource is, by its definition if it is not to be deleted, the stack it is in as
    #: it sees it, and the names of the hidden parameters there.
    child_of: Callable[[Claim, ResourceDefinition | None, StackDefinition, Collection[str]], ChildStack]
    clients: Clients


def take_step(claim: Claim, around: Surroundings) -> Outcome:
    """Take one step of the claimed action and say what it left behind; a plugin's exception is an outcome too."""
    step = _Step(claim, around)
    try:
        return step.take()
    except (Pause, ReplaceResource) as error:
        return step.paused() if claim.looks else step.replaced(str(error))
    except (NotFit, RefusedChange) as error:
        return step.failed(str(error), untouched=True)
    except PropertyError as error:
        return step.failed(step.tellable(error).told, untouched=step.is_unbegun_update)
    except (ResourceFailure, IsothermError) as error:
        return step.went_wrong(error)
    except Exception as error:  # noqa: BLE001 (the boundary to other people's code)
        return step.raised(error)


def backoff_seconds(retries: int, settings: Settings, chance: random.Random) -> float:
    """Return how long to wait before the next try: twice as long each time, with jitter.

    The jitter keeps siblings that failed together from coming back together.
    """
    ceiling = min(settings.retry_max_seconds, settings.retry_base_seconds * 2.0**retries)
    return ceiling * (0.5 + chance.random() / 2)


class Pause(Exception):
    """Something is to be done that must not begin before a hook is cleared."""


class _Step:
    """The resource rebuilt from a claim, and its next step."""

    def __init__(self, claim: Claim, around: Surroundings) -> None:
        self.claim = claim
        self.around = around
        self.resource: Resource | None = None
        #: The resolved properties that this step brings about; the plugin gets them converted.
        self.given: Mapping[str, Any] | None = None
        #: Those that the template gives, which are others where an action begun for another definition goes on.
        self.target: Mapping[str, Any] | None = None
        #: The names of those that nobody knows whether they are so: what is to be adopted is taken as it is.
        self.untold: frozenset[str] = frozenset()
        #: What the template says; None where it does not count: what was applied does.
        self.definition: ResourceDefinition | None = None
        self.metadata: Mapping[str, Any] | None = None
        self.requires: tuple[str, ...] = ()
        #: The token of the action once it is over, or known to go on whatever becomes of this step; None before that.
        self.over: list[Any] | None = None
        #: Whether the action does anything to the object; else it is over without having begun.
        self.acts = claim.started
        #: Whether, although it began, certainly nothing came of it.
        self.undone = False

    def take(self) -> Outcome:
        if is_operation(self.claim):
            refuse_unfit(self.claim)
        resource = self.resource = self._rebuild()
        actions = {
            "CREATE": self._create,
            "ADOPT": self._adopt,
            "UPDATE": self._update,
            "RESTORE": self._restore,
            "DELETE": self._delete,
        }
        token, answer = actions.get(self.claim.action, self._operate)(resource)
        if isinstance(answer, Wait):
            seconds = max(0.0, answer.seconds)
            return self._left_behind(Ending.WAITING, seconds=seconds, token=answer.next_token(token))
        if not answer:
            return self._left_behind(Ending.WAITING, seconds=POLL_SECONDS, token=token)
        if self.claim.action == SNAPSHOT:
            return self._left_behind(Ending.DONE, token=token)
        self.over = [token]
        return self._done(resource, Ending.NEXT if self._carries_on or self._then else Ending.DONE)

    @property
    def _carries_on(self) -> bool:
        """Whether this step ends an action that comes first: one begun for another definition, or a resume."""
        if is_resumed_first(self.claim) or self._is_restored_first:
            return True
        if self.claim.action == "ADOPT":
            return bool(self.untold) or self.given != self.target
        return self.claim.started and self.target is not None and self.given != self.target

    @property
    def _is_restored_first(self) -> bool:
        """Whether an object gets to the snapshot it is being brought back to before another definition is applied."""
        return self.claim.action == "RESTORE" and self.claim.planned != "RESTORE"

    @property
    def _then(self) -> str:
        """The action that follows once the resource is what its definition says; empty for none."""
        restored = self.claim.action in ("CREATE", "UPDATE") and "restore" in self.claim.fragment
        return "RESTORE" if restored and not self._carries_on else ""

    @property
    def is_unbegun_update(self) -> bool:
        """Whether this is an update, and nothing was done to the resource for it yet."""
        return self.claim.action == "UPDATE" and not self.acts

    @property
    def _is_unbegun_operation(self) -> bool:
        """Whether the resource was to be taken as it is, and nothing was done with it yet."""
        begun = self.claim.started or self.resource is not None
        return is_operation(self.claim) and not is_resumed_first(self.claim) and not begun

    def paused(self) -> Outcome:
        """Return the outcome that a hook must be cleared before anything is done."""
        return self._left_behind(Ending.PAUSED)

    def _begin(self) -> None:
        """Say that from here on something is done.

        Raises:
            Pause: it must not be yet.
        """
        if self.claim.looks:
            raise Pause
        self.acts = True

    def _hook(self, ending: Ending) -> str:
        """Return the hook at which the node stands after this step; empty for none."""
        action = self.claim.action.lower()
        if ending is Ending.PAUSED:
            return f"pre-{action}"
        # An update that goes on with another one is not over yet.
        over = ending is Ending.DONE or (ending is Ending.NEXT and action == "create")
        hook = f"post-{action}"
        return hook if over and self.acts and hook in self.claim.hooks else ""

    def replaced(self, reason: str) -> Outcome:
        """Return the outcome that another resource takes the place of this one."""
        return self._left_behind(Ending.REPLACE, reason=reason)

    def tellable(self, error: PropertyError) -> PropertyError:
        """Return a property's error without a value that may be a secret: the reason is there for all to read."""
        if self.definition is None:
            return error.veil(error.path[:1])
        return self.definition.tellable(error, self.around.context.get("hidden", ()))

    def failed(self, reason: str, *, untouched: bool = False) -> Outcome:
        """Return the outcome of an action that failed for good; ``untouched``: it never began."""
        if is_resumed_first(self.claim) and self.resource is not None and self.resource.supersedes:
            # A stack brings back itself what its update finds at rest.
            return self._left_behind(Ending.NEXT, reason=reason)
        if self._carries_on and self.claim.action != "ADOPT":
            # Nobody wants what failed any more.
            return self.replaced(reason)
        if self.claim.retries < self._patience:
            return self._again(reason)
        if self._patience:
            reason = f"{reason} (after {self.claim.retries} retries)"
        ending = Ending.FAULT if self.claim.action == CHECK else Ending.FAILED
        return self._left_behind(ending, reason=reason, untouched=untouched)

    def went_wrong(self, error: ResourceFailure | IsothermError) -> Outcome:
        """Return the outcome of what was raised on purpose."""
        asked_nobody = self.resource is None or isinstance(error, PropertyNotVerified)
        untouched = asked_nobody and (self.is_unbegun_update or self._is_unbegun_operation)
        self.undone = isinstance(error, NothingDone)
        if isinstance(error, PropertyNotVerified):
            if self.claim.started and self.resource is None:
                # Nobody got to look at what is under way: it goes on.
                self.over = [self.claim.token]
            return self.retry_or_fail(self.tellable(error.fault).told, untouched=untouched)
        if isinstance(error, RetryableFailure) or getattr(error, "retryable", False):
            return self.retry_or_fail(str(error), untouched=untouched)
        return self.failed(str(error), untouched=untouched)

    def retry_or_fail(self, reason: str, *, untouched: bool = False) -> Outcome:
        """Return the outcome of a try that failed: another one, unless there were enough."""
        limit = self.around.settings.action_retry_limit
        if self.claim.retries < limit:
            return self._again(reason, untouched=untouched)
        told = f"{reason} (after {limit} retries)" if limit and not self._patience else reason
        return self.failed(told, untouched=untouched)

    @property
    def _patience(self) -> int:
        """How often what failed for good is tried again all the same: what is wanted is there meanwhile."""
        return self.around.settings.cleanup_retry_limit if self.claim.fragment.get("retried") else 0

    def _again(self, reason: str, *, untouched: bool = False) -> Outcome:
        """Return the outcome that another try follows, later each time; ``untouched``: the action never began."""
        seconds = backoff_seconds(self.claim.retries, self.around.settings, self.around.random)
        return self._left_behind(Ending.RETRY, reason=reason, seconds=seconds, untouched=untouched)

    def raised(self, error: Exception) -> Outcome:
        """Return the outcome of an exception that is no word of the contract."""
        sentence = f"{type(error).__name__}: {error}"
        if self._is_worth_another(error):
            return self.retry_or_fail(sentence)
        log.warning("a plugin raised", resource=self.claim.order.key, type=self.claim.type, exc_info=error)
        return self.failed(sentence)

    def _is_worth_another(self, error: Exception) -> bool:
        """Whether the type, or a client that it used, says that the same may succeed later."""
        resource = self.resource
        return resource is not None and (resource.is_retryable(error) or resource.clients.is_retryable(error))

    # -- rebuilding --------------------------------------------------------------------------------------------

    def _rebuild(self) -> Resource:
        claim = self.claim
        kind = kind_of_type(self.around.types, claim.type)
        if kind is None:
            raise ResourceFailure(f"resource type {claim.type!r} is not installed where the check ran")
        stack = self._stack()
        as_it_is = claim.order.phase == CLEANUP or is_operation(claim)
        self.given = self._applied() if as_it_is else self._brought_about(kind, stack)
        properties = self._converted(kind, as_it_is=as_it_is)
        metadata = claim.metadata if claim.metadata is not None else self.metadata
        resource = kind(
            name=claim.order.key,
            type_name=claim.type,
            state=ResourceState(
                uuid=claim.resource_id,
                physical_id=claim.physical_id,
                data=claim.data,
                metadata=dict(metadata or {}),
                action=claim.action,
                status="IN_PROGRESS",
                started_at=claim.started_at,
            ),
            properties=properties,
            stack=stack,
            settings=self.around.settings,
            now=claim.now,
            watched_metadata=self._watched(kind, properties, stack),
        )
        resource.clients = self._clients
        if self.definition is not None:
            resource.update_policy = convert_properties(
                kind.update_policy_schema, self.definition.update_policy, constraints=False
            )
        if isinstance(resource, StackResource):
            hidden = self.around.context.get("hidden", ())
            resource.stacks = self.around.child_of(claim, self.definition, stack, hidden)
            resource.wanted = tuple(tuple(path) for path in claim.wanted)
        return resource

    @property
    def _external_id(self) -> str | None:
        """The physical id of what exists already; None for what is made here."""
        return self.definition.external_id if self.definition else None

    def _converted(self, kind: type[Resource], *, as_it_is: bool) -> Mapping[str, Any]:
        retained = as_it_is and self.claim.fragment.get("policy") == RETAIN
        if retained or is_external(self.claim):
            # What is not ours, and what is left alone, may have any properties; nobody asks for them.
            return {name: prop.absent() for name, prop in kind.properties_schema.items()}
        given = self.given or {}
        if as_it_is or not self._begins(kind):
            # What was fit to be made is fit to be deleted or looked at, by whatever schema the type has today; and what
            # is under way was found to be right when it began.
            return typed_properties(kind, given, clients=self._clients)
        return valid_properties(kind, given, clients=self._clients)

    def _begins(self, kind: type[Resource]) -> bool:
        """Whether an action begins that needs sound properties."""
        claim = self.claim
        # What an object to be adopted was said to be may be a mixture of two definitions.
        if claim.started or (claim.action == "ADOPT" and "adopting" in claim.fragment):
            return False
        as_it_was = claim.was[1] == "COMPLETE" and claim.properties == self.given and not is_doubted(claim)
        return claim.action != "UPDATE" or kind.always_updates or not as_it_was

    @property
    def _clients(self) -> ProjectClients:
        return self.around.clients.of(self.around.context["project"])

    def _stack(self) -> StackDefinition:
        context = self.around.context
        data = [NodeData.from_wire(wire) for wire in self.around.inputs]
        self.requires = tuple(item.uuid for item in data)
        return StackDefinition(
            name=context["name"],
            id=context["id"],
            project=context["project"],
            parameters=context["parameters"],
            resources={item.name: ResourceProxy(name=item.name, data=item) for item in data},
            files=self.around.files(self.claim.fragment.get("files", {})),
            parent=ParentResourceProxy.of_context(context),
            asker=self.claim.order.key,
        )

    def _resolved(self, stack: StackDefinition) -> Mapping[str, Any]:
        definition = ResourceDefinition.from_fragment(
            self.claim.order.key, self.claim.fragment["definition"], Limits.of(self.around.settings)
        )
        self.definition = definition
        self.metadata = definition.resolve_metadata(stack)
        return {} if definition.external_id is not None else definition.resolve_properties(stack)

    def _brought_about(self, kind: type[Resource], stack: StackDefinition) -> Mapping[str, Any]:
        """Return the properties that the template gives, or those that an action goes on with that is under way."""
        claim = self.claim
        self.target = self._resolved(stack)
        if claim.action == "ADOPT":
            return self._as_found(self.target)
        if claim.started and not kind.supersedes:
            begun = claim.properties if claim.action == "CREATE" else claim.in_flight
            return self.target if begun is None else begun
        return self.target

    def _as_found(self, target: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the properties that an object has that is there already: what it was said to be, else ``target``."""
        if "adopting" not in self.claim.fragment or self._external_id is not None:
            return target
        found = properties_as_found(self.claim, self.around.inputs, self.around.context, self.around.files)
        self.untold = frozenset(target) - frozenset(found)
        return {**{name: target[name] for name in self.untold}, **found}

    def _applied(self) -> Mapping[str, Any]:
        """Return the properties last applied, or those that an interrupted create was about to apply."""
        if self.claim.properties is not None:
            return self.claim.properties
        planned: Mapping[str, Any] = self.claim.fragment.get("properties", {})
        return planned

    def _watched(
        self, kind: type[Resource], properties: Mapping[str, Any], stack: StackDefinition
    ) -> Mapping[str, Any] | None:
        if kind.watches is None:
            return None
        reference = properties.get(kind.watches)
        # A reference id is only known to those who were given it: the store keeps it packed, and cannot look for it.
        referred = (each.uuid for each in stack.resources.values() if each.reference_id() == reference)
        return self.around.metadata_of(next(referred, None) or str(reference))

    # -- the actions -------------------------------------------------------------------------------------------

    def _create(self, resource: Resource) -> tuple[Any, bool | Wait]:
        claim = self.claim
        self._begin()
        if self._external_id is not None:
            return None, self._taken_as_it_is(resource, self._external_id)
        if self._goes_on(resource):
            token = claim.token
        else:
            # An earlier attempt died at some instruction, perhaps after the effect and before it was written down.
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
        """Whether the action is under way, and for what is wanted now."""
        if not self.claim.started:
            return False
        if not (resource.supersedes and resource.is_outdated(self.claim.token)):
            return True
        # It is begun anew, for properties that nobody has looked at yet.
        valid_properties(type(resource), self.given or {}, clients=self._clients)
        return False

    def _adopt(self, resource: Resource) -> tuple[Any, bool | Wait]:
        claim = self.claim
        if self._external_id not in (None, claim.physical_id):
            raise ResourceFailure(f"the template's external_id is another than {claim.physical_id!r}")
        observed = None if claim.started and not self.untold else resource.observe()
        if self.untold:
            self.given, self.untold = told_by(observed, self.given or {}, self.untold, resource)
        if claim.started:
            return claim.token, resource.check_adopt_complete(claim.token)
        if observed is None:
            if claim.fragment.get("old"):
                raise ReplaceResource("what it was to adopt is gone")
            raise ResourceFailure(f"there is no object with the id {claim.physical_id!r}")
        token = None if self._external_id else resource.handle_adopt()
        return token, resource.check_adopt_complete(token)

    @staticmethod
    def _taken_as_it_is(resource: Resource, external_id: str) -> bool:
        resource.state.physical_id = external_id
        if resource.observe() is None:
            raise ResourceFailure(f"there is no object with the external_id {external_id!r}")
        return True

    def _update(self, resource: Resource) -> tuple[Any, bool | Wait]:
        claim = self.claim
        if self._external_id is not None:
            if claim.physical_id != self._external_id:
                raise RefusedChange("the external_id of a resource cannot be changed")
            if is_doubted(claim):
                return None, self._taken_as_it_is(resource, self._external_id)
            return None, True
        if self._goes_on(resource):
            return claim.token, resource.check_update_complete(claim.token)
        changes = changes_of(resource, claim)
        if not changes.names and not resource.always_updates:
            return None, True
        self._begin()
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
        self._begin()
        # What a stack made stays too if it is given up, but it is no stack any more.
        is_given_up = bool(claim.fragment.get("abandon")) and isinstance(resource, StackResource)
        if claim.fragment.get("policy") == RETAIN and not is_given_up:
            resource.handle_retain()
            return None, True
        if claim.started:
            token = claim.token
        else:
            if resource.state.physical_id is None:
                resource.state.physical_id = resource.find()
            token = resource.handle_delete()
        return token, resource.check_delete_complete(token)

    def _operate(self, resource: Resource) -> tuple[Any, bool | Wait]:
        return operate(resource, self.claim)

    # -- outcomes ----------------------------------------------------------------------------------------------

    def _done(self, resource: Resource, ending: Ending) -> Outcome:
        if self.claim.order.phase != CONVERGE or (ending is Ending.NEXT and self.claim.action != "ADOPT"):
            return self._left_behind(ending)
        attributes, unread = read_attributes(
            resource, self.claim.wanted, again=self._tried_again, recorded=self._recorded_attributes()
        )
        reference = resource.reference_id()
        node_data = NodeData(
            uuid=self.claim.resource_id,
            name=self.claim.order.key,
            action=self.claim.action,
            status="COMPLETE",
            physical_id=resource.state.physical_id,
            reference_id=reference,
            attributes=attributes,
            unread=unread,
        )
        reason = "; ".join(node_data.why_unread(path) for path in unread)
        return self._left_behind(ending, reason=reason, reference=reference, node_data=node_data)

    def _recorded_attributes(self) -> Mapping[AttributePath, Any]:
        """Return what was read of the resource before, as long as it is what it was then."""
        claim = self.claim
        is_as_it_was = claim.action == "UPDATE" and not self.acts and "reread" not in claim.fragment
        if claim.recorded is None or not is_as_it_was or is_doubted(claim) or self._may_have_other_metadata:
            return {}
        before = NodeData.from_wire(list(claim.recorded))
        return before.attributes if before.uuid == claim.resource_id else {}

    @property
    def _may_have_other_metadata(self) -> bool:
        """Whether what the template says of other resources in the metadata may be new since the plan was made."""
        said = self.definition.metadata_expression if self.definition else None
        return self.claim.changed and said is not None and any(said.requirements())

    def _tried_again(self, error: Exception) -> bool:
        """Whether doing the same again may help, and was not done too often."""
        may_help = isinstance(error, RetryableFailure) or getattr(error, "retryable", False)
        if not may_help and self.resource is not None and not isinstance(error, ResourceFailure):
            may_help = self._is_worth_another(error)
        return bool(may_help) and self.claim.retries < self.around.settings.action_retry_limit

    def _left_behind(
        self,
        ending: Ending,
        *,
        reason: str = "",
        seconds: float = 0.0,
        token: Any = None,
        reference: str | None = None,
        node_data: NodeData | None = None,
        untouched: bool = False,
    ) -> Outcome:
        claim = self.claim
        # What only could not tell something about itself is not made again to be asked again.
        over = self.over if ending is Ending.RETRY else None
        if over is not None:
            (token,) = over
        state = self.resource.state if self.resource else None
        converging = claim.order.phase == CONVERGE and not is_operation(claim)
        done = ending is Ending.DONE
        # Until an update is complete, what was there before it is what the next one starts from.
        creating = claim.action == "CREATE" and ending is not Ending.REPLACE
        applied = self.given if converging and (done or creating or ending is Ending.NEXT) else None
        if applied is not None and self.untold:
            applied = {name: value for name, value in applied.items() if name not in self.untold}
        kind = kind_of_type(self.around.types, claim.type)
        version = kind.type_version if kind else 0
        return Outcome(
            ending=ending,
            reason=reason,
            seconds=seconds,
            physical_id=state.physical_id if state else claim.physical_id,
            reference_id=reference,
            data=with_mark(
                state.data if state else claim.data,
                claim,
                ending,
                made_nothing=self.undone or not self.acts,
            ),
            token=token,
            is_over=over is not None,
            in_flight=self.given if claim.action == "UPDATE" and (over or ending is Ending.WAITING) else None,
            properties=applied,
            definition_hash=definition_hash(claim.type, applied, version)
            if ending in (Ending.DONE, Ending.NEXT) and applied is not None
            else None,
            attributes=node_data.recorded_attributes() if node_data else (),
            metadata=self.metadata if done and converging else None,
            metadata_hash=metadata_hash(self.metadata or {}) if done and converging else None,
            requires=self.requires,
            node_data=node_data.to_wire() if node_data else None,
            # What is adopted is as its dependents have it.
            changed=node_data is None or (claim.action != "ADOPT" and _differs(node_data, claim.recorded)),
            new_id=str(uuid.uuid4()) if ending is Ending.REPLACE else "",
            then=self._then if ending is Ending.NEXT else "",
            # Also of a snapshot that never comes to its end: what there is of it is deleted with it.
            entry=token if claim.action == SNAPSHOT else None,
            untouched=untouched,
            hook=self._hook(ending),
        )


def _differs(now: NodeData, recorded: Sequence[Any] | None) -> bool:
    """Whether dependents would see a difference; by which action it came to this is none."""
    if recorded is None:
        return True
    before = NodeData.from_wire(list(recorded))
    return replace(now, action=before.action, status=before.status) != before
