"""What reading a text gives: data and places, or the reason why it cannot be read."""

from typing import Any, NamedTuple

#: A place, line << 32 | column, both counted from 0: small enough to keep one for every key.
Where = int


class Fault(NamedTuple):
    """Something in the text that cannot be kept as it is."""

    path: tuple[str | int, ...]
    where: Where
    message: str
    hint: str = ""


class Unreadable(Exception):
    """The text cannot be read any further."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


class Reading(NamedTuple):
    """What a text says: its data, the places by the container's ``id()`` and key, and what was left out.

    ``nodes`` is how many keys and values the data has, those that aliases share counted as often as they stand.
    """

    data: Any
    places: dict[int, dict[Any, Where]]
    faults: list[Fault]
    nodes: int = 0
