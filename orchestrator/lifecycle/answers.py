"""What lifecycle plugins answer: taken in, put on record, and handed back to them."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

import msgpack

from hooks.lifecycle import Annotations
from hooks.values.frozen import frozen
from hooks.values.words import tellable
from orchestrator.store.traversals.operation_rows import Agreed, CallRow, OperationRow

#: So many warnings of one plugin about one operation are kept, each so long.
MOST_WARNINGS: Final = 20
MOST_CHARACTERS: Final = 500
#: One that warns of more than so much answers with what cannot be kept.
MOST_COUNTED: Final = 1_000
#: What a plugin says of a stack and its resources takes no more room, packed.
MOST_BYTES: Final = 4 * 1024 * 1024
#: Nor is it deeper: whoever reads it may stand deep in calls already.
MOST_DEPTH: Final = 64
#: Under which name the stack's own annotations are on record.
STACK: Final = ""


class BadAnswer(Exception):
    """A plugin answered what cannot be kept; the sentence says why."""


def answer_to_wire(answer: object) -> dict[str, Any] | None:
    """Return what a plugin answered as plain types; None if it answered nothing.

    Raises:
        BadAnswer: it is nothing that can be kept.
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


def _warnings(said: Iterable[object]) -> list[str]:
    """Return the warnings that are kept.

    Raises:
        BadAnswer: there are far too many.
    """
    # Whoever gave the plugin up goes on reading it: what has no end must not fill the memory of the process.
    first = islice(said, MOST_COUNTED + 1)
    warnings = [tellable(str(each), most=MOST_CHARACTERS) for each in first]
    if len(warnings) > MOST_COUNTED:
        raise BadAnswer(f"it answered with more than {MOST_COUNTED} warnings")
    if len(warnings) > MOST_WARNINGS:
        more = len(warnings) - MOST_WARNINGS + 1
        warnings = [*warnings[: MOST_WARNINGS - 1], f"and {more} more"]
    return warnings


def _plain(value: Any, depth: int = 0) -> Any:
    """Return a copy made of plain maps and lists.

    Raises:
        BadAnswer: it could be written, but not be read again by all who do.
    """
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
    """Return what a plugin answered, frozen; the inverse of :func:`answer_to_wire`."""
    if wire is None:
        return None
    return Annotations(
        warnings=frozen(wire["warnings"]), stack=frozen(wire["stack"]), resources=frozen(wire["resources"])
    )


def agreed_of(row: OperationRow, calls: Iterable[CallRow]) -> Agreed:
    """Return what the traversal of an operation writes of its plugins' answers as it begins."""
    answered = {call.plugin: call.annotations for call in calls if call.annotations is not None}
    return Agreed(
        operation_id=row.id,
        attempt=row.attempt,
        warnings={plugin: said["warnings"] for plugin, said in answered.items() if said["warnings"]},
        annotations={
            plugin: {
                **({STACK: said["stack"]} if said["stack"] else {}),
                **{name: value for name, value in said["resources"].items() if value and name != STACK},
            }
            for plugin, said in answered.items()
        },
    )
