"""Which scripts a script needs, so that a page can ask for all of them at once, and not for one after the other."""

import re
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

STATIC: Final = Path(__file__).parent / "static"
#: As modules name each other.
_IMPORT: Final = re.compile(r'^(?:import|export)\b[^;"]*"(\.[^"]+)";', re.MULTILINE)


@cache
def needed_by(script: str) -> tuple[str, ...]:
    """Return all scripts that a script needs, itself first; each by its path below the static files."""
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
