"""Who may do what, decided without a server."""

from http import HTTPStatus

import pytest

from orchestrator.dashboard.access import (
    ACTIONS,
    Mode,
    Role,
    Visitor,
    control_refusal,
    powers,
    refusal,
)

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


def test_sending_tasks_is_for_those_who_may_act() -> None:
    ann, vic = (Visitor.of(BASIC, name) for name in ("ann", "vic"))
    assert control_refusal(BASIC, ann, sends=True) is None
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
