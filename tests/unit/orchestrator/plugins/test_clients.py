"""Client plugins: built once for each context from the settings, and what a constraint makes of their answers."""

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, NotFound, NotVerified, PluginMistake, Problem
from orchestrator.plugins import custom
from orchestrator.plugins.asking import AmbiguousName, EntityNotFound
from orchestrator.plugins.client_plugin import ClientMisconfigured, ClientPlugin
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.custom import ClientConstraint, Custom, CustomConstraints
from orchestrator.plugins.properties import (
    Property,
    PropertyNotVerified,
    PropertyType,
    check_properties,
    convert_properties,
)
from orchestrator.sandbox.budget import check_time, evaluation, outside

IMAGES = {"ubuntu": "1", "debian": "2"}


class Busy(Exception):
    """What this client calls worth another try."""


class Images(ClientPlugin):
    name = "images"
    entities = frozenset({"image"})
    options_schema = {
        "url": Property(type=PropertyType.STRING, required=True),
        "retries": Property(type=PropertyType.INTEGER, default=3),
        "password": Property(type=PropertyType.STRING),
    }
    built = 0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        type(self).built += 1
        self.asked: list[str] = []
        self.closed = False

    def look_up(self, entity: str, name: str) -> str:
        self.asked.append(name)
        if name == "busy":
            raise Busy("come back later")
        if name == "twice":
            raise AmbiguousName(entity, name, tuple("abcdefg"))
        if name not in IMAGES:
            raise EntityNotFound(entity, name)
        return IMAGES[name]

    def is_retryable(self, error: Exception) -> bool:
        return isinstance(error, Busy)

    def close(self) -> None:
        self.closed = True


class Image(ClientConstraint):
    name = "test.image"
    client = "images"
    entity = "image"


class Elsewhere(ClientConstraint):
    name = "test.elsewhere"
    client = "image"
    entity = "image"


SAID: Mapping[str, Any] = {
    "images": {"url": "http://all", "projects": {"a": {"url": "http://a", "retries": "5"}}}
}


def clients_of(said: Mapping[str, Any] = SAID) -> Clients:
    return Clients(Settings(clients=dict(said)), {"images": Images})


@pytest.fixture
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = CustomConstraints({kind.name: kind() for kind in (Image, Elsewhere)})
    monkeypatch.setattr(custom, "_on_demand", lambda _: found)


def test_a_project_has_its_own_options_over_those_of_all() -> None:
    clients = clients_of()
    assert clients.of("a").get("images").options == {"url": "http://a", "retries": 5, "password": None}
    assert clients.of("b").get("images").options == {"url": "http://all", "retries": 3, "password": None}


def test_a_client_is_built_once_for_all_threads_of_a_context() -> None:
    Images.built, clients = 0, clients_of()
    found: list[ClientPlugin] = []
    threads = [
        threading.Thread(target=lambda: found.append(clients.of("a").get("images"))) for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    assert len(set(found)) == Images.built == 1
    assert clients.of("b").get("images") is not found[0]


def test_closing_closes_every_client_and_the_next_ask_builds_another() -> None:
    clients = clients_of()
    one, other = (clients.of(project).get("images") for project in "ab")
    clients.close()
    assert isinstance(one, Images)
    assert isinstance(other, Images)
    assert (one.closed, other.closed) == (True, True)
    assert clients.of("a").get("images") is not one


@pytest.mark.parametrize(
    ("section", "hint"),
    [
        ("image", "there is settings.clients.image: is it meant?"),
        ("other", "it has no settings under [clients.images], see docs/clients.md"),
    ],
)
def test_a_client_of_which_nothing_is_said_tells_where_to_say_it(section: str, hint: str) -> None:
    with pytest.raises(ClientMisconfigured) as raised:
        clients_of({section: {"url": "SECRET"}}).of("p").get("images")
    assert [problem.hint for problem in raised.value.problems] == [hint]


@pytest.mark.parametrize(
    ("said", "path", "message", "hint"),
    [
        ({}, "url", "a value of 'url' is required", ""),
        ({"url": "u", "retries": "many"}, "retries", "expected a whole number", ""),
        ({"url": "u", "pasword": "SECRET"}, "pasword", "there is no such option", "did you mean 'password'?"),
        (
            {"url": "u", "projects": {"p": {"retrys": "SECRET"}}},
            "projects.p.retrys",
            "there is no such option",
            "did you mean 'retries'?",
        ),
        ({"url": "u", "password": ["SECRET"]}, "password", "expected a text, found something else", ""),
        ({"url": "u", "projects": "p"}, "projects", "expected a table of tables", ""),
        ({"url": "u", "projects": {"p": "SECRET"}}, "projects", "expected a table of tables", ""),
    ],
    ids=["missing", "type", "unknown", "unknown of a project", "secret", "projects", "project"],
)
def test_wrong_options_are_told_by_the_settings_path_without_values(
    said: Mapping[str, Any], path: str, message: str, hint: str
) -> None:
    with pytest.raises(ClientMisconfigured) as raised:
        clients_of({"images": said}).of("p").get("images")
    (problem,) = raised.value.problems
    assert problem.path == f"settings.clients.images.{path}"
    assert message in str(problem)
    assert hint in str(problem)
    assert "SECRET" not in str(raised.value)


def test_a_client_that_is_not_installed_is_named_with_the_nearest() -> None:
    with pytest.raises(NotFound, match="there is no client plugin 'image' here; did you mean 'images'"):
        clients_of().of("p").get("image")


def test_a_client_is_asked_only_for_what_it_knows() -> None:
    with pytest.raises(PluginMistake, match="client 'images' looks up no 'flavor'"):
        clients_of().of("p").get("images").find("flavor", "m1")


def test_what_may_be_tried_again_is_for_the_clients_to_say() -> None:
    clients = clients_of().of("p")
    assert not clients.is_retryable(Busy())
    clients.get("images")
    assert clients.is_retryable(Busy())
    assert not clients.is_retryable(ValueError())


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("ubuntu", None),
        (["ubuntu", "debian"], None),
        ("fedora", "there is no image 'fedora'"),
        (
            ["ubuntu", "fedora"],
            "there is no image 'fedora'",
        ),
        (
            "twice",
            "several have the name 'twice' (a, b, c, d, e and 2 more): give the id of the image that is meant",
        ),
        ("", "'' names no image"),
        (True, "true names no image"),
    ],
    ids=["there", "list", "absent", "one absent", "ambiguous", "empty", "boolean"],
)
def test_a_constraint_says_in_words_what_the_client_found(value: Any, sentence: str | None) -> None:
    said = Custom("test.image").check(value, clients=clients_of().of("p"))
    assert said == (sentence and f"{sentence}; it must satisfy the custom constraint 'test.image'")


@pytest.mark.usefixtures("_installed")
def test_without_clients_nobody_is_asked() -> None:
    assert Custom("test.image").check("fedora") is None
    assert Custom("test.image").check("") == (
        "'' names no image; it must satisfy the custom constraint 'test.image'"
    )


@pytest.mark.usefixtures("_installed")
def test_what_nobody_can_tell_is_no_wrong_value() -> None:
    clients = clients_of().of("p")
    with pytest.raises(NotVerified, match="cannot check whether the image 'busy' exists: Busy: come back"):
        Custom("test.image").check("busy", clients=clients)
    with pytest.raises(NotVerified, match=r"^cannot check the value: it must satisfy[^:]*$") as raised:
        Custom("test.image").check("busy", secret=True, clients=clients)
    assert "busy" not in str(raised.value)
    assert raised.value.retryable


@pytest.mark.usefixtures("_installed")
def test_a_property_tells_where_nobody_can_tell() -> None:
    schema = {
        "disks": Property(
            type=PropertyType.LIST,
            schema=Property(type=PropertyType.STRING, constraints=(Custom("test.image"),)),
        )
    }
    clients = clients_of().of("p")
    given = {"disks": ["ubuntu", "busy"]}
    with pytest.raises(PropertyNotVerified, match=r"^properties.disks\[1\]: cannot check") as raised:
        check_properties(schema, given, clients=clients)
    assert "busy" not in str(raised.value.fault.veil(("disks",)))
    with pytest.raises(PropertyNotVerified):
        convert_properties(schema, given, clients=clients)
    assert convert_properties(schema, given) == given
    (fault,) = check_properties(schema, {"disks": ["fedora"]}, clients=clients)
    assert fault.path == ("disks", 0)


def test_time_outside_does_not_count_as_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    for clock in ("thread_time", "monotonic"):
        monkeypatch.setattr(f"orchestrator.sandbox.budget.time.{clock}", lambda: now[0])
    with evaluation(Limits.of(Settings(evaluation_seconds=10))):
        with outside():
            now[0] += 60
            with outside():
                now[0] += 60
        check_time(_problem)
        now[0] += 11
        with pytest.raises(InvalidInput, match="takes longer than 10 seconds"):
            check_time(_problem)


def _problem(message: str, hint: str) -> Problem:
    return Problem(message=message, hint=hint)


def test_answers_are_remembered_for_those_who_want_it_until_somebody_knows_better() -> None:
    clients = clients_of().of("p").get("images")
    assert isinstance(clients, Images)
    assert [clients.find("image", "ubuntu", use_cache=True) for _ in range(3)] == ["1"] * 3
    assert clients.asked == ["ubuntu"]
    assert clients.find("image", "ubuntu") == "1"
    assert clients.asked == ["ubuntu"] * 2
    clients.forget("image", "ubuntu")
    assert clients.find("image", "ubuntu", use_cache=True) == "1"
    assert clients.asked == ["ubuntu"] * 3
