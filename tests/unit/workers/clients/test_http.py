"""The client plugin ``http`` knows which paths exist, in which API, for whom, and what its errors mean."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.errors import NotVerified
from orchestrator.plugins.asking import EntityNotFound
from orchestrator.plugins.client_plugin import ClientMisconfigured
from orchestrator.plugins.clients import ClientPlugins, Clients
from orchestrator.plugins.custom import Custom, CustomConstraints
from orchestrator.plugins.steps import RateLimited
from tests.services.http_api import Fault, HttpApi
from workers.clients.http import API, PATH, HttpClient, split_path
from workers.clients.http_failures import HttpError


@pytest.fixture
def clients(request: pytest.FixtureRequest) -> Iterator[Callable[..., Clients]]:
    """Return the clients of a process whose settings say this of HTTP APIs."""
    made: list[Clients] = []

    def build(*, broker_url: str = "", **options: Any) -> Clients:
        patience = {"retry_base_seconds": 0.001, "retry_max_seconds": 0.001}
        settings = Settings(broker_url=broker_url, clients={"http": {**patience, **options}})
        made.append(Clients(settings))
        return made[-1]

    yield build
    for each in made:
        each.close()


def http(clients: Clients, project: str = "p") -> HttpClient:
    client = clients.of(project).get("http")
    assert isinstance(client, HttpClient)
    return client


def test_it_is_installed() -> None:
    assert ClientPlugins.load()["http"] is HttpClient
    assert "http.exists" in CustomConstraints.load()


@pytest.mark.parametrize(
    ("text", "api", "path"),
    [("/a:b", "default", "/a:b"), ("images:/a", "images", "/a"), ("a", "default", "a"), (":/a", "", "/a")],
)
def test_a_path_may_name_its_api(text: str, api: str, path: str) -> None:
    assert split_path(text) == (api, path)


def test_a_path_exists_if_it_answers_with_success(http_api: HttpApi, clients: Callable[..., Clients]) -> None:
    http_api.put("/images/cirros")
    client = http(clients(base_url=http_api.url, apis={"other": {"base_url": http_api.url}}))
    assert client.find(PATH, "/images/cirros") == "default:/images/cirros"
    assert client.find(PATH, "other:/images/cirros") == "other:/images/cirros"
    assert client.find(PATH, "/images") == "default:/images"
    for missing in ("/images/none", "other:/images/none", "no path", "/../x"):
        with pytest.raises(EntityNotFound):
            client.find(PATH, missing)
    assert http_api.count("GET") == 5
    for entity, name in ((PATH, "othr:/images/cirros"), (API, "othr")):
        with pytest.raises(EntityNotFound, match="there is no HTTP API 'othr'"):
            client.find(entity, name)
    assert [client.find(API, name) for name in ("default", "other")] == ["default", "other"]
    assert http_api.count("GET") == 5
    with pytest.raises(ClientMisconfigured, match=r"know no HTTP API 'othr' \(did you mean 'other'"):
        client.api("othr")


@pytest.mark.parametrize("status", [400, 401, 403, 409, 429, 500, 503])
def test_any_other_answer_tells_nothing(
    http_api: HttpApi, clients: Callable[..., Clients], status: int
) -> None:
    http_api.put("/images/cirros")
    http_api.fail(Fault(status=status), times=-1)
    asked = clients(base_url=http_api.url).of("p")
    constraint = Custom("http.exists")
    with pytest.raises(NotVerified, match="cannot check whether the path '/images/cirros' exists: GET "):
        constraint.check("/images/cirros", clients=asked)
    http_api.heal()
    assert constraint.check("/images/cirros", clients=asked) is None
    assert constraint.check("/images/none", clients=asked) == (
        "there is no path '/images/none'; it must satisfy the custom constraint 'http.exists'"
    )


def test_what_can_be_no_path_is_known_without_asking(http_api: HttpApi) -> None:
    said = Custom("http.exists").check("images/cirros")
    assert said is not None
    assert said.startswith("'images/cirros' is no path of an HTTP API: a path begins with one slash")
    assert Custom("http.exists").check("other:/images/cirros") is None
    assert http_api.count() == 0


def test_projects_never_share_what_they_see(
    clients: Callable[..., Clients], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLUE", "blue-token")
    monkeypatch.setenv("RED", "red-token")
    with HttpApi(tokens={"blue-token": "blue", "red-token": "red"}) as api:
        api.put("/images/secret", tenant="blue")
        both = clients(
            base_url=api.url,
            projects={"blue": {"auth": {"token_env": "BLUE"}}, "red": {"auth": {"token_env": "RED"}}},
        )
        blue, red = http(both, "blue"), http(both, "red")
        assert blue.find(PATH, "/images/secret")
        with pytest.raises(EntityNotFound):
            red.find(PATH, "/images/secret")
        assert blue.scope(PATH) != red.scope(PATH)
        assert "blue-token" not in repr(blue.scope(PATH))


def test_the_project_header_keeps_projects_apart(http_api: HttpApi, clients: Callable[..., Clients]) -> None:
    http_api.put("/images/secret", tenant="blue")
    both = clients(base_url=http_api.url, project_header="X-Project")
    assert http(both, "blue").find(PATH, "/images/secret")
    with pytest.raises(EntityNotFound):
        http(both, "red").find(PATH, "/images/secret")


AUTH = {"auth": {"token_env": "OURS"}}
RED = {"auth": {"token_env": "RED"}}


@pytest.mark.parametrize(
    ("options", "api", "is_refused"),
    [
        (AUTH, "default", True),
        ({**AUTH, "shared": True}, "default", False),
        ({**AUTH, "project_header": "X-Project"}, "default", False),
        ({**AUTH, "projects": {"red": RED}}, "default", False),
        ({**AUTH, "projects": {"blue": RED}}, "default", True),
        ({**AUTH, "projects": {"red": {"retries": 0}}}, "default", True),
        # The credentials of all would go to the server of one.
        ({**AUTH, "shared": True, "projects": {"red": {"base_url": "http://red"}}}, "default", True),
        ({**AUTH, "project_header": "X", "projects": {"red": {"base_url": "http://red"}}}, "default", True),
        ({**AUTH, "projects": {"red": {"base_url": "http://red", **RED}}}, "default", False),
        ({}, "default", False),
        ({"apis": {"images": AUTH}}, "images", True),
        ({"apis": {"images": {**AUTH, "shared": True}}}, "images", False),
        # Neither what the API in [clients.http] itself says nor its credentials hold for the others.
        ({"shared": True, "project_header": "X-Project", "apis": {"images": AUTH}}, "images", True),
        ({"apis": {"images": AUTH}, "projects": {"red": RED}}, "images", True),
        ({"projects": {"red": {"apis": {"images": AUTH}}}}, "images", False),
    ],
)
def test_with_a_broker_credentials_serve_a_project_that_has_them_or_that_the_api_can_tell(
    clients: Callable[..., Clients],
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    api: str,
    is_refused: bool,
) -> None:
    for name in ("OURS", "RED"):
        monkeypatch.setenv(name, f"{name}-token")
    with HttpApi(tokens={"OURS-token": "ours", "RED-token": "ours"}) as server:
        server.put("/networks/1", tenant="ours")
        where = {"base_url": server.url}
        apis = {name: {**where, **given} for name, given in options.get("apis", {}).items()}
        projects = {
            project: given | ({"apis": {name: {**where, **each} for name, each in given["apis"].items()}})
            if "apis" in given
            else given
            for project, given in options.get("projects", {}).items()
        }
        said = {**where, **options, "apis": apis, "projects": projects}
        served = http(clients(broker_url="redis://broker", **said), "red")
        if is_refused:
            with pytest.raises(ClientMisconfigured, match="not those of the project 'red' alone") as refused:
                served.api(api).ask("DELETE", "/networks/1")
            assert "[clients.http.projects.red]" in str(refused.value)
        else:
            served.api(api)
        assert server.count() == 0
        # On one's own machine all projects are the same user's.
        assert http(clients(**said), "red").api(api)


def test_one_project_cannot_delete_what_another_made_with_the_operators_credentials(
    clients: Callable[..., Clients], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "our-token")
    with HttpApi(tokens={"our-token": "ours"}) as server:
        server.put("/networks/of-blue", tenant="ours")
        served = clients(broker_url="redis://broker", base_url=server.url, **AUTH)
        with pytest.raises(ClientMisconfigured):
            http(served, "red").api().ask("DELETE", "/networks/of-blue")
        with pytest.raises(ClientMisconfigured):
            http(served, "red").find(PATH, "/networks/of-blue")
        assert server.objects("/networks", tenant="ours").keys() == {"of-blue"}


def test_the_version_is_given_or_asked_once(http_api: HttpApi, clients: Callable[..., Clients]) -> None:
    http_api.put("/about/api", {"versions": {"now": "2.1"}, "many": [1]})
    there = {"base_url": http_api.url, "api_version_path": "/about/api"}
    assert http(clients(base_url=http_api.url)).api_version == ""
    assert http(clients(**there, api_version="3")).api_version == "3"
    assert http_api.count() == 0
    client = http(clients(**there, api_version_json="versions.now"))
    assert [client.api_version for _ in range(2)] == ["2.1", "2.1"]
    assert http_api.count() == 1
    with pytest.raises(HttpError, match="/about/api: it tells no version at 'many'"):
        _ = http(clients(**there, api_version_json="many")).api_version


def test_errors_mean_what_they_say(http_api: HttpApi, clients: Callable[..., Clients]) -> None:
    client = http(clients(base_url=http_api.url, retries=0))
    predicates = (client.is_not_found, client.is_conflict, client.is_over_limit, client.is_retryable)
    expected = {404: "is_not_found", 410: "is_not_found", 409: "is_conflict", 500: "is_retryable", 400: ""}
    for status, name in expected.items():
        http_api.fail(Fault(status=status))
        with pytest.raises(HttpError) as caught:
            client.api().ask("GET", "/disks")
        assert [each.__name__ for each in predicates if each(caught.value)] == ([name] if name else [])
    http_api.fail(Fault(status=429))
    with pytest.raises(HttpError) as caught:
        client.api().ask("GET", "/disks")
    assert client.is_over_limit(caught.value)
    assert client.is_retryable(caught.value)
    assert not any(each(ValueError()) for each in predicates)


def test_a_probe_says_whether_it_answers(http_api: HttpApi, clients: Callable[..., Clients]) -> None:
    client = http(clients(base_url=http_api.url, apis={"b": {"base_url": http_api.url}}, retries=0))
    # There is nothing at its root, which is an answer all the same.
    assert client.probe() == f"default: {http_api.url}, b: {http_api.url}"
    for status in (401, 403, 503):
        http_api.fail(Fault(status=status))
        with pytest.raises(HttpError):
            client.probe()
    http_api.close()
    with pytest.raises(HttpError, match="Connection refused"):
        client.probe()


def test_every_request_takes_from_the_limit_of_its_api(
    http_api: HttpApi, clients: Callable[..., Clients]
) -> None:
    http_api.put("/images/cirros")
    http_api.fail(Fault(status=503), path="/images/cirros", times=2)
    other = {"base_url": f"{http_api.url}/v2", "burst": 1}
    limit = {"requests_per_second": 0.01, "burst": 4}
    client = http(clients(base_url=http_api.url, apis={"other": other}, **limit))
    # Two retries, and two requests.
    assert client.find(PATH, "/images/cirros") == "default:/images/cirros"
    client.find(PATH, "/images/cirros")
    with pytest.raises(RateLimited, match="http: the limit of requests is reached"):
        client.find(PATH, "/images/cirros")
    assert http_api.count("GET") == 4
    for error in (EntityNotFound, RateLimited):
        with pytest.raises(error):
            client.find(PATH, "other:/none")
    assert http_api.count("GET") == 5
