"""Warnings about parts of a job that are accepted, though perhaps not meant."""

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.engine.stack_preview import preview_job
from orchestrator.errors import Problem
from orchestrator.model.messages import StackJob
from orchestrator.planning.preparation import prepare
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.validation.report import validate_job
from tests.unit.orchestrator.validation.test_examiner import job

SETTINGS = Settings()


def prepared(of: StackJob, settings: Settings) -> Any:
    return prepare(of, ResourceTypes.load(), settings)


#: Whatever examines a job gives the same warnings.
EXAMINERS: list[Callable[[StackJob, Settings], Any]] = [validate_job, preview_job, prepared]


def warnings_of(template: str, **more: Any) -> list[Problem]:
    found = [examine(job(template, **more), SETTINGS).warnings for examine in EXAMINERS]
    assert all(each == found[0] for each in found)
    return list(found[0])


INNER = """\
heat_template_version: wallaby
parameters: {ports: {type: json, default: {}}}
resources:
  a: {type: OS::Heat::Value, properties: {value: {80: http}}}"""
OUTER = """\
heat_template_version: wallaby
resources:
  one: {type: inner.yaml, properties: {ports: {on: x}}}
  two: {type: inner.yaml}
  group: {type: OS::Heat::ResourceGroup, properties: {count: 2, resource_def: {type: inner.yaml}}}"""


def test_keys_that_are_no_text_are_warned_of_once_each_at_their_places() -> None:
    environment = "parameter_defaults: {ports: {443: https}}"
    found = warnings_of(OUTER, files={"inner.yaml": INNER}, environments=(environment,))
    assert [(str(each.position), each.message) for each in found] == [
        ("e1.yaml:1:30", "this key is a number, and is taken as the text '443'"),
        ("t.yaml:3:48", "this key is a boolean, and is taken as the text 'true'"),
        ("inner.yaml:4:51", "this key is a number, and is taken as the text '80'"),
    ]


def test_what_a_key_is_taken_as_reaches_the_resource() -> None:
    template = """\
heat_template_version: wallaby
parameters: {ports: {type: json, default: {80: http, on: x}}}
outputs:
  ports: {value: {get_param: ports}}
  http: {value: {get_param: [ports, '80']}}
  turned: {value: {map_replace: [{get_param: ports}, {keys: {80: web, on: off}}]}}"""
    view = preview_job(job(template), SETTINGS)
    assert view.outputs == {
        "ports": {"80": "http", "true": "x"},
        "http": "http",
        "turned": {"web": "http", "false": "x"},
    }


@pytest.mark.parametrize(("new", "kind", "text"), [("80", "a number", "80"), ("off", "a boolean", "false")])
@pytest.mark.parametrize(
    "place",
    [
        "resources: {a: {type: OS::Heat::Value, properties: {value: CALL}}}",
        "resources: {a: {type: OS::Heat::None, metadata: {m: CALL}}}",
        "outputs: {o: {value: [CALL]}}",
    ],
)
def test_a_new_key_of_map_replace_is_warned_of(place: str, new: str, kind: str, text: str) -> None:
    call = f"{{map_replace: [{{a: 1}}, {{keys: {{a: {new}}}}}]}}"
    (warning,) = warnings_of(f"heat_template_version: wallaby\n{place.replace('CALL', call)}")
    assert warning.message == f"this new key is {kind}, and is taken as the text {text!r}"
    assert warning.path.endswith("map_replace[1].keys.a")
    assert warning.position is not None


def test_a_template_in_quotes_gets_no_warning() -> None:
    quoted = INNER.replace("80", "'80'")
    assert warnings_of(OUTER.replace("on: x", "'on': x"), files={"inner.yaml": quoted}) == []
