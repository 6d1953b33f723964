"""The doctor tells of every client that the settings name, and of none that hangs for long."""

import os
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.doctor.check import Check
from orchestrator.doctor.clients import check_clients
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.properties import Property, PropertyType
from tests.waiting import PATIENCE_SECONDS


class Images(ClientPlugin):
    name = "images"
    options_schema = {
        "url": Property(type=PropertyType.STRING, required=True),
        "password": Property(type=PropertyType.STRING),
    }
    never = threading.Event()
    together = threading.Barrier(20)

    def look_up(self, entity: str, name: str) -> str:
        raise AssertionError("the doctor looks nothing up")

    def probe(self) -> str:
        match self.options["url"]:
            case "down":
                raise ConnectionError("no route\nto host " + "x" * 1000)
            case "closed":
                raise self.misconfigured("password", "it is not let in")
            case "hangs":
                self.never.wait(PATIENCE_SECONDS)
            case "waits for the others":
                self.together.wait(PATIENCE_SECONDS)
        return f"{self.options['url']} answers to {self.context.project}"


class Silent(ClientPlugin):
    name = "silent"

    def look_up(self, entity: str, name: str) -> str:
        raise AssertionError("the doctor looks nothing up")


class Broken(Silent):
    name = "broken"

    def __init__(self, *args: Any) -> None:
        raise KeyError("a bug")


class Sizes(Images):
    name = "sizes"
    settings_of = "images"


PLUGINS = {kind.name: kind for kind in (Images, Silent, Broken, Sizes)}


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOTHERM_CONFIG", os.devnull)


def found(clients: Mapping[str, Any], patience_seconds: float = PATIENCE_SECONDS) -> dict[str, Check]:
    settings = Settings(clients=clients)  # type: ignore[arg-type]  # as wrong as a file may be
    checks = check_clients(settings, PLUGINS, patience_seconds=patience_seconds)
    return {check.name: check for check in checks}


def test_it_says_how_many_there_are() -> None:
    assert found({}) == {
        "clients": Check(name="clients", ok=True, detail="4 plugins installed, 0 configured")
    }


def test_what_a_client_s_system_says_is_passed_on() -> None:
    checks = found({"images": {"url": "http://all"}, "silent": {}})
    assert list(checks) == ["clients", "client images", "client silent"]
    assert all(check.ok for check in checks.values())
    assert checks["client images"].detail == "http://all answers to default"
    assert checks["client silent"].detail == "can be built; it has no probe of whether it answers"


def test_projects_with_settings_of_their_own_are_looked_at_by_themselves() -> None:
    checks = found({"images": {"url": "http://all", "projects": {"b": {"url": "down"}, "a": {}}}})
    assert [(name, check.ok) for name, check in checks.items()] == [
        ("clients", True),
        ("client images", True),
        ("client images of project a", True),
        ("client images of project b", False),
    ]


@pytest.mark.parametrize(
    ("clients", "name", "detail", "hint"),
    [
        (
            {"image": {"url": "x"}},
            "client image",
            "there is no client plugin 'image' here; did you mean 'images'?",
            "correct the name in settings.clients",
        ),
        (
            {"images": {"urrl": "SECRET"}},
            "client images",
            "settings.clients.images",
            "correct settings.clients.images",
        ),
        (
            {"images": {"url": "x", "projects": "SECRET"}},
            "client images",
            "settings.clients.images.projects",
            "correct settings.clients.images",
        ),
        (
            {"images": {"url": "closed", "password": "SECRET"}},
            "client images",
            "settings.clients.images.password: it is not let in",
            "correct settings.clients.images",
        ),
        (
            {"sizes": {"url": "SECRET"}},
            "client sizes",
            "its settings are those of images: settings.clients.sizes is never read",
            "move its settings to settings.clients.images",
        ),
        ({"broken": {}}, "client broken", "the plugin failed: KeyError: 'a bug'", "report it to the plugin"),
    ],
    ids=["unknown", "option", "projects", "refused", "misplaced", "bug"],
)
def test_what_is_set_wrong_is_no_service(clients: Any, name: str, detail: str, hint: str) -> None:
    check = found(clients)[name]
    assert not check.ok
    assert not check.is_service
    assert detail in check.detail
    assert hint in check.hint
    assert "SECRET" not in str(check)


def test_a_system_that_is_down_is_a_service_and_told_in_one_line() -> None:
    check = found({"images": {"url": "down"}})["client images"]
    assert not check.ok
    assert check.is_service
    assert check.detail.startswith("cannot be queried: ConnectionError: no route to host xxx")
    assert len(check.detail) < 400


def test_all_are_asked_together() -> None:
    projects = {f"p{number}": {"url": "waits for the others"} for number in range(20)}
    checks = found({"images": {"url": "http://all", "projects": projects}})
    assert all(check.ok for check in checks.values())


def test_one_that_hangs_is_told_when_the_time_of_all_is_up() -> None:
    projects = {f"p{number}": {"url": "hangs"} for number in range(20)}
    checks = found({"images": {"url": "http://all", "projects": projects}}, patience_seconds=0.2)
    hung = checks["client images of project p7"]
    assert hung.is_service
    assert hung.detail == "did not answer within 0.2 s"
    Images.never.set()
