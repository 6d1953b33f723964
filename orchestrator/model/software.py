"""Software configs and deployments: what is given for one, checked.

A *software config* is a text or a map, such as a script, with declared inputs and outputs; it never changes. A
*deployment* says that a config applies to a server, with values of inputs, and what became of it there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from hooks.values.dataclass import dataclass
from hooks.values.nearest import nearest
from orchestrator.errors import LONGEST_NAME, InvalidInput, Problem
from orchestrator.model.plain import NotPlain, refuse_not_plain

#: The group of configs for which none is given.
UNGROUPED: Final = "Heat::Ungrouped"


class _Kind(NamedTuple):
    words: str
    types: tuple[type, ...]


_NAME: Final = _Kind(f"a text of at most {LONGEST_NAME} characters", (str,))
_TEXT: Final = _Kind("a text", (str,))
_MAP: Final = _Kind("a map", (dict,))
_LIST: Final = _Kind("a list of maps", (list,))
_FLAG: Final = _Kind("true or false", (bool,))
_ANYTHING: Final = _Kind("anything", (object,))

_PORT: Final[Mapping[str, _Kind]] = {"name": _NAME, "description": _TEXT, "type": _NAME}
_PORTS: Final[Mapping[str, Mapping[str, _Kind]]] = {
    "inputs": {**_PORT, "default": _ANYTHING, "replace_on_change": _FLAG, "value": _ANYTHING},
    "outputs": {**_PORT, "error_output": _FLAG},
}
_CONFIG: Final[Mapping[str, _Kind]] = {
    "name": _NAME,
    "group": _NAME,
    "config": _Kind("a text or a map", (str, dict)),
    "inputs": _LIST,
    "outputs": _LIST,
    "options": _MAP,
}
#: What of a deployment may change.
_CHANGES: Final[Mapping[str, _Kind]] = {
    "config_id": _NAME,
    "action": _NAME,
    "status": _NAME,
    "status_reason": _TEXT,
    "input_values": _MAP,
    "output_values": _MAP,
}
_DEPLOYMENT: Final[Mapping[str, _Kind]] = {"server_id": _NAME, "stack_user_project_id": _NAME, **_CHANGES}


@dataclass(frozen=True, slots=True)
class SoftwareLimits:
    """The limits of what is given for one config or deployment."""

    most_bytes: int
    deepest: int


def checked_config(given: Mapping[str, Any], limits: SoftwareLimits) -> dict[str, Any]:
    """Return the fields of a new config, of what a client or a person gave; fields that there are not are left out.

    Raises:
        InvalidInput: a field is of another kind or too large, or a declared input or output is wrong.
    """
    found = _checked(given, _CONFIG, limits, _port_problems)
    ports = {
        section: [{**port, "type": port.get("type") or "String"} for port in found.get(section, ())]
        for section in _PORTS
    }
    return {
        "name": "",
        "config": "",
        "options": {},
        **found,
        **ports,
        "group": found.get("group") or UNGROUPED,
    }


def checked_deployment(given: Mapping[str, Any], limits: SoftwareLimits) -> dict[str, Any]:
    """Return the fields of a new deployment.

    Raises:
        InvalidInput: as :func:`checked_config`, or no server or config is given.
    """
    return _checked(given, _DEPLOYMENT, limits, _missing)


def checked_changes(given: Mapping[str, Any], limits: SoftwareLimits) -> dict[str, Any]:
    """Return the fields of a deployment that are to change; its server does not.

    Raises:
        InvalidInput: as :func:`checked_config`.
    """
    return _checked(given, _CHANGES, limits, lambda _: ())


def with_values(inputs: Sequence[Mapping[str, Any]], values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return inputs, each with its value: that of a deployment, its own or its default.

    A value of a deployment for which there is no input gets one.
    """
    known = {each["name"] for each in inputs}
    more = [{"name": name, "type": "String"} for name in values if name not in known]
    return [
        {**each, "value": values.get(each["name"], each.get("value", each.get("default")))}
        for each in (*inputs, *more)
    ]


def _present(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def _checked(
    given: Mapping[str, Any],
    kinds: Mapping[str, _Kind],
    limits: SoftwareLimits,
    more: Callable[[Mapping[str, Any]], Iterable[Problem]],
) -> dict[str, Any]:
    found = _present({name: given.get(name) for name in kinds})
    problems = [*_problems(found, kinds)] or [*more(found)]
    if not problems:
        try:
            refuse_not_plain(found, most_bytes=limits.most_bytes, deepest=limits.deepest)
        except NotPlain as error:
            problems = [Problem(message=error.reason, path=".".join(reversed(error.path)))]
    if problems:
        raise InvalidInput(problems)
    return found


def _problems(found: Mapping[str, Any], kinds: Mapping[str, _Kind], path: str = "") -> Iterator[Problem]:
    for name, value in found.items():
        kind = kinds.get(name)
        if kind is None:
            yield Problem(
                message=f"there is no field {name!r}", path=path.rstrip("."), hint=nearest(str(name), kinds)
            )
        elif not isinstance(value, kind.types):
            yield Problem(
                message=f"expected {kind.words}, found {type(value).__name__}", path=f"{path}{name}"
            )
        elif kind is _NAME and len(str(value)) > LONGEST_NAME:
            yield Problem(
                message=f"expected {kind.words}, found one of {len(str(value))}", path=f"{path}{name}"
            )


def _port_problems(found: Mapping[str, Any]) -> Iterator[Problem]:
    for section, kinds in _PORTS.items():
        for number, port in enumerate(found.get(section, ())):
            path = f"{section}[{number}]"
            if not isinstance(port, dict):
                yield Problem(message=f"expected a map, found {type(port).__name__}", path=path)
                continue
            if not port.get("name"):
                yield Problem(message="it has no name", path=path)
            yield from _problems(_present(port), kinds, f"{path}.")


def _missing(found: Mapping[str, Any]) -> Iterator[Problem]:
    for name in ("server_id", "config_id"):
        if not found.get(name):
            yield Problem(message="expected an id, found none", path=name)
