"""What others ask of a resource, read from its plugin once it is complete.

An attribute that cannot be read is no fault of the resource, which is there: those who need it are told why they cannot
have it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import structlog

from orchestrator.definition import AttributePath, follow
from orchestrator.errors import IsothermError
from orchestrator.plugins.properties import EVERY_ATTRIBUTE
from orchestrator.plugins.resource import Resource, ResourceFailure
from orchestrator.plugins.stack_resource import StackResource

log = structlog.get_logger()


def read_attributes(
    resource: Resource, wanted: Iterable[Sequence[str | int]], *, again: Callable[[Exception], bool]
) -> tuple[dict[AttributePath, Any], dict[AttributePath, str]]:
    """Return what is wanted, each attribute asked of the plugin once, and why the rest could not be read.

    Raises:
        Exception: what the plugin raised, where ``again`` says that another try may help.
    """
    read: dict[AttributePath, Any] = {}
    asked: dict[AttributePath, Any] = {}
    unread: dict[AttributePath, str] = {}
    for path in map(tuple, wanted):
        # A stack is asked for the whole path: it need not make all of an attribute to tell a part.
        whole = path if isinstance(resource, StackResource) else path[:1]
        try:
            if whole not in asked:
                asked[whole] = _ask(resource, whole)
        except Exception as error:
            if again(error):
                raise
            log.warning("an attribute could not be read", resource=resource.name, attribute=path[0])
            told = isinstance(error, (ResourceFailure, IsothermError)) and str(error)
            unread[path] = told or f"{type(error).__name__}: {error}"
        else:
            read[path] = follow(asked[whole], path[len(whole) :])
    return read, unread


def _ask(resource: Resource, path: AttributePath) -> Any:
    """Return an attribute; one that stands for all of them is a map, unless the type itself has one of that name."""
    if isinstance(resource, StackResource):
        return resource.attribute_at(path)
    schema, name = resource.attributes_schema, str(path[0])
    if name in EVERY_ATTRIBUTE and name not in schema and not resource.accepts_anything:
        return {each: resource.attribute(each) for each in schema}
    return resource.attribute(name)
