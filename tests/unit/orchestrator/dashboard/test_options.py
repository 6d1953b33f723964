"""Options that cannot be used are refused at the start, with what was expected, and without a value of theirs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tornado.options import options

from orchestrator.dashboard.options import problems_of, read_options
from orchestrator.errors import InvalidInput
from tests.unit.orchestrator.dashboard.serving import fresh_options, option_values

#: All that logging in by a provider takes: who may come in, the provider, and what it knows the dashboard by.
OAUTH = {
    "auth": ".*@example.org",
    "auth_provider": "flower.views.auth.OktaLoginHandler",
    "oauth2_key": "key",
    "oauth2_secret": "hidden",
    "oauth2_redirect_uri": "https://dashboard.example.org/login",
}
OKTA = tuple(f"--{name}={value}" for name, value in OAUTH.items())


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Options as they are in a new process, wherever it was started."""
    monkeypatch.chdir(tmp_path)
    with fresh_options():
        yield


def refused(*arguments: str, embedded: bool = False) -> list[str]:
    with pytest.raises(InvalidInput) as error:
        read_options("isotherm", arguments, embedded=embedded)
    return [str(problem) for problem in error.value.problems]


def test_good_options_are_taken() -> None:
    arguments = ("--port=8080", "--basic_auth=ann:x,vic:y", "--stack-actions", "--stack_operators=ann")
    read_options("isotherm", arguments, embedded=False)
    assert options.port == 8080
    assert options.stack_actions
    assert options.stack_operators == ["ann"]
    assert options.max_tasks == 20_000


def test_variables_are_taken_and_the_command_line_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWER_PORT", "8080")
    monkeypatch.setenv("FLOWER_STACK_OPERATORS", "ann,vic")
    monkeypatch.setenv("FLOWER_BASIC_AUTH", "ann:x,vic:y")
    read_options("isotherm", ["--port=8081"], embedded=False)
    assert options.port == 8081
    assert options.stack_operators == ["ann", "vic"]


def test_the_configuration_file_is_taken(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text("port = 8082\nstack_operators = ['ann']\nbasic_auth = ['ann:x']\n")
    read_options("isotherm", [f"--conf={tmp_path / 'conf.py'}"], embedded=False)
    assert options.port == 8082
    assert options.stack_operators == ["ann"]


def test_options_that_there_are_none_of_are_told_with_the_nearest() -> None:
    told = refused("--prot=1", "--stack-operator=ann", "stacks")
    assert told[0] == "--prot: there is no such option (did you mean --port?)"
    assert "did you mean --stack_operators?" in told[1]
    assert "an option is expected" in told[2]


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("--port=eighty", "--port: its value is no int (a whole number is expected)"),
        # Tornado takes any word for yes.
        ("--stack_actions=no", "--stack_actions: its value is no bool (write true or false)"),
        ("--port", "Option 'port' requires a value (options are written --name=value)"),
        ("--task_runtime_metric_buckets=1,x", "--task_runtime_metric_buckets: its value is no float"),
    ],
)
def test_values_of_another_kind_are_told(argument: str, told: str) -> None:
    assert refused(argument) == [told]


def test_a_variable_of_another_kind_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWER_PORT", "eighty")
    assert refused() == ["FLOWER_PORT: its value is no int (a whole number is expected)"]


@pytest.mark.parametrize(
    "text", [None, "port = ", "port = undefined", "port = 'x'", "raise SystemError('x')"]
)
def test_a_configuration_file_that_cannot_be_used_is_named(text: str | None, tmp_path: Path) -> None:
    place = tmp_path / "conf.py"
    if text is not None:
        place.write_text(text)
    (told,) = refused(f"--conf={place}")
    assert str(place) in told or "'port'" in told


def test_actions_without_authentication_are_refused() -> None:
    told = refused("--stack_actions", "--stack_operators=ann")
    assert [each.partition(":")[0] for each in told] == ["--stack_actions", "--stack_operators"]
    assert all("--basic_auth=NAME:PASSWORD" in each for each in told)


def test_actions_without_operators_are_refused() -> None:
    (told,) = refused("--basic_auth=ann:hidden", "--stack_actions")
    assert told == ("--stack_actions: there is no operator who could act (for example --stack_operators=ann)")


def test_an_operator_who_could_not_come_in_is_refused() -> None:
    (told,) = refused("--basic_auth=annabel:hidden", "--stack_operators=anabel")
    assert told == "--stack_operators: --basic_auth lets no 'anabel' in (did you mean 'annabel'?)"
    (told,) = refused(*OKTA, "--stack_operators=ann@example.net")
    assert told.startswith("--stack_operators: --auth lets no 'ann@example.net' in")


def test_what_nobody_could_log_in_by_is_refused() -> None:
    (told,) = refused("--auth=.*@example.org")
    assert told.startswith(
        "--auth: login would be impossible: no --auth_provider is named (such as --auth_provider="
    )
    (told,) = refused("--auth=.*@example.org", "--auth_provider=flower.views.auth.OctaLoginHandler")
    assert told.endswith("(did you mean 'flower.views.auth.OktaLoginHandler'?)")
    told = "\n".join(refused(*OKTA[:2]))
    for name in ("oauth2_key", "oauth2_secret", "oauth2_redirect_uri"):
        assert f"--{name}: OktaLoginHandler needs it for logins" in told
    read_options("isotherm", OKTA, embedded=False)


def test_what_flower_reads_of_a_login_from_the_environment_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KEY", "SECRET", "REDIRECT_URI"):
        monkeypatch.setenv(f"FLOWER_OAUTH2_{name}", "x")
    read_options("isotherm", OKTA[:2], embedded=False)


def test_a_provider_without_anybody_who_may_come_in_is_refused() -> None:
    """Everybody would be let in, and nobody asked."""
    (told,) = refused(*OKTA[1:])
    assert told == "--auth_provider: without --auth no login is required (name the allowed users with --auth)"


@pytest.mark.parametrize("value", ["hidden", ":hidden"])
def test_a_password_without_a_name_is_refused_and_not_shown(value: str) -> None:
    (told,) = refused(f"--basic_auth=ann:x,{value}")
    assert told == "--basic_auth: value 2 is not NAME:PASSWORD (put a colon in between)"


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({**OAUTH, "auth": "*@*"}, "--auth"),
        ({"certfile": __file__}, "--certfile, --keyfile"),
        ({"certfile": __file__, "keyfile": "/nothing/here"}, "--keyfile"),
    ],
)
def test_what_flower_would_end_at_later_is_refused_at_once(given: dict[str, Any], path: str) -> None:
    (problem,) = problems_of(option_values(**given), embedded=False)
    assert problem.path == path


@pytest.mark.parametrize("name", ["max_streams_per_client", "max_body_bytes"])
def test_a_limit_that_lets_nothing_in_is_refused(name: str) -> None:
    (told,) = refused(f"--{name}=0")
    assert told == f"--{name}: at least 1 is expected, found 0"
