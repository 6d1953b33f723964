"""What a create would make is shown without making it."""

import json
from pathlib import Path

import pytest
import yaml

from tests.unit.orchestrator.cli.fake_service import Terminal

TEMPLATE = """\
heat_template_version: wallaby
description: |
  A web site
parameters:
  count: {type: number}
  password: {type: string, hidden: true, default: s3cret}
conditions: {many: {equals: [{get_param: count}, 9]}}
resources:
  secret: {type: My::Password, properties: {length: 12}, deletion_policy: retain}
  server:
    type: server.yaml
    depends_on: secret
    properties: {name: {list_join: ['-', [web, {get_param: 'OS::stack_name'}]]}, password: {get_param: password}}
  spare: {type: OS::Heat::None, condition: many}
  old: {type: OS::Heat::None, external_id: there-already}
outputs:
  url: {value: {get_attr: [server, url]}}
  count: {value: {get_param: count}}
"""
NESTED = """\
heat_template_version: wallaby
parameters: {name: {type: string}, password: {type: string}}
resources:
  disk: {type: OS::Heat::None}
  host: {type: OS::Heat::Value, depends_on: disk, properties: {value: {get_param: name}}}
outputs: {url: {value: {get_attr: [host, value]}}}
"""


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """The command for a template in a template, with a type that an environment gives a meaning."""
    (tmp_path / "web.yaml").write_text(TEMPLATE)
    (tmp_path / "server.yaml").write_text(NESTED)
    (tmp_path / "env.yaml").write_text("resource_registry: {'My::Password': OS::Heat::RandomString}\n")
    files = ("-t", str(tmp_path / "web.yaml"), "-e", str(tmp_path / "env.yaml"))
    return ["stack", "preview", "shop", *files, "-P", "count=2"]


def test_a_preview_shows_every_resource_those_inside_others_below_them(
    terminal: Terminal, words: list[str]
) -> None:
    result = terminal.run(*words)
    assert result.exit_code == 0, result.output
    blocks = {block.splitlines()[0]: block.splitlines()[1:] for block in result.stdout.split("\n\n")}
    head, *rows = blocks["resources"]
    assert head.split() == ["NAME", "TYPE", "ACTION", "REQUIRES", "DELETION", "POLICY"]
    assert [row.split() for row in rows] == [
        ["secret", "My::Password", "->", "OS::Heat::RandomString", "CREATE", "Retain"],
        ["server", "server.yaml", "CREATE", "secret", "Delete"],
        ["server/disk", "OS::Heat::None", "CREATE", "Delete"],
        ["server/host", "OS::Heat::Value", "CREATE", "server/disk", "Delete"],
        ["old", "OS::Heat::None", "ADOPT", "Delete"],
        ["spare", "(disabled:", "its", "condition", "does", "not", "hold)"],
    ]
    assert blocks["properties of secret"] == ["length  12"]
    assert blocks["properties of server/host"] == ["value  web-shop"]
    assert "properties of old" not in blocks
    assert [line.split()[0] for line in blocks["outputs"]] == ["url", "count"]


def test_secrets_and_what_is_not_known_yet_are_words(terminal: Terminal, words: list[str]) -> None:
    shown = terminal.run(*words).stdout
    assert "s3cret" not in shown
    assert "password  ******" in shown
    assert "url    (known once it exists)" in shown


def test_a_preview_is_data_too(terminal: Terminal, words: list[str]) -> None:
    data = json.loads(terminal.run(*words, "-f", "json").stdout)
    assert yaml.safe_load(terminal.run(*words, "-f", "yaml").stdout) == data
    assert data["name"] == "shop"
    assert data["disabled"] == ["spare"]
    server = next(resource for resource in data["resources"] if resource["name"] == "server")
    assert [inner["name"] for inner in server["resources"]] == ["disk", "host"]
    assert "s3cret" not in json.dumps(data)


def test_what_a_create_would_refuse_is_refused(terminal: Terminal, words: list[str]) -> None:
    result = terminal.run(*words[:-2])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the parameter 'count' has no value and no default" in result.stderr
    assert terminal.run("stack", "preview", "9 lives", *words[3:]).exit_code == 2


def test_a_preview_needs_no_service_and_leaves_nothing(terminal: Terminal, words: list[str]) -> None:
    def connect(_settings: object) -> None:
        raise AssertionError

    terminal.shell.connect = connect  # type: ignore[assignment]  # nobody may ask for it
    assert terminal.run(*words).exit_code == 0
    assert not terminal.state_directory.exists()


def test_a_create_that_only_looks_shows_the_same_and_leaves_nothing(
    terminal: Terminal, words: list[str]
) -> None:
    dry = terminal.run("stack", "create", *words[2:], "--dry-run")
    assert (dry.exit_code, dry.stdout) == (0, terminal.run(*words).stdout)
    assert not terminal.state_directory.exists()
