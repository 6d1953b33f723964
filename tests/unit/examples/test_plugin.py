"""The example ``examples/plugin`` is a package like any other: installed by pip, found, and called all the way."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.docs.pages import ROOT, Session, blocks

EXAMPLE = ROOT / "examples" / "plugin"


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, where building a package leaves nothing in the repository."""
    directory = tmp_path_factory.mktemp("racks")
    shutil.copytree(ROOT / "examples", directory / "examples")
    return directory


@pytest.fixture(scope="module")
def site(copied: Path) -> Path:
    """A directory into which pip installed the package."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    site = copied / "site"
    done = subprocess.run(
        [*command, "--target", str(site), str(copied / "examples" / "plugin")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return site


def test_the_page_shows_what_comes_out(copied: Path, site: Path) -> None:
    session = Session(copied)
    for block in blocks(EXAMPLE / "README.md"):
        # It is installed already.
        if block.text.startswith("pip install"):
            session.environment["PYTHONPATH"] = os.pathsep.join([str(site), *sys.path])
            session.environment["ISOTHERM_CONFIG"] = "examples/plugin/settings.toml"
        elif "embedded" in block.marks:
            session.type_in(block)


def test_the_packages_own_tests_pass(site: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    done = subprocess.run(
        [*command, "-c", os.devnull, "--rootdir", str(EXAMPLE), str(EXAMPLE / "tests")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
