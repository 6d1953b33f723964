"""``isotherm key reencrypt`` on a real embedded installation: afterwards the old key is not needed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.main import isotherm

OLD, NEW = "Y1bBqCh5B1mYV0gxbQ7rVbW6Tq7l4V3m1t5i0y3r2nA=", "bXktb3RoZXIta2V5LW9mLTMyLWJ5dGVzLWhlcmUhISE="
TEMPLATE = """\
heat_template_version: 2021-04-16
parameters:
  word: {type: string, hidden: true, default: opensesame}
resources:
  it: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}
outputs:
  word: {value: {get_attr: [it, output]}}
"""


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    return tmp_path


def run(*arguments: str, keys: tuple[str, ...]) -> Result:
    return CliRunner().invoke(isotherm, arguments, env={"ISOTHERM_ENCRYPTION_KEYS": json.dumps(keys)})


def test_a_stack_of_the_old_key_lives_on_without_it(directory: Path) -> None:
    (directory / "t.yaml").write_text(TEMPLATE)
    assert run("stack", "create", "s", "-t", "t.yaml", keys=(OLD,)).exit_code == 0
    dry = run("key", "reencrypt", "--dry-run", "-f", "json", keys=(NEW, OLD))
    assert json.loads(dry.stdout)["values"].keys() == {"another key, or bound to no row"}
    done = run("key", "reencrypt", "-f", "json", keys=(NEW, OLD))
    assert done.exit_code == 0
    assert json.loads(done.stdout)["rows"]["resource"] == 1
    shown = run("stack", "output", "show", "s", "word", "-f", "json", keys=(NEW,))
    assert json.loads(shown.stdout)["value"] == "opensesame"
    (directory / "t.yaml").write_text(TEMPLATE.replace("opensesame", "another"))
    assert run("stack", "update", "s", "-t", "t.yaml", keys=(NEW,)).exit_code == 0
    assert run("stack", "delete", "s", "--yes", keys=(NEW,)).exit_code == 0


def test_what_no_key_opens_is_named_and_the_command_fails(directory: Path) -> None:
    (directory / "t.yaml").write_text(TEMPLATE)
    assert run("stack", "create", "s", "-t", "t.yaml", keys=(OLD,)).exit_code == 0
    done = run("key", "reencrypt", keys=(NEW,))
    assert done.exit_code == 1
    assert "cannot be read: resource.properties of " in done.stderr
    assert "keep the old keys" in done.stderr
    assert "Traceback" not in done.output


def test_without_a_key_the_command_says_what_to_configure(directory: Path) -> None:
    done = run("key", "reencrypt", keys=())
    assert done.exit_code == 2
    assert "settings.encryption_keys" in done.stderr
