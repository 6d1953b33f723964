"""The attributes that dependents refer to: read from the plugin, or from the record of an earlier visit.

An unreadable attribute is no failure of its resource, which exists: dependents that need it get the reason.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from hooks.values.texts import storable
from orchestrator.config.logger import get_logger
from orchestrator.definition import AttributePath, follow
from orchestrator.errors import IsothermError, text_of, typed_message
from orchestrator.planning.decision import lasting_attributes
from orchestrator.plugins.properties import EVERY_ATTRIBUTE, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.stack_resource import StackResource
from orchestrator.plugins.steps import ResourceFailure
from workers.check.gate import MOST_OF_A_REASON

log = get_logger()


#: The Python types of values, by the attribute type in the schema.
_PLAIN: Final[Mapping[PropertyType, tuple[type, ...]]] = {
    PropertyType.STRING: (str,),
    PropertyType.INTEGER: (int,),
    PropertyType.NUMBER: (int, float),
    PropertyType.BOOLEAN: (bool,),
    PropertyType.MAP: (Mapping,),
    PropertyType.LIST: (list, tuple),
    PropertyType.ANY: (object,),
}


def read_attributes(
    resource: Resource,
    wanted: Iterable[Sequence[str | int]],
    *,
    again: Callable[[Exception], bool],
    recorded: Mapping[AttributePath, Any] | None = None,
) -> tuple[dict[AttributePath, Any], dict[AttributePath, str]]:
    """Return the wanted attributes, each read from the plugin once, and the errors of unreadable ones.

    For an unchanged resource, ``recorded`` holds an earlier visit's attributes: lasting ones are taken from
    there.

    Raises:
        Exception: the plugin's, where ``again`` returns that a retry may help.
    """
    read: dict[AttributePath, Any] = {}
    values: dict[AttributePath, Any] = {}
    unread: dict[AttributePath, str] = {}
    lasting = lasting_attributes(type(resource), recorded or {})
    for path in map(tuple, wanted):
        if above := next((path[:end] for end in range(len(path), 0, -1) if path[:end] in lasting), None):
            read[path] = follow(lasting[above], path[len(above) :])
            continue
        # A nested stack gets the whole path: it need not compute all of an attribute to return a part.
        whole = path if isinstance(resource, StackResource) else path[:1]
        try:
            if whole not in values:
                values[whole] = _ask(resource, whole)
        except Exception as error:
            if again(error):
                raise
            log.warning("an attribute could not be read", resource=resource.name, attribute=path[0])
            sentence = isinstance(error, (ResourceFailure, IsothermError)) and text_of(error)
            unread[path] = storable(sentence or typed_message(error), most=MOST_OF_A_REASON)
        else:
            read[path] = follow(values[whole], path[len(whole) :])
    return read, unread


def secret_paths(
    resource: Resource, attributes: Mapping[AttributePath, Any], reference: str | None
) -> tuple[AttributePath, ...]:
    """Return which of the attributes that were read are secrets, with the empty path if the reference id is one."""
    if isinstance(resource, StackResource):
        return tuple(path for path in attributes if resource.is_secret(path))
    sensitive = {name for name, schema in resource.attributes_schema.items() if schema.sensitive}
    if not sensitive:
        return ()
    read = tuple(path for path in attributes if path[0] in sensitive or path[0] in EVERY_ATTRIBUTE)
    known = (*(attributes[path] for path in read), *(resource.state.data.get(name) for name in sensitive))
    return (*read, ()) if reference is not None and reference in known else read


def _ask(resource: Resource, path: AttributePath) -> object:
    """Return an attribute; the one that stands for all of them is a map."""
    if isinstance(resource, StackResource):
        return resource.attribute_at(path)
    name = str(path[0])
    if name in EVERY_ATTRIBUTE and not resource.accepts_anything:
        whole = resource.whole()
        return (
            {each: _value(resource, each) for each in resource.attributes_schema} if whole is None else whole
        )
    return _value(resource, name)


def _value(resource: Resource, name: str) -> object:
    value = resource.attribute(name)
    schema = resource.attributes_schema.get(name)
    if schema is not None and schema.type is not None and not _is_of(schema.type, value):
        # Dependents can often use it all the same. The value is not shown: it may be secret.
        found = type(value).__name__
        log.warning(
            "an attribute has another type than its schema says",
            resource=resource.name,
            type=resource.type_name,
            attribute=name,
            expected=str(schema.type),
            found=found,
        )
    return value


def _is_of(kind: PropertyType, value: object) -> bool:
    if isinstance(value, bool) and kind is not PropertyType.ANY:
        return kind is PropertyType.BOOLEAN
    return value is None or isinstance(value, _PLAIN[kind])
