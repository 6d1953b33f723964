"""The doctor tells which hooks are at work, and why one is not."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.doctor.hooks import check_hooks
from tests.unit.packages import install

SOURCE = """
    from pydantic import SecretStr
    from hooks.events import EventSink
    from hooks.options import HookOptions
    from hooks.lifecycle import LifecyclePlugin

    class Keyed(HookOptions):
        key: SecretStr

    class Late(LifecyclePlugin):
        ordinal = 200

    class Early(LifecyclePlugin):
        pass

    class Needy(LifecyclePlugin):
        Options = Keyed
        enabled_by_default = False

    class Mail(EventSink):
        pass
"""


@pytest.fixture(autouse=True)
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with hooks."""
    entries = {
        "isotherm.lifecycle": [
            "alate = acme_sick:Late",
            "early = acme_sick:Early",
            "needy = acme_sick:Needy",
        ],
        "isotherm.event_sinks": ["mail = acme_sick:Mail"],
    }
    install(tmp_path, "acme_sick", SOURCE, entries)
    monkeypatch.syspath_prepend(tmp_path)


def test_those_at_work_are_told_in_their_order() -> None:
    plugins, sinks = check_hooks(Settings())
    assert plugins.ok
    assert plugins.detail.endswith("3 active, called in this order: early, alate, placement")
    assert sinks.ok
    assert sinks.detail.endswith("1 active: mail")


def test_a_sink_that_environments_may_name_must_be_made_for_that() -> None:
    settings = Settings(environment_event_sinks=("webhook", "mail", "webhok"))
    found = {check.detail: check.hint for check in check_hooks(settings) if not check.ok}
    assert list(found) == [
        "settings.environment_event_sinks.1: the event sink 'mail' is not made for environments",
        "settings.environment_event_sinks.2: no event sink 'webhok' is installed",
    ]
    assert list(found.values())[1] == "did you mean 'webhook'?"


def test_each_that_is_wrong_is_told_by_itself_with_what_to_do_and_without_values() -> None:
    said: dict[str, dict[str, Any]] = {"needy": {"kee": "hunter2"}, "erly": {}, "early": {"enabled": True}}
    settings = Settings(lifecycle=said, event_sinks={"mail": {"time_limit_seconds": -1}})
    found = {(check.name, check.detail): check for check in check_hooks(settings) if not check.ok}
    assert [name for name, _ in found] == [
        "lifecycle plugin needy",
        "lifecycle plugin needy",
        "lifecycle plugin erly",
        "event sink mail",
    ]
    assert "hunter2" not in str(found)
    hints = {check.detail.partition(":")[0]: check.hint for check in found.values()}
    assert hints["settings.lifecycle.erly"] == "did you mean 'early'?"
    assert hints["settings.lifecycle.needy.kee"] == "did you mean 'key'?"
    assert hints["settings.lifecycle.needy.key"] == (
        "correct it, or set settings.lifecycle.needy.enabled = false; until then no process that changes stacks starts"
    )
    assert not any(check.is_service for check in found.values())
