"""The library that the pages need is what it was when it was taken, and nothing is fetched from anywhere else."""

import hashlib
import re
from pathlib import Path

import pytest

from orchestrator.dashboard.routes import STATIC

VENDOR = STATIC / "vendor"
SUMS = {name: digest for digest, name in map(str.split, (VENDOR / "SHA256SUMS").read_text().splitlines())}
OURS = sorted(
    path for path in STATIC.rglob("*") if path.suffix in {".js", ".css"} and VENDOR not in path.parents
)


def test_every_vendored_file_has_the_sum_that_was_written_down() -> None:
    present = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.iterdir()
        if path.name != "SHA256SUMS"
    }
    assert present == SUMS


def test_library_comes_with_its_licence_and_says_its_version() -> None:
    (library,) = [name for name in SUMS if name.endswith(".min.js")]
    version = re.fullmatch(r"cytoscape-(\d+\.\d+\.\d+)\.min\.js", library)
    assert version
    assert f'version="{version[1]}"' in (VENDOR / library).read_text()
    assert "Permission is hereby granted" in (VENDOR / f"cytoscape-{version[1]}.LICENSE.txt").read_text()


def test_scripts_import_the_library_from_one_place_and_it_is_there() -> None:
    importing = {path.name: re.findall(r'"\.\./vendor/([^"]+)"', path.read_text()) for path in OURS}
    assert {name: files for name, files in importing.items() if files} == {
        "cytoscape.js": [next(name for name in SUMS if name.endswith(".min.js"))]
    }


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_nothing_of_ours_names_another_host(path: Path) -> None:
    addresses = re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}", path.read_text())
    assert {address for address in addresses if not address.endswith("//www.w3.org")} == set()
