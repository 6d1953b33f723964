"""Imports of the pages' scripts, so that a page can preload all modules at once instead of one after the other."""

import re
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

STATIC: Final = Path(__file__).parent / "static"
#: An import or a re-export of a relative module.
_IMPORT: Final = re.compile(r'^(?:import|export)\b[^;"]*"(\.[^"]+)";', re.MULTILINE)


@cache
def needed_by(script: str) -> tuple[str, ...]:
    """Return the paths below the static files of all modules that a script imports, directly or not; itself first."""
    found = [script]
    for each in found:
        for named in _IMPORT.findall((STATIC / each).read_text()):
            path = (
                (STATIC / PurePosixPath(each).parent / named)
                .resolve()
                .relative_to(STATIC.resolve())
                .as_posix()
            )
            if path not in found:
                found.append(path)
    return tuple(found)
