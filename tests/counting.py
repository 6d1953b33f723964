"""What something costs on any machine: how many functions it calls."""

import sys
from collections.abc import Callable
from types import FrameType


def calls(act: Callable[[], object]) -> int:
    """Return how many functions are called, Python's and C's, while ``act`` runs."""
    counted = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(before)
    return counted
