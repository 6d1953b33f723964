"""Commands, variables and signals as templates give them."""

import shlex
import signal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError
from workers.resources.nodes.command import parse_command, parse_env, parse_signal

WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(arguments=st.lists(WORDS, min_size=1).filter(lambda words: bool(words[0])))
def test_text_and_list_mean_the_same_command(arguments: list[str]) -> None:
    assert parse_command(shlex.join(arguments)) == parse_command(arguments) == arguments


def test_numbers_in_a_command_become_text() -> None:
    assert parse_command(["serve", 8080, 0.5]) == ["serve", "8080", "0.5"]


@pytest.mark.parametrize(
    ("command", "path", "message"),
    [
        ("", ("command",), "is empty"),
        ([], ("command",), "is empty"),
        ([""], ("command",), "is empty"),
        ("echo 'unclosed", ("command",), "found: No closing quotation"),
        (None, ("command",), "found NoneType"),
        ({"run": "it"}, ("command",), "found dict"),
        (["echo", True], ("command", 1), "found bool"),
        (["echo", "a\0b"], ("command",), "null character"),
    ],
)
def test_what_is_no_command_is_refused(command: Any, path: tuple[str | int, ...], message: str) -> None:
    with pytest.raises(PropertyError, match=message) as refused:
        parse_command(command)
    assert refused.value.path == path


@pytest.mark.parametrize(
    ("env", "name", "message"),
    [
        ({"": "x"}, "", "cannot be empty"),
        ({"A=B": "x"}, "A=B", "cannot be empty or hold '='"),
        ({"ISOTHERM_RESOURCE": "x"}, "ISOTHERM_RESOURCE", "set by the resource itself"),
        ({"A": True}, "A", "found bool"),
        ({"A": ["hidden-value"]}, "A", "found list"),
        ({"A": "hidden-value\0"}, "A", "null character"),
    ],
)
def test_what_is_no_variable_is_refused_without_showing_it(env: Any, name: str, message: str) -> None:
    with pytest.raises(PropertyError, match=message) as refused:
        parse_env(env)
    assert refused.value.path == ("env", name)
    assert "hidden-value" not in str(refused.value)


def test_variables_not_known_yet_are_left_out() -> None:
    assert parse_env({"A": UNKNOWN, "PORT": 80}) == {"PORT": "80"}


@pytest.mark.parametrize("name", ["TERM", "SIGTERM", "sigterm"])
def test_signals_are_known_by_every_spelling(name: str) -> None:
    assert parse_signal(name) is signal.SIGTERM


def test_an_unknown_signal_gets_the_nearest_name() -> None:
    with pytest.raises(PropertyError, match="did you mean 'TERM'"):
        parse_signal("TREM")
