"""Parser of YAML and JSON text into plain data, with the position of each key and item.

Works on libyaml's events with a stack of its own: no text, however deep or however often it refers to itself,
can exhaust the interpreter's stack or the memory. Knows nothing of templates.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Any, Final

import yaml

from hooks.values.dataclass import dataclass
from orchestrator.config.limits import DEEPEST
from orchestrator.errors import MOST_PROBLEMS, cut
from orchestrator.template.reading import Fault, Reading, Unreadable, Where
from orchestrator.template.scalars import (
    MERGE,
    STR,
    BadScalar,
    join_surrogates,
    json_value,
    looks_like_json,
    plain_value,
    short_tag,
    tagged_value,
)

#: A key or a value takes far more memory than its characters: besides the text's bytes, its nodes are limited, too.
_BYTES_PER_NODE: Final = 4
#: The limit of nodes is never lower, however small the limit of bytes.
_FEW_NODES: Final = 1_000
#: What libyaml of PyYAML 6.0.4 says, on its own, of a text that is nested more than 1 000 levels deep.
_TOO_DEEP: Final = "exceeded maximum nesting depth"
_MORE_BYTES: Final = "make it smaller, or raise the setting max_template_bytes"

_MAP_TAGS = (None, "!", "tag:yaml.org,2002:map")
_LIST_TAGS = (None, "!", "tag:yaml.org,2002:seq")
_TEXT_TAGS = ("!", STR)
#: By the type of a key that is no text: its kind, for warnings.
_KEYS_BESIDES_TEXT: Final = {type(None): "null", bool: "a boolean", int: "a number", float: "a number"}
_MISSING: Final = object()
_MERGE_KEY: Final = object()


@dataclass(slots=True, eq=False)
class _Frame:
    """A map or list under construction; a list's keys are its indexes."""

    data: Any
    anchor: str | None
    where: Where
    #: The number of nodes before this one.
    before: int
    places: dict[Any, Where] = field(default_factory=dict)
    key: Any = _MISSING
    key_where: Where = 0
    merged: list[dict[str, Any]] = field(default_factory=list)
    #: Characters and containers, with all aliases expanded.
    size: int = 1
    #: Levels of containers below and including this one.
    height: int = 1

    def step(self) -> tuple[str | int, ...]:
        """Return the path from this container to the node being read; empty if its key is no text."""
        if isinstance(self.data, list):
            return (len(self.data),)
        return (self.key,) if isinstance(self.key, str) else ()


def read(source: str, *, max_bytes: int, max_depth: int) -> Reading:
    """Parse one document; the data of an empty one is None.

    Maps keep their order. Keys that are numbers, booleans or null become the texts that JSON has for them, with a
    warning. Keys that are maps or lists, duplicate keys and invalid values are left out and reported as faults.

    Raises:
        Unreadable: the syntax is wrong, or a limit is exceeded.
    """
    reader = _Reader(source, max_bytes=max_bytes, max_depth=min(max_depth, DEEPEST))
    return Reading(reader.run(), reader.places, reader.faults, reader.nodes, reader.warnings)


def most_nodes(max_bytes: int) -> int:
    """Return the limit of keys and values for a limit of bytes."""
    return max(max_bytes // _BYTES_PER_NODE, _FEW_NODES)


class _Reader:
    def __init__(self, source: str, *, max_bytes: int, max_depth: int) -> None:
        is_json = looks_like_json(source)
        self._source = join_surrogates(source) if is_json else source
        self._scalar_value = json_value if is_json else plain_value
        self._scalars: dict[str, Any] = {}
        self._max_bytes, self._max_depth = max_bytes, max_depth
        self._max_nodes = most_nodes(max_bytes)
        self._stack: list[_Frame] = []
        #: Finished nodes by their anchor: value, size, height, nodes.
        self._anchors: dict[str, tuple[Any, int, int, int]] = {}
        self._total = 0
        self._documents = 0
        self._root: Any = None
        #: Keys and values, with all aliases expanded.
        self.nodes = 0
        self.places: dict[int, dict[Any, Where]] = {}
        self.faults: list[Fault] = []
        self.warnings: list[Fault] = []

    def run(self) -> object:
        """Return the data; fill :attr:`places` and :attr:`faults`."""
        handlers: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._on_scalar,
            yaml.MappingStartEvent: self._on_map,
            yaml.SequenceStartEvent: self._on_list,
            yaml.MappingEndEvent: self._on_end,
            yaml.SequenceEndEvent: self._on_end,
            yaml.AliasEvent: self._on_alias,
            yaml.DocumentStartEvent: self._on_document,
        }
        self._check_source()
        try:
            parser = yaml.CSafeLoader(self._source)
            while (kind := (event := parser.get_event()).__class__) is not yaml.StreamEndEvent:
                handler = handlers.get(kind)
                if handler:
                    handler(event)
        except yaml.YAMLError as error:
            raise Unreadable(self._syntax_fault(error)) from error
        return self._root

    # -- events ------------------------------------------------------------------------------------------------

    def _on_document(self, event: yaml.Event) -> None:
        self._documents += 1
        if self._documents > 1:
            self._stop(
                _where(event), "a second document begins here; only one is allowed", "remove the '---'"
            )

    def _on_scalar(self, event: Any) -> None:
        text: str = event.value
        size = 1 + len(text)
        self._total += size
        self._count(1, event)
        value = self._value(event, text)
        if event.anchor:
            self._anchors[event.anchor] = (value, size, 0, 1)
        if text == "<<" and (event.implicit[0] or event.tag == MERGE) and self._awaits_key():
            value = _MERGE_KEY
        self._add(value, _where(event), size, 0)

    def _on_map(self, event: yaml.Event) -> None:
        self._open({}, event, _MAP_TAGS)

    def _on_list(self, event: yaml.Event) -> None:
        self._open([], event, _LIST_TAGS)

    def _on_end(self, _event: yaml.Event) -> None:
        frame = self._stack.pop()
        for merged in frame.merged:
            places = self.places[id(merged)]
            for key, value in merged.items():
                if key not in frame.data:
                    frame.data[key] = value
                    frame.places[key] = places[key]
        self.places[id(frame.data)] = frame.places
        if frame.anchor:
            nodes = self.nodes - frame.before
            self._anchors[frame.anchor] = (frame.data, frame.size, frame.height, nodes)
        self._add(frame.data, frame.where, frame.size, frame.height)

    def _on_alias(self, event: Any) -> None:
        where = _where(event)
        if event.anchor not in self._anchors:
            self._stop(where, f"the alias *{cut(event.anchor)} refers to no anchor that ended before it")
        value, size, height, nodes = self._anchors[event.anchor]
        self._count(nodes, event)
        self._total += size
        if self._total > self._max_bytes:
            message = f"with its aliases expanded the text has more than {self._max_bytes} bytes"
            self._stop(where, message, _MORE_BYTES)
        self._check_depth(len(self._stack) + height, where)
        self._add(value, where, size, height)

    # -- the tree ----------------------------------------------------------------------------------------------

    def _open(self, data: Any, event: Any, tags: tuple[str | None, ...]) -> None:
        where = _where(event)
        self._check_depth(len(self._stack) + 1, where)
        if event.tag not in tags:
            self._fault(where, f"the tag {short_tag(event.tag)} is not supported here")
        self._stack.append(_Frame(data, event.anchor, where, self.nodes))
        self._count(1, event)

    def _add(self, value: object, where: Where, size: int, height: int) -> None:
        if not self._stack:
            self._root = value
            return
        frame = self._stack[-1]
        frame.size += size
        if height >= frame.height:
            frame.height = height + 1
        data = frame.data
        if data.__class__ is list:
            frame.places[len(data)] = where
            data.append(value)
        elif frame.key is _MISSING:
            frame.key, frame.key_where = value, where
            if value.__class__ in _KEYS_BESIDES_TEXT:
                self._convert_key(frame)
        else:
            self._add_entry(frame, value)
            frame.key = _MISSING

    def _add_entry(self, frame: _Frame, value: object) -> None:
        key = frame.key
        if key is _MERGE_KEY:
            self._merge(frame, value)
        elif key.__class__ is not str:
            kind = "a map" if isinstance(key, dict) else "a list"
            self._fault(frame.key_where, f"keys must be text, found {kind}")
        elif key in frame.data:
            first = frame.places[key]
            self._fault(
                frame.key_where,
                f"the key {cut(key)!r} comes twice; it stands in line {(first >> 32) + 1} already",
            )
        else:
            frame.data[key] = value
            frame.places[key] = frame.key_where

    def _convert_key(self, frame: _Frame) -> None:
        """Replace a key by the text that it becomes in JSON, as Heat's clients send it."""
        kind, frame.key = _KEYS_BESIDES_TEXT[frame.key.__class__], _written(frame.key)
        if len(self.warnings) < MOST_PROBLEMS:
            message = f"this key is {kind}, and is taken as the text {cut(frame.key)!r}"
            fault = Fault(self._path(), frame.key_where, message, "put the key in quotes")
            self.warnings.append(fault)

    def _merge(self, frame: _Frame, value: Any) -> None:
        maps = value if isinstance(value, list) else [value]
        if all(isinstance(merged, dict) for merged in maps):
            frame.merged.extend(maps)
        else:
            self._fault(
                frame.key_where, "'<<' merges a map, or a list of maps", "put '<<' in quotes if it is a key"
            )

    def _awaits_key(self) -> bool:
        frame = self._stack[-1] if self._stack else None
        return frame is not None and frame.data.__class__ is dict and frame.key is _MISSING

    def _value(self, event: Any, text: str) -> object:
        plain, quoted = event.implicit
        if event.tag in _TEXT_TAGS or quoted:
            return text
        value = self._scalars.get(text, _MISSING) if plain else _MISSING
        return self._convert(event, text) if value is _MISSING else value

    def _convert(self, event: Any, text: str) -> object:
        try:
            if not event.implicit[0]:
                return tagged_value(event.tag, text)
            value = self._scalars[text] = self._scalar_value(text)
        except BadScalar as error:
            hint = "put it in quotes if it is text" if event.implicit[0] else ""
            self._fault(_where(event), str(error), hint)
            return None
        return value

    # -- limits and faults -------------------------------------------------------------------------------------

    def _check_source(self) -> None:
        try:
            size = len(self._source.encode())
        except UnicodeEncodeError as error:
            where = _where_of_index(self._source, error.start)
            raise Unreadable(Fault((), where, "half of a surrogate pair is no character")) from error
        if size > self._max_bytes:
            raise Unreadable(
                Fault((), 0, f"the text has {size} bytes; at most {self._max_bytes} are allowed", _MORE_BYTES)
            )

    def _count(self, nodes: int, event: yaml.Event) -> None:
        self.nodes += nodes
        if self.nodes > self._max_nodes:
            message = f"with its aliases expanded the text has more than {self._max_nodes} keys and values"
            self._stop(_where(event), message, _MORE_BYTES)

    def _check_depth(self, depth: int, where: Where) -> None:
        if depth > self._max_depth:
            raise Unreadable(self._too_deep(where))

    def _too_deep(self, where: Where) -> Fault:
        message = f"nested deeper than {self._max_depth} levels"
        hint = f"make it flatter, or raise the setting max_template_depth (never above {DEEPEST})"
        return Fault((), where, message, hint)

    def _path(self) -> tuple[str | int, ...]:
        return tuple(step for frame in self._stack for step in frame.step())

    def _fault(self, where: Where, message: str, hint: str = "") -> None:
        if len(self.faults) < MOST_PROBLEMS:
            self.faults.append(Fault(self._path(), where, message, hint))

    def _stop(self, where: Where, message: str, hint: str = "") -> None:
        raise Unreadable(Fault(self._path(), where, message, hint))

    def _syntax_fault(self, error: yaml.YAMLError) -> Fault:
        if isinstance(error, yaml.MarkedYAMLError):
            mark = error.problem_mark or error.context_mark
            where = mark.line << 32 | mark.column if mark else 0
            if error.problem == _TOO_DEEP:
                return self._too_deep(where)
            sentence = ", ".join(part for part in (error.context, error.problem) if part)
            tab = "\t" in _line(self._source, where >> 32)
            hint = (
                "indent with spaces, not tabs"
                if tab
                else "look for a bracket, quote or colon just before this place"
            )
            return Fault((), where, f"not valid YAML: {sentence}", hint)
        # libyaml counts bytes.
        before = self._source.encode()[: getattr(error, "position", 0)]
        where = _where_of_index(self._source, len(before.decode(errors="ignore")))
        return Fault((), where, f"not valid YAML: {getattr(error, 'reason', error)}")


def _where(event: Any) -> Where:
    mark = event.start_mark
    return mark.line << 32 | mark.column  # type: ignore[no-any-return]


def _where_of_index(source: str, index: int) -> Where:
    before = source[:index]
    line = before.count("\n")
    return line << 32 | (index - (before.rfind("\n") + 1))


def _line(source: str, number: int) -> str:
    lines = source.splitlines()
    return lines[number] if number < len(lines) else ""


def _written(key: object) -> str:
    return "null" if key is None else str(key).lower() if isinstance(key, bool) else str(key)
