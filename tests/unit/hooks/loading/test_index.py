"""The index of entry points has what importlib.metadata would return, whatever is installed meanwhile."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path

import pytest

from hooks.loading import index
from hooks.loading.entry import Entry
from hooks.loading.index import entry_points, groups, version_of

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


def shown(entry: Entry | importlib.metadata.EntryPoint) -> tuple[str, ...]:
    return entry.name, entry.value, entry.group, entry.module, entry.attr or ""


def names(group: str = GROUP) -> list[tuple[str, str, str]]:
    expected = importlib.metadata.entry_points(group=group)
    found = entry_points(group=group)
    assert sorted(map(shown, found)) == sorted(map(shown, expected))
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
    expected = importlib.metadata.entry_points(group="console_scripts")
    assert sorted(map(shown, entry_points(group="console_scripts"))) == sorted(map(shown, expected))


@pytest.mark.parametrize("value", ["acme", "acme.a : A.b", "acme:A [extra, other]", "acme [extra]"])
def test_an_entry_point_has_the_parts_that_it_has_in_the_library(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "acme_parts", "1", f"a = {value}")
    monkeypatch.syspath_prepend(tmp_path)
    assert [name for name, *_ in names()] == ["a"]


def test_a_package_in_an_archive_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "tree", "acme_zipped", "3", "a = acme:A")
    monkeypatch.syspath_prepend(shutil.make_archive(str(tmp_path / "acme"), "zip", tmp_path / "tree"))
    assert names() == [("a", "acme:A", "3")]
    assert version_of("acme-zipped") == "3"


def test_a_package_that_another_finder_brings_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = install(tmp_path, "acme_found", "4", "a = acme:A")

    class Finder:
        def find_spec(self, *_: object) -> None:
            return None

        def find_distributions(self, context: DistributionFinder.Context) -> list[Distribution]:
            return [Distribution.at(metadata)] if context.name in (None, "acme_found") else []

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    monkeypatch.setattr(index, "_made", None)
    assert names() == [("a", "acme:A", "4")]
    monkeypatch.setattr(index, "_made", None)


def test_groups_are_those_with_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert GROUP not in groups()
    install(tmp_path, "acme_group", "1", "a = acme:A")
    monkeypatch.syspath_prepend(tmp_path)
    assert GROUP in groups()
    assert all(group.startswith(index.PREFIX) for group in groups())


@pytest.mark.parametrize("package", ["isotherm", "SQLAlchemy", "opentelemetry-api", "typing.extensions"])
def test_versions_are_those_of_the_library(package: str) -> None:
    assert version_of(package) == importlib.metadata.version(package)


def test_a_package_that_is_not_installed_has_no_version() -> None:
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        version_of("acme-nowhere")


def test_what_ships_is_loaded_without_the_parsers_of_the_library() -> None:
    code = (
        "import sys; from hooks.loading.entries import installed_entries, load_named; "
        "from hooks.loading.index import version_of; assert version_of('isotherm'); "
        "assert len(installed_entries('isotherm.resources')) > 50; load_named('isotherm.functions', 'get_param'); "
        "sys.exit(' '.join({'importlib.metadata', 'email', 'zipfile', 'stevedore'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == ""
