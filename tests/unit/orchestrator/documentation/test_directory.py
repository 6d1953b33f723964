"""A build takes away what an earlier build has left, and nothing else."""

from pathlib import Path

import pytest

from orchestrator.documentation.directory import RECORD, write_site
from orchestrator.errors import InvalidInput


def files(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def test_a_site_is_written_into_a_directory_that_is_made(tmp_path: Path) -> None:
    write_site(tmp_path / "a" / "b", {"index.html": "x", "types/y.html": "ü"})
    assert (tmp_path / "a" / "b" / "types" / "y.html").read_text(encoding="utf-8") == "ü"


def test_pages_of_what_is_not_there_any_more_go(tmp_path: Path) -> None:
    write_site(tmp_path, {"index.html": "x", "types/y.html": "y"})
    (tmp_path / "CNAME").write_text("docs.example.org")
    write_site(tmp_path, {"index.html": "z"})
    assert files(tmp_path) == {"index.html", "CNAME", RECORD}
    assert (tmp_path / "index.html").read_text() == "z"


def test_a_directory_of_something_else_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(InvalidInput, match="is not empty, and no documentation was written into it"):
        write_site(tmp_path, {"index.html": "x"})
    assert (tmp_path / "index.html").read_text() == "mine"


def test_nothing_outside_the_directory_is_deleted(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    site = tmp_path / "site"
    write_site(site, {"index.html": "x"})
    (site / RECORD).write_text(f"../precious\n{tmp_path / 'precious'}\nsub/../../precious\n\n")
    write_site(site, {"index.html": "x"})
    assert (tmp_path / "precious").exists()


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match=r"file.*: cannot be written: "):
        write_site(tmp_path / "file" / "site", {"index.html": "x"})
