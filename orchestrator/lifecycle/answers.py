"""Answers of lifecycle plugins: validated, packed for the store, and rebuilt for ``do_post_op``."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

import msgpack

from hooks.lifecycle import Annotations
from hooks.values.frozen import frozen
from hooks.values.texts import tellable
from orchestrator.store.traversals.operation_rows import Agreed, CallRow, OperationRow

#: How many warnings of one plugin about one operation are kept, and how many characters of each.
MOST_WARNINGS: Final = 20
MOST_CHARACTERS: Final = 500
#: An answer with more warnings than this is refused.
MOST_COUNTED: Final = 1_000
#: The size limit of a plugin's annotations of one operation, packed.
MOST_BYTES: Final = 4 * 1024 * 1024
#: The depth limit of annotations, for readers that are deep in the call stack already.
MOST_DEPTH: Final = 64
#: The key of the stack's own annotations in the store.
STACK: Final = ""


class BadAnswer(Exception):
    """A plugin's answer cannot be stored; the message is the reason."""


def answer_to_wire(answer: object) -> dict[str, Any] | None:
    """Return a plugin's answer as plain types; None if it returned None.

    Raises:
        BadAnswer: it cannot be stored.
    """
    if answer is None:
        return None
    if not isinstance(answer, Annotations):
        raise BadAnswer(f"it answered with {type(answer).__name__}, where Annotations or None was expected")
    if not isinstance(answer.resources, Mapping) or not isinstance(answer.stack, Mapping):
        raise BadAnswer("its annotations are no maps")
    if not all(isinstance(value, Mapping) for value in answer.resources.values()):
        raise BadAnswer("its annotations of a resource are no map")
    if isinstance(answer.warnings, str):
        raise BadAnswer("its warnings are one text, where a list was expected")
    if not all(isinstance(name, str) and name == tellable(name) for name in answer.resources):
        raise BadAnswer("its annotations are of what no resource can be called")
    wire = {
        "warnings": _warnings(answer.warnings),
        "stack": _plain(answer.stack),
        "resources": _plain(answer.resources),
    }
    try:
        size = len(msgpack.packb(wire))
    except (TypeError, ValueError, OverflowError) as error:
        raise BadAnswer(f"its annotations are not of plain types: {error}") from error
    if size > MOST_BYTES:
        raise BadAnswer(f"its annotations take {size} bytes; at most {MOST_BYTES} are kept")
    return wire


def _warnings(given: Iterable[object]) -> list[str]:
    """Return the warnings that are kept."""
    # The reading goes on after the time limit: an endless iterable must not fill the memory.
    first = islice(given, MOST_COUNTED + 1)
    warnings = [tellable(str(each), most=MOST_CHARACTERS) for each in first]
    if len(warnings) > MOST_COUNTED:
        raise BadAnswer(f"it answered with more than {MOST_COUNTED} warnings")
    if len(warnings) > MOST_WARNINGS:
        more = len(warnings) - MOST_WARNINGS + 1
        warnings = [*warnings[: MOST_WARNINGS - 1], f"and {more} more"]
    return warnings


def _plain(value: object, depth: int = 0) -> object:
    """Return a copy made of plain maps and lists."""
    if depth > MOST_DEPTH:
        raise BadAnswer(f"its annotations are deeper than {MOST_DEPTH} maps and lists in each other")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise BadAnswer(f"its annotations have a key that is no text, but {type(key).__name__}")
        return {key: _plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each, depth + 1) for each in value]
    return value


def answer_from_wire(wire: Mapping[str, Any] | None) -> Annotations | None:
    """Return a plugin's answer, frozen; the inverse of :func:`answer_to_wire`."""
    if wire is None:
        return None
    return Annotations(
        warnings=frozen(wire["warnings"]), stack=frozen(wire["stack"]), resources=frozen(wire["resources"])
    )


def agreed_of(row: OperationRow, calls: Iterable[CallRow]) -> Agreed:
    """Return the plugins' answers, as the traversal of an operation stores them when it begins."""
    answered = {call.plugin: call.annotations for call in calls if call.annotations is not None}
    return Agreed(
        operation_id=row.id,
        attempt=row.attempt,
        warnings={plugin: wire["warnings"] for plugin, wire in answered.items() if wire["warnings"]},
        annotations={
            plugin: {
                **({STACK: wire["stack"]} if wire["stack"] else {}),
                **{name: value for name, value in wire["resources"].items() if value and name != STACK},
            }
            for plugin, wire in answered.items()
        },
    )
