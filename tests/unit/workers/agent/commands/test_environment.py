"""What commands are born with."""

import pytest

from workers.agent.commands.environment import environment, fault_of_environment


def test_a_command_inherits_no_secret_of_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOTHERM_ENCRYPTION_KEYS", "secret")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    found = environment({"OWN": "value", "HOME": "/nowhere"})
    assert found["OWN"] == "value"
    assert found["HOME"] == "/nowhere"
    assert found["LC_ALL"] == "C.UTF-8"
    assert "ISOTHERM_ENCRYPTION_KEYS" not in found


def test_there_is_always_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATH")
    assert environment({})["PATH"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "hid\0den")],
    ids=["none", "is", "null", "value"],
)
def test_what_no_environment_can_hold_is_said_without_its_value(name: str, value: str) -> None:
    fault = fault_of_environment({"GOOD": "y", name: value})
    assert fault.startswith("variable")
    assert "hid" not in fault
    assert fault_of_environment({"GOOD": "y"}) == ""
