"""The keys that tests sign messages with: one file for all processes that a test starts, and for its own settings."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "ISOTHERM_KEY_FILE"
#: The nodes whose agents have keys.
NODES = (
    "host1",
    "host2",
    "local",
    "n",
    "n-1",
    "newer",
    "gone",
    "well",
    "deaf",
    "broken",
    "drained",
    "a",
    "absent",
    *(f"n{no}" for no in range(20)),
    *(f"n-{no}" for no in range(40)),
)


def provide_keys() -> None:
    """Make a file of keys, unless the process that started this one has made it."""
    if VARIABLE not in os.environ:
        from orchestrator.keys.key import AGENT
        from orchestrator.keys.key_file import write_keys
        from orchestrator.keys.rotation import OWN, created

        keys = [*created([], OWN), *(key for node in NODES for key in created([], [AGENT], node=node))]
        path = Path(tempfile.mkdtemp(prefix="isotherm-keys-")) / "keys.json"
        write_keys(path, keys)
        os.environ[VARIABLE] = str(path)
        _made.append(path.parent)


def forget_keys() -> None:
    """Remove the file, where this process has made it."""
    for directory in _made:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def provided_keys() -> Iterator[None]:
    """Provide keys for a program that is no test."""
    provide_keys()
    try:
        yield
    finally:
        forget_keys()


def others() -> dict[str, str]:
    """Return the variables of this process without those of Isotherm, but for its keys."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("ISOTHERM_") or name == VARIABLE
    }


_made: list[Path] = []
