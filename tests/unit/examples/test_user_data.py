"""The example ``examples/user_data``: one message of settings and a script, made and changed by the command line."""

import json
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from orchestrator.cli.main import isotherm
from tests.unit.docs.pages import ROOT

TEMPLATE = str(ROOT / "examples" / "user_data" / "user-data.yaml")


def run(*words: str) -> str:
    done = CliRunner().invoke(isotherm, list(words), prog_name="isotherm")
    assert done.exit_code == 0, done.output
    return done.stdout


def parts(message: str) -> dict[str | None, tuple[str, str]]:
    """Return of each part of a message what it is and its text, by the name of its file."""
    payload = message_from_string(message).get_payload()
    assert isinstance(payload, list)
    return {
        part.get_filename(): (part.get_content_type(), str(part.get_payload()))
        for part in payload
        if isinstance(part, Message)
    }


def ids() -> dict[str, str]:
    rows = json.loads(run("stack", "resource", "list", "boot", "-f", "json"))
    return {row["name"]: row["physical_id"] for row in rows}


def test_settings_and_script_reach_the_machine_in_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    for name in ("ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    run("stack", "create", "boot", "-t", TEMPLATE, "-P", "user=anna")
    first = parts(run("stack", "output", "show", "boot", "user_data", "-f", "value"))
    kind, settings = first["settings.yaml"]
    assert kind == "text/cloud-config"
    assert yaml.safe_load(settings)["users"][1]["name"] == "anna"
    assert first["greet.sh"] == (
        "text/x-shellscript",
        "#!/bin/sh\nprintf '%s\\n' \"Hello from Isotherm.\" > /etc/motd\n",
    )
    before = ids()
    run("stack", "update", "boot", "-t", TEMPLATE, "-P", "user=anna", "-P", "greeting=Good morning.")
    second = parts(run("stack", "output", "show", "boot", "user_data", "-f", "value"))
    assert "Good morning." in second["greet.sh"][1]
    assert second["settings.yaml"] == first["settings.yaml"]
    after = ids()
    assert after["settings"] == before["settings"]
    assert after["greet"] != before["greet"]
    assert after["user_data"] != before["user_data"]
    run("stack", "delete", "boot", "--yes")
