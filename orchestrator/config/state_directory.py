"""The state directory, which its owner alone can use."""

from pathlib import Path
from typing import Final

from cache.stores.private_files import narrow, private_directory
from orchestrator.errors import Unavailable

#: What is made in it besides the database, and the files of node resources, which have modes of their own.
_WITHIN: Final = ("agents", "nodes", "node-state")


def prepare_state_directory(directory: Path) -> None:
    """Make the state directory, or narrow one that others can use, and the directories within.

    Raises:
        Unavailable: it cannot be made.
    """
    try:
        private_directory(directory)
    except OSError as error:
        reason = f"cannot make the state directory {directory}: {error.strerror}"
        raise Unavailable(reason, hint="point ISOTHERM_STATE_DIRECTORY at another directory") from error
    for name in _WITHIN:
        narrow(directory / name)
