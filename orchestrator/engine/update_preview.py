"""What an update would do, told before it does anything.

It works on what was compared, asks no resource type but for its schemas, and makes no resource.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from orchestrator.config.limits import Limits
from orchestrator.definition import UNKNOWN, LazyFiles, NodeData, ResourceProxy, StackDefinition, is_unknown
from orchestrator.engine.stack_preview import KNOWN_LATER, kept
from orchestrator.errors import IsothermError
from orchestrator.model.actions import CHECK, SNAPSHOT, is_suspended
from orchestrator.model.graph import Graph
from orchestrator.model.plan import DesiredResource, Match
from orchestrator.planning.comparison import Comparison
from orchestrator.plugins.asking import AskedClients
from orchestrator.plugins.properties import Property, PropertyError
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.stack_resource import StackResource
from orchestrator.plugins.validating import typed_properties, valid_properties
from orchestrator.sandbox.budget import evaluation
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.template.definitions import RETAIN, ResolveError, ResourceDefinition
from orchestrator.template.expressions import Expression
from orchestrator.template.hiding import HIDDEN
from orchestrator.template.template_resource import kind_of_type
from orchestrator.validation.rules import Types
from orchestrator.views.stacks import PropertyChange, ResourcePlan, UpdatePlan

#: What becomes of a resource.
CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
REPLACE: Final = "REPLACE"
DELETE: Final = "DELETE"
UNCHANGED: Final = "UNCHANGED"
DEPENDS: Final = "DEPENDS"
REFUSE: Final = "REFUSE"


class DryRun:
    """Tells of one comparison what an update would make of it."""

    def __init__(
        self,
        compared: Comparison,
        types: Types,
        limits: Limits,
        content: Callable[[str], str],
        clients: AskedClients | None = None,
    ) -> None:
        """Keep what is told of; ``content`` reads a stored file by its digest, ``clients`` find the ids of names."""
        self._clients = clients
        self._compared, self._types, self._limits = compared, types, limits
        self._content = content
        prepared = compared.prepared
        #: What is secret now, and what was.
        self._hidden = prepared.parameters.hidden | set(compared.context.get("hidden", ()))
        self._rows = {row.id: row for row in compared.rows}
        #: What is there and stays as it is; the values of everything else are not known.
        self._proxies = {
            name: ResourceProxy(name=name, type=each.type)
            for name, each in prepared.template.resources.items()
        }
        self._stack = StackDefinition(
            name=prepared.name,
            id=prepared.stack_id,
            project=prepared.project,
            parameters=prepared.parameters.values,
            resources=self._proxies,
            files=prepared.template.files,
        )

    def plan(self, state: str, tags: tuple[str, ...] = ()) -> UpdatePlan:
        """Return what would become of each resource; ``state`` is the stack's, ``tags`` those that it would have.

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

    # -- what is wished for ------------------------------------------------------------------------------------

    def _planned(self, desired: DesiredResource) -> ResourcePlan:
        match = self._compared.matches[desired.name]
        if match.row is None:
            return self._made(desired)
        row = self._rows[match.row.id]
        planned = self._changed(desired, match, row)
        if planned.action == UNCHANGED and match.node_data is not None:
            data = NodeData.from_wire(match.node_data)
            # What nobody asked for until now is not on record.
            if desired.wanted <= data.attributes.keys():
                self._proxies[desired.name] = replace(self._proxies[desired.name], data=data)
        return planned

    def _made(self, desired: DesiredResource) -> ResourcePlan:
        """Tell of a resource that becomes another one, or is new altogether."""
        before = [row for row in self._compared.rows if row.name == desired.name and row.action != "INIT"]
        if not before:
            return _plan_of(desired, CREATE)
        row = before[-1]
        if row.type != desired.type:
            return _plan_of(desired, REPLACE, f"its type was {row.type}")
        if row.action == "DELETE":
            return _plan_of(desired, CREATE, f"what had its name is {row.action}_{row.status}")
        return _plan_of(desired, REPLACE, "its external_id is another one")

    def _changed(self, desired: DesiredResource, match: Match, row: ResourceRow) -> ResourcePlan:
        state = f"it is {row.action}_{row.status}"
        definition = self._compared.prepared.template.resources[desired.name]
        if definition.external_id is not None:
            return _plan_of(desired, UNCHANGED if row.status == "COMPLETE" else UPDATE, "it is not ours")
        # What is not adopted yet is adopted first.
        is_adopted = row.action == "ADOPT" and row.status != "COMPLETE"
        if is_adopted or (row.status == "FAILED" and issubclass(self._kind(row.type), StackResource)):
            return _plan_of(desired, UPDATE, state)
        if row.action == "INIT":
            return _plan_of(desired, CREATE)
        failed = row.status == "FAILED" and row.action not in (CHECK, SNAPSHOT)
        if failed or match.told.get("replace"):
            return _plan_of(desired, REPLACE, match.told.get("replace") or state)
        if row.properties is None:
            return _plan_of(desired, CREATE, state)
        planned = _doubted(match, row, self._compared_with(definition, desired, row))
        was = self._compared.history.applied.get(row.id, {}).get("child")
        if planned.action == UNCHANGED and desired.fragment.get("child") != was:
            planned = _plan_of(desired, UPDATE, "the definition of its stack changes")
        if planned.action == UNCHANGED and row.type != desired.type:
            planned = _plan_of(desired, UPDATE, f"its type was {row.type}, in whose place this one is")
        if planned.action == UNCHANGED and match.new_metadata:
            planned = _plan_of(desired, UPDATE, "its metadata change")
        if row.status == "IN_PROGRESS":
            reason = "; ".join(part for part in (planned.reason, state) if part)
            action = UPDATE if planned.action == UNCHANGED else planned.action
            planned = replace(planned, action=action, reason=reason)
        return planned

    def _compared_with(
        self, definition: ResourceDefinition, desired: DesiredResource, row: ResourceRow
    ) -> ResourcePlan:
        """Tell what the difference between what is wished and what was applied comes to."""
        kind = self._kind(desired.type)
        try:
            return _judged(desired, tuple(self._changes(definition, row, kind)), kind)
        except ResolveError as error:
            return _plan_of(desired, REFUSE, error.problem.message)
        except PropertyError as error:
            return _plan_of(desired, REFUSE, definition.tellable(error, self._hidden).told)

    def _changes(
        self, definition: ResourceDefinition, row: ResourceRow, kind: type[Resource]
    ) -> Iterator[PropertyChange]:
        """Yield how the properties change, or may.

        Raises:
            ResolveError: they cannot be evaluated.
            PropertyError: the type does not take them.
        """
        whole = definition.properties_expression
        if whole.is_call and is_unknown(whole.resolve(self._stack)):
            yield PropertyChange(name="", before=HIDDEN, after=KNOWN_LATER, meaning=UPDATE, is_certain=False)
            return
        given, applied = definition.resolve_properties(self._stack), row.properties or {}
        after = valid_properties(kind, given, clients=self._clients)
        before = typed_properties(kind, applied, clients=self._clients)
        shown = whole.shown(self._stack, self._hidden, later=KNOWN_LATER)
        for name in sorted({*before, *after}):
            old, new = before.get(name), after.get(name)
            certain = not _may_be(new, old)
            if not certain and not is_unknown(new):
                continue
            told = shown.get(name, new) if isinstance(shown, dict) else shown
            yield PropertyChange(
                name=name,
                before=self._shown_before(name, definition, row, applied.get(name, old)),
                after=KNOWN_LATER if is_unknown(told) else kept(told),
                meaning=_meaning(kind.properties_schema.get(name)),
                is_certain=certain,
            )

    def _shown_before(self, name: str, definition: ResourceDefinition, row: ResourceRow, value: Any) -> Any:
        """Return a value that was applied as people may see it.

        Masked unless it is just what an earlier definition makes of what is no secret, and the new one reads no secret
        there either.
        """
        fragment = self._compared.history.applied.get(row.id)
        if fragment is None or not _is_open(definition, name, self._hidden):
            return HIDDEN
        context = self._compared.context
        try:
            earlier = ResourceDefinition.from_fragment(row.name, fragment["definition"], self._limits)
            stack = StackDefinition(
                name=context["name"],
                id=context["id"],
                project=context["project"],
                parameters=context["parameters"],
                resources={other: ResourceProxy(name=other) for other in earlier.requirements},
                files=LazyFiles(fragment.get("files", {}), self._content),
            )
            said = earlier.resolve_properties(stack)
        except IsothermError:
            return HIDDEN
        if not _is_open(earlier, name, self._hidden):
            return HIDDEN
        absent = self._kind(row.type).properties_schema.get(name)
        default = absent.absent() if absent is not None else None
        return value if said.get(name, default) == value else HIDDEN

    def _kind(self, name: str) -> type[Resource]:
        kind = kind_of_type(self._types, name)
        # It was installed when the job was examined.
        return Resource if kind is None else kind

    # -- what nobody wishes for --------------------------------------------------------------------------------

    def _deleted(self) -> Iterator[ResourcePlan]:
        matches = self._compared.matches
        chosen = {match.row.id for match in matches.values() if match.row}
        for row in self._compared.rows:
            if row.id in chosen or row.action == "INIT":
                continue
            # Of what is replaced, the new one tells.
            if row.name in matches and matches[row.name].row is None and row.action != "DELETE":
                continue
            reasons = ["another has taken its place" if row.name in matches else "", self._kept(row)]
            yield ResourcePlan(
                name=row.name, type=row.type, action=DELETE, reason="; ".join(filter(None, reasons))
            )

    def _kept(self, row: ResourceRow) -> str:
        """Return why what a row stands for would stay in the world all the same; empty if it would not."""
        said = self._compared.history.planned.get(row.id, {}).get("definition", {})
        if said.get("e") is not None:
            return "what it stands for is not ours, and stays"
        return "what it stands for stays: its deletion policy is Retain" if said.get("x") == RETAIN else ""


def _doubted(match: Match, row: ResourceRow, planned: ResourcePlan) -> ResourcePlan:
    """Add to what becomes of a resource that nobody can tell before it is looked at."""
    reasons = [planned.reason] if planned.reason else []
    action = planned.action
    if is_suspended(row.action, row.status):
        reasons.append("it is suspended, and resumed first")
        action = UPDATE if action == UNCHANGED else action
    if match.told.get("refresh") or (row.action == CHECK and row.status != "COMPLETE"):
        state = "" if match.told.get("refresh") else f"it is {row.action}_{row.status}: "
        reasons.append(f"{state}changed back, or replaced, if others changed or removed it")
        action = DEPENDS if action == UNCHANGED else action
    return replace(planned, action=action, reason="; ".join(reasons))


def _judged(
    desired: DesiredResource, changes: tuple[PropertyChange, ...], kind: type[Resource]
) -> ResourcePlan:
    """Return what changes of properties come to."""
    certain = {change.name: change.meaning for change in changes if change.is_certain}
    may_replace = [change.name for change in changes if not change.is_certain and change.meaning != UPDATE]
    for meaning, words in (
        (REFUSE, "cannot be changed once set: {}"),
        (REPLACE, "cannot be changed in place: {}"),
    ):
        names = [name for name, means in certain.items() if means == meaning]
        if names:
            return _plan_of(desired, meaning, words.format(", ".join(names)), changes)
    reasons = []
    if certain and kind.needs_replace is not Resource.needs_replace:
        reasons.append("its type may decide to replace it")
    if may_replace:
        reasons.append(f"replaced if this changes: {', '.join(may_replace)}")
    if changes and not certain:
        return _plan_of(
            desired, DEPENDS, "; ".join(["only if what it depends on changes", *reasons]), changes
        )
    return _plan_of(desired, UPDATE if certain else UNCHANGED, "; ".join(reasons), changes)


def _plan_of(
    desired: DesiredResource, action: str, reason: str = "", changes: tuple[PropertyChange, ...] = ()
) -> ResourcePlan:
    return ResourcePlan(name=desired.name, type=desired.type, action=action, reason=reason, changes=changes)


def _meaning(prop: Property | None) -> str:
    if prop is None or prop.update_allowed:
        return UPDATE
    return REFUSE if prop.immutable else REPLACE


def _may_be(value: Any, other: Any) -> bool:
    """Whether a value may turn out to be ``other`` once all of it is known."""
    if value is UNKNOWN:
        return True
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(_may_be(item, other[key]) for key, item in value.items())
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_may_be, value, other))
    return bool(value == other)


def _is_open(definition: ResourceDefinition, name: str, hidden: frozenset[str]) -> bool:
    """Whether what a definition says of a property may be shown, also if it says nothing."""
    expression: Expression = definition.properties_expression
    if not expression.is_call and name not in definition.properties:
        return True
    return expression.covered((name,), hidden) is None
