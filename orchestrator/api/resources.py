"""Resources of a stack: list, show, metadata, signal and marks of their health."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Final

import falcon

from orchestrator.api import shapes
from orchestrator.api.described import described
from orchestrator.api.faults import Refused, bad_request
from orchestrator.api.reading import Parts, Query, body_of, value_in
from orchestrator.api.schemas import MAP, NOTHING, NUMBER, SAID_FLAG, TEXT, body, many, maybe, named, wrapped
from orchestrator.api.software import metadata_of
from orchestrator.api.stacks import Face, say_nothing
from orchestrator.errors import Conflict
from orchestrator.model.breakpoints import UNSET_HOOK
from orchestrator.model.signed_signals import QUERY_EXPIRES, QUERY_SIGNATURE
from orchestrator.model.stack_filter import split_state
from orchestrator.service import Service
from orchestrator.template.functions.base import kind_of
from orchestrator.views.stacks import ResourceView, StackView

#: The filters of a list, and the field of a view that each compares.
_FILTERS: Final = {
    "type": "type",
    "resource_type": "type",
    "name": "name",
    "resource_name": "name",
    "id": "uuid",
    "physical_resource_id": "physical_id",
    "action": "action",
    "resource_action": "action",
}
_STATES: Final = frozenset({"status", "resource_status"})
#: What may be in the query of a list.
_QUERY: Final = {
    "nested_depth": NUMBER,
    "with_detail": SAID_FLAG,
    **dict.fromkeys((*_FILTERS, *sorted(_STATES)), TEXT),
}
_HEALTH: Final = {
    **body(mark_unhealthy=SAID_FLAG, resource_status_reason=TEXT),
    "required": ["mark_unhealthy"],
}
#: A body about one resource has no more bytes.
_SMALL: Final = 64 * 1024
#: The status of Heat for a resource that an operator marked.
_UNHEALTHY: Final = ("CHECK", "FAILED")


class Resources(Face):
    """The resources of a stack."""

    @described("resource:index", wrapped("resources", many(named("Resource"))), query=_QUERY)
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """List them, those of nested stacks down to a depth."""
        query = Query(request)
        query.unknown(_QUERY)
        depth = query.number("nested_depth") or 0
        service, stack = self._door.stack(request, "stack.read", path)
        depth = min(depth, service.settings.max_nested_stack_depth)
        found = [] if stack.deleted_at is not None else service.resources(stack.id, depth=depth)
        shape = shapes.resource_shown if query.flag("with_detail") else shapes.resource_item
        addresses, required_by = self._door.addresses(request), shapes.requirers(found)
        stacks = _stacks_of(service, stack, found)
        response.media = {
            "resources": [
                shape(
                    as_marked(each),
                    stacks[each.within],
                    addresses,
                    required_by.get((each.within, each.name), ()),
                )
                for each in found
                if _fits(as_marked(each), query)
            ]
        }


def as_marked(resource: ResourceView) -> ResourceView:
    """Return a resource with the state that Heat gives one that was marked unhealthy."""
    if not resource.unhealthy:
        return resource
    action, status = _UNHEALTHY
    return replace(resource, action=action, status=status)


def _fits(resource: ResourceView, query: Query) -> bool:
    for name, field in _FILTERS.items():
        wanted = query.all(name)
        if wanted and getattr(resource, field) not in wanted:
            return False
    states = tuple(each for name in _STATES for each in query.all(name))
    return not states or any(
        (resource.action, resource.status) == (split_state(each) or (resource.action, each))
        for each in states
    )


def _stacks_of(
    service: Service, stack: StackView, resources: Iterable[ResourceView]
) -> dict[tuple[str, ...], StackView]:
    """Return the stack that each resource is in, by the names of the resources that it is nested in."""
    found: dict[tuple[str, ...], StackView] = {(): stack}
    ids = {(*each.within, each.name): each.uuid for each in resources}
    for each in resources:
        if each.within not in found:
            found[each.within] = service.head(ids[each.within])
    return found


class Resource(Face):
    """One resource."""

    @described("resource:show", wrapped("resource", named("Resource")), query={"with_attr": TEXT})
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Show it, with its attributes as its object has them now."""
        service, stack = self._door.living_stack(request, "stack.read", path)
        found = _with_attributes(service, stack.id, path["resource"])
        wanted = Query(request).all("with_attr")
        missing = {each: None for each in wanted if each not in found.attributes}
        found = replace(found, attributes={**found.attributes, **missing})
        required_by = [each.name for each in service.resources(stack.id) if found.name in each.requires]
        shown = shapes.resource_shown(as_marked(found), stack, self._door.addresses(request), required_by)
        response.media = {"resource": shown}

    @described("resource:mark_unhealthy", NOTHING, body=_HEALTH)
    def on_patch(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Mark it unhealthy, or healthy again."""
        service, stack = self._door.living_stack(request, "stack.mark_unhealthy", path)
        parts = Parts(body_of(request, max_bytes=_SMALL))
        if "mark_unhealthy" not in parts:
            raise bad_request("expected true or false as mark_unhealthy, found nothing")
        is_unhealthy = parts.flag("mark_unhealthy", otherwise=False)
        reason = parts.text("resource_status_reason")
        marked = _named_or_with_object(service.resources(stack.id), path["resource"])
        service.mark_unhealthy(stack.id, marked, reason=reason, reset=not is_unhealthy)
        say_nothing(response)


def _with_attributes(service: Service, stack_id: str, resource: str) -> ResourceView:
    try:
        found = service.live_resource(stack_id, resource)
    except Conflict:
        # It has no object, or is a nested stack: what is on record is all there is.
        return service.resource(stack_id, resource)
    return replace(found, attributes={**found.attributes, **dict.fromkeys(found.attribute_errors)})


def _named_or_with_object(resources: Sequence[ResourceView], wanted: str) -> str:
    """Return the name of the resource that has this name, or this object."""
    by_object = [each.name for each in resources if each.physical_id == wanted]
    if any(each.name == wanted for each in resources) or not by_object:
        return wanted
    return by_object[0]


class Metadata(Face):
    """The metadata of a resource."""

    @described("resource:metadata", wrapped("metadata", MAP))
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Show them."""
        service, stack = self._door.living_stack(request, "stack.read", path)
        sees_software = self._door.allows(request, "software.read", rule="software_deployments:metadata")
        found = service.resource(stack.id, path["resource"])
        response.media = {
            "metadata": metadata_of(service, stack, found) if sees_software else dict(found.metadata)
        }


class Signal(Face):
    """The signals of a resource."""

    #: Callers are also let in by a signed address, for this and nothing else.
    takes_signatures = True

    @described(
        "resource:signal",
        NOTHING,
        body=maybe(MAP),
        query=dict.fromkeys((QUERY_EXPIRES, QUERY_SIGNATURE), TEXT),
    )
    def on_post(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Signal it; a signal that unsets a hook is one, too."""
        service, stack_id = self._signalling(request, path)
        details = value_in(request, max_bytes=service.settings.max_value_bytes)
        if details is None:
            details = {}
        if not isinstance(details, dict):
            raise bad_request(f"expected a map of JSON as a signal, found {kind_of(details)}")
        if UNSET_HOOK in details:
            self._door.require(request, "stack.clear_hook")
        try:
            service.signal(stack_id, path["resource"], details)
        except Conflict as error:
            # As in Heat: nothing is in the way of it, but there is nothing to be signalled.
            raise Refused(HTTPStatus.BAD_REQUEST, str(error), kind="ResourceActionNotSupported") from error
        say_nothing(response)

    def _signalling(self, request: falcon.Request, path: Mapping[str, str]) -> tuple[Service, str]:
        if not request.has_param(QUERY_SIGNATURE):
            service, stack = self._door.living_stack(request, "stack.signal", path)
            return service, stack.id
        signed = self._door.signed_service(request, path)
        if signed is None:
            raise Refused(
                HTTPStatus.FORBIDDEN,
                "the signature of this address is wrong, or has expired",
                kind="Forbidden",
            )
        return signed, path["stack_id"]
