"""Imports: objects that exist are taken into a stack that exists. Heat has no such addresses."""

from collections.abc import Mapping
from http import HTTPStatus

import falcon

from orchestrator.api import definitions, shapes
from orchestrator.api.callers import token_of_keystone
from orchestrator.api.described import described
from orchestrator.api.schemas import named
from orchestrator.api.stacks import Face
from orchestrator.model.messages import ImportJob
from orchestrator.service import Service
from orchestrator.views.stacks import StackView


class _Imports(Face):
    """What both addresses of imports have in common."""

    def _given(
        self, request: falcon.Request, path: Mapping[str, str]
    ) -> tuple[Service, StackView, ImportJob]:
        """Return the service, the stack and the import that a request wants."""
        service, found = self._door.living_stack(request, "stack.import", path)
        body = self._body(request)
        job = definitions.importing(body, found, service.definition(found.id), service.settings)
        return service, found, job


class Import(_Imports):
    """The import of objects into a stack."""

    @described("stacks:import", status=HTTPStatus.ACCEPTED, body=named("Import"))
    def on_post(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Begin it; what is not given of the definition is as it is."""
        service, _, job = self._given(request, path)
        service.import_objects(job, token=token_of_keystone(request))
        response.status = HTTPStatus.ACCEPTED


class ImportPreview(_Imports):
    """The preview of an import."""

    @described("stacks:preview_import", named("ImportChanges"), body=named("Import"))
    def on_post(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Preview it; nothing is changed."""
        service, found, job = self._given(request, path)
        present = {each.name: each for each in service.resources(found.id)}
        response.media = shapes.import_shown(service.imports.plan(job), present)
