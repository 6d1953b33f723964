"""Who may do what, decided without a server."""

from http import HTTPStatus
from types import SimpleNamespace

import pytest

from orchestrator.dashboard.access import (
    ACTIONS,
    Mode,
    Role,
    Visitor,
    control_refusal,
    host_refusal,
    powers,
    refusal,
)
from orchestrator.model.identity import ADMINISTRATOR, Identity

OPEN = Mode()
BASIC = Mode(users=("ann", "vic"), actions=True, operators=frozenset({"ann"}))
OAUTH = Mode(pattern=".*@example.org", actions=True, operators=frozenset({"ann@example.org"}))


def may(mode: Mode, name: str, action: str = "delete") -> bool:
    return refusal(mode, Visitor.of(mode, name), action, "web") is None


def test_those_who_are_named_may_act_and_others_may_not() -> None:
    assert may(BASIC, "ann")
    assert not may(BASIC, "vic")
    assert may(OAUTH, "ann@example.org")
    assert not may(OAUTH, "vic@example.org")


@pytest.mark.parametrize("name", ["", "ann"])
def test_without_authentication_a_name_is_worth_nothing(name: str) -> None:
    mode = Mode(actions=True, operators=frozenset({"ann", ""}))
    visitor = Visitor.of(mode, name)
    assert visitor == Visitor()
    refused = refusal(mode, visitor, "delete", "web")
    assert refused is not None
    assert refused.status is HTTPStatus.UNAUTHORIZED
    assert "--basic_auth" in refused.sentence
    assert not visitor.sees_values


def test_nobody_without_a_name_is_an_operator() -> None:
    mode = Mode(users=("ann",), actions=True, operators=frozenset({"", "ann"}))
    assert Visitor.of(mode, "").role is Role.VIEWER


@pytest.mark.parametrize(
    ("mode", "word"),
    [
        (Mode(users=("ann",), operators=frozenset({"ann"})), "--stack_actions"),
        (Mode(users=("ann",), operators=frozenset({"ann"}), actions=True, read_only=True), "--read_only"),
        (Mode(users=("ann",), operators=frozenset({"bob"}), actions=True), "--stack_operators"),
    ],
)
def test_a_refusal_says_what_would_have_to_be_set(mode: Mode, word: str) -> None:
    refused = refusal(mode, Visitor.of(mode, "ann"), "cancel", "web")
    assert refused is not None
    assert refused.status is HTTPStatus.FORBIDDEN
    assert word in refused.sentence


@pytest.mark.parametrize("action", ACTIONS)
def test_embedded_every_action_is_a_command_to_type(action: str) -> None:
    mode = Mode(users=("ann",), operators=frozenset({"ann"}), actions=True, embedded=True)
    refused = refusal(mode, Visitor.of(mode, "ann"), action, "it's")
    assert refused is not None
    assert "isotherm stack " in refused.sentence
    assert """'it'"'"'s'""" in refused.sentence


def test_sending_tasks_is_for_administrators_of_the_installation() -> None:
    ann, vic = (Visitor.of(BASIC, name) for name in ("ann", "vic"))
    # A task that is sent could act on the stacks of any project.
    assert control_refusal(BASIC, ann, sends=True) is not None
    mode = Mode(tokens=True, actions=True)
    owner = Visitor.with_identity(mode, Identity(user="ann", roles={mode.project: ADMINISTRATOR}))
    assert control_refusal(mode, owner, sends=True) is not None
    assert (
        control_refusal(mode, Visitor.with_identity(mode, Identity.administrator("ann")), sends=True) is None
    )
    assert control_refusal(BASIC, vic, sends=True) is not None
    assert control_refusal(OPEN, Visitor(), sends=True) is not None


def test_what_else_flower_does_is_flowers_to_decide_until_there_are_operators() -> None:
    mode = Mode(users=("vic",))
    assert control_refusal(mode, Visitor.of(mode, "vic"), sends=False) is None
    assert control_refusal(BASIC, Visitor.of(BASIC, "vic"), sends=False) is not None
    assert control_refusal(BASIC, Visitor.of(BASIC, "ann"), sends=False) is None


def test_pages_are_told_of_each_action_why_not() -> None:
    ann, vic = (powers(BASIC, Visitor.of(BASIC, name), "web") for name in ("ann", "vic"))
    assert ann == {
        "user": "ann",
        "role": "operator",
        "sees_values": True,
        "actions": dict.fromkeys(ACTIONS, ""),
    }
    assert vic["role"] == "viewer"
    assert vic["sees_values"]
    assert all("vic is a viewer" in each for each in vic["actions"].values())


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "10.0.0.7", "[::1]", "localhost", "LOCALHOST.", "web.localhost", "dashboard", ""]
)
def test_no_other_site_has_these_names(host: str) -> None:
    assert host_refusal(OPEN, host) is None


@pytest.mark.parametrize(
    "host", ["evil.example.org", "127.0.0.1.example.org", "localhost.example.org", "1.2.3"]
)
def test_a_name_that_may_be_another_sites_is_answered_where_it_was_named_or_people_are_known(
    host: str,
) -> None:
    refused = host_refusal(OPEN, host)
    assert refused is not None
    assert refused.status is HTTPStatus.FORBIDDEN
    assert "--stack_hosts" in refused.sentence
    assert host_refusal(Mode(hosts=frozenset({host})), host.upper()) is None
    assert host_refusal(BASIC, host) is None
    assert host_refusal(OAUTH, host) is None


def test_behind_a_socket_of_the_file_system_any_name_will_do() -> None:
    given = {
        "basic_auth": None,
        "auth": None,
        "stack_actions": False,
        "stack_operators": None,
        "read_only": False,
    }
    mode = Mode.of(SimpleNamespace(**given, unix_socket="/run/x", stack_hosts=None), embedded=False)
    assert host_refusal(mode, "evil.example.org") is None
    named = Mode.of(
        SimpleNamespace(**given, unix_socket="", stack_hosts=["Dash.example.org"]), embedded=False
    )
    assert host_refusal(named, "dash.example.org") is None
    assert host_refusal(named, "evil.example.org") is not None
