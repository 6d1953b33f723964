"""Documents: YAML or JSON texts as plain data, with the position of each part."""

from typing import Any

from hooks.values.dataclass import dataclass
from orchestrator.config.limits import Limits
from orchestrator.errors import InvalidInput, Position, Problem, cut
from orchestrator.template.reader import read
from orchestrator.template.reading import Fault, Reading, Unreadable, Where, readings

#: A path in a document: the keys of maps and the indexes of lists, from the root.
Path = tuple[str | int, ...]


def dotted(path: Path) -> str:
    """Return a path as text: ``resources.web.properties.networks[0].port``; very long keys are cut."""
    parts = [f"[{step}]" if isinstance(step, int) else f".{cut(step)}" for step in path]
    return "".join(parts).removeprefix(".")


class Positions:
    """The positions of the parts of one document.

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
        """Return a problem at ``path``."""
        return Problem(message=message, path=dotted(path), position=self.at(path), hint=hint)


class PackedPositions(Positions):
    """The packed positions of a few paths only."""

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
    """A parsed text. The data must not be changed: aliases share it, and positions are looked up by identity."""

    data: Any
    positions: Positions
    file: str
    source: str
    #: The number of keys and values, with all aliases expanded.
    nodes: int
    #: The parts that were read, though perhaps not as meant.
    warnings: tuple[Problem, ...] = ()


def parse_document(source: str, *, file: str, limits: Limits) -> Document:
    """Parse one YAML or JSON document.

    Dates stay text; anchors, aliases and merge keys (``<<``) work, as long as their expansion keeps the limits.

    Raises:
        InvalidInput: the text cannot be parsed, or has invalid values, duplicate keys or keys that are maps or lists;
            with a problem for each.
    """
    document, problems = read_document(source, file=file, limits=limits)
    if problems:
        raise InvalidInput(problems)
    return document


def read_document(source: str, *, file: str, limits: Limits) -> tuple[Document, list[Problem]]:
    """Parse one document; invalid entries are left out and returned as problems.

    Raises:
        InvalidInput: the text cannot be parsed at all.
    """
    source = source.removeprefix("\ufeff")
    try:
        reading = _read(source, limits)
    except Unreadable as error:
        positions = Positions(file, Reading(None, {}, []))
        raise InvalidInput([_problem(positions, error.fault)]) from error
    positions = Positions(file, reading)
    warnings = tuple(_problem(positions, f) for f in reading.warnings)
    document = Document(reading.data, positions, file, source, reading.nodes, warnings)
    return document, [_problem(positions, f) for f in reading.faults]


def _read(source: str, limits: Limits) -> Reading:
    known, key = readings(), (source, limits.max_bytes, limits.max_depth)
    if key not in known:
        known[key] = read(source, max_bytes=limits.max_bytes, max_depth=limits.max_depth)
    return known[key]


def _problem(positions: Positions, fault: Fault) -> Problem:
    return Problem(
        message=fault.message,
        path=dotted(fault.path),
        position=positions.unpack(fault.where),
        hint=fault.hint,
    )
