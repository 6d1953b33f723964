"""Template text of existing objects: the sections that describe them, as their resource types read them.

Nothing is changed, and no secret is written: what may be one becomes a parameter without a value.
"""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Final

from hooks.values.dataclass import dataclass
from hooks.values.nearest import Nearest, nearest
from hooks.values.secret_texts import masked, texts_in
from orchestrator.config.log_masking import masking_logs
from orchestrator.config.settings import Settings
from orchestrator.definition import is_unknown
from orchestrator.engine.ownership import refuse_owned
from orchestrator.errors import InvalidInput, Problem, typed_message
from orchestrator.model.plain import NotPlain, refuse_not_plain
from orchestrator.model.plan import DesiredResource
from orchestrator.planning.preparation import Prepared, blank_stack
from orchestrator.planning.secrets import ResourceSecrets
from orchestrator.plugins.clients import ProjectClients
from orchestrator.plugins.properties import Property, PropertyError, PropertyType, Walk
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.sensitive import is_sensitive
from orchestrator.plugins.stack_resource import StackResource
from orchestrator.plugins.steps import ResourceState
from orchestrator.plugins.validating import typed_properties
from orchestrator.store.store import Store
from orchestrator.store.traversals.new_traversal import Adopted
from orchestrator.template.definitions import ResourceDefinition
from orchestrator.template.dialects import HOT_WORDS
from orchestrator.template.functions.registry import all_functions
from orchestrator.template.template_resource import kind_of_type
from orchestrator.validation.rules import Types

#: The types of parameters in the place of properties.
_PARAMETER_TYPES: Final[Mapping[PropertyType, str]] = {
    PropertyType.STRING: "string",
    PropertyType.INTEGER: "number",
    PropertyType.NUMBER: "number",
    PropertyType.BOOLEAN: "boolean",
    PropertyType.MAP: "json",
    PropertyType.LIST: "json",
    PropertyType.ANY: "json",
}
_REFERENCES: Final = frozenset({"get_param", "get_attr"})
#: Where the path of a call has the name of the property: after the section, the resource and ``properties``.
_NAME_AT: Final = 3
#: The value of a property that needs none.
_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class _Parameter:
    """The value of a property that becomes a parameter without a value."""

    is_hidden: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptionContext:
    """What all resources that are described have in common."""

    #: The definition that may list the resources already.
    prepared: Prepared
    #: The context of the stack's present traversal.
    context: Mapping[str, Any]
    types: Types
    settings: Settings
    clients: ProjectClients
    store: Store
    #: The database's time.
    now: float
    #: The names that no new parameter may have.
    taken: set[str] = field(default_factory=set)

    def secrets_of(self, kind: type[Resource]) -> Iterator[ResourceSecrets]:
        """Yield what no text about a resource of this type may show, by the new definition and the present one."""
        for context in (self.prepared.context, self.context):
            yield ResourceSecrets(settings=self.settings, context=context, kind=kind, clients=self.clients)


def written_sections(
    objects: Mapping[str, str], named: Mapping[str, str], within: DescriptionContext
) -> dict[str, dict[str, Any]]:
    """Return the sections of a HOT template that describe objects, given by their ids and their resources' names.

    The type of each is that of the resource in the template, or one of ``named``. A property is left out where the
    object has its default. Where the template lists the resource, its calls stay as long as they give what the object
    has; so do properties that the object does not show.

    Raises:
        InvalidInput: a resource has no type, or an object cannot be read; all problems are listed.
    """
    problems = [
        Problem(
            path=f"--type {name}", message="no object is given for this resource", hint=nearest(name, objects)
        )
        for name in named
        if name not in objects
    ]
    kinds = {}
    for name in objects:
        try:
            kinds[name] = _kind_of(name, named.get(name), within)
        except InvalidInput as error:
            problems += error.problems
    if problems:
        raise InvalidInput(problems)
    _refuse_owned({name: (type_name, objects[name]) for name, (type_name, _) in kinds.items()}, within)
    template, described = within.prepared.template, []
    # A parameter and a resource cannot have one name.
    within.taken.update(template.resources, template.parameters, objects)
    for name, (type_name, kind) in kinds.items():
        try:
            described.append(_describe(name, objects[name], type_name, kind, within))
        except InvalidInput as error:
            problems += error.problems
    if problems:
        raise InvalidInput(problems)
    parameters = {name: each for it in described for name, each in it.parameters.items()}
    resources = {it.name: it.section for it in described}
    return {**({"parameters": parameters} if parameters else {}), "resources": resources}


def _refuse_owned(objects: Mapping[str, tuple[str, str]], within: DescriptionContext) -> None:
    """Refuse objects of other resources, given by type and id: they cannot be imported, and may be another project's.

    Raises:
        InvalidInput: there are such objects; each is listed.
    """
    wanted = [
        DesiredResource(
            name=name,
            type=type_name,
            resource_id=name,
            fragment={},
            requires=frozenset(),
            wanted=frozenset(),
        )
        for name, (type_name, _) in objects.items()
    ]
    adopted = {name: Adopted(physical_id=physical_id) for name, (_, physical_id) in objects.items()}
    refuse_owned(within.store, wanted, adopted, within.prepared.project)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Described:
    """One resource of the sections, and the parameters that it refers to."""

    name: str
    section: Mapping[str, Any]
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)


def _describe(
    name: str, physical_id: str, type_name: str, kind: type[Resource], within: DescriptionContext
) -> _Described:
    """Return the description of one object.

    Raises:
        InvalidInput: it does not exist, or cannot be read.
    """
    definition = within.prepared.template.resources.get(name)
    resource, seen = _observed(name, physical_id, type_name, kind, within)
    written = _Writer(resource, definition, seen, within).written()
    # An alias of the environment stays one.
    written_type = type_name if definition is None else definition.type
    properties = {"properties": written.section} if written.section else {}
    return replace(written, section={"type": written_type, **properties})


def _kind_of(name: str, named: str | None, within: DescriptionContext) -> tuple[str, type[Resource]]:
    path, types = f"resources.{name}", within.prepared.types
    type_name = types.get(name)
    if named is not None and type_name is not None and named != type_name:
        message = f"the template gives it the type {type_name!r}, not {named!r}"
        raise InvalidInput([Problem(path=path, message=message, hint="leave --type out")])
    type_name = type_name or named
    if type_name is None:
        hint = Nearest().hint(name, list(types), f"say of which type it is: --type {name}=TYPE")
        message = "the template has no such resource, and its type is not given"
        raise InvalidInput([Problem(path=path, message=message, hint=hint)])
    kind = kind_of_type(within.types, type_name)
    if kind is None:
        message = f"the type {type_name!r} is not installed"
        raise InvalidInput([Problem(path=path, message=message, hint=nearest(type_name, within.types))])
    if issubclass(kind, StackResource) or kind.is_row:
        message = f"a resource of the type {type_name} has no object that can be imported"
        raise InvalidInput([Problem(path=path, message=message)])
    return type_name, kind


def _observed(
    name: str, physical_id: str, type_name: str, kind: type[Resource], within: DescriptionContext
) -> tuple[Resource, Mapping[str, Any]]:
    """Return a resource that has an object, and the object's properties.

    Raises:
        InvalidInput: the object does not exist, or cannot be read.
    """
    settings, secrets = within.settings, list(within.secrets_of(kind))

    def without_secrets(text: str) -> str:
        for each in secrets:
            text = each.masked(text)
        return text

    hint = ""
    try:
        with masking_logs(without_secrets):
            resource = _resource(name, physical_id, type_name, kind, within)
            seen = resource.describe()
        if isinstance(seen, Mapping):
            found = dict(seen)
            refuse_not_plain(found, most_bytes=settings.max_value_bytes, deepest=settings.max_value_depth)
            return resource, found
        message = f"there is no object with the id {physical_id!r}"
        if seen is not None:
            message = f"the type {type_name} does not support to read an object"
    except NotPlain as error:
        message = f"describe() returned what is no plain value: {error}"
    except Exception as error:  # noqa: BLE001  # the boundary to plugins
        message = f"its object cannot be read: {without_secrets(typed_message(error))}"
        hint = "if the id alone does not say where it is, give a template that lists the resource, with -t"
    raise InvalidInput([Problem(path=f"resources.{name}", message=message, hint=hint)])


def _resource(
    name: str, physical_id: str, type_name: str, kind: type[Resource], within: DescriptionContext
) -> Resource:
    """Return a resource with an object, and with the properties that the template gives it, as far as known."""
    definition, stack = within.prepared.template.resources.get(name), blank_stack(within.prepared)[1]
    given = {} if definition is None else definition.resolve_properties(stack)
    known = {key: value for key, value in given.items() if not is_unknown(value)}
    resource = kind(
        name=name,
        type_name=type_name,
        state=ResourceState(
            uuid=str(uuid.uuid4()),
            physical_id=physical_id,
            action="ADOPT",
            status="IN_PROGRESS",
            started_at=within.now,
        ),
        properties=typed_properties(kind, known),
        stack=stack,
        settings=within.settings,
        now=within.now,
    )
    resource.clients = within.clients
    return resource


class _Writer:
    """Writes the properties of one object as a template has them."""

    def __init__(
        self,
        resource: Resource,
        definition: ResourceDefinition | None,
        seen: Mapping[str, Any],
        within: DescriptionContext,
    ) -> None:
        self._resource, self._definition, self._seen = resource, definition, seen
        self._taken = within.taken
        self._hidden = frozenset(within.prepared.context["hidden"])
        self._stack = blank_stack(within.prepared)[1]
        kind = type(resource)
        self._secrets = frozenset(text for each in within.secrets_of(kind) for text in each.texts())
        self._raw: Mapping[str, Any] = {}
        #: The names of the properties that the template computes.
        self._computed: frozenset[str] = frozenset()
        if (
            definition is not None
            and definition.dialect is HOT_WORDS
            and isinstance(definition.properties, dict)
        ):
            self._raw = definition.properties
            paths = (call.path for call in definition.properties_expression.calls)
            self._computed = frozenset(str(path[_NAME_AT]) for path in paths)

    def written(self) -> _Described:
        """Return the properties that the object has, in the order of their schema."""
        section: dict[str, Any] = {}
        parameters: dict[str, dict[str, Any]] = {}
        for name, prop in type(self._resource).properties_schema.items():
            value = self._value(name, prop)
            if isinstance(value, _Parameter):
                parameter = f"{self._resource.name}_{name}"
                while parameter in self._taken:
                    parameter += "_"
                self._taken.add(parameter)
                parameters[parameter] = {
                    "type": _PARAMETER_TYPES[prop.type],
                    "description": f"The property {name} of {self._resource.name}.",
                    **({"hidden": True} if value.is_hidden else {}),
                }
                value = {"get_param": parameter}
            if value is not _ABSENT:
                section[name] = value
        return _Described(name=self._resource.name, section=section, parameters=parameters)

    def _value(self, name: str, prop: Property) -> Any:
        """Return the value of a property in the template."""
        if not prop.implemented:
            return _ABSENT
        value, raw = _fitting(self._seen.get(name), name, prop), self._raw.get(name, _ABSENT)
        is_secret = is_sensitive({name: prop}, (name,))
        if name in self._computed and self._stays(name, value) and (not is_secret or _is_reference(raw)):
            return raw
        if value is None:
            if raw is _ABSENT or name in self._computed:
                return _Parameter(is_hidden=is_secret) if prop.required else _ABSENT
            value = raw
        elif value == prop.absent():
            return _ABSENT
        is_secret = is_secret or self._has_secret(value)
        return _Parameter(is_hidden=is_secret) if is_secret or _is_read_as_call(value) else value

    def _stays(self, name: str, value: object) -> bool:
        """Return whether what the template computes stays: it gives what the object has, or is a secret."""
        if value is None or value == self._resource.properties.get(name):
            return True
        assert self._definition is not None  # noqa: S101  # it computes the property
        expression = self._definition.properties_expression
        return any(True for _ in expression.secret_parts({name: value}, self._stack, self._hidden))

    def _has_secret(self, value: object) -> bool:
        """Return whether a value is a known secret, or contains one."""
        return any(each in self._secrets or masked(each, self._secrets) != each for each in texts_in(value))


def _fitting(value: object, name: str, prop: Property) -> Any:
    """Return a value as its schema has it; None where it does not fit, and a template could not give it."""
    faults: list[PropertyError] = []
    converted = prop.convert(value, (name,), Walk(faults.append, constraints=True, custom=False))
    return None if value is None or faults else converted


def _is_reference(raw: object) -> bool:
    """Return whether a value in a template is nothing but a reference, which holds no secret itself."""
    return isinstance(raw, Mapping) and len(raw) == 1 and next(iter(raw)) in _REFERENCES


def _is_read_as_call(value: object) -> bool:
    """Return whether a template would read a value, or a part of it, as a call of a function."""
    if isinstance(value, Mapping):
        is_call = len(value) == 1 and next(iter(value)) in all_functions()
        return is_call or any(map(_is_read_as_call, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_is_read_as_call, value))
