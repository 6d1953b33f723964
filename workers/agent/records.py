"""Records that node resources write before they act, so that an interrupted step can be understood afterwards.

Each resource has one directory of records, named after its row. A record is JSON and is replaced as a whole:
a reader finds the old one, the new one or none, and never half of one. Only the standard library is used: the
launcher of processes, a bare interpreter, reads and writes the same records.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cache.stores.private_files import make_private_directory, write_private_file


def records_directory(state_directory: Path) -> Path:
    """Return the directory of all node resources' records on this machine."""
    return state_directory.absolute() / "nodes"


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Replace the record at ``path``; on return, it survives a power cut.

    The directory is made if missing, for the worker's own user alone.

    Raises:
        OSError: the disk refuses.
    """
    make_private_directory(path.parent)
    write_private_file(path, json.dumps(record).encode())


def read_record(path: Path) -> dict[str, Any] | None:
    """Return the record at ``path``, or None where there is none.

    Raises:
        ValueError: the file holds something else, written by another program.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(record, dict):
        raise ValueError(f"{path} is damaged: a map was expected")
    return record
