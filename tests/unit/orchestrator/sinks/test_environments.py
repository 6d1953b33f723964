"""An environment may name the event sinks that the settings allow, with options that are right."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.planning.preparation import prepare
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.sinks.environments import EnvironmentSinks
from orchestrator.validation.report import validate_job
from tests.unit.orchestrator.sinks.packages import Target, install

TEMPLATE = "heat_template_version: 2021-04-16\nresources: {it: {type: OS::Heat::None}}"


@pytest.fixture(autouse=True)
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)


def job(sinks: str, template: str = TEMPLATE) -> StackJob:
    source = f"parameters: {{}}\nevent_sinks:\n{sinks}"
    return StackJob(
        name="s", template=template, environments=(EnvironmentSource(file="e.yaml", source=source),)
    )


def settings(*allowed: str, **more: dict[str, object]) -> Settings:
    return Settings(environment_event_sinks=allowed, event_sinks=more)


def test_a_sink_that_is_allowed_is_part_of_the_definition() -> None:
    prepared = prepare(
        job("- {type: target, target: here, number: 3}"), ResourceTypes.load(), settings("target")
    )
    assert prepared.event_sinks == ({"type": "target", "target": "here", "number": 3},)


@pytest.mark.parametrize(
    ("sinks", "path", "line", "message", "hint"),
    [
        (
            "- {type: target, target: x}",
            "event_sinks[0]",
            3,
            "environments may not name the event sink 'target' here",
            "environment_event_sinks = ['target']",
        ),
        (
            "- {type: settled}",
            "event_sinks[0]",
            3,
            "the event sink 'settled' cannot be named in an environment",
            "target",
        ),
    ],
)
def test_what_is_not_allowed_is_refused_where_it_stands(
    sinks: str, path: str, line: int, message: str, hint: str
) -> None:
    with pytest.raises(InvalidInput) as error:
        prepare(job(sinks), ResourceTypes.load(), settings())
    (problem,) = error.value.problems
    assert (problem.path, problem.message) == (path, message)
    assert problem.position is not None
    assert (problem.position.file, problem.position.line) == ("e.yaml", line)
    assert hint in problem.hint


@pytest.mark.parametrize(
    ("entry", "path", "message", "hint"),
    [
        ("{type: target}", "event_sinks[1].target", "it must be given", ""),
        (
            "{type: target, target: x, numbr: 1}",
            "event_sinks[1].numbr",
            "an event sink 'target' has no such option",
            "did you mean 'number'?",
        ),
        (
            "{type: target, target: [s3cret]}",
            "event_sinks[1].target",
            "expected a text, found a list",
            "",
        ),
        (
            "{type: target, target: ''}",
            "event_sinks[1].target",
            "string should have at least 1 character",
            "",
        ),
    ],
)
def test_options_that_are_wrong_are_refused(entry: str, path: str, message: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as error:
        prepare(job(f"- {{type: target, target: x}}\n- {entry}"), ResourceTypes.load(), settings("target"))
    (problem,) = error.value.problems
    assert (problem.path, problem.message, problem.hint) == (path, message, hint)
    assert problem.position is not None
    assert problem.position.line == 4
    assert "s3cret" not in str(problem)


def test_what_was_accepted_once_can_be_brought_back_whatever_is_allowed_by_now() -> None:
    prepared = prepare(
        job("- {type: target, target: x}"), ResourceTypes.load(), settings(), was_accepted=True
    )
    assert prepared.event_sinks == ({"type": "target", "target": "x"},)


def test_too_many_are_refused() -> None:
    sinks = "\n".join(["- {type: target, target: x}"] * 17)
    with pytest.raises(InvalidInput, match="there are 17 event sinks; at most 16 are allowed"):
        prepare(job(sinks), ResourceTypes.load(), settings("target"))


def test_whoever_only_validates_need_not_know_what_is_allowed_elsewhere() -> None:
    assert validate_job(job("- {type: target, target: x}"), settings())
    with pytest.raises(InvalidInput, match="it must be given"):
        validate_job(job("- {type: target}"), settings())


def test_a_sink_is_made_with_what_the_environment_says_and_the_limit_of_the_settings() -> None:
    sinks = EnvironmentSinks(settings("target", "gone", target={"time_limit_seconds": 7}))
    assert sinks.enabled == ("target",)
    made = sinks.make("target", {"target": "here"})
    assert isinstance(made, Target)
    assert (made.options.target, made.name, made.time_limit_seconds) == ("here", "target", 7)
    assert EnvironmentSinks(settings("target")).limit_seconds("target") == Target.time_limit_seconds
    with pytest.raises(ValueError, match="its options are wrong by now: it must be given"):
        sinks.make("target", {})


HOOK = "- {type: webhook, target: 'http://%s/x', secrets: [a secret of length]}"


def webhooks(**given: Any) -> Settings:
    return Settings(environment_event_sinks=("webhook",), **given)


@pytest.mark.parametrize(
    ("given", "host", "is_permitted"),
    [
        ({}, "127.0.0.1:8000", True),
        ({}, "hooks.example.com", True),
        ({}, "10.0.0.1", False),
        ({}, "169.254.169.254", False),
        ({"outgoing_targets": ()}, "hooks.example.com", False),
        ({"outgoing_targets": ("10.0.0.0/8",)}, "10.0.0.1", True),
        ({"broker_url": "redis://broker"}, "hooks.example.com", False),
        ({"broker_url": "redis://broker"}, "127.0.0.1:8000", False),
        ({"broker_url": "redis://broker", "outgoing_targets": ("*.example.com",)}, "hooks.example.com", True),
    ],
)
def test_a_target_is_permitted_by_the_settings_when_a_job_comes_in_and_when_it_is_sent_to(
    given: dict[str, object], host: str, is_permitted: bool
) -> None:
    settings = webhooks(**given)
    options = {"target": f"http://{host}/x", "secrets": ["a secret of length"]}
    if is_permitted:
        assert prepare(job(HOOK % host), ResourceTypes.load(), settings).event_sinks
        EnvironmentSinks(settings).make("webhook", options).close()
        return
    with pytest.raises(InvalidInput) as error:
        prepare(job(HOOK % host), ResourceTypes.load(), settings)
    (problem,) = error.value.problems
    assert problem.path == "event_sinks[0]"
    assert problem.message.startswith(f"target: {host}")
    assert "outgoing_targets" in problem.message
    with pytest.raises(ValueError, match="outgoing_targets"):
        EnvironmentSinks(settings).make("webhook", options)


def test_whoever_only_validates_need_not_know_the_targets_either() -> None:
    assert validate_job(job(HOOK % "10.0.0.1"), webhooks())


def test_a_target_that_is_none_is_named_by_its_setting() -> None:
    with pytest.raises(InvalidInput, match="'https://x' is no target: expected a host"):
        webhooks(outgoing_targets=("https://x",))
