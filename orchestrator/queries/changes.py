"""What one operation's definition changed of the one before it: unified diffs, and never a value that is hidden."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import unified_diff
from typing import Any, Final

from orchestrator.queries.definition_source import Given
from orchestrator.queries.sources import shown_source
from orchestrator.template.hiding import HIDDEN
from orchestrator.views.operations import ChangesView, OperationView

#: Longer texts are not compared line by line: that takes longer than anybody waits.
MOST_LINES: Final = 20_000
#: How many lines of a diff are told, and how many characters of a line.
_TOLD_LINES: Final = 2_000
_TOLD_CHARACTERS: Final = 500
#: What stands for a value that is not there, and for one that is not shown.
ABSENT: Final = "(none)"
NOT_SHOWN: Final = "(not shown)"


def changes_of(
    operation: OperationView,
    before: Given | None,
    after: Given,
    content: Callable[[str], str],
    *,
    shows_values: bool = False,
) -> ChangesView:
    """Return what is other in a definition than in the one before it.

    Args:
        operation: What gave the stack the definition.
        before: None for the first: then all of it is new.
        after: The definition.
        content: Reads a file by its digest; it is asked of those that differ.
        shows_values: Whether values of parameters and the contents of files are shown; hidden parameters never are.
    """
    old = before or Given(traversal_id="", source="", resources={})
    hidden = old.hidden | after.hidden
    # Where nobody can tell of one of them, nothing is told of the difference.
    was = (old.resources or {}) if after.resources is not None else {}
    now = (after.resources or {}) if old.resources is not None else {}
    return ChangesView(
        operation=operation,
        before_id=before.traversal_id if before else None,
        template=_diff(
            shown_source(old.source, with_defaults=shows_values) if before else "",
            shown_source(after.source, with_defaults=shows_values),
        ),
        parameters=tuple(_parameters(old.parameters, after.parameters, hidden, shows_values=shows_values)),
        files=(
            *_environments(old.environments, after.environments),
            *_files(old.files, after.files, content if shows_values else None),
        ),
        added=tuple(sorted(now.keys() - was.keys())),
        removed=tuple(sorted(was.keys() - now.keys())),
        changed=tuple(sorted(_other(was, now))),
    )


def _diff(before: str, after: str) -> tuple[str, ...]:
    """Return a unified diff without its head."""
    old, new = _lines(before), _lines(after)
    if old == new:
        return ()
    if len(old) + len(new) > MOST_LINES:
        return (f"({len(old)} lines before, {len(new)} after: too many to be compared)",)
    lines = list(unified_diff(old, new, n=3, lineterm=""))[2:]
    told = [_cut(line) for line in lines[:_TOLD_LINES]]
    if len(lines) > len(told):
        told.append(f"({len(lines) - len(told)} more lines)")
    return tuple(told)


def _lines(text: str) -> list[str]:
    """Return a text's lines. What was made by a program may be JSON on a single one."""
    lines = text.splitlines()
    if len(lines) == 1 and text.startswith("{"):
        try:
            return json.dumps(json.loads(text), indent=2).splitlines()
        except ValueError:
            return lines
    return lines


def _cut(line: str) -> str:
    return line if len(line) <= _TOLD_CHARACTERS else f"{line[: _TOLD_CHARACTERS - 3]}..."


def _parameters(
    before: Mapping[str, Any], after: Mapping[str, Any], hidden: Iterable[str], *, shows_values: bool
) -> Iterator[tuple[str, str, str]]:
    """Yield name, value before and value after of each parameter that has another value."""
    absent = object()
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, absent), after.get(name, absent)
        if old == new:
            continue
        told = []
        for value in (old, new):
            if value is absent:
                told.append(ABSENT)
            elif name in hidden:
                told.append(HIDDEN)
            else:
                told.append(_text(value) if shows_values else NOT_SHOWN)
        yield name, told[0], told[1]


def _text(value: Any) -> str:
    return _cut(value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str))


def _files(
    before: Mapping[str, str], after: Mapping[str, str], content: Callable[[str], str] | None
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each file that differs, with how; without ``content``, nobody may see that."""
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) == after.get(name):
            continue
        if content is None:
            yield name, (NOT_SHOWN,)
        else:
            old, new = (content(each[name]) if name in each else "" for each in (before, after))
            yield name, _diff(old, new)


def _environments(
    before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name in sorted(before.keys() | after.keys()):
        if found := _diff(before.get(name, ""), after.get(name, "")):
            yield name, found


def _other(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the resources of which both templates say something, and not the same."""
    for name in before.keys() & after.keys():
        if before[name] != after[name]:
            yield name
