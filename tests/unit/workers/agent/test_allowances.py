"""What templates may use on a machine that several projects share: nothing but what a list names, by project."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.nodes import ProjectSettings
from orchestrator.nodes.rpc.errors import RpcFailed, RpcRefused
from tests.unit.workers.agent.agents import agent_of, change, settings_of, spec
from tests.unit.workers.agent.sharing import ACME, OTHER, change_as, shared_agent, shared_settings
from tests.unit.workers.agent.test_owners import NOT_PROBED
from workers.agent.allowances import Allowance
from workers.agent.hypervisors.containers.container import OciOptions
from workers.agent.hypervisors.containers.hypervisor import Oci
from workers.agent.hypervisors.hypervisor import InstanceSpec
from workers.agent.hypervisors.qemu.hypervisor import Qemu
from workers.agent.hypervisors.qemu.virtual_machine import QemuOptions

REFERENCE = "docker.io/library/alpine"


def mine(directory: Path) -> Path:
    """Return a directory that belongs to acme."""
    made = directory / "acme"
    made.mkdir()
    return made


def owner_of(requester: Any) -> dict[str, str]:
    return {"uuid": requester.uuid, "stack": requester.stack, "resource": requester.resource}


def put(agent: Any, requester: Any, path: Path | str) -> str:
    arguments = {"owner": owner_of(requester), "path": str(path), "content": b"x", "mode": 0o600, "new": True}
    return str(change_as(agent, requester, "file_put", **arguments))


def start(agent: Any, requester: Any, **given: Any) -> Any:
    return change_as(
        agent, requester, "instance_start", hypervisor="fake", spec=spec(requester.uuid, **given)
    )


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"command": ["/bin/true"]}, "commands"),
        ({"cwd": "/"}, "directories"),
        ({"image": REFERENCE}, "images"),
        ({"image": "/boot/vmlinuz"}, "images"),
        ({"networks": [{"mode": "host"}]}, "networks"),
        ({"user": "daemon"}, "users"),
    ],
)
def test_nothing_is_allowed_that_no_list_names(tmp_path: Path, given: dict[str, Any], name: str) -> None:
    agent = shared_agent(tmp_path)
    with pytest.raises(RpcRefused) as caught:
        start(agent, ACME, **given)
    assert f"agent.projects.acme.{name}" in str(caught.value)
    assert agent.hypervisor("fake").instances() == []


def test_files_and_processes_have_no_directory_by_default(tmp_path: Path) -> None:
    agent = shared_agent(tmp_path, commands=["*"])
    with pytest.raises(
        RpcFailed, match=r"no directory .*node_directories.* agent\.projects\.acme\.directories"
    ):
        put(agent, ACME, "page")
    process = {"uuid": "row-a", "run": "1", "argv": ["sleep", "1"], "cwd": "", "env": {}, "probe": NOT_PROBED}
    with pytest.raises(RpcFailed, match="no directory"):
        change_as(agent, ACME, "process_start", **process)


def test_what_one_project_may_use_no_other_may(tmp_path: Path) -> None:
    directory = mine(tmp_path)
    image = directory / "image"
    image.write_text("")
    allowed = ProjectSettings(
        commands=("/usr/bin/*",),
        directories=(directory,),
        images=(REFERENCE, f"{directory}/*"),
        networks=('{"mode": "web"}',),
        users=("daemon",),
    )
    agent = shared_agent(tmp_path, projects={"acme": allowed})
    cases: tuple[dict[str, Any], ...] = (
        {"command": ["/usr/bin/env"]},
        {"cwd": str(directory)},
        {"image": REFERENCE},
        {"image": str(image)},
        {"networks": [{"mode": "web"}]},
        {"user": "daemon"},
        {"disks": [{"path": str(image)}]},
    )
    for number, given in enumerate(cases):
        with pytest.raises(RpcRefused):
            start(agent, OTHER, **given)
        name = f"box{number}"
        change_as(agent, ACME, "instance_start", hypervisor="fake", spec=spec(name, **given))
    assert put(agent, ACME, "page") == str(directory / "page")
    with pytest.raises(RpcFailed, match="outside the directories"):
        put(agent, OTHER, directory / "page")


def test_project_may_use_what_all_may_and_its_own_comes_first(tmp_path: Path) -> None:
    own = ProjectSettings(commands=("/a",), directories=(tmp_path / "a",), run_as="daemon")
    settings = shared_settings(
        tmp_path, directories=(tmp_path,), commands=("/b",), run_as="nobody", projects={"acme": own}
    )
    acme, other = Allowance.of(settings, "acme"), Allowance.of(settings, "other")
    assert acme.commands == ("/a", "/b")
    assert acme.directories == (tmp_path / "a", tmp_path)
    assert (acme.run_as, other.run_as) == ("daemon", "nobody")
    assert other.commands == ("/b",)


def test_missing_directory_of_a_project_is_named_with_its_setting(tmp_path: Path) -> None:
    own = ProjectSettings(directories=(tmp_path / "unmounted",))
    agent = shared_agent(tmp_path, projects={"acme": own})
    with pytest.raises(RpcFailed, match=r"unmounted does not exist .*agent\.projects\.acme\.directories"):
        put(agent, ACME, "page")


def test_machine_of_ones_own_stays_open(tmp_path: Path) -> None:
    allowance = Allowance.of(settings_of(tmp_path), "acme")
    assert [allowance.commands, allowance.images, allowance.networks, allowance.targets] == [None] * 4
    given: dict[str, Any] = {
        "command": ["/bin/true"],
        "image": REFERENCE,
        "networks": [{"mode": "host"}],
    }
    change(agent_of(tmp_path), "instance_start", hypervisor="fake", spec=spec(**given))


def test_key_of_a_project_is_written_as_the_file_takes_it(tmp_path: Path) -> None:
    settings = shared_settings(tmp_path)
    assert 'agent.projects."a b".images' in Allowance.of(settings, "a b").where("images")
    assert "projects" not in Allowance.of(settings, "").where("images")


@pytest.mark.parametrize(
    "image",
    [
        "/etc/passwd",
        "{0}/../../etc/passwd",
        "{0}/way-out",
        "{0}/none/../../x",
        "x",
        "./x",
        "docker.io/library/../x",
    ],
)
def test_image_is_compared_by_its_name_and_by_where_it_really_is(tmp_path: Path, image: str) -> None:
    images = tmp_path / "images"
    images.mkdir()
    (images / "way-out").symlink_to("/etc/passwd")
    (images / "disk").write_text("")
    agent = shared_agent(tmp_path, images=[f"{images}/*", "docker.io/library/*"])
    for allowed in (str(images / "disk"), REFERENCE):
        start(agent, ACME, image=allowed)
    with pytest.raises(RpcRefused, match=r"agent\.images"):
        start(agent, OTHER, image=image.format(images))


def test_every_reference_is_no_path(tmp_path: Path) -> None:
    agent = shared_agent(tmp_path, images=["*"])
    start(agent, ACME, image=REFERENCE)
    with pytest.raises(RpcRefused, match=r"/etc/passwd.*agent\.images"):
        start(agent, OTHER, image="/etc/passwd")


def test_image_that_a_tenant_could_exchange_is_refused(tmp_path: Path) -> None:
    images = tmp_path / "images"
    images.mkdir()
    (images / "disk").write_text("")
    agent = shared_agent(tmp_path, images=[f"{images}/*"])
    images.chmod(0o777)
    with pytest.raises(RpcRefused, match=f"may write to {images}"):
        start(agent, ACME, image=str(images / "disk"))
    images.chmod(0o755)
    start(agent, ACME, image=str(images / "disk"))


def test_image_that_is_written_to_is_the_projects_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = tmp_path / "images"
    images.mkdir()
    agent = shared_agent(
        tmp_path, images=[f"{images}/*"], projects={"acme": ProjectSettings(directories=(images,))}
    )
    (images / "root").mkdir()
    monkeypatch.setattr(agent.hypervisor("fake"), "writes_image", lambda _spec: True)
    start(agent, ACME, image=str(images / "root"))
    with pytest.raises(RpcRefused, match="outside the directories"):
        start(agent, OTHER, image=str(images / "root"))


def test_disk_that_a_tenant_could_exchange_is_refused(tmp_path: Path) -> None:
    directory = mine(tmp_path)
    (directory / "disk").write_text("")
    agent = shared_agent(tmp_path, directories=(directory,))
    start(agent, ACME, disks=[{"path": str(directory / "disk")}])
    directory.chmod(0o777)
    with pytest.raises(RpcRefused, match=f"may write to {directory}"):
        start(agent, ACME, disks=[{"path": str(directory / "disk")}])


def test_parts_of_an_image_are_images_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = shared_agent(tmp_path, directories=(tmp_path,), images=["/boot/*"])
    monkeypatch.setattr(agent.hypervisor("fake"), "files_of", lambda spec: [spec.options["kernel"]])
    (tmp_path / "kernel").write_text("")
    with pytest.raises(RpcRefused, match=r"agent\.images"):
        start(agent, ACME, options={"kernel": str(tmp_path / "kernel")})


@pytest.mark.parametrize(
    ("kind", "options", "network", "name"),
    [
        (Oci, OciOptions(), {"mode": "host"}, "host"),
        (Oci, OciOptions(), {"mode": "bridge", "name": "web"}, "bridge:web"),
        (Oci, OciOptions(), {"mode": "namespace", "path": "/proc/1/ns/net"}, "namespace:/proc/1/ns/net"),
        (Qemu, QemuOptions(), {"mode": "user"}, "user"),
        (Qemu, QemuOptions(), {"forward": ["tcp::80-:80"]}, "user user:tcp::80-:80"),
        (Qemu, QemuOptions(), {"mode": "tap", "device": "tap0"}, "tap:tap0"),
    ],
)
def test_network_is_compared_with_its_name(
    tmp_path: Path, kind: Any, options: Any, network: dict[str, Any], name: str
) -> None:
    wanted = InstanceSpec(name="web", memory_mib=1, networks=[network])
    assert " ".join(kind(options, tmp_path).networks_of(wanted)) == name


def test_network_that_leaves_its_directory_is_refused(tmp_path: Path) -> None:
    agent = shared_agent(tmp_path, networks=["namespace:/run/netns/*"])
    agent.limits.networks(["namespace:/run/netns/web"])
    with pytest.raises(RpcRefused, match=r"agent\.networks"):
        agent.limits.networks(["namespace:/run/netns/../../proc/1/ns/net"])


def test_container_without_a_network_needs_no_leave(tmp_path: Path) -> None:
    assert Oci(OciOptions(), tmp_path).networks_of(InstanceSpec(name="web", memory_mib=1)) == []


def test_request_that_states_no_project_has_what_all_have(tmp_path: Path) -> None:
    agent = shared_agent(tmp_path, images=["all"], projects={"acme": ProjectSettings(images=("own",))})
    change(agent, "instance_start", hypervisor="fake", spec=spec(image="all"))
    with pytest.raises(RpcRefused, match=r"allowed are all \(setting agent\.images"):
        change(agent, "instance_start", hypervisor="fake", spec=spec(image="own"))
    assert start(agent, ACME, image="own")
