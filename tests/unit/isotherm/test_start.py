"""The program says which file stands in the way of its packages, and runs nothing of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from isotherm.start import in_the_way, overwritten

MODULE = (sys.executable, "-m", "isotherm")
PROGRAM = (str(Path(sys.executable).with_name("isotherm")),)
#: What it would do if it were run.
LOUD = "raise SystemExit('it was run')\n"


def run(command: tuple[str, ...], directory: Path, path: str = "") -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": path} if path else dict(os.environ)
    environment.pop("PYTHONSAFEPATH", None)
    words = [*command, "--version"]
    return subprocess.run(words, cwd=directory, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("command", [MODULE, PROGRAM], ids=["module", "program"])
def test_where_nothing_is_in_the_way_it_runs(command: tuple[str, ...], tmp_path: Path) -> None:
    done = run(command, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "isotherm" in done.stdout
    assert in_the_way() == ""


@pytest.mark.parametrize("name", ["orchestrator", "workers", "cache", "hooks"])
def test_a_module_of_the_current_directory_is_named_and_not_run(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text(LOUD)
    done = run(MODULE, tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        f"Error: {tmp_path / name}.py stands in the way of the package {name!r}, which is a part of isotherm: "
    )
    # The program does not look into the current directory.
    assert run(PROGRAM, tmp_path).returncode == 0


def test_a_package_of_another_distribution_is_named(tmp_path: Path) -> None:
    package = tmp_path / "site" / "hooks"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(LOUD)
    done = run(PROGRAM, tmp_path, str(package.parent))
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"Error: {package / '__init__.py'} stands in the way of the package 'hooks'"
    )
    assert len(done.stderr.splitlines()) == 1


def test_what_another_distribution_has_overwritten_is_named(tmp_path: Path) -> None:
    metadata = tmp_path / "isotherm-1.0.dist-info"
    metadata.mkdir()
    lines = []
    for name in ("orchestrator", "workers", "cache", "hooks"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text('"""Ours."""\n')
        lines.append(f"{name}/__init__.py,sha256=abc,12\n")
    (metadata / "RECORD").write_text("".join(lines) + "isotherm-1.0.dist-info/RECORD,,\n")
    assert overwritten(tmp_path) == ""
    (tmp_path / "cache" / "__init__.py").write_text("from cachelib import *\n")
    assert overwritten(tmp_path).startswith(
        f"{tmp_path / 'cache' / '__init__.py'} is not the one that isotherm brought: another package has overwritten it"
    )


def test_the_check_costs_next_to_nothing() -> None:
    code = (
        "import sys; from isotherm.start import in_the_way; assert in_the_way() == ''; "
        "sys.exit(' '.join(sorted({'orchestrator', 'workers', 'cache', 'hooks', 'click'} & set(sys.modules))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == ""
