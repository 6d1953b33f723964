"""PyYAML, of which templates need libyaml's parser: its patterns for parsing in Python are compiled if they are used.

One of them alone takes a tenth of the time of a short command to compile.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

__all__ = ["yaml"]


class _Pattern:
    """A regular expression that is compiled when one of its methods or attributes is first used."""

    def __init__(self, *given: Any) -> None:
        self._given = given

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # Such as what copies look for, before there is anything to compile.
            raise AttributeError(name)
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found


@contextmanager
def _compiling_on_demand() -> Iterator[None]:
    """Let what this thread imports compile its patterns on demand."""
    compile_now, thread = re.compile, get_ident()

    def compile_later(*given: Any) -> Any:
        return _Pattern(*given) if get_ident() == thread else compile_now(*given)

    re.compile = compile_later  # type: ignore[assignment]  # it has two signatures
    try:
        yield
    finally:
        re.compile = compile_now


if "yaml" in sys.modules:
    import yaml
else:
    # Whatever it imports as well has patterns that stay as they are.
    import base64  # noqa: F401
    import datetime  # noqa: F401

    with _compiling_on_demand():
        import yaml
