"""Output directory of a site: files of an earlier build are removed, and no others."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from orchestrator.errors import InvalidInput, Problem

#: The file with the names of all files that the last build wrote, one per line.
RECORD: Final = ".isotherm-docs"


def write_site(directory: Path, files: Mapping[str, str]) -> None:
    """Write files by their paths below ``directory``, which is created if missing.

    Raises:
        InvalidInput: the directory contains files that no build has written, or a file cannot be written.
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
    if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
        return set()
    record = directory / RECORD
    if not record.is_file():
        message = "is not empty, and no documentation was written into it before"
        hint = "name an empty directory, or one that does not exist yet"
        raise InvalidInput([Problem(path=str(directory), message=message, hint=hint)])
    paths = record.read_text(encoding="utf-8", errors="replace").splitlines()
    # The files named there are deleted, so paths outside the directory are ignored.
    return {path for path in paths if path and not Path(path).is_absolute() and ".." not in Path(path).parts}
