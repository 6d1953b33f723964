"""The commands that look into stacks in stacks, on the real service, embedded."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.main import isotherm

ROOT = """\
heat_template_version: 2021-04-16
resources:
  web: {type: parts/web.yaml}
outputs:
  said: {value: {get_attr: [web, said]}}
"""
WEB = """\
heat_template_version: 2021-04-16
resources:
  inner: {type: deep.yaml}
  beside: {type: OS::Heat::TestResource}
outputs:
  said: {value: {get_attr: [inner, resource.one, output]}}
"""
DEEP = """\
heat_template_version: 2021-04-16
resources:
  one: {type: OS::Heat::TestResource, properties: {value: from below}}
"""


def run(*words: str) -> Result:
    return CliRunner().invoke(isotherm, list(words), prog_name="isotherm")


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts").mkdir()
    for name, text in (("root.yaml", ROOT), ("parts/web.yaml", WEB), ("parts/deep.yaml", DEEP)):
        (tmp_path / name).write_text(text)
    result = run("stack", "create", "tree", "-t", "root.yaml")
    assert result.exit_code == 0, result.output
    assert "from below" in result.output


@pytest.mark.usefixtures("made")
def test_stacks_in_stacks_are_listed_where_asked_for() -> None:
    assert [each["name"] for each in json.loads(run("stack", "list", "-f", "json").stdout)] == ["tree"]
    listed = json.loads(run("stack", "list", "--nested", "-f", "json").stdout)
    assert [each["depth"] for each in listed] == [0, 1, 2]
    assert [each["parent_id"] for each in listed] == [None, *(each["id"] for each in listed[:2])]
    shown = run("stack", "list", "--nested").stdout
    assert all(each["name"] in shown for each in listed)


@pytest.mark.usefixtures("made")
def test_resources_are_listed_as_deep_as_asked_for() -> None:
    def names(*options: str) -> list[str]:
        rows = json.loads(run("stack", "resource", "list", "tree", *options, "-f", "json").stdout)
        return ["/".join((*each["within"], each["name"])) for each in rows]

    assert names() == ["web"]
    assert names("-n", "1") == ["web", "web/beside", "web/inner"]
    assert names("-n", "5") == ["web", "web/beside", "web/inner", "web/inner/one"]
    assert "web/inner/one" in run("stack", "resource", "list", "tree", "-n", "2").stdout
    refused = run("stack", "resource", "list", "tree", "-n", "-1")
    assert refused.exit_code == 2


@pytest.mark.usefixtures("made")
def test_a_stack_in_a_stack_is_shown_and_not_changed_by_itself() -> None:
    inner = json.loads(run("stack", "list", "--nested", "-f", "json").stdout)[1]["name"]
    assert json.loads(run("stack", "show", inner, "-f", "json").stdout)["state"] == "CREATE_COMPLETE"
    refused = run("stack", "delete", inner, "--yes")
    assert refused.exit_code != 0
    assert "a part of another stack" in refused.output
    assert run("stack", "delete", "tree", "--yes").exit_code == 0
    assert json.loads(run("stack", "list", "--nested", "-f", "json").stdout) == []
