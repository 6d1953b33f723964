"""What docs/events.md says of events, sinks and their options is so."""

import json
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic_core import PydanticUndefined

from hooks.builtin.sinks.broker import BrokerOptions
from hooks.builtin.sinks.chain import MAX_STACKS
from hooks.builtin.sinks.choice import StackChoice
from hooks.builtin.sinks.document import VERSION, document
from hooks.builtin.sinks.exposition import TotalsCollector
from hooks.builtin.sinks.log import LogOptions
from hooks.builtin.sinks.prometheus import PrometheusOptions
from hooks.builtin.sinks.publisher import MESSAGE_TYPE
from hooks.builtin.sinks.routing import MAX_WORD, routing_key
from hooks.builtin.sinks.totals import MAX_TYPES, TEMPLATE
from hooks.builtin.sinks.webhook import EnvironmentWebhookOptions, WebhookOptions
from hooks.events import Event
from hooks.options import HookOptions
from hooks.values.states import ACTIONS, STATUSES
from orchestrator.config.settings import Settings
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.service import Service
from orchestrator.views.attention import KINDS
from orchestrator.views.stacks import EventView
from tests.unit.docs.pages import ROOT
from tests.unit.hooks.builtin.sinks.histories import event, stack_event

PAGE: Final = (ROOT / "docs" / "events.md").read_text()
TYPES: Final = {
    int: "integer",
    float: "number",
    str: "text",
    str | None: "text or null",
}


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table whose first cell is ``heading``."""
    _, found, rest = PAGE.partition(f"\n| {heading} |")
    assert found, heading
    lines = rest.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def options(model: type[HookOptions]) -> list[list[str]]:
    """Return what a table of options must say."""
    told = []
    for name, field in model.model_fields.items():
        default: Any = field.default
        if default is PydanticUndefined:
            shown = "required"
        elif default in (None, "", ()):
            shown = "nothing"
        else:
            shown = f"`{default if isinstance(default, str) else json.dumps(default)}`"
        told.append([f"`{name}`", shown, field.description or ""])
    return told


@pytest.mark.parametrize(
    ("heading", "model"),
    [
        ("option of `[event_sinks.log]`", LogOptions),
        ("option of `[event_sinks.broker]`", BrokerOptions),
        ("option of `[event_sinks.webhook]`", WebhookOptions),
        ("option in an environment", EnvironmentWebhookOptions),
        ("option of `[event_sinks.prometheus]`", PrometheusOptions),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_tables_of_options_are_those_of_the_sinks(heading: str, model: type[HookOptions]) -> None:
    assert rows(heading) == options(model)


def test_the_table_of_fields_is_what_sinks_tell() -> None:
    told = {name.strip("`"): kind for name, kind, _ in rows("field")}
    known = {field.name: TYPES[field.type] for field in fields(Event)}  # type: ignore[index]
    assert told == {"version": "integer", **known}
    assert list(document(event(1))) == list(told)
    words = {name.strip("`"): set(re.findall(r"`([A-Z_]+)`", says)) for name, _, says in rows("field")}
    assert (words["action"], words["status"]) == (set(ACTIONS), set(STATUSES))
    assert f"| `version` | integer | {VERSION}:" in PAGE


@pytest.mark.parametrize(
    ("binding", "matches", "differs"),
    [
        ("#", event(1), None),
        ("default.shop.#", event(1), event(1, stack_name="other")),
        ("*.*.stack.#", stack_event(1), event(1)),
        ("*.*.*.*.FAILED", event(1, status="FAILED"), event(1)),
        (
            "acme.*.stack.DELETE.COMPLETE",
            stack_event(1, project="acme", action="DELETE"),
            stack_event(1, project="acme"),
        ),
    ],
)
def test_bindings_get_what_the_page_says(binding: str, matches: Event, differs: Event | None) -> None:
    assert [f"`{binding}`"] in [row[:1] for row in rows("binding")]
    pattern = re.escape(binding).replace(r"\*", "[^.]+").replace(r"\#", ".*")
    assert re.fullmatch(pattern, routing_key(matches))
    assert differs is None or not re.fullmatch(pattern, routing_key(differs))


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> list[EventView]:
    """The events of three stacks: one fails, one fails and is rolled back, and one is held at a hook."""
    failing = "{heat_template_version: 2021-04-16, resources: {it: {type: Test, properties: {fail: true}}}}"
    failing = failing.replace("Test", "OS::Heat::TestResource")
    environment = EnvironmentSource(
        file="e", source="resource_registry: {resources: {it: {hooks: pre-create}}}"
    )
    found: list[EventView] = []
    with Service.open(Settings(state_directory=tmp_path_factory.mktemp("history"))) as service:
        fails = service.create(StackJob(name="fails", template=failing))
        held = service.create(StackJob(name="held", template=failing, environments=(environment,)))
        service.create(StackJob(name="back", template=failing.replace("true", "false")))
        list(service.watch("back"))
        back = service.update(StackJob(name="back", template=failing, rollback=True))
        list(service.watch(fails.id))
        list(service.watch(back.id))
        held_at = (each for each in service.watch(held.id) if service.hooks(held.id))
        assert next(held_at)
        for name in ("fails", "held", "back"):
            found += service.events(name)
        attention = service.attention()
    kinds = {group.kind: [each.subject for each in group.findings] for group in attention.groups}
    assert kinds == {"failed": ["fails"], "held": ["held"], "rolled_back": ["back"]}
    return found


@pytest.mark.parametrize(
    ("finding", "selects"),
    [
        ("failed", {("fails", "CREATE", "FAILED"), ("back", "UPDATE", "FAILED")}),
        ("rolled_back", {("back", "ROLLBACK", "COMPLETE")}),
        ("held", {("held", "HOOK", "IN_PROGRESS")}),
    ],
)
def test_filters_select_the_events_of_findings(
    finding: str, selects: set[tuple[str, str, str]], history: list[EventView]
) -> None:
    [filter_] = [cell for name, cell in rows("finding") if name == f"`{finding}`"]
    options = tomllib.loads("\n".join(re.findall("`([^`]+)`", filter_)))
    choice = StackChoice.model_validate(options)
    # Events of the stack itself have the type "stack" in a sink.
    seen = [
        event(
            each.id,
            type=each.type or "stack",
            stack_name=each.stack,
            action=each.action,
            status=each.status,
        )
        for each in history
    ]
    assert {(each.stack_name, each.action, each.status) for each in filter(choice.wants, seen)} == selects


def test_findings_with_a_filter_are_findings() -> None:
    assert {name.strip("`") for name, _ in rows("finding")} <= set(KINDS)


def test_metrics_are_those_of_the_page() -> None:
    shown = {
        metric.name + ("_total" if metric.type == "counter" else "") for metric in TotalsCollector().collect()
    }
    assert {name.strip("`") for name, *_ in rows("metric")} == shown


def test_numbers_and_words_are_those_of_the_code() -> None:
    assert f"beyond {MAX_WORD} characters" in PAGE.replace("\n", " ")
    assert f"`type` is `{MESSAGE_TYPE}`" in PAGE
    assert MAX_STACKS == 1000
    assert "while a thousand others" in PAGE
    assert f"all `{TEMPLATE}`, and types beyond the {MAX_TYPES}th" in PAGE.replace("\n", " ")
    assert "`verify_signature` in `isotherm.hooks`" in PAGE.replace("\n", " ")
    assert "examples/events/README.md" in PAGE
    assert Path(ROOT / "examples/events/README.md").exists()
