"""Read what a stack is made of: the template, environments, and the files that they name."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from orchestrator.errors import InvalidInput
from orchestrator.messages import StackJob

if TYPE_CHECKING:
    from orchestrator.settings import Settings


def stack_job(
    name: str,
    settings: "Settings",
    *,
    template: str,
    environments: Iterable[str],
    parameters: Mapping[str, str],
    timeout_minutes: float | None = None,
) -> StackJob:
    """Return the job for a template and environments on disk, or at URLs where the settings allow to fetch them.

    Raises:
        InvalidInput: files are missing or cannot be read; all of them are named at once.
    """
    # Brings the YAML parser in.
    from orchestrator.limits import Limits
    from orchestrator.template.files import load_stack

    loaded = load_stack(template, environments, limits=Limits.of(settings), fetch_urls=settings.fetch_urls)
    return StackJob(
        name=name,
        template=loaded.template,
        template_file=template,
        files=loaded.files,
        environments=loaded.environments,
        parameters=parameters,
        timeout_minutes=timeout_minutes,
        project=settings.project,
    )


def template_text(name: str, settings: "Settings") -> str:
    """Return the text of a template, without the files that it names.

    Raises:
        InvalidInput: it cannot be read.
    """
    from orchestrator.limits import Limits
    from orchestrator.template.contents import Contents, Unreadable

    try:
        return Contents(Limits.of(settings), fetch_urls=settings.fetch_urls).text(name)
    except Unreadable as error:
        raise InvalidInput([error.problem(name)]) from error
