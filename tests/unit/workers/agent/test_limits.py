"""What a node's operator allows: whoever may write to its queue can do no more."""

import getpass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.nodes.rpc.errors import RpcRefused
from tests.unit.workers.agent.agents import agent_of, change, settings_of, spec
from workers.agent.hypervisors.hypervisor import InstanceSpec
from workers.agent.limits import Limits


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


def limits(tmp_path: Path, **agent: object) -> Limits:
    return Limits("n1", settings_of(tmp_path, **agent))


def program(path: Path) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_program_is_compared_by_where_it_really_is(tmp_path: Path, files: Path) -> None:
    only_true = limits(tmp_path, commands=[str(files / "good*")])
    good, bad = program(files / "good"), program(files / "bad")
    (files / "good-link").symlink_to(bad)
    (files / "other").symlink_to(good)
    path = {"PATH": str(files)}
    for allowed in (["good"], ["./good"], [str(good), "-x"], ["other"]):
        only_true.command(allowed, env=path, cwd=files)
    for refused in (["bad"], [str(bad)], ["good-link"], ["good-missing"], ["../files/bad"]):
        with pytest.raises(RpcRefused, match="n1"):
            only_true.command(refused, env=path, cwd=files)


def test_refusal_says_what_is_allowed_and_by_which_setting(tmp_path: Path, files: Path) -> None:
    program(tmp_path / "bad")
    with pytest.raises(RpcRefused, match=r"/usr/bin/\* \(setting agent.commands\)"):
        limits(tmp_path, commands=["/usr/bin/*"]).command([str(tmp_path / "bad")], env={}, cwd=files)


def test_nobody_else_is_run_as_unless_it_is_allowed(tmp_path: Path) -> None:
    limits(tmp_path).user("")
    limits(tmp_path).user(getpass.getuser())
    limits(tmp_path, users=["nobody"]).user("nobody")
    with pytest.raises(RpcRefused, match=r"agent\.users"):
        limits(tmp_path).user("daemon")


def test_paths_stay_in_the_allowed_directories_wherever_links_lead(tmp_path: Path, files: Path) -> None:
    within = limits(tmp_path)
    (files / "disk").write_text("")
    (files / "way-out").symlink_to("/etc/passwd")
    (files / "way-up").symlink_to("/etc")
    within.path(str(files / "disk"))
    within.path(str(files))
    for path in (
        "/etc/passwd",
        "disk",
        str(files / "way-out"),
        str(files / "way-up"),
        str(files / ".." / "boot_id"),
    ):
        with pytest.raises(RpcRefused):
            within.path(path)


@pytest.mark.parametrize(
    "given",
    [
        {"command": ["/bin/echo"]},
        {"user": "daemon"},
        {"cwd": "/etc"},
        {"image": "/etc/passwd"},
        {"disks": [{"path": "/etc/passwd"}]},
    ],
    ids=lambda given: next(iter(given)),
)
def test_instance_that_reaches_out_is_refused_before_anything_is_made(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    agent = agent_of(tmp_path, commands=["/nothing/*"])
    with pytest.raises(RpcRefused):
        change(agent, "instance_start", hypervisor="fake", spec=spec(**given))
    assert agent.hypervisor("fake").instances() == []
    assert agent.reservations.total().memory_mib == 0


def test_program_whose_place_nobody_knows_is_refused(tmp_path: Path, files: Path) -> None:
    only_true = limits(tmp_path, commands=[str(files / "good")])
    program(files / "good")
    only_true.command(["good"], env={"PATH": str(files)}, cwd=None)
    for given, path in ((["./good"], str(files)), (["good"], f"bin:{files}"), (["good"], f":{files}")):
        with pytest.raises(RpcRefused, match="whole path"):
            only_true.command(given, env={"PATH": path}, cwd=None)


def test_path_is_searched_from_where_it_runs(tmp_path: Path, files: Path) -> None:
    only_true = limits(tmp_path, commands=[str(files / "good")])
    program(files / "good")
    (files / "bin").mkdir()
    program(files / "bin" / "good")
    with pytest.raises(RpcRefused, match="bin/good may not be run"):
        only_true.command(["good"], env={"PATH": f"bin:{files}"}, cwd=files)


def test_linker_is_not_told_to_run_something_else(tmp_path: Path, files: Path) -> None:
    program(files / "good")
    only_good = limits(tmp_path, commands=[str(files / "good")])
    with pytest.raises(RpcRefused, match="LD_PRELOAD"):
        only_good.command([str(files / "good")], env={"LD_PRELOAD": "x.so"}, cwd=files)


def test_image_of_a_walled_instance_stays_in_the_allowed_directories(
    tmp_path: Path, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (files / "image").write_text("")
    within = limits(tmp_path)
    within.instance(InstanceSpec(name="vm", memory_mib=1, image=str(files / "image")), walled=True)
    within.instance(InstanceSpec(name="vm", memory_mib=1, image="docker.io/library/alpine"), walled=True)
    monkeypatch.chdir("/etc")
    for image, said in (("/etc/passwd", "outside"), ("passwd", "outside"), ("./image", "whole path")):
        with pytest.raises(RpcRefused, match=said):
            within.instance(InstanceSpec(name="vm", memory_mib=1, image=image), walled=True)


def test_directory_is_handed_on_as_it_really_is(tmp_path: Path, files: Path) -> None:
    (files / "real").mkdir()
    (files / "link").symlink_to(files / "real")
    wanted = InstanceSpec(name="web", memory_mib=1, cwd="link")
    assert limits(tmp_path).instance(wanted, walled=False).cwd == str(files / "real")


def test_files_in_the_options_are_held_to_the_directories_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = agent_of(tmp_path)
    fake = agent.hypervisor("fake")
    monkeypatch.setattr(fake, "files_of", lambda spec: [spec.options["kernel"]])
    with pytest.raises(RpcRefused, match="/etc/passwd"):
        change(agent, "instance_start", hypervisor="fake", spec=spec(options={"kernel": "/etc/passwd"}))
    assert fake.instances() == []


def test_walled_instance_runs_what_its_image_has(tmp_path: Path) -> None:
    wanted = InstanceSpec(name="web", memory_mib=1, command=["/bin/init"], cwd="/srv", user="www")
    limits(tmp_path, commands=["/nothing/*"]).instance(wanted, walled=True)


def test_volume_of_the_node_may_be_a_disk_wherever_it_is(tmp_path: Path) -> None:
    agent = agent_of(tmp_path)
    volume = change(agent, "storage_create", storage="default", name="data", size_mib=1)
    assert not Path(volume["path"]).is_relative_to(tmp_path / "files")
    started = change(agent, "instance_start", hypervisor="fake", spec=spec(disks=[{"path": volume["path"]}]))
    assert started["state"] == "running"


@pytest.mark.parametrize("form", ["vmdk", "qcow2"])
def test_disk_refers_to_no_files_elsewhere(tmp_path: Path, files: Path, form: str) -> None:
    agent = agent_of(tmp_path)
    volume = change(agent, "storage_create", storage="default", name="data", size_mib=1)["path"]
    (files / "disk").write_text('RW 2048 FLAT "/etc/shadow" 0')
    for path in (volume, str(files / "disk")):
        with pytest.raises(RpcRefused, match=f"{path} as '{form}'"):
            change(
                agent, "instance_start", hypervisor="fake", spec=spec(disks=[{"path": path, "format": form}])
            )
    assert agent.hypervisor("fake").instances() == []
