"""Preview of an update: its effect on each resource, without performing it. No resource is made."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from orchestrator.config.limits import Limits
from orchestrator.definition import UNKNOWN, LazyFiles, NodeData, ResourceProxy, StackDefinition, is_unknown
from orchestrator.engine.idle_nested_stacks import resource_of
from orchestrator.engine.stack_preview import KNOWN_LATER, kept
from orchestrator.errors import IsothermError
from orchestrator.model.graph import Graph
from orchestrator.model.plan import DesiredResource, Match
from orchestrator.planning.comparison import Comparison
from orchestrator.planning.decision import WHOLE, Action, Decision, Subject, decide, is_validated, meaning_of
from orchestrator.planning.matching import blank_stack, standing
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.validating import typed_properties, valid_properties
from orchestrator.sandbox.budget import evaluation
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.template.definitions import RETAIN, ResolveError, ResourceDefinition
from orchestrator.template.expressions import Expression
from orchestrator.template.hiding import HIDDEN
from orchestrator.template.template_resource import kind_of_type
from orchestrator.validation.rules import Types
from orchestrator.views.stacks import PropertyChange, ResourcePlan, UpdatePlan

#: The effect on a resource that is not desired any more.
DELETE: Final = "DELETE"


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
        self._content = content
        prepared = compared.prepared
        #: The names of parameters that are or were hidden.
        self._hidden = prepared.parameters.hidden | set(compared.context.get("hidden", ()))
        self._rows = {row.id: row for row in compared.rows}
        #: Only the values of resources that stay as they are are known in it.
        self._proxies, self._stack = blank_stack(prepared)

    def plan(self, state: str, tags: tuple[str, ...] = ()) -> UpdatePlan:
        """Return the effect on each resource; ``state`` is the stack's, ``tags`` are those after the update.

        Raises:
            InvalidInput: evaluating the template takes too long.
        """
        desired_resources = {desired.name: desired for desired in self._compared.desired_resources}
        order = Graph({name: desired.requires for name, desired in desired_resources.items()}).in_order()
        with evaluation(self._limits):
            planned = [self._planned(desired_resources[name]) for name in order]
        return UpdatePlan(
            name=self._compared.prepared.name,
            state=state,
            tags=tags,
            parameters=self._compared.prepared.parameters.shown(),
            resources=(*planned, *self._deleted()),
            warnings=self._compared.prepared.warnings,
        )

    def _planned(self, desired: DesiredResource) -> ResourcePlan:
        match = self._compared.matches[desired.name]
        row = self._rows[match.row.id] if match.row else None
        definition = self._compared.prepared.template.resources[desired.name]
        try:
            planned = (
                self._changed(definition, desired, match, row) if row else self._made(definition, desired)
            )
        except ResolveError as error:
            return _plan_of(desired, Action.REFUSE, error.problem.message)
        except PropertyError as error:
            return _plan_of(desired, Action.REFUSE, definition.redacted(error, self._hidden).full_message)
        if planned.action == Action.KEEP and match.node_data is not None:
            data = NodeData.from_wire(match.node_data)
            # Attributes that nothing referred to before are not on record.
            if desired.wanted <= data.attributes.keys():
                self._proxies[desired.name] = replace(self._proxies[desired.name], data=data)
        return planned

    def _made(self, definition: ResourceDefinition, desired: DesiredResource) -> ResourcePlan:
        """Return the plan of a resource that is replaced, or is new."""
        self._wanted(definition, desired)
        before = [row for row in self._compared.rows if row.name == desired.name and row.action != "INIT"]
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
        resource = resource_of(
            replace(row, type=desired.type),
            kind,
            self._stack,
            self._compared.settings,
            row.updated_at,
            properties=self._wanted(definition, desired, row),
        )
        subject = Subject(
            resource=resource,
            was=(row.action, row.status),
            applied=lambda: (
                None
                if row.properties is None
                else typed_properties(kind, row.properties, clients=self._clients)
            ),
            replace=match.step_data.get("replace", ""),
            refresh=self._compared.refresh,
            besides=self._besides(desired, match, row),
        )
        decided = decide(subject)
        return _plan_of(
            desired, decided.action, decided.reason, self._changes(definition, row, kind, decided)
        )

    def _wanted(
        self, definition: ResourceDefinition, desired: DesiredResource, row: ResourceRow | None = None
    ) -> Mapping[str, Any]:
        """Return the properties as the type sees them, as far as they are known."""
        whole, kind = definition.properties_expression, self._kind(desired.type)
        if definition.external_id is not None:
            return {}
        if whole.is_call and is_unknown(whole.resolve(self._stack)):
            return {WHOLE: UNKNOWN}
        given = definition.resolve_properties(self._stack)
        if row is None or is_validated(
            kind, (row.action, row.status), row.properties, given, refresh=self._compared.refresh
        ):
            return valid_properties(kind, given, clients=self._clients)
        return typed_properties(kind, given, clients=self._clients)

    def _besides(self, desired: DesiredResource, match: Match, row: ResourceRow) -> str:
        """Return what changes of a resource besides its properties; empty if nothing does."""
        history = self._compared.history
        if desired.fragment.get("child") != history.applied.get(row.id, {}).get("child"):
            return "the definition of its stack changes"
        if row.id in history.unsettled and self._kind(desired.type).always_updates:
            return "something in its stack is to be seen to"
        # The row may have a type that was never applied.
        if row.type != desired.type and not match.clean:
            return f"its type was {row.type}, in whose place this one is"
        return "its metadata change" if match.new_metadata else ""

    def _changes(
        self, definition: ResourceDefinition, row: ResourceRow, kind: type[Resource], decided: Decision
    ) -> Iterator[PropertyChange]:
        names = sorted(decided.changed | decided.possible)
        if not names or decided.changes is None:
            return
        if names == [WHOLE]:
            yield PropertyChange(
                name="", before=HIDDEN, after=KNOWN_LATER, meaning=Action.UPDATE.value, is_certain=False
            )
            return
        shown = definition.properties_expression.shown(self._stack, self._hidden, later=KNOWN_LATER)
        applied = row.properties or {}
        for name in names:
            new = decided.changes.after.get(name) if name in decided.changed else UNKNOWN
            value = shown.get(name, new) if isinstance(shown, dict) else shown
            old = applied.get(name, decided.changes.before.get(name))
            yield PropertyChange(
                name=name,
                before=self._shown_before(name, definition, row, old),
                after=KNOWN_LATER if is_unknown(value) else kept(value),
                meaning=meaning_of(kind.properties_schema.get(name)).value,
                is_certain=name in decided.changed,
            )

    def _shown_before(self, name: str, definition: ResourceDefinition, row: ResourceRow, value: Any) -> Any:
        """Return a value that was applied, masked unless both definitions make it without reading a secret."""
        fragment = self._compared.history.applied.get(row.id)
        if fragment is None or not _is_open(definition, name, self._hidden):
            return HIDDEN
        context = self._compared.context
        try:
            earlier = ResourceDefinition.from_fragment(row.name, fragment["definition"], self._limits)
            stack = StackDefinition.of_context(
                context,
                parent=None,
                resources={other: ResourceProxy(name=other) for other in earlier.requirements},
                files=LazyFiles(fragment.get("files", {}), self._content),
            )
            resolved = earlier.resolve_properties(stack)
        except IsothermError:
            return HIDDEN
        if not _is_open(earlier, name, self._hidden):
            return HIDDEN
        absent = self._kind(row.type).properties_schema.get(name)
        default = absent.absent() if absent is not None else None
        return value if resolved.get(name, default) == value else HIDDEN

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
            if row.name in matches and matches[row.name].row is None and row.action != "DELETE":
                continue
            reasons = ["another has taken its place" if row.name in matches else "", self._kept(row)]
            yield ResourcePlan(
                name=row.name, type=row.type, action=DELETE, reason="; ".join(filter(None, reasons))
            )

    def _kept(self, row: ResourceRow) -> str:
        """Return why the object of a row would be kept; empty if it would be deleted."""
        planned = self._compared.history.planned.get(row.id, {}).get("definition", {})
        if planned.get("e") is not None:
            return "what it stands for is not ours, and stays"
        return "what it stands for stays: its deletion policy is Retain" if planned.get("x") == RETAIN else ""


def _plan_of(
    desired: DesiredResource, action: Action, reason: str = "", changes: Iterable[PropertyChange] = ()
) -> ResourcePlan:
    return ResourcePlan(
        name=desired.name, type=desired.type, action=action.value, reason=reason, changes=tuple(changes)
    )


def _is_open(definition: ResourceDefinition, name: str, hidden: frozenset[str]) -> bool:
    """Return whether a property's value in a definition reads no secret; one without a value reads none."""
    expression: Expression = definition.properties_expression
    if not expression.is_call and name not in definition.properties:
        return True
    return expression.covered((name,), hidden) is None
