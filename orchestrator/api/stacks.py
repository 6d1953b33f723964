"""Stacks: create, adopt, preview, list, show, update, delete, abandon and export."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import falcon

from orchestrator.api import definitions, shapes
from orchestrator.api.addresses import link
from orchestrator.api.callers import token_of_keystone
from orchestrator.api.described import described
from orchestrator.api.door import Door
from orchestrator.api.faults import Refused, bad_request
from orchestrator.api.reading import ESCAPED, Query, body_of
from orchestrator.api.schemas import LINKS, MAP, NUMBER, SAID_FLAG, TEXT, fields, many, named, words, wrapped
from orchestrator.errors import Conflict
from orchestrator.model.messages import AdoptJob, StackJob
from orchestrator.model.stack_filter import StackFilter, StackOrder, split_state

#: Heat's words for the orders of a list.
_SORTS: Final = {
    "stack_name": "name",
    "stack_status": "status",
    "creation_time": "created_at",
    "updated_time": "updated_at",
    "name": "name",
    "status": "status",
    "created_at": "created_at",
    "updated_at": "updated_at",
}
#: What may be in the query of a list.
_QUERY: Final = {
    "limit": NUMBER,
    "marker": TEXT,
    "sort_keys": words(*_SORTS),
    "sort_dir": words("asc", "desc"),
    **dict.fromkeys(("with_count", "global_tenant", "show_deleted", "show_nested", "show_hidden"), SAID_FLAG),
    **dict.fromkeys(("tags", "tags_any", "not_tags", "not_tags_any"), TEXT),
    **dict.fromkeys(("id", "name", "stack_name", "status", "stack_status", "action", "stack_action"), TEXT),
    **dict.fromkeys(("owner_id", "tenant"), TEXT),
    "partial": SAID_FLAG,
}
_NESTED: Final = {"show_nested": SAID_FLAG}
_LISTED: Final = fields({"stacks": many(named("StackItem"))}, {"count": NUMBER, "links": LINKS})
_CREATED: Final = wrapped("stack", fields({"id": TEXT, "links": LINKS}))


class Face:
    """The base of what answers requests."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def _body(self, request: falcon.Request) -> dict[str, Any]:
        """Return the map of JSON of a request, of the size that a definition may have."""
        return body_of(request, max_bytes=ESCAPED * self._door.settings.max_template_bytes)


def say_nothing(response: falcon.Response) -> None:
    """Answer with null, which clients expect where there is nothing to say."""
    response.content_type, response.text = falcon.MEDIA_JSON, "null"


class Stacks(Face):
    """The list of stacks."""

    @described("stacks:index", _LISTED, query=_QUERY)
    def on_get(self, request: falcon.Request, response: falcon.Response, **_: str) -> None:
        """List stacks."""
        query = Query(request)
        query.unknown(_QUERY)
        everywhere = query.flag("global_tenant")
        service = self._door.service(request, "stack.read")
        if everywhere:
            self._door.require(request, "project.read", rule="stacks:global_index")
        wanted, order = _wanted(query, service.settings.hidden_stack_tags), _order(query)
        addresses = self._door.addresses(request)
        found = service.listed(wanted, order, everywhere=everywhere)
        body: dict[str, Any] = {
            "stacks": [shapes.stack_item(each, addresses, with_project=everywhere) for each in found]
        }
        if query.flag("with_count"):
            body["count"] = service.count(wanted, everywhere=everywhere)
        if found and len(found) == order.limit:
            params = {**request.params, "marker": found[-1].id, "limit": str(order.limit)}
            href = f"{addresses.base}/stacks{falcon.to_query_str(params, comma_delimited_lists=False)}"
            body["links"] = [link("next", href)]
        response.media = body

    @described("stacks:create", _CREATED, status=HTTPStatus.CREATED, body=named("Creation"))
    def on_post(self, request: falcon.Request, response: falcon.Response, **_: str) -> None:
        """Create or adopt a stack."""
        body = self._body(request)
        operation = "stack.adopt" if body.get("adopt_stack_data") else "stack.create"
        service = self._door.service(request, operation)
        job, token = definitions.creation(body, service.settings), token_of_keystone(request)
        try:
            made = (
                service.adopt(job, token=token)
                if isinstance(job, AdoptJob)
                else service.create(job, token=token)
            )
        except Conflict as error:
            raise Refused(HTTPStatus.CONFLICT, str(error), kind="StackExists") from error
        address = self._door.addresses(request).stack(made.name, made.id)
        response.status = HTTPStatus.CREATED
        response.location = address
        response.media = {"stack": {"id": made.id, "links": [link("self", address)]}}


class StackDetails(Stacks):
    """The list of stacks, which has no more than the other; to create is not here."""

    on_post = None  # type: ignore[assignment]  # falcon takes it as no responder


class CreatePreview(Face):
    """The preview of a create."""

    @described("stacks:preview", wrapped("stack", named("PreviewedStack")), body=named("Creation"))
    def on_post(self, request: falcon.Request, response: falcon.Response, **_: str) -> None:
        """Preview a create."""
        service = self._door.service(request, "stack.preview")
        job = definitions.creation(self._body(request), service.settings)
        preview = service.preview(job)
        shown = shapes.preview_shown(preview, rollback=job.rollback, timeout_minutes=job.timeout_minutes)
        response.media = {"stack": shown}


class Stack(Face):
    """One stack, at its canonical address."""

    @described("stacks:show", wrapped("stack", named("Stack")), query={"resolve_outputs": SAID_FLAG})
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Show it."""
        with_outputs = Query(request).flag("resolve_outputs", otherwise=True)
        service, found = self._door.stack(request, "stack.read", path)
        if found.deleted_at is None:
            found = service.stack(found.id, outputs=with_outputs)
        shown = shapes.stack_shown(found, self._door.addresses(request), with_outputs=with_outputs)
        response.media = {"stack": shown}

    @described("stacks:update", status=HTTPStatus.ACCEPTED, body=named("Update"))
    def on_put(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Give it another definition."""
        service, found = self._door.living_stack(request, "stack.update", path)
        job = definitions.full_update(self._body(request), found, service.settings)
        service.update(job, token=token_of_keystone(request))
        response.status = HTTPStatus.ACCEPTED

    @described("stacks:update_patch", status=HTTPStatus.ACCEPTED, body=named("PartialUpdate"))
    def on_patch(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Change a part of its definition."""
        body = self._body(request)
        rule = "stacks:update_patch" if definitions.changes(body) else "stacks:update_no_change"
        service, found = self._door.living_stack(request, "stack.update", path, rule=rule)
        present = service.definition(found.id)
        job = definitions.partial_update(body, found, present, service.settings)
        service.update(job, token=token_of_keystone(request))
        response.status = HTTPStatus.ACCEPTED

    @described("stacks:delete", status=HTTPStatus.NO_CONTENT)
    def on_delete(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Delete it."""
        service, found = self._door.living_stack(request, "stack.delete", path)
        service.delete(found.id)
        response.status = HTTPStatus.NO_CONTENT


class UpdatePreview(Face):
    """The preview of an update."""

    @described("stacks:preview_update", named("Changes"), body=named("Update"), query=_NESTED)
    def on_put(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Preview another definition."""
        self._answer(request, response, path, is_partial=False)

    @described("stacks:preview_update_patch", named("Changes"), body=named("PartialUpdate"), query=_NESTED)
    def on_patch(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Preview a change of a part of the definition."""
        self._answer(request, response, path, is_partial=True)

    def _answer(
        self, request: falcon.Request, response: falcon.Response, path: Mapping[str, str], *, is_partial: bool
    ) -> None:
        # What changes in nested stacks is not in a plan, whether it is wanted or not.
        Query(request).flag("show_nested")
        service, found = self._door.living_stack(request, "stack.preview", path)
        body = self._body(request)
        job: StackJob
        if is_partial:
            job = definitions.partial_update(body, found, service.definition(found.id), service.settings)
        else:
            job = definitions.full_update(body, found, service.settings)
        present = {each.name: each for each in service.resources(found.id)}
        response.media = shapes.changes_shown(service.plan_update(job, nested=False), present)


class Abandon(Face):
    """A stack that is abandoned: deleted, while its objects are kept."""

    @described("stacks:abandon", MAP)
    def on_delete(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Abandon it, and answer with what adopts it again."""
        # The answer has its secrets.
        self._door.require(request, "stack.export")
        service, found = self._door.living_stack(request, "stack.abandon", path)
        document = service.export(found.id)
        service.abandon(found.id)
        response.media = document


class Export(Face):
    """A stack as a document."""

    @described("stacks:export", MAP)
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Export it, with its secrets."""
        service, found = self._door.living_stack(request, "stack.export", path)
        response.media = service.export(found.id)


def _wanted(query: Query, hidden_tags: Sequence[str]) -> StackFilter:
    hidden = () if query.flag("show_hidden") else hidden_tags
    states = [*query.all("stack_status"), *query.all("status")]
    joined = {each: split_state(each) for each in states}
    return StackFilter(
        ids=query.all("id"),
        projects=query.all("tenant"),
        names=(*query.all("name"), *query.all("stack_name")),
        actions=(*query.all("action"), *query.all("stack_action")),
        statuses=tuple(each for each in states if joined[each] is None),
        states=tuple(state for state in joined.values() if state is not None),
        parents=query.all("owner_id"),
        tags=query.words("tags"),
        tags_any=query.words("tags_any"),
        not_tags=query.words("not_tags"),
        not_tags_any=(*query.words("not_tags_any"), *hidden),
        partial=query.flag("partial"),
        nested=query.flag("show_nested"),
        deleted=query.flag("show_deleted"),
    )


def _order(query: Query) -> StackOrder:
    keys = query.words("sort_keys")
    for key in keys:
        if key not in _SORTS:
            raise bad_request(
                f"a list of stacks cannot be sorted by {key[:80]!r}; expected one of {', '.join(_SORTS)}"
            )
    return StackOrder(
        keys=tuple(dict.fromkeys(_SORTS[key] for key in keys)) or ("created_at",),
        descending=query.descending(otherwise="desc"),
        after=query.one("marker"),
        limit=query.number("limit") or None,
    )
