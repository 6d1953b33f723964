"""Files that migrate with an instance to another machine: copied whole, or not at all."""

import os
import shutil
import stat
from pathlib import Path
from typing import Final

from cache.stores.private_files import make_private_directory
from workers.agent.hypervisors.hypervisor import HypervisorFault

_WRITING: Final = ".writing"


def copy_whole(source: Path, target: Path) -> None:
    """Copy the directory ``source`` to ``target``: links as links, without sockets and pipes.

    Owners are kept, by number, if this is root.

    Raises:
        HypervisorFault: a file cannot be read, or the disk is full.
    """
    writing = target.with_name(f"{_WRITING}-{target.name}")
    try:
        for old in (writing, target):
            if old.exists():
                shutil.rmtree(old)
        make_private_directory(target.parent)
        shutil.copytree(source, writing, symlinks=True, ignore=_live)
        if os.geteuid() == 0:
            _give_to_owners(source, writing)
        writing.rename(target)
    except OSError as error:
        # For many files shutil raises a list of reasons; the first is shown.
        first = error.args[0][0][2] if isinstance(error, shutil.Error) else error.strerror
        raise HypervisorFault(f"files of the instance cannot be copied: {first}") from error


def _give_to_owners(source: Path, target: Path) -> None:
    for place, directories, files in os.walk(target):
        for name in (".", *directories, *files):
            copied = Path(place) / name
            owner = (source / copied.relative_to(target)).lstat()
            os.lchown(copied, owner.st_uid, owner.st_gid)


def _live(directory: str, names: list[str]) -> list[str]:
    modes = {name: os.lstat(Path(directory) / name).st_mode for name in names}
    return [name for name, mode in modes.items() if stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)]
