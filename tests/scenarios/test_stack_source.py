"""The template and the environment that functions and plugins see are the same wherever they are evaluated."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition, StackSource
from orchestrator.lifecycle.frozen_stacks import stack_shown
from orchestrator.model.messages import EnvironmentSource
from orchestrator.planning.stored_templates import load_source, load_template
from orchestrator.queries.outputs import outputs_of
from orchestrator.template.functions.files import GetFile
from tests.counting import statements
from tests.scenarios.world import World

INNER = """\
heat_template_version: rocky
parameters:
  size: {type: string}
  key: {type: string, default: inner-secret, hidden: true}
  low: {type: string, default: x}
resources:
  disk: {type: Our::Object, properties: {value: {get_file: inner}}}
outputs:
  seen: {value: {get_file: inner}}
"""
OUTER = """\
heat_template_version: wallaby
parameters:
  size: {type: number, default: 3}
  word: {type: string}
  password: {type: string, hidden: true, default: old-secret}
  token: {type: string, default: none}
resources:
  net: {type: Our::Object, properties: {value: {get_file: outer}}}
  pair: {type: Our::Pair, properties: {size: {get_param: password}}, depends_on: net}
outputs:
  seen: {value: {get_file: outer}}
"""
ENVIRONMENT = """\
parameters: {password: new-secret, token: also-secret}
parameter_defaults: {size: 7, low: low-secret}
encrypted_param_names: [token]
resource_registry:
  "Our::Pair": inner.yaml
  "Our::*": "Cloud::*"
  resources: {net: {hooks: [], restricted_actions: [replace]}}
"""
SECRETS = ("inner-secret", "old-secret", "new-secret", "also-secret")
JOB: dict[str, Any] = {
    "files": {"inner.yaml": INNER, "outer": "", "inner": ""},
    "environments": (EnvironmentSource(file="e.yaml", source=ENVIRONMENT),),
    "parameters": {"word": "hello"},
}


@pytest.fixture
def world() -> Iterator[World]:
    with closing(World()) as made:
        yield made


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return the list of what ``get_file`` sees at each of its calls; its value is the same."""
    found: list[tuple[str, str]] = []

    def call(_self: GetFile, arguments: str, stack: StackDefinition) -> str:
        parent = stack.parent
        of_parent = [parent.template, parent.template_version] if parent else []
        text = json.dumps([stack.template, stack.template_version, stack.environment, of_parent])
        found.append((arguments, text))
        return text

    monkeypatch.setattr(GetFile, "call", call)
    return found


def only(seen: list[tuple[str, str]], which: str) -> Any:
    texts = {text for argument, text in seen if argument == which}
    assert len(texts) == 1, texts
    (text,) = texts
    return json.loads(text)


def outputs(world: World, stack_id: str) -> dict[str, Any]:
    row = world.store.stacks.by_id(stack_id)
    assert row is not None
    context = world.store.traversals.context(row.traversal_id)
    template = load_template(world.store, row.template_id, context, Settings())
    return {each.key: each.value for each in outputs_of(world.store, row, template, context, Settings())}


def test_validation_workers_and_outputs_see_the_same_source(
    world: World, seen: list[tuple[str, str]]
) -> None:
    stack_id = world.create(OUTER, **JOB)
    in_validation = len(seen)
    assert in_validation >= 2
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert len(seen) > in_validation
    inner = world.store.stacks.resource(stack_id, "pair").physical_id
    assert inner is not None
    assert json.loads(outputs(world, stack_id)["seen"]) == only(seen, "outer")
    assert json.loads(outputs(world, inner)["seen"]) == only(seen, "inner")
    row = world.store.stacks.find("s", project="default")
    assert stack_shown(world.store, row, Settings()).resource("net").properties["value"]
    masked = OUTER.replace("old-secret", "******")
    assert only(seen, "outer") == [
        masked,
        "2021-04-16",
        {
            "parameters": {"word": "hello", "password": "******", "token": "******"},
            "parameter_defaults": {"size": 7},
            "resource_registry": {
                "Our::Pair": "inner.yaml",
                "Our::*": "Cloud::*",
                "resources": {"net": {"hooks": [], "restricted_actions": ["replace"]}},
            },
        },
        [],
    ]
    assert only(seen, "inner") == [
        INNER.replace("inner-secret", "******"),
        "2018-08-31",
        {
            "parameters": {"size": "******"},
            "parameter_defaults": {"low": "low-secret"},
            "resource_registry": {"Our::*": "Cloud::*"},
        },
        [masked, "2021-04-16"],
    ]
    assert not any(secret in text for _, text in seen for secret in SECRETS)


def test_an_update_shows_its_own_source_and_a_rollback_the_earlier_one(
    world: World, seen: list[tuple[str, str]]
) -> None:
    world.create(OUTER, **JOB)
    world.settle()
    before = only(seen, "outer")
    seen.clear()
    world.cloud.failing["net"] = -1
    world.update(OUTER, **{**JOB, "parameters": {"word": "bye"}}, rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    shown = {json.loads(text)[2]["parameters"]["word"] for which, text in seen if which == "outer"}
    assert shown == {"bye", "hello"}
    assert json.loads(outputs(world, world.store.stacks.find("s", project="default").id)["seen"]) == before


def test_a_source_is_read_only_if_it_is_used_and_then_once_for_an_operation(
    world: World, seen: list[tuple[str, str]]
) -> None:
    with statements() as sent:
        plain = (
            "heat_template_version: wallaby\nresources: {a: {type: Cloud::Object, properties: {value: x}}}"
        )
        world.create(plain, name="plain")
        world.settle()
        assert not any("FROM template" in sql for sql in sent)
        read = "\n".join(
            f"  r{n}: {{type: Cloud::Object, properties: {{value: {{get_file: outer}}}}}}" for n in range(9)
        )
        world.create(
            f"heat_template_version: wallaby\nresources:\n{read}", name="reading", files={"outer": ""}
        )
        sent.clear()
        world.settle()
        assert world.state("reading") == "CREATE_COMPLETE"
        assert sum("FROM template" in sql for sql in sent) == 1
    only(seen, "outer")


def test_a_nested_stack_whose_parent_is_gone_has_an_empty_parent_source(world: World) -> None:
    world.create(OUTER, **JOB)
    world.settle()
    row = world.store.stacks.find("s", project="default")
    inner = world.store.stacks.by_id(world.store.stacks.resource(row.id, "pair").physical_id or "")
    assert inner is not None
    context = {**world.store.traversals.context(inner.traversal_id), "id": "gone"}
    source = load_source(world.store, inner.template_id, context, Settings())
    assert source.parent is not None
    assert source.parent() == StackSource()
