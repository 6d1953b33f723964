"""The directories that node resources may use, and the check that a path stays inside them."""

from pathlib import Path, PurePosixPath

from cache.stores.private_files import make_private_directory
from orchestrator.plugins.steps import ResourceFailure
from workers.agent.allowances import Allowance


def fault_of_path(text: str) -> str:
    """Return the fault of a path as it is written, without access to any disk; empty: none."""
    if not text:
        return "a path is required, found an empty text"
    if "\0" in text:
        return "a path cannot hold a null character"
    if ".." in PurePosixPath(text).parts:
        return "the path must not hold '..'"
    return ""


def fault_of_file_path(text: str) -> str:
    """Return the fault of a file's path as it is written; empty: none."""
    if fault := fault_of_path(text):
        return fault
    if text.endswith("/") or not PurePosixPath(text).name:
        return "the path names a directory, expected that of a file"
    return ""


def allowed_file(text: str, allowance: Allowance, *, makes: bool = False) -> Path:
    """Return the real path of the file ``text``: symbolic links on the way are followed, the last step not.

    A relative path starts in the first allowed directory. With ``makes`` the default directory is made
    if missing; a configured one never is, since it would hide that a disk is not mounted.

    Raises:
        ResourceFailure: the path is outside the allowed directories, or cannot be a file.
    """
    if fault := fault_of_file_path(text):
        raise ResourceFailure(fault)
    path = _placed(text, allowance, makes=makes)
    real = path.parent.resolve() / path.name
    root_of(real, allowance)
    return real


def allowed_directory(text: str, allowance: Allowance, *, makes: bool = False) -> Path:
    """Return the real path of the existing directory ``text``; empty: the first allowed directory.

    Raises:
        ResourceFailure: it is outside the allowed directories, or is no directory.
    """
    if fault := fault_of_path(text or "."):
        raise ResourceFailure(fault)
    real = _placed(text, allowance, makes=makes).resolve()
    if not any(real.is_relative_to(root) for root in _roots(allowance)):
        raise _outside(real, allowance)
    if not real.is_dir():
        raise ResourceFailure(f"there is no directory {real}")
    return real


def root_of(file: Path, allowance: Allowance) -> Path:
    """Return the allowed directory that holds ``file``, an absolute path without symbolic links.

    Raises:
        ResourceFailure: none does, or it does not exist.
    """
    root = next((root for root in _roots(allowance) if file != root and file.is_relative_to(root)), None)
    if root is None:
        raise _outside(file, allowance)
    if not root.is_dir():
        raise ResourceFailure(f"the allowed directory {root} does not exist {allowance.where('directories')}")
    return root


def _roots(allowance: Allowance) -> list[Path]:
    return [directory.resolve() for directory in allowance.directories]


def _placed(text: str, allowance: Allowance, *, makes: bool) -> Path:
    """Return a path as written, or in the first allowed directory if it is relative."""
    if makes and allowance.made is not None:
        make_private_directory(allowance.made)
    if Path(text).is_absolute():
        return Path(text)
    if not allowance.directories:
        raise ResourceFailure(
            f"there is no directory that node resources may touch, in which {text or '.'!r} would be "
            f"{allowance.where('directories')}"
        )
    return allowance.directories[0].resolve() / text


def _outside(path: Path, allowance: Allowance) -> ResourceFailure:
    roots = ", ".join(map(str, _roots(allowance))) or "none"
    return ResourceFailure(
        f"{path} is outside the directories that node resources may touch: {roots} {allowance.where('directories')}"
    )
