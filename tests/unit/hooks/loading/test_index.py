"""The index of entry points has what importlib.metadata would return, whatever is installed meanwhile."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hooks.loading import index
from hooks.loading.index import entry_points

GROUP = "isotherm.tests_of_the_index"


def install(directory: Path, package: str, version: str, *lines: str, group: str = GROUP) -> Path:
    metadata = directory / f"{package}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (metadata / "entry_points.txt").write_text("\n".join((f"[{group}]", *lines, "")))
    return metadata


def later(directory: Path) -> None:
    """Give a directory another time of its last change, however coarse the clock of its file system is."""
    status = directory.stat()
    os.utime(directory, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000_000))


def names(group: str = GROUP) -> list[tuple[str, str, str]]:
    expected = importlib.metadata.entry_points(group=group)
    found = entry_points(group=group)
    assert sorted(found) == sorted(expected)
    for each in found:
        assert each.dist is not None
    return sorted((each.name, each.value, each.dist.version) for each in found if each.dist)


def test_all_groups_of_ours_are_the_same() -> None:
    groups = {each.group for each in importlib.metadata.distribution("isotherm").entry_points}
    ours = {group for group in groups if group.startswith(index.PREFIX)}
    assert len(ours) >= 10
    for group in ours:
        assert names(group)


def test_what_comes_and_goes_meanwhile_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert names() == []
    monkeypatch.syspath_prepend(tmp_path)
    metadata = install(tmp_path, "acme_a", "1", "a = acme:A")
    later(tmp_path)
    assert names() == [("a", "acme:A", "1")]
    install(tmp_path, "acme_b", "1", "b = acme:B")
    later(tmp_path)
    assert [name for name, *_ in names()] == ["a", "b"]
    shutil.rmtree(metadata)
    later(tmp_path)
    assert [name for name, *_ in names()] == ["b"]


def test_of_a_package_that_is_there_twice_the_first_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    install(second, "Acme.Twice", "1", "old = acme:Old", "both = acme:Both")
    install(first, "acme_twice", "2", "new = acme:New", "both = acme:Both")
    monkeypatch.syspath_prepend(second)
    monkeypatch.syspath_prepend(first)
    assert [name for name, *_ in names()] == ["both", "new"]


def test_a_newer_version_without_plugins_hides_the_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    install(second, "acme_gone", "1", "old = acme:Old")
    install(first, "acme_gone", "2", "tool = acme:main", group="console_scripts")
    monkeypatch.syspath_prepend(second)
    monkeypatch.syspath_prepend(first)
    assert names() == []


@pytest.mark.parametrize(
    "header", [f"[ {GROUP} ]", f"  [{GROUP}]", f"; [{GROUP}]", f"[other]\nx = y\n[{GROUP}]"]
)
def test_a_section_is_found_as_the_library_finds_it(
    header: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = install(tmp_path, "acme_odd", "1")
    (metadata / "entry_points.txt").write_text(f"{header}\na = acme:A\n")
    monkeypatch.syspath_prepend(tmp_path)
    names()


def test_other_groups_are_those_of_the_library() -> None:
    assert sorted(entry_points(group="console_scripts")) == sorted(
        importlib.metadata.entry_points(group="console_scripts")
    )


def test_a_package_without_plugins_is_not_parsed() -> None:
    code = (
        "import sys, importlib.metadata as metadata; parsed = []; "
        "original = metadata.EntryPoints._from_text_for; "
        "metadata.EntryPoints._from_text_for = classmethod("
        "lambda _, text, dist: parsed.append(dist.name) or original(text, dist)); "
        "from hooks.loading.index import entry_points; "
        "assert entry_points(group='isotherm.resources'); entry_points(group='isotherm.clients'); "
        "sys.exit(' '.join(parsed))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == "isotherm"
