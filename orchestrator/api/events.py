"""Events of a stack and of its resources."""

from typing import Final

import falcon

from orchestrator.api import shapes
from orchestrator.api.described import described
from orchestrator.api.faults import bad_request
from orchestrator.api.reading import Query
from orchestrator.api.schemas import NUMBER, TEXT, many, named, words, wrapped
from orchestrator.api.stacks import Face
from orchestrator.errors import NotFound, cut
from orchestrator.model.event_filter import EventFilter
from orchestrator.model.stack_filter import StackFilter, StackOrder, split_state
from orchestrator.service import Service
from orchestrator.views.stacks import EventView, StackView

#: What clients may name as the order; there is but one, and ids ascend with time.
_SORTS: Final = ("event_time", "created_at", "resource_name")
#: What may be in the query of a list.
_QUERY: Final = {
    "limit": NUMBER,
    "marker": TEXT,
    "sort_keys": words(*_SORTS),
    "sort_dir": words("asc", "desc"),
    "nested_depth": NUMBER,
    **dict.fromkeys(("resource_status", "resource_action", "resource_name", "resource_type"), TEXT),
}
#: The same of the list of one resource, which has nothing nested in it.
_OF_RESOURCE: Final = {name: schema for name, schema in _QUERY.items() if name != "nested_depth"}
_LISTED: Final = wrapped("events", many(named("EventItem")))
#: The most events that are read at once, whatever the limit.
_MOST: Final = 10_000


class Events(Face):
    """The events of a stack."""

    @described("events:index", _LISTED, query=_QUERY)
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """List them."""
        service, stack = self._door.stack(request, "stack.read", path)
        addresses = self._door.addresses(request)
        query = Query(request)
        depth = min(query.number("nested_depth") or 0, service.settings.max_nested_stack_depth)
        if not depth:
            found = [shapes.event_item(each, stack, addresses) for each in _listed(service, stack, query)]
        else:
            found = [
                shapes.event_item(each, within, addresses, root=stack)
                for each, within in _listed_within(service, stack, query, depth=depth)
            ]
        response.media = {"events": found}


class ResourceEvents(Face):
    """The events of a resource."""

    @described("events:index", _LISTED, query=_OF_RESOURCE)
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """List them; the name of the stack stands for the stack itself."""
        service, stack = self._door.stack(request, "stack.read", path)
        addresses = self._door.addresses(request)
        found = _listed(service, stack, Query(request), resource=path["resource"])
        if not found:
            raise NotFound(f"the stack has no events of a resource {cut(path['resource'])!r}")
        response.media = {"events": [shapes.event_item(each, stack, addresses) for each in found]}


class Event(Face):
    """One event."""

    @described("events:show", wrapped("event", named("Event")))
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Show it."""
        service, stack = self._door.stack(request, "stack.read", path)
        resource, number = path["resource"], _number(path["event_id"])
        found = service.event(stack.id, number) if number is not None else None
        if found is None or (found.resource or stack.name) != resource:
            raise NotFound(f"resource {cut(resource)!r} of the stack has no such event")
        response.media = {"event": shapes.event_shown(found, stack, self._door.addresses(request))}


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _listed(service: Service, stack: StackView, query: Query, *, resource: str = "") -> list[EventView]:
    query.unknown(_OF_RESOURCE if resource else _QUERY)
    for key in query.words("sort_keys"):
        if key not in _SORTS:
            raise bad_request(f"a list of events cannot be sorted by {key[:80]!r}; expected event_time")
    descending = query.descending(otherwise="asc")
    limit, marker = query.number("limit"), query.one("marker")
    place = _number(marker) if marker else None
    if marker and place is None:
        raise bad_request(f"expected the id of an event as marker, found {marker[:80]!r}")
    return service.events(
        stack.id,
        after=place if place is not None and not descending else 0,
        before=place if descending else None,
        newest_first=descending,
        limit=_MOST if not limit else min(limit, _MOST),
        wanted=_wanted(query, stack, resource),
    )


def _listed_within(
    service: Service, stack: StackView, query: Query, *, depth: int
) -> list[tuple[EventView, StackView]]:
    """Return the events of a stack and of those nested in it, down to a depth; ids ascend with time over all stacks."""
    stacks = level = [stack]
    for _ in range(depth):
        level = service.listed(
            StackFilter(parents=tuple(each.id for each in level), nested=True, deleted=True), StackOrder()
        )
        if not level:
            break
        stacks = [*stacks, *level]
    found = [(event, each) for each in stacks for event in _listed(service, each, query)]
    found.sort(key=lambda each: each[0].id, reverse=query.descending(otherwise="asc"))
    return found[: query.number("limit") or _MOST]


def _wanted(query: Query, stack: StackView, resource: str) -> EventFilter:
    names = (resource,) if resource else query.all("resource_name")
    states = query.all("resource_status")
    split = [split_state(each) for each in states]
    return EventFilter(
        resources=tuple("" if each == stack.name else _literal(each) for each in names),
        types=tuple(map(_literal, query.all("resource_type"))),
        actions=(*query.all("resource_action"), *(each[0] for each in split if each)),
        statuses=tuple(each[1] if each else state for each, state in zip(split, states, strict=True)),
    )


def _literal(text: str) -> str:
    """Return a text that is no pattern.

    Raises:
        Refused: it has a wildcard, which no name of a resource has.
    """
    if any(mark in text for mark in "*?"):
        raise bad_request(f"expected a name without wildcards, found {text[:80]!r}")
    return text
