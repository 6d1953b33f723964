"""Files that go with an instance to another node."""

import os
import socket
from pathlib import Path

import pytest

from workers.agent.hypervisors.hypervisor import HypervisorFault
from workers.agent.hypervisors.transfer import copy_whole


@pytest.fixture
def source(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "page").write_text("here")
    (source / "deep" / "page").chmod(0o640)
    (source / "link").symlink_to("/etc/passwd")
    return source


def test_files_and_links_go_along_and_ends_of_connections_do_not(source: Path, tmp_path: Path) -> None:
    os.mkfifo(source / "deep" / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(source / "socket"))
        target = tmp_path / "handed" / "work"
        target.mkdir(parents=True)
        (target / "of-before").touch()
        copy_whole(source, target)
    assert sorted(path.name for path in target.rglob("*")) == ["deep", "link", "page"]
    assert (target / "deep" / "page").stat().st_mode & 0o777 == 0o640
    assert (target / "link").readlink() == Path("/etc/passwd")
    assert [path.name for path in target.parent.iterdir()] == ["work"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_stay_those_of_their_owners(source: Path, tmp_path: Path) -> None:
    for path in (source, source / "deep", source / "deep" / "page", source / "link"):
        os.lchown(path, 12345, 12346)
    copy_whole(source, tmp_path / "work")
    for path in (tmp_path / "work", *(tmp_path / "work").rglob("*")):
        assert (path.lstat().st_uid, path.lstat().st_gid) == (12345, 12346)


def test_what_cannot_be_read_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(HypervisorFault, match="cannot be copied: No such file"):
        copy_whole(tmp_path / "nothing", tmp_path / "work")
    assert not (tmp_path / "work").exists()
