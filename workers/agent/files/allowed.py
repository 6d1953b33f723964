"""The directories that node resources may use, and the check that a path stays inside them."""

from pathlib import Path, PurePosixPath

from cache.stores.private_files import make_private_directory
from orchestrator.config.settings import Settings
from orchestrator.plugins.steps import ResourceFailure


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


def allowed_file(text: str, settings: Settings, *, makes: bool = False) -> Path:
    """Return the real path of the file ``text``: symbolic links on the way are followed, the last step not.

    A relative path starts in the first allowed directory. With ``makes`` the default directory is made
    if missing; a configured one never is, since it would hide that a disk is not mounted.

    Raises:
        ResourceFailure: the path is outside the allowed directories, or cannot be a file.
    """
    if fault := fault_of_file_path(text):
        raise ResourceFailure(fault)
    path = _roots(settings, makes=makes)[0] / text
    real = path.parent.resolve() / path.name
    root_of(real, settings)
    return real


def allowed_directory(text: str, settings: Settings, *, makes: bool = False) -> Path:
    """Return the real path of the existing directory ``text``; empty: the first allowed directory.

    Raises:
        ResourceFailure: it is outside the allowed directories, or is no directory.
    """
    if fault := fault_of_path(text or "."):
        raise ResourceFailure(fault)
    real = (_roots(settings, makes=makes)[0] / text).resolve()
    if not any(real.is_relative_to(root) for root in _roots(settings)):
        raise _outside(real, settings)
    if not real.is_dir():
        raise ResourceFailure(f"there is no directory {real}")
    return real


def root_of(file: Path, settings: Settings) -> Path:
    """Return the allowed directory that holds ``file``, an absolute path without symbolic links.

    Raises:
        ResourceFailure: none does, or it does not exist.
    """
    root = next((root for root in _roots(settings) if file != root and file.is_relative_to(root)), None)
    if root is None:
        raise _outside(file, settings)
    if not root.is_dir():
        raise ResourceFailure(f"the allowed directory {root} does not exist (setting node_directories)")
    return root


def _roots(settings: Settings, *, makes: bool = False) -> list[Path]:
    if makes and not settings.node_directories:
        for directory in settings.allowed_directories:
            make_private_directory(directory)
    return [directory.resolve() for directory in settings.allowed_directories]


def _outside(path: Path, settings: Settings) -> ResourceFailure:
    roots = ", ".join(map(str, _roots(settings)))
    return ResourceFailure(
        f"{path} is outside the directories that node resources may touch: {roots} (setting node_directories)"
    )
