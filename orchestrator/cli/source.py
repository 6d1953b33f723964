"""Read from disk what a stack is made of: the template, the files it names, environments."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path

from orchestrator.errors import InvalidInput, Problem
from orchestrator.messages import EnvironmentSource, StackJob


def stack_job(
    name: str,
    *,
    template: str,
    environments: Iterable[str],
    parameters: Mapping[str, str],
    project: str,
    timeout_minutes: float | None = None,
) -> StackJob:
    """Return the job for a template and environments on disk.

    Raises:
        InvalidInput: files are missing or cannot be read; all of them are named at once.
    """
    # Brings the YAML parser in.
    from orchestrator.template.files import load_template

    problems: list[Problem] = []
    source, files = "", {}
    try:
        source, files = load_template(Path(template))
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
        project=project,
    )


def read_text(name: str) -> str:
    """Return a file's text.

    Raises:
        InvalidInput: the file is missing (a file with a similar name is suggested), unreadable, or no text.
    """
    path = Path(name)
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InvalidInput([Problem(path=name, message="no such file", hint=near_file(path))]) from error
    except UnicodeDecodeError as error:
        message = f"expected text in UTF-8, found the byte {error.object[error.start]:#04x} at offset {error.start}"
        raise InvalidInput([Problem(path=name, message=message)]) from error
    except OSError as error:
        raise InvalidInput([Problem(path=name, message=error.strerror or str(error))]) from error


def near_file(path: Path) -> str:
    """Return a hint that names the file people may have meant; empty if there is none."""
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"there is no directory {str(path.parent)!r}"
    near = get_close_matches(path.name, names, 1)
    return f"did you mean {str(path.parent / near[0])!r}?" if near else ""
