"""Secret texts among the settings: shown by no log, error or ``repr``."""

from typing import Final

_MASK: Final = "**********"


class Secret:
    """A text that must be asked for to be seen."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def get_secret_value(self) -> str:
        """Return the text."""
        return self._text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_MASK if self._text else ''!r})"

    def __str__(self) -> str:
        return _MASK if self._text else ""

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)
