"""The environment of commands: a few of the agent's variables, and the given ones."""

import os
from collections.abc import Mapping
from typing import Final

#: The inherited variables. The others are not passed on: an agent's environment may hold its secrets.
_INHERITED: Final = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR")


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a command: a few variables of the agent, then those given."""
    inherited = {
        name: value for name, value in os.environ.items() if name in _INHERITED or name.startswith("LC_")
    }
    return {"PATH": os.defpath, **inherited, **given}


def fault_of_environment(given: Mapping[str, str]) -> str:
    """Return the fault of the given variables, without their values; empty: none."""
    for name, value in given.items():
        if not name or "=" in name or "\0" in name:
            return f"variable {name!r}: the name of a variable cannot be empty or hold '='"
        if "\0" in value:
            return f"variable {name!r} cannot hold a null character"
    return ""
