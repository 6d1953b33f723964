"""What the product writes on a machine is for its own user alone: all that an embedded installation leaves behind."""

import ast
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from structlog.testing import capture_logs

from orchestrator.config.settings import Settings
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from orchestrator.store.database import Database
from orchestrator.store.probing import ping

ROOT = Path(__file__).parents[2]
TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  page: {type: Isotherm::Node::File, properties: {path: deep/page, content: text, mode: "0644"}}
  command: {type: Isotherm::Node::Process, properties: {command: [sleep, "1000"]}}
  data: {type: Isotherm::Node::Volume, properties: {size: 1}}
  box:
    type: Isotherm::Node::Instance
    properties: {hypervisor: process, command: [sleep, "1000"], memory: 16, disks: [{size: 1}]}
"""


@pytest.fixture
def _wide_open() -> Iterator[None]:
    """Let everything be made for all users that is not made otherwise on purpose."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def too_wide(directory: Path) -> dict[str, str]:
    """Return the mode of all paths below a directory, and its own, that others may use."""
    found = {each: mode(each) for each in (directory, *directory.rglob("*"))}
    return {str(each.relative_to(directory)): f"{bits:04o}" for each, bits in found.items() if bits & 0o077}


@pytest.mark.usefixtures("_wide_open")
def test_all_that_a_stack_leaves_on_a_machine_is_private_from_the_first_instant(tmp_path: Path) -> None:
    state, log = tmp_path / "made/state", tmp_path / "events"
    settings = Settings(
        state_directory=state,
        cache_backend="file",
        cache_url=str(tmp_path / "cache"),
        event_sinks={"log": {"enabled": True, "file": str(log)}},
    )
    narrowed: list[str] = []
    with (
        patch.object(Path, "chmod", autospec=True, side_effect=lambda path, *_: narrowed.append(str(path))),
        Service.open(settings) as service,
    ):
        made = service.create(StackJob(name="web", template=TEMPLATE))
        last = list(service.watch(made.id))[-1]
        assert last.stack.status == "COMPLETE", last.stack.reason
        # While it runs, with what SQLite keeps beside its file.
        assert {each.name for each in state.glob("isotherm.db*")} >= {"isotherm.db", "isotherm.db-wal"}
        # The files of users have the modes that they ask for, and the directory above keeps others out.
        users = {"files/deep", "files/deep/page"}
        assert set(too_wide(tmp_path / "made")) == {f"state/{each}" for each in users}
        gone = service.delete("web")
        assert gone is not None
        assert list(service.watch(gone.id))[-1].stack.status == "COMPLETE"
    assert mode(log) == 0o600
    assert too_wide(tmp_path / "made") == {}
    assert narrowed == []


@pytest.mark.usefixtures("_wide_open")
def test_an_older_wider_state_directory_is_narrowed_with_a_warning_for_each_path(tmp_path: Path) -> None:
    state = tmp_path / "state"
    settings = Settings(state_directory=state)
    Service.open(settings).close()
    (state / "nodes").mkdir(exist_ok=True)
    widened = {state: 0o755, state / "nodes": 0o755, state / "isotherm.db": 0o644}
    for path, wide in widened.items():
        path.chmod(wide)
    with capture_logs() as lines:
        Service.open(settings).close()
        Service.open(settings).close()
    warned = {line["path"]: (line["mode"], line["narrowed"]) for line in lines if "narrowed" in line}
    assert len(warned) == len([line for line in lines if "narrowed" in line])
    assert warned == {str(path): (f"{wide:04o}", f"{wide & 0o700:04o}") for path, wide in widened.items()}
    assert too_wide(state) == {}


@pytest.mark.usefixtures("_wide_open")
@pytest.mark.parametrize(
    "url", ["sqlite:///{}", "sqlite:///file:{}?uri=true", "sqlite:///file:{}?mode=rwc&uri=true"]
)
def test_a_database_file_anywhere_is_private_and_its_directory_is_left_alone(
    tmp_path: Path, url: str
) -> None:
    directory = tmp_path / "shared"
    directory.mkdir(0o755)
    file = directory / "isotherm.db"
    database = Database(url.format(file))
    with database.write() as connection:
        connection.exec_driver_sql("CREATE TABLE t (x)")
        assert {each.name: mode(each) for each in directory.iterdir()} == {
            each.name: 0o600 for each in directory.iterdir()
        }
    database.dispose()
    assert mode(directory) == 0o755


@pytest.mark.usefixtures("_wide_open")
def test_what_lies_beside_an_older_database_is_narrowed_too(tmp_path: Path) -> None:
    file = tmp_path / "isotherm.db"
    before = sqlite3.connect(file)
    before.execute("PRAGMA journal_mode = WAL")
    before.execute("CREATE TABLE t (x)")
    before.commit()
    beside = [tmp_path / f"isotherm.db{suffix}" for suffix in ("", "-wal", "-shm")]
    assert [mode(each) for each in beside] == [0o644] * 3
    ping(f"sqlite:///{file}")
    assert [mode(each) for each in beside] == [0o600] * 3
    before.close()


def test_a_further_connection_releases_no_lock_of_the_first(tmp_path: Path) -> None:
    """As closing any other descriptor of the file would: its locks belong to the process."""
    file = tmp_path / "isotherm.db"
    first, second = (Database(f"sqlite:///{file}") for _ in range(2))
    with first.write() as connection:
        connection.exec_driver_sql("CREATE TABLE t (x)")
        with second.read() as other:
            other.exec_driver_sql("SELECT 1")
        second.dispose()
        assert f":{file.stat().st_ino} " in Path("/proc/locks").read_text()
    first.dispose()


#: What may make files and directories with other means, and why.
ALLOWED = {
    "cache/stores/private_files.py": "makes the private ones",
    "hooks/builtin/sinks/log.py": "opens with 0600: hooks import nothing of cache",
    "orchestrator/documentation/directory.py": "a site to be published",
    "orchestrator/store/private_file.py": "makes the file of SQLite with 0600",
    "workers/agent/commands/launcher.py": "joins a control group",
    "workers/agent/files/directories.py": "directories on the way to a user's file",
    "workers/agent/files/owned_file.py": "a user's file: made with 0600, before it gets the mode that it is to have",
    "workers/agent/hypervisors/acceleration.py": "in a temporary directory",
    "workers/agent/hypervisors/containers/runc.py": "in a temporary directory",
    "workers/agent/hypervisors/control_groups.py": "the kernel's file system",
    "workers/agent/hypervisors/process/hypervisor.py": "one directory with 0700",
    "workers/agent/rpcs/moving.py": "one directory with 0700",
    "workers/agent/storage/file.py": "volumes: made with 0600 and 0700, without a parent",
}


def makes_files(node: ast.AST) -> bool:
    """Return whether an expression may make a file or a directory that is not private."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open"
    words = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
    return (
        node.func.attr in {"mkdir", "makedirs", "touch", "write_text", "write_bytes", "FileHandler"}
        or (
            node.func.attr == "open"
            and bool({"w", "wb", "a", "ab", "x", "xb"} & {str(each) for each in words})
        )
        or any(isinstance(each, ast.Attribute) and each.attr == "O_CREAT" for each in ast.walk(node))
    )


def test_files_are_made_private_by_one_helper_or_for_a_reason() -> None:
    makers = set()
    for package in ("cache", "hooks", "isotherm", "orchestrator", "workers"):
        for file in (ROOT / package).rglob("*.py"):
            if any(makes_files(each) for each in ast.walk(ast.parse(file.read_text()))):
                makers.add(str(file.relative_to(ROOT)))
    assert makers == set(ALLOWED)
