"""Processes and files of templates on a machine that several projects share: whose they are, what they may become."""

import os
import pwd
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from orchestrator.config.nodes import ProjectSettings
from orchestrator.nodes.rpc.errors import RpcFailed, RpcRefused
from tests.unit.workers.agent.agents import agent_of, ask, change, spec
from tests.unit.workers.agent.sharing import ACME, ask_as, change_as, shared_agent
from tests.unit.workers.agent.test_owners import NOT_PROBED
from tests.waiting import until
from workers.agent.agent import Agent
from workers.agent.commands.supervised import SupervisedProcess
from workers.agent.files.places import acting_for, held, opened

OTHER = next(entry for entry in pwd.getpwall() if entry.pw_uid not in {0, os.geteuid()})
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run processes as another user")
#: What a process sees of itself.
LOOK = "id -u; id -g; id -G; umask; grep -c 'NoNewPrivs:.1$' /proc/self/status; echo $HOME; pwd; touch made"


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that other users can reach."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        Path(directory).chmod(0o755)
        files = Path(directory).resolve() / "files"
        files.mkdir()
        os.chown(files, OTHER.pw_uid, OTHER.pw_gid) if os.geteuid() == 0 else None
        yield files


def process(run: str = "1", **given: Any) -> dict[str, Any]:
    default = {
        "argv": ["sh", "-c", LOOK],
        "cwd": "",
        "env": {},
        "probe": NOT_PROBED,
        "uuid": f"p{uuid4().hex}",
    }
    return {**default, "run": run, **given}


def printed(agent: Agent, wanted: dict[str, Any]) -> list[str]:
    """Run a process to its end; return what it wrote."""
    change_as(agent, ACME, "process_start", **wanted)

    def ended() -> bool:
        status = ask_as(agent, ACME, "process_look", uuid=wanted["uuid"])["status"]
        return status is not None and not status["running"]

    until(ended)
    return str(ask_as(agent, ACME, "process_look", uuid=wanted["uuid"])["printed"]).splitlines()


@as_root
def test_process_of_a_project_runs_as_its_user_and_never_gets_more(tmp_path: Path, place: Path) -> None:
    projects = {"acme": ProjectSettings(run_as=OTHER.pw_name)}
    agent = shared_agent(tmp_path, directories=(place,), commands=["*"], run_as="root", projects=projects)
    seen = printed(agent, process())
    groups = " ".join(map(str, os.getgrouplist(OTHER.pw_name, OTHER.pw_gid)))
    assert seen == [str(OTHER.pw_uid), str(OTHER.pw_gid), groups, "0077", "1", OTHER.pw_dir, str(place)]
    made = (place / "made").stat()
    assert (made.st_uid, made.st_mode & 0o777) == (OTHER.pw_uid, 0o600)


@as_root
def test_root_runs_nothing_unless_the_operator_has_named_a_user(tmp_path: Path, place: Path) -> None:
    agent = shared_agent(tmp_path, directories=(place,), commands=["*"], run_as="")
    calls: dict[str, dict[str, Any]] = {
        "process_start": process(),
        "instance_start": {"hypervisor": "fake", "spec": spec("web", command=["/bin/true"])},
        "file_put": file_at(place / "page"),
    }
    for rpc, given in calls.items():
        with pytest.raises(RpcRefused, match=r"agent is root.*agent\.projects\.acme\.run_as"):
            change_as(agent, ACME, rpc, **given)
    assert not list(place.iterdir())
    # Not by asking for it, either.
    with pytest.raises(RpcRefused, match=r"agent\.users"):
        change_as(agent, ACME, "instance_start", hypervisor="fake", spec=spec("web", user="root"))


@as_root
def test_user_that_the_machine_does_not_know_is_refused_with_its_setting(tmp_path: Path, place: Path) -> None:
    agent = shared_agent(tmp_path, directories=(place,), commands=["*"], run_as="no-such-user")
    with pytest.raises(RpcRefused, match=r"no user 'no-such-user'.*agent\.run_as"):
        change_as(agent, ACME, "process_start", **process())


def file_at(path: Path) -> dict[str, Any]:
    owner = {"uuid": ACME.uuid, "stack": ACME.stack, "resource": ACME.resource}
    return {"owner": owner, "path": str(path), "content": b"x", "mode": 0o640, "new": True}


@as_root
def test_files_and_directories_made_for_a_project_are_its_users(tmp_path: Path, place: Path) -> None:
    agent = shared_agent(tmp_path, directories=(place,), run_as=OTHER.pw_name)
    change_as(agent, ACME, "file_put", **file_at(place / "a" / "b" / "page"))
    change_as(agent, ACME, "file_put", **{**file_at(place / "a" / "b" / "page"), "new": False})
    for path in ("a", "a/b", "a/b/page"):
        assert (place / path).stat().st_uid == OTHER.pw_uid
    assert (place / "a" / "b" / "page").stat().st_mode & 0o777 == 0o640


def filesystem_user() -> int:
    """Return whose rights the kernel checks accesses of the present thread by."""
    status = Path("/proc/thread-self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("Uid:")).split()[4])


@as_root
@pytest.mark.parametrize("theirs", ["page", "sub/page"])
def test_agent_of_root_is_no_way_around_the_modes_of_others_files(
    tmp_path: Path, place: Path, theirs: str
) -> None:
    agent = shared_agent(tmp_path, directories=(place,), run_as=OTHER.pw_name)
    secret = place / theirs
    secret.parent.mkdir(exist_ok=True)
    secret.parent.chmod(0o777 if secret.parent == place else 0o700)
    secret.write_text("secret")
    secret.chmod(0o600)
    owner = file_at(secret)["owner"]
    calls: dict[str, dict[str, Any]] = {
        "file_put": {**file_at(secret.parent / "sub" / "new"), "path": str(secret.parent / "sub" / "new")},
        "file_take_over": {"owner": owner, "path": str(secret), "expected": str(secret)},
    }
    if secret.parent == place:
        # It is no directory of theirs, where files may be made.
        del calls["file_put"]
    for rpc, given in calls.items():
        with pytest.raises(RpcFailed, match="Permission denied"):
            change_as(agent, ACME, rpc, **given)
        assert filesystem_user() == os.geteuid()
    with pytest.raises(RpcFailed, match="Permission denied"):
        ask_as(agent, ACME, "file_look", path=str(secret), most_bytes=9)
    assert secret.read_text() == "secret"
    assert [each for each in secret.parent.iterdir() if each.name not in ("page", "made")] == []


@as_root
def test_rights_of_a_user_are_those_of_one_thread(place: Path) -> None:
    begun, ended = threading.Event(), threading.Event()
    seen: list[int] = []

    def look() -> None:
        begun.wait()
        seen.append(filesystem_user())
        ended.set()

    other = threading.Thread(target=look)
    other.start()
    with acting_for((OTHER.pw_uid, OTHER.pw_gid)), held(place / "page"):
        begun.set()
        ended.wait()
        assert filesystem_user() == OTHER.pw_uid
    other.join()
    assert seen == [os.geteuid()]
    assert filesystem_user() == os.geteuid()
    with pytest.raises(FileNotFoundError), acting_for((OTHER.pw_uid, OTHER.pw_gid)), opened(place / "none"):
        pass
    assert filesystem_user() == os.geteuid()


@as_root
def test_instance_runs_as_the_user_also_when_it_is_started_anew(tmp_path: Path, place: Path) -> None:
    def agent(**given: Any) -> Agent:
        lists = {"commands": ["*"], "run_as": OTHER.pw_name, "hypervisors": {"process": {}}, **given}
        return shared_agent(tmp_path, directories=(place,), **lists)

    name = {"hypervisor": "process", "name": f"box{uuid4().hex}"}
    wanted = spec(name["name"], command=["sleep", "600"], cwd=str(place))
    first = agent()
    try:
        started = change_as(first, ACME, "instance_start", hypervisor="process", spec=wanted)
        assert Path(f"/proc/{started['id']}").stat().st_uid == OTHER.pw_uid
        started = change_as(first, ACME, "instance_reboot", **name)
        assert Path(f"/proc/{started['id']}").stat().st_uid == OTHER.pw_uid
        assert "NoNewPrivs:\t1" in Path(f"/proc/{started['id']}/status").read_text()
        # What was allowed when it was started may not be any more.
        with pytest.raises(RpcRefused, match=r"agent\.commands"):
            change_as(agent(commands=[]), ACME, "instance_reboot", **name)
        assert Path(f"/proc/{started['id']}").exists()
    finally:
        change_as(first, ACME, "instance_remove", **name)


def test_agent_that_is_not_root_gives_its_processes_no_new_privileges(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = shared_agent(tmp_path, directories=(place,), commands=["*"], run_as="")
    monkeypatch.setattr("workers.agent.limits.os.geteuid", lambda: os.getuid() or 1)
    seen = printed(agent, process())
    assert seen[0] == str(os.getuid())
    assert seen[3:5] == ["0077", "1"]


def test_machine_of_ones_own_runs_what_it_did(tmp_path: Path) -> None:
    agent, wanted = agent_of(tmp_path), process()
    before = os.umask(0o022)
    try:
        change(agent, "process_start", **wanted)
    finally:
        os.umask(before)

    def seen() -> list[str]:
        found = ask(agent, "process_look", uuid=wanted["uuid"])
        return [] if found["status"]["running"] else str(found["printed"]).splitlines()

    until(seen)
    assert seen()[0] == str(os.geteuid())
    assert seen()[3:5] == ["0022", "0"]


def test_variables_of_a_template_are_none_of_the_launcher(tmp_path: Path, place: Path) -> None:
    agent = shared_agent(tmp_path, directories=(place,), commands=["*"])
    wanted = process(argv=["true"], env={"LD_PRELOAD": "/no/such/library.so", "GREETING": "hello"})
    # The command's own linker complains, in its own log.
    assert "/no/such/library.so" in " ".join(printed(agent, wanted))
    records = tmp_path / "state"
    [launcher_log] = records.rglob("launcher.log")
    assert "library.so" not in launcher_log.read_text()


def test_program_that_was_compared_is_the_one_that_runs(tmp_path: Path, place: Path) -> None:
    (place / "program").symlink_to("/bin/echo")
    agent = shared_agent(tmp_path, directories=(place,), commands=["/*bin/*"])
    real = agent.limits.command([str(place / "program")], env={}, cwd=place)
    (place / "program").unlink()
    (place / "program").write_text("#!/bin/sh\necho theirs")
    (place / "program").chmod(0o755)
    run = SupervisedProcess(tmp_path, uuid="web")
    run.start("1", argv=[str(place / "program"), "ours"], cwd=place, env={}, now=0.0, program=real)
    until(lambda: (status := run.status()) is not None and not status.running)
    assert run.log.read_text() == "ours\n"
    wanted = process(argv=[str(place / "program")])
    with pytest.raises(RpcRefused, match=r"agent\.commands"):
        change_as(agent, ACME, "process_start", **wanted)


def test_process_does_not_begin_where_a_link_leads(tmp_path: Path, place: Path) -> None:
    (place / "work").symlink_to("/etc")
    run = SupervisedProcess(tmp_path, uuid="web")
    run.start("1", argv=["touch", "here"], cwd=place / "work", env={}, now=0.0, confined=True)
    status = run.status()
    assert status is not None
    assert "leads elsewhere" in status.error


@pytest.mark.parametrize("command", [["sh"], ["/bin/sh", "-c", "true"], ["env", "sh"]])
def test_process_runs_no_program_that_no_list_names(tmp_path: Path, place: Path, command: list[str]) -> None:
    own = ProjectSettings(commands=("/usr/bin/sleep", "/bin/sleep"))
    agent = shared_agent(tmp_path, directories=(place,), projects={"acme": own})
    with pytest.raises(RpcRefused, match=r"agent\.projects\.acme\.commands"):
        change_as(agent, ACME, "process_start", **process(argv=command))
    change_as(agent, ACME, "process_start", **process(argv=["sleep", "0"]))
