"""The libraries that the pages need are what they were when they were taken, and nothing is fetched from elsewhere."""

import hashlib
import re
from pathlib import Path

import pytest

from orchestrator.dashboard.modules import STATIC

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


#: The module that imports each library, what its licence says, and whose text names its version.
LIBRARIES = {
    "cytoscape": ("cytoscape.js", "Permission is hereby granted", 'version="{}"'),
    "codemirror": ("codemirror.js", "Permission is hereby granted", "/*! codemirror {}: "),
    "elkjs": ("elk.js", "Eclipse Public License - v 2.0", None),
}


def test_each_library_comes_with_its_licence_and_says_its_version() -> None:
    found = {re.match(r"(\w+)-\d+\.\d+\.\d+\.", name) for name in SUMS}
    assert {each[1] for each in found if each} == set(LIBRARIES)
    for library, (_, words, version_text) in LIBRARIES.items():
        files = [name for name in SUMS if name.startswith(f"{library}-")]
        versions = {re.sub(rf"{library}-(\d+\.\d+\.\d+)\..*", r"\1", name) for name in files}
        (version,) = versions
        assert words in (VENDOR / f"{library}-{version}.LICENSE.txt").read_text()
        if version_text:
            assert version_text.format(version) in (VENDOR / f"{library}-{version}.min.js").read_text()


def test_scripts_import_each_library_from_one_place_and_it_is_there() -> None:
    importing = {path.name: re.findall(r'"\.\./vendor/([^"]+)"', path.read_text()) for path in OURS}
    wanted = {
        module: {name for name in SUMS if name.startswith(f"{library}-") and name.endswith(".js")}
        for library, (module, _, _) in LIBRARIES.items()
    }
    assert {name: set(files) for name, files in importing.items() if files} == wanted


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_nothing_of_ours_names_another_host(path: Path) -> None:
    addresses = re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}", path.read_text())
    assert {address for address in addresses if not address.endswith("//www.w3.org")} == set()
