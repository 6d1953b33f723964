"""Jobs from the command line: the template, environments, and the files that they name are read here."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, Unpack

from orchestrator.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from orchestrator.config.settings import Settings
    from orchestrator.model.messages import AdoptJob, StackJob
    from orchestrator.template.files import StackFiles


class Given(TypedDict):
    """Options of a stack on the command line, besides its template."""

    environments: Iterable[str]
    parameters: Mapping[str, str]
    timeout_minutes: NotRequired[float | None]
    #: None is false, unless the caller has another default.
    rollback: NotRequired[bool | None]
    tags: NotRequired[tuple[str, ...] | None]


def stack_job(name: str, settings: "Settings", *, template: str, **given: Unpack[Given]) -> "StackJob":
    """Return the job for a template and environments on disk, or at URLs where the settings allow to fetch them.

    Raises:
        InvalidInput: files are missing or cannot be read; all of them are named at once.
    """
    # Imports the YAML parser.
    from orchestrator.config.limits import Limits
    from orchestrator.model.messages import StackJob
    from orchestrator.template.files import load_stack

    loaded = load_stack(
        template, given["environments"], limits=Limits.of(settings), fetch_urls=settings.fetch_urls
    )
    return StackJob(
        name=name,
        template=loaded.template,
        template_file=template,
        **_fields(given, loaded),
        project=settings.project,
    )


def existing_job(
    present: "StackJob",
    settings: "Settings",
    *,
    template: str | None,
    **given: Unpack[Given],
) -> "StackJob":
    """Return the job that applies the given options on top of a stack's definition, ``present``.

    Raises:
        InvalidInput: files are missing or cannot be read; all of them are named at once.
    """
    from orchestrator.config.limits import Limits
    from orchestrator.model.messages import StackJob
    from orchestrator.planning.patch import upon_existing
    from orchestrator.template.files import load_environments

    limits = Limits.of(settings)
    if template is not None:
        job = stack_job(present.name, settings, template=template, **given)
        return upon_existing(job, present, limits)
    loaded = load_environments(
        given["environments"], beside=present.template_file, limits=limits, fetch_urls=settings.fetch_urls
    )
    job = StackJob(
        name=present.name,
        template=present.template,
        template_file=present.template_file,
        **_fields(given, loaded),
        project=present.project,
    )
    return upon_existing(job, present, limits)


def _fields(given: Given, loaded: "StackFiles") -> dict[str, Any]:
    rollback = bool(given.get("rollback"))
    return {**given, "rollback": rollback, "files": loaded.files, "environments": loaded.environments}


def adopt_job(
    name: str,
    settings: "Settings",
    *,
    adopt_file: str,
    template: str | None,
    **given: Unpack[Given],
) -> "AdoptJob":
    """Return the job that adopts the objects of an adopt file; without a template, by the file's own definition.

    Without ``tags``, the stack gets the tags of the file.

    Raises:
        InvalidInput: files are missing or cannot be read, or the adopt file is malformed.
    """
    from orchestrator.config.limits import Limits
    from orchestrator.model.messages import AdoptJob
    from orchestrator.queries.stack_document import definition_in, read_stack_document, tags_in

    document = read_stack_document(text_in(adopt_file), file=adopt_file, limits=Limits.of(settings))
    if given.get("tags") is None:
        given["tags"] = tags_in(document, file=adopt_file)
    if template is not None:
        job = stack_job(name, settings, template=template, **given)
    else:
        present = replace(definition_in(document, name, file=adopt_file), project=settings.project)
        job = existing_job(present, settings, template=None, **given)
    return AdoptJob.of(job, resources=document["resources"])


def text_in(file: str, *, path: str = "") -> str:
    """Return the text of a file; ``path`` is what errors name, by default the file.

    Raises:
        InvalidInput: it cannot be read, or is no text in UTF-8.
    """
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        message = f"the file cannot be read: {error.strerror}"
        raise InvalidInput([Problem(path=path or file, message=message)]) from error
    except UnicodeDecodeError as error:
        raise InvalidInput([Problem(path=path or file, message="expected text in UTF-8")]) from error


def template_text(name: str, settings: "Settings") -> str:
    """Return the text of a template, without the files that it names.

    Raises:
        InvalidInput: it cannot be read.
    """
    from orchestrator.config.limits import Limits
    from orchestrator.template.contents import Contents, Unreadable

    try:
        return Contents(Limits.of(settings), fetch_urls=settings.fetch_urls).text(name)
    except Unreadable as error:
        raise InvalidInput([error.problem(name)]) from error
