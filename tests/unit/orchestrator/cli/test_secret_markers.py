"""A process that prints every secret it knows: none is found in the database, its logs, or what any command shows."""

import base64
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.warm import warm_program

KEY = "Y1bBqCh5B1mYV0gxbQ7rVbW6Tq7l4V3m1t5i0y3r2nA="
HIDDEN, VARIABLE, LONG = "marker-hidden/1", "marker-variable", "marker-first-line\nmarker-second-line"

TEMPLATE = """\
heat_template_version: 2021-04-16
parameters:
  secret: {type: string, hidden: true}
  variable: {type: string, hidden: true}
  long: {type: string, hidden: true}
resources:
  password: {type: OS::Heat::RandomString, properties: {length: 40}}
  it:
    type: Isotherm::Node::Process
    properties:
      command:
        - sh
        - -c
        - printf '%s\\n' "$@" "$VARIABLE" "to-be-seen"; printf %s "$1" | base64; exit 3
        - words
        - {get_param: secret}
        - {get_attr: [password, value]}
        - {get_param: long}
        - {list_join: ["", ["--key=", {get_param: secret}]]}
      env: {VARIABLE: {get_param: variable}}
      ready: {exit: true}
outputs:
  password: {value: {get_attr: [password, value]}}
"""

#: Every command that shows something of a stack; export shows secrets on purpose, and is searched for reasons alone.
COMMANDS = (
    ("show", "web"),
    ("list",),
    ("history", "web"),
    ("timeline", "web"),
    ("failure", "web"),
    ("graph", "web"),
    ("event", "list", "web"),
    ("resource", "list", "web"),
    ("resource", "show", "web", "it"),
)


def isotherm(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command as a process of its own."""
    command = [str(warm_program()), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def shown() -> Iterator[tuple[str, str]]:
    """Yield what each command shows, in each format that it has."""
    for words in COMMANDS:
        for form in ((), ("-f", "json"), ("-f", "yaml")):
            found = isotherm("stack", *words, *form)
            if found.returncode == 2 and form:
                continue
            yield " ".join((*words, *form)), found.stdout + found.stderr


@pytest.mark.parametrize("keys", [True, False], ids=["with a key", "without a key"])
def test_what_a_failing_process_prints_shows_no_secret(
    keys: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(state))
    monkeypatch.setenv("ISOTHERM_LOG_LEVEL", "DEBUG")
    if keys:
        monkeypatch.setenv("ISOTHERM_ENCRYPTION_KEYS", json.dumps([KEY]))
    Path("web.yaml").write_text(TEMPLATE)
    Path("given.yaml").write_text(
        json.dumps({"parameters": {"secret": HIDDEN, "variable": VARIABLE, "long": LONG}})
    )
    created = isotherm("stack", "create", "web", "-t", "web.yaml", "-e", "given.yaml")
    assert created.returncode != 0
    assert "to-be-seen" in created.stdout + created.stderr
    password = isotherm("stack", "output", "show", "web", "password", "-f", "json")
    generated = json.loads(password.stdout)["value"]
    assert len(generated) == 40
    markers = {
        HIDDEN,
        VARIABLE,
        *LONG.splitlines(),
        generated,
        base64.b64encode(HIDDEN.encode()).decode(),
        json.dumps(LONG)[1:-1],
    }
    texts = {"create": created.stdout + created.stderr, **dict(shown())}
    assert any("to-be-seen" in text for name, text in texts.items() if name.startswith("event"))
    # Attributes and outputs are meant to be read.
    meant = ("show", "resource")
    assert {
        (name, each)
        for name, text in texts.items()
        for each in markers
        if each in text and not (each == generated and name.startswith(meant))
    } == set()
    files = {path: path.read_bytes() for path in state.glob("isotherm.db*")}
    assert files
    readable = {each for each in markers if any(each.encode() in content for content in files.values())}
    if keys:
        assert readable == set()
        # Neither are the words of reasons and events.
        assert not any(b"to-be-seen" in content for content in files.values())
    else:
        # Values are stored as they are; texts are masked all the same.
        assert HIDDEN in readable
        assert base64.b64encode(HIDDEN.encode()).decode() not in readable
