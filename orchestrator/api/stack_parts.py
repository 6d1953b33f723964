"""Parts of a stack: its template, environment, files, outputs and snapshots, and the actions on it."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import falcon

from orchestrator.api import shapes
from orchestrator.api.described import described
from orchestrator.api.faults import bad_request
from orchestrator.api.reading import Parts, body_of, value_in
from orchestrator.api.schemas import MAP, NOTHING, TEXT, body, by_name, many, named, wrapped
from orchestrator.api.stacks import Face, say_nothing
from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.errors import NotFound
from orchestrator.model.messages import StackJob
from orchestrator.template.document import parse_document

#: A body with an action or a name has no more bytes.
_SMALL: Final = 16 * 1024
#: The actions on a stack as it is, and our names of them.
_ACTIONS: Final = {"suspend": "SUSPEND", "resume": "RESUME", "check": "CHECK"}
#: Those that cancel an operation, and whether it is rolled back.
_CANCELS: Final = {"cancel_update": True, "cancel_without_rollback": False}
_ACTION: Final = {
    "type": "object",
    "properties": dict.fromkeys((*_ACTIONS, *_CANCELS), NOTHING),
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": False,
}


class Actions(Face):
    """The actions on a stack."""

    @described("actions:action", NOTHING, body=_ACTION)
    def on_post(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Begin one: the body is a map with its name as the only key."""
        # The null of an action is its argument.
        body = _action_in(request)
        operation = "stack.cancel" if body in _CANCELS else f"stack.{body}"
        service, stack = self._door.living_stack(request, operation, path, rule=f"actions:{body}")
        if body in _CANCELS:
            service.cancel(stack.id, rollback=_CANCELS[body])
        else:
            service.operate(_ACTIONS[body], stack.id)
        say_nothing(response)


def _action_in(request: falcon.Request) -> str:
    found = value_in(request, max_bytes=_SMALL)
    names = list(found) if isinstance(found, dict) else []
    if len(names) != 1 or names[0] not in (*_ACTIONS, *_CANCELS):
        raise bad_request(f"expected a map with one of {', '.join((*_ACTIONS, *_CANCELS))} as its only key")
    return str(names[0])


class Template(Face):
    """The template of a stack."""

    has_etag = True

    @described("stacks:template", MAP)
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Show it, as a map."""
        service, stack = self._door.living_stack(request, "stack.read", path)
        job = service.definition(stack.id)
        limits = Limits.of(service.settings)
        response.media = parse_document(job.template, file=job.template_file, limits=limits).data


class Environment(Face):
    """The environment of a stack."""

    has_etag = True

    @described("stacks:environment", MAP)
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Show it, secrets included: the environments as one, with the parameters that were given beside them."""
        service, stack = self._door.living_stack(request, "stack.export", path)
        response.media = environment_of(service.definition(stack.id), service.settings)


def environment_of(job: StackJob, settings: Settings) -> dict[str, Any]:
    """Return the environments of a job as one, later ones over earlier ones, with its parameters over them."""
    whole: dict[str, Any] = {"parameters": {}, "parameter_defaults": {}, "resource_registry": {}}
    limits = Limits.of(settings)
    for each in job.environments:
        data = parse_document(each.source, file=each.file, limits=limits).data
        if isinstance(data, Mapping):
            whole = _over(whole, data)
    return _over(whole, {"parameters": job.parameters})


def _over(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Return two maps as one: sections that are maps in both are merged, others are those of ``upper``."""
    merged = dict(lower)
    for name, value in upper.items():
        below = merged.get(name)
        both = isinstance(value, Mapping) and isinstance(below, Mapping)
        merged[name] = {**below, **value} if both else value  # type: ignore[dict-item]  # both are maps
    return merged


class Files(Face):
    """The files of a stack."""

    has_etag = True

    @described("stacks:files", by_name(TEXT))
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Show them, which may have secrets in them."""
        service, stack = self._door.living_stack(request, "stack.export", path)
        response.media = dict(service.definition(stack.id).files)


class Outputs(Face):
    """The outputs of a stack."""

    @described("stacks:list_outputs", wrapped("outputs", many(named("OutputItem"))))
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """List them, without values."""
        service, stack = self._door.living_stack(request, "stack.read", path)
        response.media = {"outputs": [shapes.output_item(each) for each in service.outputs(stack.id)]}


class Output(Face):
    """One output."""

    @described("stacks:show_output", wrapped("output", named("Output")))
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Show it."""
        service, stack = self._door.living_stack(request, "stack.read", path)
        response.media = {"output": shapes.output_shown(service.output(stack.id, path["key"]))}


class Snapshots(Face):
    """The snapshots of a stack."""

    @described("stacks:list_snapshots", wrapped("snapshots", many(named("Snapshot"))))
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """List them."""
        service, stack = self._door.living_stack(request, "stack.read", path)
        response.media = {"snapshots": [shapes.snapshot_shown(each) for each in service.snapshots(stack.id)]}

    @described("stacks:snapshot", named("Snapshot"), body=body(name=TEXT))
    def on_post(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Begin to take one, and show it; as in Heat, without a word around it."""
        service, stack = self._door.living_stack(request, "stack.snapshot", path)
        snapshot = Parts(body_of(request, max_bytes=_SMALL)).text("name")
        before = {each.id for each in service.snapshots(stack.id)}
        service.take_snapshot(stack.id, snapshot)
        new = [each for each in service.snapshots(stack.id) if each.id not in before]
        if not new:
            raise NotFound("the snapshot is gone already")
        response.media = shapes.snapshot_shown(new[-1])


class Snapshot(Face):
    """One snapshot."""

    @described("stacks:show_snapshot", wrapped("snapshot", named("Snapshot")))
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Show it, with the names and types of its resources."""
        service, stack = self._door.living_stack(request, "stack.read", path)
        found = service.snapshot(stack.id, path["snapshot_id"])
        data = {"resources": {each: {"name": each, "type": kind} for each, kind in found.resources}}
        response.media = {"snapshot": shapes.snapshot_shown(found, data=data)}

    @described("stacks:delete_snapshot", status=HTTPStatus.NO_CONTENT)
    def on_delete(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Delete it."""
        service, stack = self._door.living_stack(request, "stack.delete_snapshot", path)
        service.delete_snapshot(stack.id, path["snapshot_id"])
        response.status = HTTPStatus.NO_CONTENT


class Restore(Face):
    """The restoration of a stack to a snapshot."""

    @described("stacks:restore_snapshot", status=HTTPStatus.ACCEPTED)
    def on_post(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Begin it."""
        service, stack = self._door.living_stack(request, "stack.restore", path)
        service.restore(stack.id, path["snapshot_id"])
        response.status = HTTPStatus.ACCEPTED
