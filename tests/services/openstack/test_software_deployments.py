"""Servers that poll their metadata, and templates of other people with deployments to them, on a real cloud."""

import base64
import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import closing
from email import message_from_string
from pathlib import Path
from shutil import copy
from typing import Any

import pytest

from isotherm.testing.engine import Engine
from orchestrator.model.collectors import Collector
from tests.services.openstack.cloud import ADMIN, USER, connected, own_file
from tests.services.openstack.stacks import FLAVOR, IMAGE, INSIDE, KEY, Stacks, furnished
from tests.services.openstack.test_corpus import CORPUS
from tests.waiting import until

URL = "https://heat.example.com:8004/v1"
pytestmark = [pytest.mark.devcloud, pytest.mark.slow]


@pytest.fixture(scope="module", autouse=True)
def _furnished() -> Iterator[None]:
    with furnished():
        yield


class TestServer:
    @pytest.fixture(autouse=True)
    def _set_up(self) -> Iterator[None]:
        self.name = f"polls-{secrets.token_hex(4)}"
        clients = {"openstack": {"cloud": USER, "config_file": own_file()}}
        with closing(Engine(settings={"clients": clients, "api_url": URL}, poll_seconds=0.3)) as self.engine:
            try:
                yield
            finally:
                assert self.engine.delete(self.name) is None

    def template(self, **properties: Any) -> str:
        given = {"image": IMAGE, "flavor": FLAVOR, "networks": [{"network": INSIDE}]}
        given |= {"user_data_format": "SOFTWARE_CONFIG", **properties}
        server = {"type": "OS::Nova::Server", "properties": given, "metadata": {"role": "web"}}
        return json.dumps({"heat_template_version": "2021-04-16", "resources": {"it": server}})

    def metadata(self) -> dict[str, Any]:
        """Return what the user data of the server have for os-collect-config, as the service keeps them."""
        admin: Any = connected(ADMIN)
        server_id = self.engine.resource(self.name, "it").physical_id
        shown = admin.compute.get(f"/servers/{server_id}", microversion="2.26").json()["server"]
        message = message_from_string(base64.b64decode(shown["OS-EXT-SRV-ATTR:user_data"]).decode())
        (part,) = (each for each in message.walk() if each.get_filename() == "cfn-init-data")
        payload = part.get_payload(decode=True)
        assert isinstance(payload, bytes)
        found: dict[str, Any] = json.loads(payload)
        return found

    def test_user_data_have_what_its_collector_needs_and_an_update_leaves_them(self) -> None:
        made = self.engine.create(self.name, self.template())
        assert made is not None
        assert made.state == "CREATE_COMPLETE", made.reason
        found, row = self.metadata(), self.engine.resource(self.name, "it")
        names: Mapping[str, str] = {"project": "default", "stack": self.name, "stack_id": made.id}
        collector = Collector.of(URL, row.data, resource="it", **names)
        assert collector is not None
        assert found == {"role": "web", "os-collect-config": collector.options}
        assert found["os-collect-config"]["collectors"] == ["ec2", "cfn", "local"]
        changed = self.engine.update(self.name, self.template(software_config_transport="POLL_SERVER_HEAT"))
        assert changed is not None
        assert changed.state == "UPDATE_COMPLETE", changed.reason
        again = self.engine.resource(self.name, "it")
        assert (again.physical_id, again.data["signal_key"]) == (row.physical_id, row.data["signal_key"])


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of templates is not beside the repository")
def test_template_of_others_runs_unchanged(tmp_path: Path) -> None:
    name = "example-software-deploymentgroup-template.yaml"
    scripts = tmp_path / "config-scripts"
    scripts.mkdir()
    (scripts / "example-ansible-template.ansible").write_text("- hosts: localhost\n")
    copy(CORPUS / "software-config" / "example-templates" / name, tmp_path / name)
    stacks = Stacks(tmp_path)
    values = {"key_name": KEY, "flavor": FLAVOR, "network": INSIDE}
    values |= dict.fromkeys(("ubuntu_image", "fedora_image"), IMAGE)
    words = [word for key, value in values.items() for word in ("-P", f"{key}={value}")]
    stacks.create("deployed", tmp_path / name, *words)
    servers = {
        each["physical_id"] for each in stacks.resources("deployed") if each["type"] == "OS::Nova::Server"
    }
    for server in servers:
        assert json.loads(stacks.run("software", "deployment", "metadata", server, "-f", "json"))
    assert servers <= stacks.things()["servers"]
    stacks.delete("deployed")
    # Others may have made servers meanwhile, and the service's list is a little behind.
    until(lambda: not servers & stacks.things()["servers"])
