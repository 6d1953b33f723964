"""Write a site into a directory of its own: what an earlier build left there goes, nothing else does."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from orchestrator.errors import InvalidInput, Problem

#: The file that says which files of a directory were written here, a line each.
RECORD: Final = ".isotherm-docs"


def write_site(directory: Path, files: Mapping[str, str]) -> None:
    """Write files by their paths below ``directory``, which is made where it is missing.

    Raises:
        InvalidInput: the directory holds what no build has written, or something cannot be written.
    """
    try:
        before = _written_before(directory)
        for path, content in files.items():
            file = directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        for path in sorted(before - files.keys()):
            (directory / path).unlink(missing_ok=True)
        (directory / RECORD).write_text("".join(f"{path}\n" for path in sorted(files)), encoding="utf-8")
    except OSError as error:
        where = str(error.filename or directory)
        raise InvalidInput([Problem(path=where, message=f"cannot be written: {error.strerror}")]) from error


def _written_before(directory: Path) -> set[str]:
    """Return the paths that an earlier build has written.

    Raises:
        InvalidInput: the directory is neither empty nor one that a build has written.
    """
    if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
        return set()
    record = directory / RECORD
    if not record.is_file():
        message = "is not empty, and no documentation was written into it before"
        hint = "name an empty directory, or one that does not exist yet"
        raise InvalidInput([Problem(path=str(directory), message=message, hint=hint)])
    paths = record.read_text(encoding="utf-8", errors="replace").splitlines()
    # Nobody but a build writes there, but what it says is deleted: nothing outside the directory is.
    return {path for path in paths if path and not Path(path).is_absolute() and ".." not in Path(path).parts}
