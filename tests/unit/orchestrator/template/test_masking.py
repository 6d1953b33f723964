"""What is shown of a template's text."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.template.masking import shown_source

SOURCE = """\
heat_template_version: 2021-04-16
parameters:
  size: {type: number, default: 3}
  password:
    type: string
    hidden: true
    default: &secret s3cret  # not for everybody
  key:
    hidden: yes
    default: |
      first line of a key
      second line
    description: a key
resources:
  a:
    type: OS::Heat::TestResource
    properties: {value: *secret}
"""


def test_defaults_of_hidden_parameters_are_not_shown() -> None:
    shown = shown_source(SOURCE, with_defaults=True)
    assert "s3cret" not in shown
    assert "line of a key" not in shown
    assert "second line" not in shown
    assert "default: ******  # not for everybody" in shown
    assert "default: ******\n    description: a key\n" in shown
    assert "size: {type: number, default: 3}" in shown


@pytest.mark.parametrize("yes", [True, "true", "True"])
def test_defaults_of_parameters_with_no_echo_are_not_shown(yes: object) -> None:
    declared = {
        "Open": {"Type": "String", "Default": "fine"},
        "P": {"Type": "String", "NoEcho": yes, "Default": "s3cret"},
    }
    for write in (json.dumps, yaml.safe_dump):
        source = write({"HeatTemplateFormatVersion": "2012-12-12", "Parameters": declared})
        shown = shown_source(source, with_defaults=True)
        assert "s3cret" not in shown
        assert "fine" in shown
        assert "fine" not in shown_source(source, with_defaults=False)


def test_no_default_is_shown_where_no_values_are() -> None:
    assert "size: {type: number, default: ******}" in shown_source(SOURCE, with_defaults=False)


def test_what_holds_no_parameters_is_shown_as_it_is() -> None:
    for source in ("heat_template_version: 2021-04-16\n", "parameters: 3\n", "parameters: {a: }\n", ""):
        assert shown_source(source, with_defaults=False) == source


def test_what_cannot_be_read_is_not_shown() -> None:
    assert shown_source("parameters: {p: {default: s3cret", with_defaults=True) == "******"


VALUES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1)


@given(secret=VALUES, in_json=st.booleans(), style=st.sampled_from(["|", ">", '"', "'", None]))
def test_whatever_the_secret_is_and_however_it_is_written(
    secret: str, in_json: bool, style: str | None
) -> None:
    document = {
        "parameters": {"open": {"default": "fine"}, "p": {"hidden": True, "default": f"<{secret}>"}},
        "outputs": {},
    }
    source = (
        json.dumps(document, ensure_ascii=False) if in_json else yaml.safe_dump(document, default_style=style)
    )
    shown = shown_source(source, with_defaults=True)
    before, _, after = shown.partition("******")
    # Nothing but the value is gone: what is before and after it is as it was.
    assert source.startswith(before)
    assert source.endswith(after)
    assert "<" not in shown
    assert "fine" in shown


def test_what_json_writes_as_two_escapes_hides_no_more_than_without() -> None:
    document = {
        "parameters": {"rocket \U0001f680": {"hidden": True, "default": "s3cret"}},
        "description": "\U0001f680",
    }
    source = json.dumps(document)
    assert shown_source(source, with_defaults=True) == source.replace('"s3cret"', "******")
