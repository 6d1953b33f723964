"""Preview of an update: its effect on each resource, without performing it. No resource is made."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from orchestrator.config.limits import Limits
from orchestrator.definition import UNKNOWN, NodeData, StackDefinition, is_unknown
from orchestrator.engine.idle_nested_stacks import resource_of
from orchestrator.engine.plan_changes import PlanChanges
from orchestrator.model.graph import Graph
from orchestrator.model.plan import DesiredResource, Match
from orchestrator.planning.applied import AppliedDefinitions
from orchestrator.planning.comparison import Comparison
from orchestrator.planning.decision import (
    WHOLE,
    Action,
    Subject,
    decide,
    is_in_doubt,
    is_validated,
    lasting_attributes,
    may_be,
    restrictions_of,
)
from orchestrator.planning.fingerprints import metadata_hash
from orchestrator.planning.matching import NO_METADATA, standing
from orchestrator.planning.preparation import blank_stack
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.validating import typed_properties, valid_properties
from orchestrator.sandbox.budget import evaluation
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.template.definitions import (
    RETAIN,
    SNAPSHOT,
    ResolveError,
    ResourceDefinition,
    deletion_policy_of,
)
from orchestrator.template.locations import is_template
from orchestrator.template.template_resource import kind_of_type
from orchestrator.validation.examiner import Examined
from orchestrator.validation.rules import Types
from orchestrator.views.stacks import PropertyChange, ResourcePlan, UpdatePlan

#: Why a resource is not deleted that is protected, or in whose nested stack something is.
NOT_DELETED: Final = "what is protected is not deleted (isotherm stack unprotect)"
#: The effect on a resource that is not desired any more.
DELETE: Final = "DELETE"
#: What is kept of an object by the deletion policy, in words.
_KEPT: Final = {
    RETAIN: "what it stands for stays: its deletion policy is Retain",
    SNAPSHOT: "a snapshot of it is taken first: its deletion policy is Snapshot",
}


class DryRun:
    """The effect of an update, by the comparison of its definition with the rows."""

    def __init__(
        self,
        compared: Comparison,
        types: Types,
        limits: Limits,
        content: Callable[[str], str],
        clients: NamedClients | None = None,
    ) -> None:
        """Keep the comparison; ``content`` reads a stored file by its digest, ``clients`` find the ids of names."""
        self._clients = clients
        self._compared, self._types, self._limits = compared, types, limits
        prepared = compared.prepared
        #: The names of parameters that are or were hidden.
        self._hidden = prepared.parameters.hidden | set(compared.context.get("hidden", ()))
        self._rows = {row.id: row for row in compared.rows}
        #: Only the values of resources that stay as they are are known in it.
        self._proxies, self._stack = blank_stack(prepared)
        #: The resources that a worker visits, or may.
        self._visited: set[str] = set()
        #: The resources of rows, by name, with the properties of the definition as far as they are known.
        self._resources: dict[str, Resource] = {}
        applied = AppliedDefinitions(
            rows=compared.rows,
            context=compared.context,
            hidden=self._hidden,
            limits=limits,
            content=content,
        )
        self._changes = PlanChanges(applied=applied, stack=self._stack, hidden=self._hidden)

    @property
    def stack(self) -> StackDefinition:
        """The stack, with the values of resources that stay as they are, once it is planned."""
        return self._stack

    @property
    def hidden(self) -> frozenset[str]:
        """The names of parameters that are or were hidden."""
        return frozenset(self._hidden)

    def resource(self, name: str) -> Resource | None:
        """Return the resource of a row with the properties that the definition gives it, as far as they are known.

        None if they are not known at all, or nothing was compared.
        """
        resource = self._resources.get(name)
        return None if resource is None or WHOLE in resource.properties else resource

    def plan(self, state: str, tags: tuple[str, ...] = ()) -> UpdatePlan:
        """Return the effect on each resource; ``state`` is the stack's, ``tags`` are those after the update.

        Raises:
            InvalidInput: evaluating the template takes too long.
        """
        desired_resources = {desired.name: desired for desired in self._compared.desired_resources}
        order = Graph({name: desired.requires for name, desired in desired_resources.items()}).in_order()
        with evaluation(self._limits):
            planned = [self._moved(self._planned(desired_resources[name])) for name in order]
        return UpdatePlan(
            name=self._compared.prepared.name,
            state=state,
            tags=tags,
            parameters=self._compared.prepared.parameters.shown(),
            resources=(*planned, *self._deleted()),
            warnings=(*self._compared.prepared.warnings, *self._compared.moved.warnings),
        )

    def _moved(self, planned: ResourcePlan) -> ResourcePlan:
        """Return the plan of a resource with its present name, if it has another from now on."""
        before = self._compared.moved.paths.get(planned.name, "")
        if not before:
            return planned
        reason = "; ".join(filter(None, [f"moved from {before!r}", planned.reason]))
        return replace(planned, moved_from=before, reason=reason)

    def _planned(self, desired: DesiredResource) -> ResourcePlan:
        match = self._compared.matches[desired.name]
        row = self._rows[match.row.id] if match.row else None
        definition = self._compared.prepared.template.resources[desired.name]
        try:
            planned = (
                self._changed(definition, desired, match, row) if row else self._made(definition, desired)
            )
            if row is not None and row.id in self._compared.moved.made:
                # For what is moved into it, it has a row already.
                planned = self._made(definition, desired)
        except ResolveError as error:
            return _plan_of(desired, Action.REFUSE, error.problem.message)
        except PropertyError as error:
            schema = self._kind(desired.type).properties_schema
            refused = definition.redacted(error, self._hidden, schema)
            return _plan_of(desired, Action.REFUSE, refused.full_message)
        if match.refusal:
            planned = _plan_of(desired, Action.REFUSE, match.refusal)
        elif row is not None and (dropped := self._dropped_inside(desired.name, row)):
            planned = _plan_of(desired, Action.REFUSE, f"{NOT_DELETED}: {', '.join(dropped)}")
        elif row is not None:
            planned = self._beside_others(planned, row)
        if not match.clean or not self._visited.isdisjoint(desired.requires):
            self._visited.add(desired.name)
        if planned.action == Action.KEEP and row is not None and match.node_data is not None:
            data = self._known(desired, match, row)
            self._proxies[desired.name] = replace(self._proxies[desired.name], data=data)
        return planned

    def _beside_others(self, planned: ResourcePlan, row: ResourceRow) -> ResourcePlan:
        """Return the plan of a resource with the note that what it replaces is not deleted yet, if it is so."""
        part = self._compared.part
        replaces = Action.REPLACE.value in (planned.action, *planned.may)
        if part is None or not replaces or row.id not in part.stays:
            return planned
        users = sorted({each.name for each in self._compared.all_rows if row.id in each.requires})
        note = f"what it replaces stays until the next update: {', '.join(users)} requires it"
        return replace(planned, reason="; ".join(filter(None, [planned.reason, note])))

    def _dropped_inside(self, name: str, row: ResourceRow) -> list[str]:
        """Return what is protected in a nested stack, and certainly no part of its new definition."""
        examined = self._compared.prepared.nested.get(name)
        if examined is None or self._compared.unprotect or not is_template(row.type):
            return []
        paths = [path for path in self._compared.protected.get(row.id, ()) if path != row.name]
        return [path for path in paths if not _has(examined, path.split("/")[1:])]

    def _known(self, desired: DesiredResource, match: Match, row: ResourceRow) -> NodeData:
        """Return the node data of a resource that stays as it is; ``UNKNOWN`` is an attribute that is read again."""
        data = NodeData.from_wire(match.node_data)
        if desired.name not in self._visited:
            return data
        was = (row.action, row.status)
        is_reread = "reread" in match.step_data or is_in_doubt(was, refresh=_is_refreshed(match))
        lasting = {} if is_reread else lasting_attributes(self._kind(desired.type), data.attributes)
        attributes = {path: lasting.get(path, UNKNOWN) for path in desired.wanted}
        return replace(data, attributes=attributes, unread={})

    def _made(self, definition: ResourceDefinition, desired: DesiredResource) -> ResourcePlan:
        """Return the plan of a resource that is replaced, or is new."""
        given = self._given(definition)
        if WHOLE not in given and definition.external_id is None:
            valid_properties(self._kind(desired.type), given, clients=self._clients)
        definition.resolve_metadata(self._stack)
        made = self._compared.moved.made
        before = [
            row
            for row in self._compared.rows
            if row.name == desired.name and row.action != "INIT" and row.id not in made
        ]
        if not before:
            return _plan_of(desired, Action.CREATE)
        row = max(before, key=standing)
        if row.action == "DELETE":
            return _plan_of(desired, Action.CREATE, f"what had its name is {row.action}_{row.status}")
        if row.type != desired.type:
            return _plan_of(desired, Action.REPLACE, f"its type was {row.type}")
        return _plan_of(desired, Action.REPLACE, "its external_id is another one")

    def _changed(
        self, definition: ResourceDefinition, desired: DesiredResource, match: Match, row: ResourceRow
    ) -> ResourcePlan:
        kind = self._kind(desired.type)
        if definition.external_id is not None and row.action != "INIT":
            return _plan_of(
                desired, Action.KEEP if row.status == "COMPLETE" else Action.UPDATE, "it is not ours"
            )
        wanted, refusal = self._wanted_of_row(definition, desired, row, refresh=_is_refreshed(match))
        has_new_metadata, may_have_new_metadata = self._metadata(definition, row)
        subject = Subject(
            resource=resource_of(
                replace(row, type=desired.type),
                kind,
                self._stack,
                self._compared.settings,
                row.updated_at,
                properties=wanted,
            ),
            was=(row.action, row.status),
            applied=lambda: (
                None
                if row.properties is None
                else typed_properties(kind, row.properties, clients=self._clients)
            ),
            replace=match.step_data.get("replace", ""),
            refresh=_is_refreshed(match),
            besides=self._besides(desired, match, row, has_new_metadata=has_new_metadata),
            perhaps=may_have_new_metadata,
            restricted=restrictions_of(desired.fragment, match.step_data),
            is_other_inside=self._is_other_inside(desired, row),
        )
        self._resources[desired.name] = subject.resource
        decided = decide(subject)
        fragment = self._compared.history.applied.get(row.id)
        changes = self._changes.of(definition, row, fragment, kind, decided)
        planned = _plan_of(desired, decided.action, decided.reason, changes, decided.may)
        if not refusal:
            return planned
        reason = "; ".join(filter(None, [planned.reason, f"may be refused, because {refusal}"]))
        return replace(planned, reason=reason, may=tuple(sorted({*planned.may, Action.REFUSE.value})))

    def _wanted_of_row(
        self, definition: ResourceDefinition, desired: DesiredResource, row: ResourceRow, *, refresh: bool
    ) -> tuple[Mapping[str, Any], str]:
        """Return the properties for a row as the type sees them, and why they may be refused; empty if they are not.

        Raises:
            PropertyError: they are refused for certain.
            ResolveError: a call failed.
        """
        given, kind = self._given(definition), self._kind(desired.type)
        if WHOLE in given:
            return given, ""
        was = (row.action, row.status)
        if not is_validated(kind, was, row.properties, given, refresh=refresh):
            return typed_properties(kind, given, clients=self._clients), ""
        try:
            return valid_properties(kind, given, clients=self._clients), ""
        except PropertyError as error:
            # Once all is known, it may be what was applied, which is not validated again.
            applied = given if may_be(given, row.properties) else row.properties
            if is_validated(kind, was, applied, given, refresh=refresh) or not is_unknown(given):
                raise
            refusal = definition.redacted(error, self._hidden, kind.properties_schema).full_message
            return typed_properties(kind, given, clients=self._clients), refusal

    def _given(self, definition: ResourceDefinition) -> dict[str, Any]:
        """Return the properties of a definition, as far as they are known."""
        whole = definition.properties_expression
        if definition.external_id is not None:
            return {}
        if whole.is_call and is_unknown(whole.resolve(self._stack)):
            return {WHOLE: UNKNOWN}
        return definition.resolve_properties(self._stack)

    def _metadata(self, definition: ResourceDefinition, row: ResourceRow) -> tuple[bool, bool]:
        """Return whether the template's metadata change, and whether they may."""
        metadata = definition.resolve_metadata(self._stack)
        if is_unknown(metadata):
            return False, True
        return metadata_hash(metadata) != (row.metadata_hash or NO_METADATA), False

    def _besides(
        self, desired: DesiredResource, match: Match, row: ResourceRow, *, has_new_metadata: bool
    ) -> str:
        """Return what changes of a resource besides its properties; empty if nothing does."""
        history = self._compared.history
        if self._is_other_inside(desired, row):
            return "the definition of its stack changes"
        if row.id in history.unsettled and self._kind(desired.type).always_updates:
            return "something in its stack is to be seen to"
        # The row may have a type that was never applied.
        if row.type != desired.type and not match.clean:
            return f"its type was {row.type}, in whose place this one is"
        return "its metadata change" if has_new_metadata else ""

    def _is_other_inside(self, desired: DesiredResource, row: ResourceRow) -> bool:
        applied = self._compared.history.applied.get(row.id, {})
        return bool(desired.fragment.get("child") != applied.get("child"))

    def _kind(self, name: str) -> type[Resource]:
        kind = kind_of_type(self._types, name)
        # It was installed when the job was examined.
        return Resource if kind is None else kind

    def _deleted(self) -> Iterator[ResourcePlan]:
        matches = self._compared.matches
        chosen = {match.row.id for match in matches.values() if match.row}
        for row in self._compared.rows:
            if row.id in chosen or row.action == "INIT":
                continue
            # A replaced row is part of the plan of its replacement.
            is_replaced = row.name in matches and (matches[row.name].row is None or matches[row.name].refusal)
            if is_replaced and row.action != "DELETE":
                continue
            if row.id in self._compared.protected and not self._compared.unprotect:
                reason = refusal_of(row.name, self._compared.protected[row.id])
                yield ResourcePlan(name=row.name, type=row.type, action=Action.REFUSE.value, reason=reason)
                continue
            planned = self._compared.history.planned.get(row.id, {})
            reasons = ["another has taken its place" if row.name in matches else "", why_kept(planned)]
            yield ResourcePlan(
                name=row.name, type=row.type, action=DELETE, reason="; ".join(filter(None, reasons))
            )


def refusal_of(name: str, paths: Iterable[str]) -> str:
    """Return why a resource is not deleted that is protected, or in whose nested stack what is at ``paths`` is."""
    inner = [path for path in paths if path != name]
    return f"{NOT_DELETED}: {', '.join(inner)}" if inner else NOT_DELETED


def why_kept(planned: Mapping[str, Any]) -> str:
    """Return what is kept of a deleted row's object, and why, by the row's planned fragment; empty for nothing."""
    definition = planned.get("definition", {})
    if definition.get("e") is not None:
        return "what it stands for is not ours, and stays"
    return _KEPT.get(deletion_policy_of(definition), "")


def _has(examined: Examined, path: Sequence[str]) -> bool:
    """Return whether a template has the resource at a path; inside of a group any may be."""
    if not path:
        return True
    if path[0] not in examined.template.resources:
        return False
    inner = examined.nested.get(path[0]) if is_template(examined.types[path[0]]) else None
    return inner is None or _has(inner, path[1:])


def _is_refreshed(match: Match) -> bool:
    """Return whether a worker compares the object with the row: a refresh was requested, or the row is taken back."""
    return bool(match.step_data.get("refresh"))


def _plan_of(
    desired: DesiredResource,
    action: Action,
    reason: str = "",
    changes: Iterable[PropertyChange] = (),
    may: Iterable[Action] = (),
) -> ResourcePlan:
    return ResourcePlan(
        name=desired.name,
        type=desired.type,
        action=action.value,
        reason=reason,
        changes=tuple(changes),
        may=tuple(sorted(each.value for each in may)),
    )
