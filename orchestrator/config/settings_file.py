"""The file of settings: ``isotherm.toml`` in the working directory, or the one that ``ISOTHERM_CONFIG`` names."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.errors import InvalidInput, Problem


def settings_file() -> Path:
    """Return the path of the settings' file, which need not exist."""
    return Path(os.environ.get("ISOTHERM_CONFIG", "isotherm.toml"))


def file_values() -> Mapping[str, Any]:
    """Return what the settings' file gives; nothing, if there is none.

    Raises:
        InvalidInput: it cannot be read, or is no TOML.
    """
    file = settings_file()
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError):
        return {}
    except OSError as error:
        raise InvalidInput([Problem(message=f"{file} cannot be read: {error.strerror}")]) from error
    except UnicodeDecodeError as error:
        raise InvalidInput([Problem(message=f"{file} is no TOML: it is no UTF-8")]) from error
    # Few commands find a file, and it takes a while.
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput([Problem(message=f"{file} is no TOML: {error}")]) from error
