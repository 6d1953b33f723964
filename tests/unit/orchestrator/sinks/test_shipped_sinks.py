"""The sinks that ship are told, as the settings and environments say, of stacks that are really made."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hooks.http.signing import header_of, verify
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.service import Service
from tests.services.receiver import Receiver
from tests.waiting import until

TEMPLATE = """\
heat_template_version: 2021-04-16
resources:
  first: {type: OS::Heat::TestResource, properties: {value: "1"}}
"""
OURS, THEIRS = "the operator's secret", "the project's secret"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def service(tmp_path: Path, receiver: Receiver) -> Iterator[Service]:
    """An embedded installation in which all of them are told, but for the one that needs a broker."""
    sinks: dict[str, dict[str, Any]] = {
        "log": {"enabled": True, "file": str(tmp_path / "events.jsonl")},
        "prometheus": {"enabled": True, "textfile": str(tmp_path / "isotherm.prom")},
        "webhook": {"enabled": True, "url": f"{receiver.url}/ours", "secrets": [OURS], "types": ["stack"]},
    }
    settings = Settings(
        state_directory=tmp_path / "state", event_sinks=sinks, environment_event_sinks=("webhook",)
    )
    with Service.open(settings) as service:
        yield service


def job(name: str, **said: Any) -> StackJob:
    source = json.dumps({"event_sinks": [{"type": "webhook", **said}]})
    environments = (EnvironmentSource(file="e.yaml", source=source),)
    return StackJob(name=name, template=TEMPLATE, environments=environments)


def told(receiver: Receiver, path: str) -> list[str]:
    return [
        f"{event['stack_name']} {event['resource']} {event['action']}_{event['status']}"
        for message in list(receiver.messages)
        if message.path == path
        for event in message.document["events"]
    ]


def text(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def test_settings_and_environments_have_events_sent_each_with_its_own_secret(
    service: Service, receiver: Receiver, tmp_path: Path
) -> None:
    theirs = {"target": f"{receiver.url}/theirs", "secrets": [THEIRS], "statuses": ["complete"]}
    made = service.create(job("shop", **theirs))
    assert list(service.watch(made.id, interval_seconds=0.01))[-1].stack.state == "CREATE_COMPLETE"
    until(lambda: len(told(receiver, "/theirs")) == 2 and len(told(receiver, "/ours")) == 2)
    assert told(receiver, "/theirs") == ["shop first CREATE_COMPLETE", "shop  CREATE_COMPLETE"]
    assert told(receiver, "/ours") == ["shop  CREATE_IN_PROGRESS", "shop  CREATE_COMPLETE"]
    for message in receiver.messages:
        secret = OURS if message.path == "/ours" else THEIRS
        assert verify([secret], message.body, header_of(message.headers))
    until(lambda: text(tmp_path / "events.jsonl").count("\n") == 4)
    counter = 'isotherm_stack_operations_total{action="CREATE",status="COMPLETE"} 1.0'
    until(lambda: counter in text(tmp_path / "isotherm.prom"))


def test_an_environment_that_says_too_much_is_refused_without_its_secret(
    service: Service, receiver: Receiver
) -> None:
    said = {"target": receiver.url, "secrets": ["hunter2"], "ca_file": "/etc/shadow"}
    with pytest.raises(InvalidInput) as refused:
        service.create(job("shop", **said))
    assert "has no such option" in str(refused.value)
    said.pop("ca_file")
    with pytest.raises(InvalidInput) as refused:
        service.create(job("shop", **said))
    assert "16 characters" in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert receiver.messages == []
