"""The rebuilding of a claimed resource for its plugin, from the claim and the check context alone."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from typing import Any, Final

from orchestrator.definition import NodeData, ResourceProxy, StackDefinition
from orchestrator.errors import IsothermError
from orchestrator.model.messages import CLEANUP
from orchestrator.planning.decision import is_validated
from orchestrator.planning.rows import MADE_AS, MADE_IN, made_as_of, made_in_of, stack_as_made
from orchestrator.plugins.clients import ProjectClients
from orchestrator.plugins.properties import Property, PropertyError, convert_properties
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.sensitive import is_sensitive
from orchestrator.plugins.stack_resource import StackResource
from orchestrator.plugins.steps import ResourceFailure, ResourceState
from orchestrator.plugins.validating import typed_properties, valid_properties
from orchestrator.store.nodes.claims import Claim
from orchestrator.template.definitions import RETAIN, ResourceDefinition
from orchestrator.template.document import Path
from orchestrator.template.template_resource import kind_of_type
from workers.check.adopting import properties_as_found
from workers.check.context import CheckContext
from workers.check.operating import is_external, is_operation

#: A private fact of a resource during an update: how its object had drifted before.
DRIFT: Final = "isotherm:changed-by-others"


class Attempt:
    """An attempt at a claim: what it found, with the resource once that is rebuilt, and how far it got."""

    def __init__(self, claim: Claim, check: CheckContext) -> None:
        self.claim = claim
        self.check = check
        self.resource: Resource | None = None
        #: The resolved properties that this step applies; the plugin gets them converted.
        self.given: Mapping[str, Any] | None = None
        #: The template's properties, which differ where an action begun for another definition goes on.
        self.target: Mapping[str, Any] | None = None
        #: The names of the doubtful properties: an object to be adopted is taken as it is.
        self.unknown: frozenset[str] = frozenset()
        #: The observed properties of an imported object that differ from those of its definition.
        self.seen: Mapping[str, Any] = {}
        #: The template's definition; None where the applied one counts.
        self.definition: ResourceDefinition | None = None
        self.metadata: Mapping[str, Any] | None = None
        self.requires: tuple[str, ...] = ()
        #: The token of the action once it is over, or goes on whatever becomes of this step; None before.
        self.over: list[Any] | None = None
        #: Whether the action touches the object; if not, it is over without having begun.
        self.acts = claim.started
        #: Whether the action certainly had no effect, although it began.
        self.undone = False
        #: How the object had drifted before this update, in words; empty if it had not.
        self.drift: str = claim.data.get(DRIFT, "")

    def rebuild(self) -> Resource:
        """Return the resource as its plugin is to see it.

        Raises:
            ResourceFailure: its type is not installed.
            PropertyError: a property is not sound.
        """
        claim = self.claim
        kind = kind_of_type(self.check.types, claim.type)
        if kind is None:
            raise ResourceFailure(f"resource type {claim.type!r} is not installed where the check ran")
        stack = self.stack
        self.requires = tuple(item.uuid for item in self.inputs)
        as_it_is = claim.order.phase == CLEANUP or is_operation(claim)
        self.given = self._applied() if as_it_is else self._brought_about(kind, stack)
        properties = self._converted(kind, as_it_is=as_it_is)
        metadata = claim.metadata if claim.metadata is not None else self.metadata
        resource = kind(
            # Hardly any was moved.
            name=self._made_as if MADE_AS in claim.fragment else claim.order.key,
            type_name=claim.type,
            state=ResourceState(
                uuid=claim.resource_id,
                physical_id=claim.physical_id,
                on_node=claim.on_node,
                # Changes by a plugin become part of the claim only once they are stored.
                data=deepcopy(claim.data) if claim.data else {},
                metadata=deepcopy(dict(metadata)) if metadata else {},
                action=claim.action,
                status="IN_PROGRESS",
                started_at=claim.started_at,
            ),
            properties=properties,
            stack=self._as_made(stack) if MADE_IN in claim.fragment else stack,
            settings=self.check.settings,
            now=claim.now,
            watched_metadata=self._watched(kind, properties, stack),
        )
        resource.clients = self.clients
        resource.software_of = self.check.software
        resource.outputs_of = self.check.outputs
        resource.annotations = self.check.annotations_of(claim.order.key)
        if self.definition is not None:
            resource.update_policy = convert_properties(
                kind.update_policy_schema, self.definition.update_policy, constraints=False
            )
        if isinstance(resource, StackResource):
            hidden = self.check.context.get("hidden", ())
            resource.stacks = self.check.child_of(claim, self.definition, stack, hidden)
            resource.wanted = tuple(tuple(path) for path in claim.wanted)
        self.resource = resource
        return resource

    @property
    def _made_as(self) -> str:
        """The name by which the type knows the resource: the one under which it was made, before it was moved."""
        return made_as_of(self.claim.fragment, self.claim.resource_id, self.claim.order.key)

    def _as_made(self, stack: StackDefinition) -> StackDefinition:
        """Return the stack as the type knows it: the one that the resource was made in, before it was moved."""
        return stack_as_made(stack, made_in_of(self.claim.fragment, self.claim.resource_id))

    @property
    def physical_id(self) -> object:
        """What the plugin has set as the physical id, whatever that is; that of the claim before there is a plugin."""
        try:
            return self.claim.physical_id if self.resource is None else self.resource.state.physical_id
        except AttributeError:
            return self.claim.physical_id

    @property
    def external_id(self) -> str | None:
        """The physical id of what exists already; None for what is made here."""
        return self.definition.external_id if self.definition else None

    def _converted(self, kind: type[Resource], *, as_it_is: bool) -> Mapping[str, Any]:
        retained = as_it_is and self.claim.fragment.get("policy") == RETAIN
        if retained or is_external(self.claim):
            # An external or untouched object may have any properties; none are needed.
            return {name: prop.absent() for name, prop in kind.properties_schema.items()}
        given = self.given or {}
        if as_it_is or not self._begins(kind):
            # What was fit to be made is fit to be deleted or looked at, by whatever schema the type has today; and what
            # is under way was found to be right when it began.
            return typed_properties(kind, given, clients=self.clients)
        return valid_properties(kind, given, clients=self.clients)

    def _begins(self, kind: type[Resource]) -> bool:
        """Return whether an action begins that needs valid properties."""
        claim = self.claim
        # The assumed properties of an object to be adopted may mix two definitions.
        if claim.started or (claim.action == "ADOPT" and "adopting" in claim.fragment):
            return False
        refresh = bool(claim.fragment.get("refresh"))
        return claim.action != "UPDATE" or is_validated(
            kind, claim.was, claim.properties, self.given, refresh=refresh
        )

    @property
    def clients(self) -> ProjectClients:
        """The clients of the stack's project."""
        context = self.check.context
        return self.check.clients.of(context["project"], context.get("credential", ""))

    @cached_property
    def inputs(self) -> Sequence[NodeData]:
        """The node data of the direct requirements."""
        return tuple(NodeData.from_wire(wire) for wire in self.check.inputs)

    @cached_property
    def stack(self) -> StackDefinition:
        """The stack with the direct requirements."""
        data = self.inputs
        return StackDefinition.of_context(
            self.check.context,
            source=self.check.source,
            resources={item.name: ResourceProxy(name=item.name, data=item) for item in data},
            files=self.check.files(self.claim.fragment.get("files", {})),
            asker=self.claim.order.key,
        )

    def _resolved(self, stack: StackDefinition) -> Mapping[str, Any]:
        definition = ResourceDefinition.from_fragment(
            self.claim.order.key, self.claim.fragment["definition"], self.check.limits
        )
        self.definition = definition
        self.metadata = definition.resolve_metadata(stack)
        return {} if definition.external_id is not None else definition.resolve_properties(stack)

    def _brought_about(self, kind: type[Resource], stack: StackDefinition) -> Mapping[str, Any]:
        """Return the template's properties, or those of an action under way."""
        claim = self.claim
        self.target = self._resolved(stack)
        if claim.action == "ADOPT":
            return self._as_found(self.target)
        if claim.started and not kind.supersedes:
            begun = claim.properties if claim.action == "CREATE" else claim.in_flight
            return self.target if begun is None else begun
        return self.target

    def _as_found(self, target: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the properties of an existing object: those it was to be adopted with, else ``target``."""
        if "adopting" not in self.claim.fragment or self.external_id is not None:
            return target
        found = properties_as_found(self.claim, self.check.inputs, self.check.context, self.check.files)
        self.unknown = frozenset(target) - frozenset(found)
        return {**{name: target[name] for name in self.unknown}, **found}

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
        # A reference id is known to its dependents alone: the store keeps it packed, and cannot search for it.
        referred = (each.uuid for each in stack.resources.values() if each.reference_id() == reference)
        return self.check.metadata_of(next(referred, None) or str(reference))

    @property
    def is_other_inside(self) -> bool:
        """Whether the template of its nested stack, or a value for it that is known in advance, changes."""
        fragment = self.claim.fragment
        return "child" in fragment and fragment["child"] != (self.check.applied() or {}).get("child")

    def is_open(self, path: Path) -> bool:
        """Whether the value at a path of the properties, as they were last applied, may be shown to all users."""
        definition = self.applied_definition
        if definition is None or is_sensitive(self._schema, path):
            return False
        expression = definition.properties_expression
        # Beside a reference, what the template leaves out is hidden, but for the defaults of the schema.
        if path and (given := expression.entries()) and path[0] not in given and self._has_default(path[0]):
            return True
        return expression.covered(path, self.check.context.get("hidden", ())) is None

    def _has_default(self, name: object) -> bool:
        """Whether the value of a property, after translations, is the default of the schema, which is no secret."""
        prop = self._schema.get(str(name))
        if prop is None or prop.default is None or self.resource is None:
            return False
        return bool(self.resource.properties.get(str(name)) == prop.default)

    @cached_property
    def applied_definition(self) -> ResourceDefinition | None:
        """The definition that was applied last; None if there is none, or it cannot be read."""
        fragment = self.check.applied()
        if fragment is None:
            return None
        try:
            return ResourceDefinition.from_fragment(
                self.claim.order.key, fragment["definition"], self.check.limits
            )
        except IsothermError:
            # It cannot be read any more, such as with a function that is not installed.
            return None

    def tellable(self, error: PropertyError) -> PropertyError:
        """Return a property's error without a value that may be a secret: all users can read the reason."""
        if self.definition is None:
            return error.veil(error.path[:1])
        return self.definition.redacted(error, self.check.context.get("hidden", ()), self._schema)

    @property
    def _schema(self) -> Mapping[str, Property]:
        kind = kind_of_type(self.check.types, self.claim.type)
        return {} if kind is None else kind.properties_schema
