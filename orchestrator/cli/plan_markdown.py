"""A plan in Markdown, for the comment of a review."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from orchestrator.cli.formats import moment, printable
from orchestrator.cli.plan_tables import UNVERIFIED, action_word, change_rows, named_fields, summary_of

if TYPE_CHECKING:
    from orchestrator.views.plans import PlannedResource, PlanView

#: The longest value that is shown.
_LONGEST: Final = 200
#: What has a meaning within a line of Markdown.
_SPECIAL: Final = str.maketrans({each: f"\\{each}" for each in "\\`*_{}[]<>#|~&!"})


def plan_markdown(plan: "PlanView") -> str:
    """Return a plan as Markdown: a summary, a table of the resources that are not left alone, and their changes."""
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: "PlanView") -> Iterator[str]:
    yield f"### {plan.action.capitalize()} of the stack {_text(plan.stack)}"
    yield ""
    yield f"**{_text(summary_of(plan.resources))}**" + ("" if plan.has_changes else ": nothing is to be done")
    yield ""
    by = f" by {_text(plan.user)}" if plan.user else ""
    state = f", state {_text(plan.state)}" if plan.state else ""
    yield f"Plan {plan.id}, made {moment(plan.planned_at)}{by}{state}."
    if plan.is_verified is False:
        yield f"Its signature is {UNVERIFIED}."
    for title, names in named_fields(plan).items():
        yield ""
        yield f"{title.capitalize()}: {_text(names)}"
    for warning in plan.warnings:
        yield ""
        yield f"> Warning: {_text(str(warning))}"
    listed = [each for each in plan.resources if each.action != "UNCHANGED" or each.moved_from]
    if listed:
        yield ""
        yield "| resource | type | action | why |"
        yield "|---|---|---|---|"
        for each in listed:
            cells = (each.name, each.type, action_word(each.action), each.reason)
            yield f"| {' | '.join(map(_text, cells))} |"
    for each in listed:
        yield from _changes(each)


def _changes(resource: "PlannedResource") -> Iterator[str]:
    rows = [row for change in resource.changes for row in change_rows(change)]
    if not rows:
        return
    yield ""
    yield f"**{_text(resource.name)}**"
    yield ""
    yield "| property | before | after |"
    yield "|---|---|---|"
    for path, before, after in rows:
        yield f"| {_text(path)} | {_value(before)} | {_value(after)} |"


def _value(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _text(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")


def _text(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line."""
    return " ".join(printable(text).split()).translate(_SPECIAL)
