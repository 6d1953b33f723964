"""Protection of stacks and resources: the actions of its events, which change no state."""

from typing import Final

PROTECT: Final = "PROTECT"
UNPROTECT: Final = "UNPROTECT"
PROTECTION: Final = frozenset({PROTECT, UNPROTECT})
