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
from orchestrator.validation.warnings import MOST_WARNINGS
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


# -- calls that are none ----------------------------------------------------------------------------------------

PLACES = {
    "properties": "resources: {a: {type: OS::Heat::Value, properties: {value: CALL}}}",
    "deep in properties": "resources: {a: {type: OS::Heat::Value, properties: {value: [{x: CALL}]}}}",
    "metadata": "resources: {a: {type: OS::Heat::None, metadata: {m: CALL}}}",
    "outputs": "outputs: {o: {value: CALL}}",
    "arguments": "outputs: {o: {value: {list_concat: [[CALL]]}}}",
    "a branch": "outputs: {o: {value: {if: [true, CALL, 1]}}}",
    "conditions": "conditions: {c: {equals: [CALL, 1]}}",
    "a condition in its place": "outputs: {o: {value: 1, condition: {equals: [CALL, 1]}}}",
    "the condition of an if": "outputs: {o: {value: {if: [{equals: [CALL, 1]}, 1, 2]}}}",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_map_that_is_nearly_a_call_is_warned_of_wherever_it_stands(place: str) -> None:
    written = PLACES[place].replace("CALL", "{get_parm: x}")
    (warning,) = warnings_of(f"heat_template_version: wallaby\n{written}")
    assert warning.message == "'get_parm' is no function, so this map is data"
    assert warning.hint == "did you mean 'get_param'?"
    assert warning.path.endswith(".get_parm")
    assert warning.position is not None
    assert warning.position.line == 2


@pytest.mark.parametrize(
    ("version", "name", "meant"),
    [
        ("wallaby", "get_atr", "get_attr"),
        ("wallaby", "getattr", "get_attr"),
        ("wallaby", "get-attr", "get_attr"),
        ("wallaby", "Get_Attr", "get_attr"),
        ("wallaby", "get_resouce", "get_resource"),
        ("wallaby", "str_replce", "str_replace"),
        ("wallaby", "listjoin", "list_join"),
        ("wallaby", "repaet", "repeat"),
        ("wallaby", "IF", "if"),
        ("2013-05-23", "Fn::join", "Fn::Join"),
        ("2013-05-23", "ref", "Ref"),
        # Data of the same look.
        ("wallaby", "filters", None),
        ("wallaby", "file", None),
        ("wallaby", "contain", None),
        ("wallaby", "container", None),
        ("wallaby", "repeated", None),
        ("wallaby", "value", None),
        ("wallaby", "notes", None),
        ("wallaby", "ref", None),
        ("wallaby", "get", None),
        ("wallaby", "x" * 900, None),
        # A function of another version is data that is meant.
        ("2014-10-16", "str_split", None),
        ("wallaby", "equals", None),
    ],
)
def test_only_a_name_that_is_nearly_a_function_s_is_taken_for_a_call(
    version: str, name: str, meant: str | None
) -> None:
    found = warnings_of(f"heat_template_version: {version}\noutputs: {{o: {{value: {{'{name}': 1}}}}}}")
    assert [warning.hint for warning in found] == ([f"did you mean {meant!r}?"] if meant else [])


def test_two_keys_and_calls_that_are_right_get_no_warning() -> None:
    template = """\
heat_template_version: wallaby
parameters: {p: {type: string, default: x}}
outputs:
  two: {value: {get_atr: 1, get_parm: 2}}
  right: {value: {list_join: [',', [{get_param: p}]]}}"""
    assert warnings_of(template) == []


def test_many_maps_that_are_nearly_calls_are_counted_not_listed() -> None:
    values = ", ".join("{get_atr: 1}" for _ in range(500))
    found = warnings_of(f"heat_template_version: wallaby\noutputs: {{o: {{value: [{values}]}}}}")
    assert len(found) == MOST_WARNINGS
    assert "there are more" in found[-1].message
