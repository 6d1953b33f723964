"""Read from disk what a stack is made of: the template, the files it names, environments."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import InvalidInput, Problem
from orchestrator.messages import EnvironmentSource, StackJob

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
    """Return the job for a template and environments on disk.

    Raises:
        InvalidInput: files are missing or cannot be read; all of them are named at once.
    """
    problems: list[Problem] = []
    source, files = "", dict[str, str]()
    try:
        source, files = read_template(template, settings)
    except InvalidInput as error:
        problems.extend(error.problems)
    sources = []
    for environment in environments:
        try:
            sources.append(EnvironmentSource(file=environment, source=read_text(environment)))
        except InvalidInput as error:
            problems.extend(error.problems)
    if problems:
        raise InvalidInput(problems)
    return StackJob(
        name=name,
        template=source,
        template_file=template,
        files=files,
        environments=tuple(sources),
        parameters=parameters,
        timeout_minutes=timeout_minutes,
        project=settings.project,
    )


def read_template(name: str, settings: "Settings") -> tuple[str, dict[str, str]]:
    """Return a template's text and the files that it names.

    Raises:
        InvalidInput: the template or one of the files is missing or cannot be read.
    """
    # Brings the YAML parser in.
    from orchestrator.template.document import Limits
    from orchestrator.template.files import load_template

    if not Path(name).exists():
        raise _missing(name)
    return load_template(name, limits=Limits.of(settings))


def read_text(name: str) -> str:
    """Return a file's text.

    Raises:
        InvalidInput: the file is missing, unreadable, or no text.
    """
    try:
        return Path(name).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise _missing(name) from error
    except UnicodeDecodeError as error:
        message = (
            f"expected text in UTF-8, found the byte {error.object[error.start]:#04x} at offset {error.start}"
        )
        raise InvalidInput([Problem(path=name, message=message)]) from error
    except OSError as error:
        raise InvalidInput([Problem(path=name, message=error.strerror or str(error))]) from error


def _missing(name: str) -> InvalidInput:
    return InvalidInput([Problem(path=name, message="there is no such file", hint=_near_file(Path(name)))])


def _near_file(path: Path) -> str:
    """Return a hint that names the file people may have meant; empty if there is none."""
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"there is no directory {str(path.parent)!r}"
    near = get_close_matches(path.name, names, 1)
    return f"did you mean {str(path.parent / near[0])!r}?" if near else ""
