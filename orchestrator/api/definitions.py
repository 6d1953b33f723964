"""Definitions of stacks: jobs from what clients send, in the fields of Heat."""

import json
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from orchestrator.api.faults import Refused, bad_request
from orchestrator.api.reading import Parts
from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, cut
from orchestrator.model.messages import AdoptJob, EnvironmentSource, ImportJob, StackJob
from orchestrator.model.tags import read_tags
from orchestrator.planning.patch import upon_existing
from orchestrator.queries.stack_document import definition_in, read_stack_document, tags_in
from orchestrator.template.contents import Contents, Unreadable
from orchestrator.views.stacks import StackView

#: The name of what a client sends, in sentences about it.
_ADOPTED = "adopt_stack_data"


def creation(body: Mapping[str, Any], settings: Settings) -> StackJob:
    """Return the job that creates a stack; with ``adopt_stack_data`` it adopts the objects in that.

    Raises:
        Refused: the body has a field of another type, or lacks one.
        InvalidInput: what is adopted is malformed, or a template cannot be fetched.
    """
    parts = Parts(body)
    name = parts.text("stack_name")
    if not name:
        raise bad_request("expected a text as stack_name, found nothing")
    if parts.text(_ADOPTED):
        return _adoption(parts, name, settings)
    job = StackJob(name=name, **_definition(parts, settings), project=settings.project)
    return replace(job, tags=_tags(parts) or ())


def full_update(body: Mapping[str, Any], present: StackView, settings: Settings) -> StackJob:
    """Return the job that gives a stack a definition in place of its present one.

    What is not given is gone, except the time-out and whether a failure rolls the stack back.

    Raises:
        Refused, InvalidInput: as :func:`creation`.
    """
    parts = Parts(body)
    given = _definition(parts, settings)
    return StackJob(
        **_kept(given, parts, present),
        name=present.id,
        project=settings.project,
        tags=_tags(parts) or (),
        refresh=parts.flag("converge", otherwise=False),
    )


def changes(body: Mapping[str, Any]) -> bool:
    """Return whether a partial update gives anything that may differ from what a stack has."""
    return any(body.get(name) for name in body)


def partial_update(
    body: Mapping[str, Any], stack: StackView, present: StackJob, settings: Settings
) -> StackJob:
    """Return the job that changes a stack's definition, ``present``, where something is given, and keeps the rest.

    ``clear_parameters`` names parameters whose values are not kept.

    Raises:
        Refused, InvalidInput: as :func:`creation`.
    """
    parts = Parts(body)
    given = _definition(parts, settings, otherwise=present)
    cleared = set(parts.names("clear_parameters"))
    kept = {name: value for name, value in present.parameters.items() if name not in cleared}
    job = StackJob(
        **_kept(given, parts, stack),
        name=stack.id,
        project=settings.project,
        tags=_tags(parts),
        refresh=parts.flag("converge", otherwise=False),
    )
    return upon_existing(job, replace(present, parameters=kept), Limits.of(settings))


def importing(body: Mapping[str, Any], stack: StackView, present: StackJob, settings: Settings) -> ImportJob:
    """Return the job that takes the objects in ``resources`` into a stack, by its definition with what is given.

    ``resources`` has the physical id of each object, or an entry as in an adopt document, by the resource's name.

    Raises:
        Refused, InvalidInput: as :func:`creation`.
    """
    entries = {
        name: {"resource_id": each} if isinstance(each, str) else each
        for name, each in Parts(body).map("resources").items()
    }
    return ImportJob.of(partial_update(body, stack, present, settings), resources=entries)


def trial(body: Mapping[str, Any], settings: Settings) -> StackJob:
    """Return a job that is only validated.

    Raises:
        Refused, InvalidInput: as :func:`creation`.
    """
    return StackJob(name="validation", **_definition(Parts(body), settings), project=settings.project)


def _kept(given: dict[str, Any], parts: Parts, present: StackView) -> dict[str, Any]:
    rollback = given["rollback"] if "disable_rollback" in parts else present.rollback
    return {
        **given,
        "rollback": rollback,
        "timeout_minutes": given["timeout_minutes"] or present.timeout_minutes,
    }


def _definition(parts: Parts, settings: Settings, *, otherwise: StackJob | None = None) -> dict[str, Any]:
    if parts.text("files_container"):
        raise Refused(
            HTTPStatus.BAD_REQUEST, "files_container is not supported: send the files", kind="NotSupported"
        )
    files = parts.texts("files")
    template, file = _template(parts, settings)
    if not template:
        if otherwise is None:
            raise bad_request(
                "expected a template as template, or its address as template_url, found nothing"
            )
        template, file = otherwise.template, otherwise.template_file
    return {
        "template": template,
        "template_file": file,
        "files": files,
        "environments": _environments(parts, files),
        "parameters": parts.map("parameters"),
        "timeout_minutes": parts.minutes("timeout_mins"),
        "rollback": not parts.flag("disable_rollback", otherwise=True),
    }


def _template(parts: Parts, settings: Settings) -> tuple[str, str]:
    """Return the text of a template, and its name; both empty without one."""
    if template := parts.source("template"):
        return template, "template"
    url = parts.text("template_url")
    if not url:
        return "", ""
    # The server would read the path of any other address from its own disk.
    if not url.startswith(("http://", "https://")):
        raise bad_request(f"expected an address with http or https as template_url, found {cut(url, 80)!r}")
    try:
        return Contents(Limits.of(settings), fetch_urls=settings.fetch_urls).text(url), url
    except Unreadable as error:
        raise InvalidInput([error.problem("template_url")]) from error


def _environments(parts: Parts, files: Mapping[str, str]) -> tuple[EnvironmentSource, ...]:
    """Return the environments: the files that ``environment_files`` names, else the one that is given."""
    names = parts.names("environment_files")
    if not names:
        source = parts.source("environment")
        return (EnvironmentSource(file="environment", source=source),) if source else ()
    missing = [name for name in names if name not in files]
    if missing:
        raise bad_request(
            f"expected the environment {cut(missing[0])!r} among files, as environment_files names it"
        )
    return tuple(EnvironmentSource(file=name, source=files[name]) for name in names)


def _tags(parts: Parts) -> tuple[str, ...] | None:
    """Return the tags of a body; None where none are given."""
    if "tags" not in parts:
        return None
    try:
        return read_tags(parts.text("tags"))
    except ValueError as error:
        raise bad_request(f"tags: {error}") from error


def _adoption(parts: Parts, name: str, settings: Settings) -> AdoptJob:
    document = read_stack_document(parts.text(_ADOPTED), file=_ADOPTED, limits=Limits.of(settings))
    present = replace(definition_in(document, name, file=_ADOPTED), project=settings.project)
    environments = _environments(parts, parts.texts("files"))
    given = StackJob(
        name=name,
        project=settings.project,
        template=_template(parts, settings)[0] or present.template,
        files=parts.texts("files"),
        environments=environments,
        parameters=parts.map("parameters"),
        timeout_minutes=parts.minutes("timeout_mins"),
        rollback=not parts.flag("disable_rollback", otherwise=True),
        tags=tags_in(document, file=_ADOPTED) if _tags(parts) is None else _tags(parts),
    )
    return AdoptJob.of(upon_existing(given, present, Limits.of(settings)), resources=document["resources"])


def text_of(value: object) -> str:
    """Return the value of a parameter as text, which it is in answers, whatever its type."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    return json.dumps(value)
