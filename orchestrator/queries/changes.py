"""Changes between an operation's definition and the one before it: unified diffs, without hidden values."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import unified_diff
from typing import Final

from orchestrator.errors import cut
from orchestrator.queries.definition_source import DefinitionSource
from orchestrator.template.hiding import HIDDEN
from orchestrator.template.masking import shown_source
from orchestrator.views.operations import ChangesView, OperationView

#: Longer texts are not compared line by line, which would take too long.
MOST_LINES: Final = 20_000
#: The most lines of a diff, and the most characters of a line.
_SHOWN_LINES: Final = 2_000
_SHOWN_CHARACTERS: Final = 500
#: The texts in place of a missing value, and of one that is not shown.
ABSENT: Final = "(none)"
NOT_SHOWN: Final = "(not shown)"


def changes_of(
    operation: OperationView,
    before: DefinitionSource | None,
    after: DefinitionSource,
    content: Callable[[str], str],
    *,
    shows_values: bool = False,
) -> ChangesView:
    """Return the differences between a definition and the one before it.

    ``content`` reads a file by its digest. Values of parameters and the contents of files are shown only with
    ``shows_values``; hidden parameters never are.
    """
    old = before or DefinitionSource(traversal_id="", source="", resources={})
    hidden = old.hidden | after.hidden
    # If the resources of one of them are unknown, no differences are shown.
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
        changed=tuple(sorted(name for name in was.keys() & now.keys() if was[name] != now[name])),
    )


def _diff(before: str, after: str) -> tuple[str, ...]:
    old, new = _lines(before), _lines(after)
    if old == new:
        return ()
    if len(old) + len(new) > MOST_LINES:
        return (f"({len(old)} lines before, {len(new)} after: too many to be compared)",)
    lines = list(unified_diff(old, new, n=3, lineterm=""))[2:]
    shown = [cut(line, _SHOWN_CHARACTERS) for line in lines[:_SHOWN_LINES]]
    if len(lines) > len(shown):
        shown.append(f"({len(lines) - len(shown)} more lines)")
    return tuple(shown)


def _lines(text: str) -> list[str]:
    """Return a text's lines; JSON on a single line, as programs write it, is indented first."""
    lines = text.splitlines()
    if len(lines) == 1 and text.startswith("{"):
        try:
            return json.dumps(json.loads(text), indent=2).splitlines()
        except ValueError:
            return lines
    return lines


def _parameters(
    before: Mapping[str, object], after: Mapping[str, object], hidden: Iterable[str], *, shows_values: bool
) -> Iterator[tuple[str, str, str]]:
    absent = object()
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, absent), after.get(name, absent)
        if old == new:
            continue
        shown = []
        for value in (old, new):
            if value is absent:
                shown.append(ABSENT)
            elif name in hidden:
                shown.append(HIDDEN)
            else:
                shown.append(_text(value) if shows_values else NOT_SHOWN)
        yield name, shown[0], shown[1]


def _text(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return cut(text, _SHOWN_CHARACTERS)


def _files(
    before: Mapping[str, str], after: Mapping[str, str], content: Callable[[str], str] | None
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each file that differs with its diff, which is not shown without ``content``."""
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
