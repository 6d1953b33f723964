"""A stack that is kept, brought back, given up and adopted: the command line on the real service, embedded."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.main import isotherm

TEMPLATE = """\
heat_template_version: 2021-04-16
parameters:
  word: {type: string, default: hello}
  password: {type: string, hidden: true, default: s3cret}
resources:
  said: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}
  secret: {type: OS::Heat::RandomString}
  page:
    type: Isotherm::Node::File
    properties: {path: page.txt, content: {get_attr: [said, output]}}
outputs:
  said: {value: {get_attr: [said, output]}}
  secret: {value: {get_attr: [secret, value]}}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    (tmp_path / "web.yaml").write_text(TEMPLATE)


def run(*words: str) -> Result:
    """Run a command that must succeed."""
    result = CliRunner().invoke(isotherm, list(words), prog_name="isotherm")
    assert result.exit_code == 0, result.output
    return result


def refused(*words: str) -> str:
    result = CliRunner().invoke(isotherm, list(words), prog_name="isotherm")
    assert result.exit_code == 2, result.output
    return result.stderr


def output(stack: str, name: str) -> str:
    return run("stack", "output", "show", stack, name, "-f", "value").stdout.strip()


def page(tmp_path: Path) -> Path:
    return tmp_path / "state" / "files" / "page.txt"


def test_a_stack_is_brought_back_to_a_snapshot(tmp_path: Path) -> None:
    run("stack", "create", "web", "-t", "web.yaml")
    page(tmp_path).write_text("edited by hand")
    run("stack", "snapshot", "create", "web", "--name", "first")
    run("stack", "update", "web", "--existing", "-P", "word=bye")
    assert (output("web", "said"), page(tmp_path).read_text()) == ("bye", "bye")
    assert "RESTORE_COMPLETE" in run("stack", "snapshot", "restore", "web", "first").stdout
    assert (output("web", "said"), page(tmp_path).read_text()) == ("hello", "edited by hand")
    (row,) = json.loads(run("stack", "snapshot", "list", "web", "-f", "json").stdout)
    assert (row["name"], row["state"]) == ("first", "CREATE_COMPLETE")
    assert "Isotherm::Node::File" in run("stack", "snapshot", "show", "web", "first").stdout
    assert "edited by hand" not in run("stack", "snapshot", "show", "web", "first", "-f", "json").stdout
    run("stack", "snapshot", "delete", "web", "first")
    assert "frist" in refused("stack", "snapshot", "restore", "web", "frist")


def test_a_stack_is_given_up_and_adopted(tmp_path: Path) -> None:
    run("stack", "create", "web", "-t", "web.yaml", "-P", "password=hunter2", "--tags", "prod,eu")
    secret = output("web", "secret")
    result = run("stack", "abandon", "web", "-o", "web.json")
    document = (tmp_path / "web.json").read_text()
    assert "DELETE_COMPLETE" in result.stdout
    assert "hunter2" in document
    assert "hunter2" not in result.output
    assert page(tmp_path).read_text() == "hello"
    assert run("stack", "list", "-f", "json").stdout.strip() == "[]"
    assert "ADOPT_COMPLETE" in run("stack", "adopt", "again", "--adopt-file", "web.json").stdout
    assert output("again", "secret") == secret
    assert json.loads(run("stack", "show", "again", "-f", "json").stdout)["tags"] == ["prod", "eu"]
    run("stack", "update", "again", "--existing", "-P", "word=bye")
    assert page(tmp_path).read_text() == "bye"
    assert output("again", "secret") == secret
    run("stack", "delete", "again", "--yes")
    assert not page(tmp_path).exists()


def test_an_export_changes_nothing(tmp_path: Path) -> None:
    run("stack", "create", "web", "-t", "web.yaml")
    document = json.loads(run("stack", "export", "web").stdout)
    assert document["resources"]["page"]["resource_id"] == str(page(tmp_path))
    assert json.loads(run("stack", "show", "web", "-f", "json").stdout)["state"] == "CREATE_COMPLETE"


def test_an_adopt_file_with_mistakes_makes_nothing(tmp_path: Path) -> None:
    (tmp_path / "web.json").write_text(json.dumps({"resources": {"siad": {"resource_id": "1"}, "page": {}}}))
    told = refused("stack", "adopt", "web", "--adopt-file", "web.json", "-t", "web.yaml")
    assert "did you mean 'siad'?" in told
    assert "resources.page.resource_id" in told
    assert "resources.secret" in told
    assert run("stack", "list", "-f", "json").stdout.strip() == "[]"


def test_what_is_gone_is_not_adopted(tmp_path: Path) -> None:
    run("stack", "create", "web", "-t", "web.yaml")
    run("stack", "abandon", "web", "-o", "web.json")
    page(tmp_path).unlink()
    result = CliRunner().invoke(isotherm, ["stack", "adopt", "web", "--adopt-file", "web.json"])
    assert result.exit_code == 1
    assert "no object with the id" in result.output
