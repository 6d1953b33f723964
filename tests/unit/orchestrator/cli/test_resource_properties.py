"""The properties of a resource, as they were applied."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.cli.main import isotherm

TEMPLATE = """\
heat_template_version: 2021-04-16
parameters:
  word: {type: string, default: hello}
  key: {type: string, default: s3cret, hidden: true}
resources:
  a:
    type: OS::Heat::TestResource
    properties: {value: {get_param: word}}
  b:
    type: OS::Heat::Value
    properties:
      type: json
      value:
        {open: {get_resource: a}, key: {get_param: key}, said: {get_attr: [a, output]}, list: [1, {get_param: key}]}
"""


def show(name: str, *form: str) -> str:
    result = CliRunner().invoke(isotherm, ["stack", "resource", "show", "web", name, *form])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_applied_properties_are_shown_and_secrets_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    Path("web.yaml").write_text(TEMPLATE)
    words = ["stack", "create", "web", "-t", "web.yaml"]
    assert CliRunner().invoke(isotherm, words).exit_code == 0
    first = json.loads(show("a", "-f", "json"))
    assert first["properties"] == {"value": "hello"}
    assert "\nproperties\nvalue  hello\n" in show("a")
    assert json.loads(show("b", "-f", "json"))["properties"] == {
        "type": "json",
        "value": {
            "open": first["physical_id"],
            "key": "******",
            "said": "******",
            "list": [1, "******"],
        },
    }
    # Lists do not have them, with or without a mask.
    listed = CliRunner().invoke(isotherm, ["stack", "resource", "list", "web", "-f", "json"]).stdout
    assert [each["properties"] for each in json.loads(listed)] == [{}, {}]
