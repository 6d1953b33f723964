"""The repository's top level is fixed, and what is installed from it is the five packages and nothing else."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"isotherm", "orchestrator", "workers", "cache", "hooks"}
TOP_LEVEL = {
    *PACKAGES,
    "tests",
    "docs",
    "examples",
    "pyproject.toml",
    "compose.yaml",
    "Makefile",
    "README.md",
}

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git work tree")


def tracked_files() -> list[Path]:
    output = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(name) for name in output.stdout.split("\0") if name and (ROOT / name).exists()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel built from the tracked files alone, as from a fresh clone."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for path in tracked_files():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, source / path)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index"]
    built = subprocess.run(
        [*command, "--wheel-dir", str(target), str(source)], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = target.glob("isotherm-*.whl")
    return zipfile.ZipFile(path)


def test_top_level_holds_only_what_belongs_there() -> None:
    present = {path.parts[0] for path in tracked_files()}
    strangers = {name for name in present - TOP_LEVEL if not name.startswith(".")}
    assert strangers == set()
    assert present >= TOP_LEVEL


def test_wheel_holds_the_five_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    top_level = {name.partition("/")[0] for name in wheel.namelist()}
    assert {name for name in top_level if not name.endswith(".dist-info")} == PACKAGES


def test_wheel_holds_every_module_and_type_marker(wheel: zipfile.ZipFile) -> None:
    modules = {str(path) for path in tracked_files() if path.parts[0] in PACKAGES and path.suffix == ".py"}
    markers = {f"{package}/py.typed" for package in PACKAGES}
    assert modules | markers <= set(wheel.namelist())
    assert not [name for name in wheel.namelist() if "tests" in Path(name).parts]


def test_wheel_holds_what_the_documentation_is_made_of(wheel: zipfile.ZipFile) -> None:
    parts = {str(path) for path in tracked_files() if "templates" in path.parts and path.parts[0] in PACKAGES}
    assert any(part.endswith(".css") for part in parts)
    assert parts <= set(wheel.namelist())


def test_wheel_holds_all_that_the_dashboard_serves(wheel: zipfile.ZipFile) -> None:
    parts = {str(path) for path in tracked_files() if "static" in path.parts and path.parts[0] in PACKAGES}
    assert any("vendor" in part and part.endswith(".min.js") for part in parts)
    assert parts <= set(wheel.namelist())


def test_wheel_brings_its_licence_and_those_of_libraries(wheel: zipfile.ZipFile) -> None:
    (licence,) = [name for name in wheel.namelist() if name.endswith("/LICENSE")]
    assert b"Apache License" in wheel.read(licence)
    (metadata,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    assert "License-Expression: Apache-2.0 AND MIT AND EPL-2.0" in wheel.read(metadata).decode()
    kept = {path.name for path in tracked_files() if path.name.endswith(".LICENSE.txt")}
    declared = {Path(name).name for name in wheel.namelist() if ".dist-info/licenses/" in name}
    assert kept
    assert kept | {"LICENSE"} == declared


def test_every_entry_point_leads_to_a_module_of_the_wheel(wheel: zipfile.ZipFile) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["scripts"], *project["entry-points"].values()]
    targets = {target.partition(":")[0] for group in groups for target in group.values()}
    modules = {f"{target.replace('.', '/')}.py" for target in targets}
    assert targets
    assert modules <= set(wheel.namelist())


def layers_of(container: str) -> list[list[str]]:
    """Return the rooms of a package from the top down, those of one floor together, as import-linter holds them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [each["layers"] for each in contracts if each.get("containers") == [container]]
    return [[room.strip() for room in layer.split("|")] for layer in layers]


def modules_and_rooms(package: str) -> tuple[set[str], set[str]]:
    """Return the loose modules of a package, and its packages."""
    paths = [path.relative_to(package) for path in tracked_files() if path.is_relative_to(package)]
    loose = {path.stem for path in paths if path.suffix == ".py" and len(path.parts) == 1}
    return loose, {path.parts[0] for path in paths if path.suffix == ".py" and len(path.parts) > 1}


def test_five_modules_stand_loose_in_orchestrator_and_all_others_are_in_rooms() -> None:
    loose, rooms = modules_and_rooms("orchestrator")
    floors = layers_of("orchestrator")
    print(f"loose modules: {len(loose)}; rooms: {len(rooms)}; floors: {len(floors)}")
    assert loose == {"__init__", "errors", "definition", "service", "tasks"}
    assert rooms | loose - {"__init__"} == {room for floor in floors for room in floor}


@pytest.mark.parametrize(
    ("package", "loose"),
    [
        (
            "orchestrator/store",
            {
                "__init__",
                "alchemy",
                "database",
                "direct",
                "horizon",
                "lists",
                "node_locks",
                "on_demand",
                "pooling",
                "private_file",
                "probing",
                "repository",
                "retrying",
                "rows",
                "sqlite_file",
                "stack_events",
                "store",
                "urls",
            },
        ),
        ("workers", {"__init__", "tasks"}),
        ("cache", {"__init__"}),
        ("hooks", {"__init__", "errors", "events", "hook", "lifecycle", "options", "stack"}),
    ],
)
def test_rooms_hold_what_is_not_named_here(package: str, loose: set[str]) -> None:
    assert modules_and_rooms(package)[0] == loose
