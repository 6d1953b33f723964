"""A text that a person wrote, as plain data that knows where each part of it stood."""

from dataclasses import dataclass
from typing import Any

from orchestrator.config.limits import Limits
from orchestrator.errors import InvalidInput, Position, Problem, cut
from orchestrator.template.reader import read
from orchestrator.template.reading import Fault, Reading, Unreadable, Where

#: Where something is in a document: the keys of maps and the indexes of lists, from the root.
Path = tuple[str | int, ...]


def dotted(path: Path) -> str:
    """Return a path as people read it: ``resources.web.properties.networks[0].port``; very long keys are cut."""
    parts = [f"[{step}]" if isinstance(step, int) else f".{cut(step)}" for step in path]
    return "".join(parts).removeprefix(".")


class Positions:
    """Where the parts of one document stood.

    The position of a map's entry is that of its key, of a list's item that of the item. A path that is not in
    the document has the position of its nearest ancestor.
    """

    def __init__(self, file: str, reading: Reading) -> None:
        self.file = file
        self._data, self._places = reading.data, reading.places

    def at(self, path: Path) -> Position:
        """Return the position of ``path``, or of its nearest ancestor."""
        return self.unpack(self.where(path))

    def where(self, path: Path) -> Where:
        """Return the packed position of ``path``, or of its nearest ancestor; see :meth:`unpack`."""
        value, where = self._data, 0
        for step in path:
            found = self._places.get(id(value), {}).get(step)
            if found is None:
                break
            where, value = found, value[step]
        return where

    def unpack(self, where: Where) -> Position:
        """Return a packed position as lines and columns counted from 1."""
        return Position(file=self.file, line=(where >> 32) + 1, column=(where & 0xFFFFFFFF) + 1)

    def problem(self, path: Path, message: str, hint: str = "") -> Problem:
        """Return a problem with what stands at ``path``."""
        return Problem(message=message, path=dotted(path), position=self.at(path), hint=hint)


class PackedPositions(Positions):
    """Positions of a few paths only, each known by its packed position."""

    def __init__(self, file: str, places: dict[Path, Where]) -> None:
        self.file = file
        self._known = places

    def where(self, path: Path) -> Where:
        """Return the packed position of ``path``, or of its nearest ancestor."""
        for length in range(len(path), 0, -1):
            if path[:length] in self._known:
                return self._known[path[:length]]
        return 0


@dataclass(frozen=True, slots=True)
class Document:
    """What a text says. The data must not be changed: aliases share it, and positions are found by it."""

    data: Any
    positions: Positions
    file: str
    source: str
    #: How many keys and values there are, those that aliases share counted as often as they stand.
    nodes: int


def parse_document(source: str, *, file: str, limits: Limits) -> Document:
    """Read one YAML or JSON document.

    Dates stay text; anchors, aliases and merge keys (``<<``) work, as long as what they expand to keeps the limits.

    Raises:
        InvalidInput: the text cannot be read, or has keys that are not text or come twice; all such places.
    """
    document, problems = read_document(source, file=file, limits=limits)
    if problems:
        raise InvalidInput(problems)
    return document


def read_document(source: str, *, file: str, limits: Limits) -> tuple[Document, list[Problem]]:
    """Read one document as :func:`parse_document` does, but leave out and report what can be left out.

    Raises:
        InvalidInput: the text cannot be read at all.
    """
    source = source.removeprefix("\ufeff")
    try:
        reading = read(source, max_bytes=limits.max_bytes, max_depth=limits.max_depth)
    except Unreadable as error:
        positions = Positions(file, Reading(None, {}, []))
        raise InvalidInput([_problem(positions, error.fault)]) from error
    positions = Positions(file, reading)
    document = Document(reading.data, positions, file, source, reading.nodes)
    return document, [_problem(positions, f) for f in reading.faults]


def _problem(positions: Positions, fault: Fault) -> Problem:
    return Problem(
        message=fault.message,
        path=dotted(fault.path),
        position=positions.unpack(fault.where),
        hint=fault.hint,
    )
