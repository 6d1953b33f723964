"""How the client of OpenStack reads its settings, connects, and shares what it has connected."""

import json
import os
import sys
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.log_context import about_operation
from orchestrator.config.settings import Settings
from orchestrator.errors import PluginMistake
from orchestrator.plugins.client_plugin import ClientMisconfigured
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.group_declarations import parse_groups
from orchestrator.plugins.groups import group_errors
from tests.services.http_api import Fault
from tests.services.openstack_api import REGION, OpenStackApi, User, openstack_api
from tests.unit.workers.clients.openstack import Hasty, client, client_of
from workers.clients.openstack import Cinder, Glance, Keystone, Neutron, Nova, OpenStack

DEMO = User(name="demo", project="demo")
ANNA = User(name="anna", project="demo")
PLUGINS = {kind.name: kind for kind in (OpenStack, Nova, Glance, Neutron, Cinder, Keystone)}


@pytest.fixture
def api() -> Iterator[OpenStackApi]:
    with openstack_api(DEMO, ANNA) as api:
        api.have("compute", "flavors", name="small", id="7")
        yield api


def clients_of(options: dict[str, Any]) -> Clients:
    return Clients(Settings(clients={"openstack": options}), PLUGINS)


def fault_of(options: dict[str, Any]) -> str:
    with pytest.raises(ClientMisconfigured) as caught:
        clients_of(options).of("web").get("nova")
    assert len(caught.value.problems) == 1
    return str(caught.value)


class TestSettings:
    def test_a_cloud_must_be_named(self) -> None:
        assert fault_of({}).startswith("settings.clients.openstack.cloud: ")

    def test_a_cloud_that_the_file_does_not_have_is_answered_with_the_nearest(
        self, api: OpenStackApi, tmp_path: Path
    ) -> None:
        path = str(api.write_clouds(tmp_path))
        assert fault_of({"cloud": "dema", "config_file": path}) == (
            f"settings.clients.openstack.cloud: {path} has no cloud 'dema' (did you mean 'demo'?)"
        )
        assert fault_of({"cloud": "xyz", "config_file": path}).endswith("(it has 'anna', 'demo')")

    def test_a_file_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        said = fault_of({"cloud": "demo", "config_file": str(tmp_path / "none.yaml")})
        assert said == "settings.clients.openstack.config_file: there is no such file"

    def test_a_file_that_is_no_yaml_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "clouds.yaml").write_text("clouds: [")
        said = fault_of({"cloud": "demo", "config_file": str(tmp_path / "clouds.yaml")})
        assert said.startswith(
            "settings.clients.openstack.config_file: the file may not be read, or is no YAML"
        )

    @pytest.mark.parametrize("text", ["7", "clouds: 7", "clouds: {demo: 7}", "clouds: {demo: {auth: 7}}", ""])
    def test_a_file_that_says_something_else_is_refused(self, text: str, tmp_path: Path) -> None:
        (tmp_path / "clouds.yaml").write_text(text)
        assert fault_of({"cloud": "demo", "config_file": str(tmp_path / "clouds.yaml")})

    def test_what_a_login_lacks_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "clouds.yaml").write_text("clouds: {demo: {auth: {username: max, password: s3cret}}}")
        said = fault_of({"cloud": "demo", "config_file": str(tmp_path / "clouds.yaml")})
        assert "auth_url" in said
        assert "s3cret" not in said

    def test_a_region_that_the_cloud_has_not_is_refused(self, api: OpenStackApi, tmp_path: Path) -> None:
        said = fault_of({"cloud": "demo", "config_file": str(api.write_clouds(tmp_path)), "region": "south"})
        assert said.startswith("settings.clients.openstack.region: ")
        assert REGION in said

    def test_wrong_values_are_refused(self, api: OpenStackApi, tmp_path: Path) -> None:
        good = {"cloud": "demo", "config_file": str(api.write_clouds(tmp_path))}
        assert "retries" in fault_of({**good, "retries": -1})
        assert "timeout_seconds" in fault_of({**good, "timeout_seconds": 0})
        assert "clout" in fault_of({**good, "clout": "demo"})

    def test_without_the_library_it_is_said_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] == "openstack"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "openstack", None)
        said = fault_of({"cloud": "demo"})
        assert said.startswith("settings.clients.openstack.cloud: openstacksdk is not installed")
        assert said.endswith("(pip install 'isotherm[openstack]')")

    def test_variables_of_a_shell_change_nothing(
        self, api: OpenStackApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        strange = {
            "OS_CLOUD": "anna",
            "OS_USERNAME": "anna",
            "OS_PASSWORD": "anna",
            "OS_AUTH_URL": "http://x",
        }
        for name, value in strange.items():
            monkeypatch.setenv(name, value)
        (tmp_path / "strange.yaml").write_text(json.dumps({"clouds": {"demo": {"auth": api.auth(ANNA)}}}))
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "strange.yaml"))
        user = client(api, tmp_path)
        assert user.look_up("flavor", "7") == "7"
        assert {each.tenant for each in api.requests if "flavors" in each.path} == {"demo"}

    def test_a_project_may_have_a_cloud_of_its_own(self, api: OpenStackApi, tmp_path: Path) -> None:
        api.have("compute", "os-keypairs", name="hers", of="anna")
        path = str(api.write_clouds(tmp_path))
        clients = clients_of({"cloud": "demo", "config_file": path, "projects": {"shop": {"cloud": "anna"}}})
        assert clients.of("shop").get("openstack").find("keypair", "hers") == "hers"
        with pytest.raises(Exception, match="there is no keypair 'hers'"):
            clients.of("web").get("openstack").find("keypair", "hers")


class TestConnection:
    def test_nothing_is_asked_before_it_is_needed(self, api: OpenStackApi, tmp_path: Path) -> None:
        user = client(api, tmp_path)
        user.scope("keypair")
        assert api.requests == []

    def test_all_clients_of_a_process_log_in_once(self, api: OpenStackApi, tmp_path: Path) -> None:
        clients = clients_of({"cloud": "demo", "config_file": str(api.write_clouds(tmp_path))})
        for project in ("web", "shop"):
            for name in PLUGINS:
                assert clients.of(project).get(name).probe()
            clients.of(project).get("openstack").find("flavor", "7")
        assert api.logins == 1

    def test_many_threads_log_in_once_and_all_are_answered(
        self, api: OpenStackApi, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        for number in range(10):
            api.have("network", "networks", name=f"net{number}", id=str(number))
        api.have("image", "images", name="debian", id="8")
        user = client(api, tmp_path)
        start = threading.Barrier(16)

        def ask(thread: int) -> list[str]:
            start.wait()
            nets = [user.look_up("network", f"net{(thread + number) % 10}") for number in range(10)]
            return [*sorted(nets), user.look_up("image", "debian"), user.look_up("flavor", "small")]

        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(ask, range(16)))
        assert answers == [[*map(str, range(10)), "8", "7"]] * 16
        assert api.logins == 1
        assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == []

    def test_a_child_process_connects_for_itself(self, api: OpenStackApi, tmp_path: Path) -> None:
        user = client(api, tmp_path)
        user.look_up("flavor", "7")
        busy = threading.Event()
        done = threading.Event()

        def hold_the_lock() -> None:
            with user._cloud._lock:
                busy.set()
                done.wait()

        holder = threading.Thread(target=hold_the_lock)
        holder.start()
        busy.wait()
        child = os.fork()
        if child == 0:
            # Nothing of the test run may go on here.
            os._exit(0 if user.look_up("flavor", "small") == "7" else 1)
        done.set()
        holder.join()
        assert os.waitpid(child, 0)[1] == 0
        assert api.logins == 2
        assert user.look_up("flavor", "7") == "7"
        assert api.logins == 2

    def test_it_connects_again_after_it_was_closed(self, api: OpenStackApi, tmp_path: Path) -> None:
        one, other = client(api, tmp_path), client(api, tmp_path)
        one.look_up("flavor", "7")
        one.close()
        one.close()
        assert other.look_up("flavor", "small") == one.look_up("flavor", "small") == "7"

    def test_the_file_cannot_have_answers_remembered(self, api: OpenStackApi, tmp_path: Path) -> None:
        path = api.write_clouds(tmp_path)
        remembering = {"class": "dogpile.cache.memory", "expiration_time": 3600}
        expiration = {"compute.flavor": 3600, "compute.flavors": 3600}
        path.write_text(
            json.dumps({**json.loads(path.read_text()), "cache": {**remembering, "expiration": expiration}})
        )
        user = client_of(Hasty, {"cloud": "demo", "config_file": str(path)})
        user.look_up("flavor", "small")
        api.lose("compute", "flavors", name="small")
        with pytest.raises(Exception, match="there is no flavor 'small'"):
            user.look_up("flavor", "small")


class TestScope:
    def test_it_tells_users_regions_and_clouds_apart(self, api: OpenStackApi, tmp_path: Path) -> None:
        with openstack_api(DEMO) as other:
            (tmp_path / "other").mkdir()
            scopes = [
                client(api, tmp_path).scope("flavor"),
                client(api, tmp_path, "anna").scope("flavor"),
                client(other, tmp_path / "other").scope("flavor"),
                client_of(Hasty, self.with_regions(api, tmp_path, "south")).scope("flavor"),
            ]
        assert len(set(scopes)) == len(scopes)

    def test_it_is_the_same_for_the_same(self, api: OpenStackApi, tmp_path: Path) -> None:
        one = client(api, tmp_path)
        (tmp_path / "copy").mkdir()
        assert one.scope("image") == client(api, tmp_path / "copy", retries=0).scope("image")

    def test_no_secret_is_in_it(self, api: OpenStackApi, tmp_path: Path) -> None:
        path = api.write_clouds(tmp_path)
        path.write_text(path.read_text().replace('"password": "demo"', '"password": "s3cret"'))
        scope = client_of(Hasty, {"cloud": "demo", "config_file": str(path)}).scope("image")
        assert "s3cret" not in repr(scope)
        assert "username=demo" in scope

    def test_of_a_token_the_cloud_tells_whose_it_is(self, api: OpenStackApi, tmp_path: Path) -> None:
        def scope(user: User, name: str) -> tuple[str, ...]:
            source = client(api, tmp_path, user.name)
            source.look_up("flavor", "7")
            token = source._cloud.proxy("compute").session.get_token()
            auth = {
                "auth_url": f"{api.url}/identity/v3",
                "token": token,
                "project_name": user.project,
                "project_domain_id": "default",
            }
            path = tmp_path / name
            path.write_text(
                json.dumps({"clouds": {"it": {"auth_type": "token", "auth": auth, "region_name": REGION}}})
            )
            found = client_of(Hasty, {"cloud": "it", "config_file": str(path)}).scope("keypair")
            assert token not in repr(found)
            return found

        assert f"user={DEMO.id}" in scope(DEMO, "demo.yaml")
        assert scope(DEMO, "again.yaml") != scope(ANNA, "anna.yaml")

    def with_regions(self, api: OpenStackApi, directory: Path, region: str) -> dict[str, Any]:
        path = directory / "regions.yaml"
        cloud = {"auth": api.auth(DEMO), "regions": [REGION, region]}
        path.write_text(json.dumps({"clouds": {"demo": cloud}}))
        return {"cloud": "demo", "config_file": str(path), "region": region}


class TestServices:
    @pytest.mark.parametrize(
        ("kind", "version"),
        [(Nova, "2.104"), (Glance, "2.17"), (Neutron, "2.0"), (Cinder, "3.71"), (Keystone, "3.14")],
    )
    def test_each_tells_the_newest_version_it_speaks(
        self, kind: type[OpenStack], version: str, api: OpenStackApi, tmp_path: Path
    ) -> None:
        service = client_of(kind, {"cloud": "demo", "config_file": str(api.write_clouds(tmp_path))})
        assert service.api_version == version
        assert version in service.probe()
        asked = len(api.requests)
        assert service.api_version == version
        assert len(api.requests) == asked

    def test_a_version_that_the_file_asks_for_is_the_one_spoken(
        self, api: OpenStackApi, tmp_path: Path
    ) -> None:
        path = tmp_path / "clouds.yaml"
        cloud = {"auth": api.auth(DEMO), "region_name": REGION, "compute_default_microversion": "2.60"}
        path.write_text(json.dumps({"clouds": {"demo": cloud}}))
        assert client_of(Nova, {"cloud": "demo", "config_file": str(path)}).api_version == "2.60"

    def test_a_version_that_cannot_be_had_is_an_error_that_passes(
        self, api: OpenStackApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Cinder, "shared_seconds", 0.0)
        service = client_of(
            Cinder, {"cloud": "demo", "config_file": str(api.write_clouds(tmp_path)), "retries": 0}
        )
        api.fail(Fault(status=503), path="/volume*", times=-1)
        with pytest.raises(Exception) as caught:
            _ = service.api_version
        assert service.is_retryable(caught.value)
        api.heal()
        assert service.api_version == "3.71"

    def test_groups_of_properties_are_held_to_the_version(self, api: OpenStackApi, tmp_path: Path) -> None:
        clients = clients_of({"cloud": "demo", "config_file": str(api.write_clouds(tmp_path))}).of("web")

        def faults(versions: str, given: dict[str, str]) -> list[str]:
            limits = {"CLIENT_PLUGIN": "nova", "VERSIONS": [versions], "PROPERTIES": [["tags"]]}
            groups = parse_groups([{"API_VERSIONS": limits}])
            return [error.message for error in group_errors(groups, given, clients)]

        assert faults(">=2.200", {}) == []
        assert api.requests == []
        assert faults(">=2.52", {"tags": "a"}) == []
        (said,) = faults(">=2.200", {"tags": "a"})
        assert "version 2.104" in said

    def test_none_of_them_looks_anything_up(self, api: OpenStackApi, tmp_path: Path) -> None:
        service = client_of(Nova, {"cloud": "demo", "config_file": str(api.write_clouds(tmp_path))})
        with pytest.raises(PluginMistake, match="'nova' looks up no 'flavor'"):
            service.find("flavor", "small")

    def test_a_probe_tells_where_and_as_whom(self, api: OpenStackApi, tmp_path: Path) -> None:
        said = client(api, tmp_path).probe()
        assert said == f"{api.url}/identity/v3 lets in username demo, project_name demo"


class TestGlobalRequestIds:
    def test_all_requests_of_an_operation_have_its_id(self, api: OpenStackApi, tmp_path: Path) -> None:
        user, traversal = client(api, tmp_path), str(uuid.uuid4())
        with about_operation("s", "1", traversal):
            user.look_up("flavor", "7")
        sent = [each.headers.get("x-openstack-request-id") for each in api.requests]
        assert set(sent) == {f"req-{traversal}"}

    def test_a_request_of_none_has_none(self, api: OpenStackApi, tmp_path: Path) -> None:
        client(api, tmp_path).look_up("flavor", "7")
        assert not [each for each in api.requests if "x-openstack-request-id" in each.headers]


class TestRegions:
    def test_the_region_is_the_files_and_those_that_there_are_the_catalogues(
        self, api: OpenStackApi, tmp_path: Path
    ) -> None:
        user = client(api, tmp_path)
        assert (user.region, user.regions()) == (REGION, frozenset({REGION}))
