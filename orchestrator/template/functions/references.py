"""Functions that refer to parameters and to other resources: get_param, get_resource, get_attr."""

from collections.abc import Collection, Iterable
from typing import Any, ClassVar, Final

from orchestrator.definition import UNKNOWN, AttributePath, StackDefinition, follow, is_unknown
from orchestrator.errors import cut
from orchestrator.template.functions.base import (
    LATER,
    Departure,
    Example,
    Function,
    FunctionError,
    KnownNames,
    holds_call,
    is_open,
    is_settled,
    kind_of,
)
from orchestrator.template.versions import NEWTON, V2014_10_16, V2015_10_15, Lifetime

#: A resource has attributes only after one of these actions has begun.
_ACTIONS_WITH_ATTRIBUTES = frozenset(
    {"CREATE", "ADOPT", "SUSPEND", "RESUME", "UPDATE", "ROLLBACK", "SNAPSHOT", "CHECK", "RESTORE"}
)


class GetParam(Function):
    """``get_param: name`` or ``get_param: [name, key or index ...]``: a parameter's value, or a part of it.

    A path that does not exist gives the empty text.
    """

    name = "get_param"
    in_conditions = Lifetime(NEWTON)
    examples: ClassVar[tuple[Example, ...]] = (
        Example("get_param: image", "fedora", {"image": "fedora"}),
        Example("get_param: [server, ports, 0]", 80, {"server": {"ports": [80, 443]}}),
        Example("get_param: [server, name]", "", {"server": {"ports": [80, 443]}}),
    )

    def check(self) -> None:
        _first(self.arguments, "the parameter's name")

    def call(self, arguments: object, stack: StackDefinition) -> object:
        name, *path = arguments if isinstance(arguments, list) else [arguments]
        if not isinstance(name, str):
            raise FunctionError(f"expected the parameter's name, found {kind_of(name)}")
        if name not in stack.parameters:
            if name != _first(self.arguments, "the parameter's name"):
                # The result of a call may be a secret.
                raise FunctionError("there is no parameter of the name that this gives, or it has no value")
            hint = self.scope.nearest.hint(name, stack.parameters)
            raise FunctionError(f"there is no parameter {cut(name)!r}, or it has no value", hint=hint)
        value = stack.parameters[name]
        for step in path:
            if is_unknown(value):
                return UNKNOWN
            try:
                value = _step(value, step)
            except (KeyError, IndexError, TypeError, ValueError):
                return ""
        return value

    def is_open(self, hidden: Collection[str]) -> bool:
        name = _first(self.arguments, "the parameter's name")
        return isinstance(name, str) and name not in hidden and is_open(self.arguments, hidden)

    def missing(self, names: KnownNames) -> FunctionError | None:
        name = _first(self.arguments, "the parameter's name")
        if not isinstance(name, str) or name in names.parameters:
            return None
        return UnknownName(f"there is no parameter {cut(name)!r}", name, names.parameters)


class GetResource(Function):
    """``get_resource: name``: the id by which others refer to the resource."""

    name = "get_resource"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "a resource's name that another resource or a hidden parameter gives",
            "evaluated when the resource is made",
            "refused: requirements are known before anything is made",
        ),
    )
    early = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("get_resource: server", "8d3c", resources={"server": {"reference": "8d3c"}}),
    )

    def check(self) -> None:
        _literal_name(self.arguments, ())

    def call(self, arguments: str, stack: StackDefinition) -> object:
        return stack.resource(arguments).reference_id()

    def is_open_in(self, stack: StackDefinition, hidden: Collection[str]) -> bool:
        return refers_by_id(self.arguments, stack)

    def dependencies(self) -> Iterable[str]:
        return _names(self.arguments)

    def missing(self, names: KnownNames) -> FunctionError | None:
        return missing_resource(self.arguments, names, ())


#: The attribute that stands for all of them.
ALL_ATTRIBUTES: Final = "*"


class GetAttr(Function):
    """``get_attr: [resource, attribute, key or index ...]``: an attribute of a resource, or a part of it.

    A path that does not exist gives null, and so does a resource on which no action has begun. From 2015-10-15 on,
    ``get_attr: [resource]`` gives a map of all attributes. The names of the resource and of the attribute are written
    out, or come from parameters.
    """

    name = "get_attr"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "`get_attr: a`, a text of one character",
            "all attributes of the resource `a`",
            "refused, as any text",
        ),
    )
    early = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "get_attr: [server, networks, private, 0]",
            "10.0.0.7",
            resources={"server": {"attributes": {"networks": {"private": ["10.0.0.7"]}}}},
        ),
        Example(
            "get_attr: [disk]",
            {"size": 20, "status": "in-use"},
            resources={"disk": {"attributes": {"size": 20, "status": "in-use"}}},
        ),
    )

    def check(self) -> None:
        arguments = self.arguments
        if not isinstance(arguments, list):
            raise FunctionError(
                f"expected a list of resource, attribute and path, found {kind_of(arguments)}"
            )
        if not arguments:
            raise FunctionError("expected a list of resource, attribute and path, found an empty list")
        _literal_name(arguments[0], (0,))
        if len(arguments) == 1:
            self._check_alone()
            return
        if isinstance(arguments[1], Function):
            raise FunctionError(
                "an attribute's name cannot come from another resource", path=(1,), hint="write it out"
            )
        if not isinstance(arguments[1], (str, *LATER)):
            raise FunctionError(f"expected the attribute's name, found {kind_of(arguments[1])}", path=(1,))
        for index, step in enumerate(arguments[2:], 2):
            if not isinstance(step, LATER) and not _is_step(step):
                raise FunctionError(f"expected a key or an index, found {kind_of(step)}", path=(index,))

    def _check_alone(self) -> None:
        if self.version < V2015_10_15:
            raise FunctionError(
                "expected a list of resource, attribute and path, found one item",
                hint=f"the resource alone gives all its attributes from heat_template_version {V2015_10_15} on",
            )

    def call(self, arguments: Any, stack: StackDefinition) -> object:
        name, *path = arguments
        resource = stack.resource(name)
        if resource.known and resource.action not in _ACTIONS_WITH_ATTRIBUTES:
            return None
        if not all(map(_is_step, path)):
            return None
        collected = self._collected()
        # Attributes are stored by their collected path; the steps after a call in the path are followed here.
        value = resource.attribute(*collected)
        return follow(value, tuple(path[len(collected) :])) if resource.known else value

    def dependencies(self) -> Iterable[str]:
        return _names(self.arguments[0])

    def required_attributes(self) -> Iterable[tuple[str, AttributePath]]:
        if not is_settled(self.arguments[:2]):
            return ()
        return ((self.arguments[0], self._collected()),)

    def missing(self, names: KnownNames) -> FunctionError | None:
        return missing_resource(self.arguments[0], names, (0,))

    def _collected(self) -> AttributePath:
        attribute, *path = self.arguments[1:] or [ALL_ATTRIBUTES]
        if self.version < V2014_10_16:
            return (attribute,)
        fixed = next((i for i, step in enumerate(path) if isinstance(step, LATER)), len(path))
        return (attribute, *path[:fixed])


class UnknownName(FunctionError):
    """A reference to a name that does not exist; ``known`` are the existing names."""

    def __init__(self, message: str, name: str, known: Iterable[str], *, path: tuple[int, ...] = ()) -> None:
        super().__init__(message, path=path)
        self.name, self.known = name, known


def _first(arguments: object, what: str) -> object:
    """Return the name that the arguments begin with: text, or a call."""
    if isinstance(arguments, list) and not arguments:
        raise FunctionError(f"expected {what}, found an empty list")
    first = arguments[0] if isinstance(arguments, list) else arguments
    if not isinstance(first, (str, *LATER)):
        path = (0,) if isinstance(arguments, list) else ()
        raise FunctionError(f"expected {what}, found {kind_of(first)}", path=path)
    return first


def _literal_name(name: object, path: tuple[int, ...]) -> None:
    # Dependencies must be known before anything is evaluated.
    if holds_call(name):
        raise FunctionError(
            "a resource's name cannot come from another resource, nor from a hidden parameter",
            path=path,
            hint="write the name out",
        )
    if not isinstance(name, (str, *LATER)):
        raise FunctionError(f"expected the resource's name, found {kind_of(name)}", path=path)


def _names(name: object) -> tuple[str, ...]:
    return (name,) if isinstance(name, str) else ()


def refers_by_id(name: str, stack: StackDefinition) -> bool:
    """Whether others refer to a resource by its id or its name; a type may choose a value, which may be a secret."""
    resource = stack.resources.get(name)
    return resource is not None and resource.known and resource.reference_id() in (resource.id, name)


def missing_resource(name: object, names: KnownNames, path: tuple[int, ...]) -> FunctionError | None:
    """Return the error of a reference to the resource ``name``; None if it exists, or is not known yet."""
    if not isinstance(name, str):
        return None
    if name in names.disabled:
        hint = "put an 'if' with the same condition around it"
        return FunctionError(
            f"the resource {name!r} does not exist under its condition", path=path, hint=hint
        )
    if name in names.resources:
        return None
    return UnknownName(f"there is no resource {cut(name)!r}", name, names.resources, path=path)


def _is_step(step: object) -> bool:
    return isinstance(step, (str, int)) and not isinstance(step, bool)


def _step(value: Any, step: Any) -> object:
    if not _is_step(step):
        raise TypeError
    if isinstance(value, (list, str)):
        return value[int(step)]
    return value[step]
