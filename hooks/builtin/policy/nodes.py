"""YAML as a tree of nodes that know their line and column, and the faults found in it."""

import re
from collections.abc import Callable, Collection
from typing import Any, Final, TypeVar

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from hooks.values.nearest import nearest

#: The limit of listed faults: a file with more is of another kind.
_MOST_FAULTS: Final = 10
#: The limit of nodes, with all aliases expanded.
_MOST_NODES: Final = 50_000
_TAG: Final = "tag:yaml.org,2002:"
#: Numbers without surprises: YAML reads 0640 as octal and 22:30 as sexagesimal.
_PLAIN_NUMBER: Final = re.compile(r"[-+]?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
_KINDS: Final = {
    "str": "a text",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
}

AnyRead = TypeVar("AnyRead")


class Unreadable(ValueError):
    """A file is invalid; the message names the places and the faults."""


class Reader:
    """Reads the nodes of one file, and collects their faults."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._nodes_left = _MOST_NODES
        #: Line, column and message of each fault.
        self.faults: list[tuple[int, int, str]] = []

    def root(self, source: str) -> Node | None:
        """Return the root of a document; None if it is empty.

        Raises:
            Unreadable: it is no YAML.
        """
        try:
            # Not libyaml's loader, which crashes on deep nesting.
            root = yaml.compose(source, Loader=yaml.SafeLoader)
        except RecursionError:
            raise Unreadable(f"{self._file}: it is nested too deep") from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
            raise Unreadable(
                f"{self._file}{place}: it is no YAML: {error.problem or error.context}"
            ) from None
        except yaml.YAMLError as error:
            raise Unreadable(f"{self._file}: it is no YAML: {' '.join(str(error).split())}") from None
        return root if isinstance(root, Node) else None

    def fault(self, node: Node, message: str) -> None:
        """Record a fault of a node."""
        mark = node.start_mark
        self.faults.append((mark.line + 1, mark.column + 1, message))

    def expected(self, node: Node, what: str, hint: str = "") -> None:
        """Record that something else was expected at a node."""
        self.fault(node, f"expected {what}, found {_found(node)}{hint}")

    def check(self) -> None:
        """Raise if any fault was recorded.

        Raises:
            Unreadable: there are faults; the message lists them, up to a limit.
        """
        if self.faults:
            more = len(self.faults) - _MOST_FAULTS
            first = sorted(self.faults)[:_MOST_FAULTS]
            lines = [
                *(f"{self._file}:{line}:{column}: {message}" for line, column, message in first),
                *([f"and {more} more"] if more > 0 else []),
            ]
            raise Unreadable("\n".join(lines))

    def map(
        self, node: Node, what: str, known: Collection[str] | None = None
    ) -> dict[str, tuple[Node, Node]]:
        """Return the keys and values of a map by the keys' texts; ``known`` are the allowed keys."""
        if not isinstance(node, MappingNode):
            self.expected(node, what)
            return {}
        self._count()
        entries: dict[str, tuple[Node, Node]] = {}
        for key, value in node.value:
            name = self.text(key)
            if name is None:
                continue
            if name in entries:
                self.fault(key, f"the key {name!r} stands here twice")
            elif known is not None and name not in known:
                self.fault(key, f"there is no key {name!r} here; {nearest(name, known)}")
            else:
                entries[name] = key, value
        return entries

    def list(self, node: Node, what: str) -> list[Node]:
        """Return the items of a list."""
        if not isinstance(node, SequenceNode):
            self.expected(node, what)
            return []
        return list(node.value)

    def text(self, node: Node) -> str | None:
        """Return a text that is not empty; None if it is none."""
        if not isinstance(node, ScalarNode) or node.tag != f"{_TAG}str" or not node.value.strip():
            quoted = "; put it in quotes" if isinstance(node, ScalarNode) and node.value.strip(" <") else ""
            self.expected(node, "a text", quoted)
            return None
        return str(node.value)

    def texts(self, node: Node, read: Callable[[Node], AnyRead | None]) -> tuple[AnyRead, ...]:
        """Return a list of at least one item, or what stands for a list of one; each is read by ``read``."""
        items = node.value if isinstance(node, SequenceNode) else [node]
        if not items:
            self.fault(node, "expected at least one item")
        return tuple(found for item in items if (found := read(item)) is not None)

    def word(self, node: Node, words: Collection[str]) -> str | None:
        """Return one of some words; None if it is none of them."""
        if isinstance(node, ScalarNode) and node.value in words:
            return str(node.value)
        near = nearest(node.value, words) if isinstance(node, ScalarNode) else ""
        self.expected(node, f"one of {', '.join(words)}", f"; {near}" if near.startswith("did") else "")
        return None

    def flag(self, node: Node) -> bool | None:
        """Return true or false; None if it is neither."""
        value = self.value(node)
        if isinstance(value, bool):
            return value
        self.expected(node, "true or false")
        return None

    def number(self, node: Node) -> int | float | None:
        """Return a number; None if it is none."""
        value = self.value(node)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        self.expected(node, "a number")
        return None

    def value(self, node: Node) -> Any:
        """Return a value of any kind; what is wrong with it is noted, and nothing stands for it."""
        self._count()
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if isinstance(node, SequenceNode):
            return [self.value(item) for item in node.value]
        return {name: self.value(value) for name, (_, value) in self.map(node, "a map").items()}

    def _count(self) -> None:
        """Count a value, and stop beyond the limit, which only aliases reach."""
        self._nodes_left -= 1
        if self._nodes_left <= 0:
            raise Unreadable(
                f"{self._file}: it has more than {_MOST_NODES} values, with its aliases expanded"
            )

    def _scalar(self, node: ScalarNode) -> object:
        kind = node.tag.removeprefix(_TAG)
        if kind == "null":
            self.fault(
                node, "expected a value, found nothing; what is not given is asked for by 'exists: false'"
            )
            return None
        if kind in ("int", "float") and not _PLAIN_NUMBER.fullmatch(node.value):
            self.fault(
                node,
                f"{node.value!r} is a number that may be misread: put it in quotes, or in decimal digits",
            )
            return None
        if kind in ("int", "float", "bool"):
            try:
                return yaml.SafeLoader("").construct_object(node)
            except (KeyError, ValueError):
                self.fault(node, f"the tag {node.tag!r} does not fit {node.value!r}")
                return None
        if kind not in ("str", "timestamp"):
            self.fault(node, f"the tag {node.tag!r} is not supported here")
        return node.value


def _found(node: Node) -> str:
    if isinstance(node, MappingNode):
        return "a map"
    if isinstance(node, SequenceNode):
        return "a list"
    kind = node.tag.removeprefix(_TAG)
    if kind == "null" or not node.value.strip():
        return "nothing"
    return f"{_KINDS.get(kind, 'a value')} ({node.value[:60]!r})" if kind != "str" else repr(node.value[:60])
