"""The product declares every package that it imports, with a lower bound that an installation of it meets."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

ROOT = Path(__file__).parents[2]
ROOMS = ("isotherm", "orchestrator", "workers", "cache", "hooks")
#: Packages by their modules, where they may be missing in an environment.
MAY_BE_MISSING = {"libvirt": "libvirt-python", "re2": "google-re2"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {
    name: found for name, found in PROJECT["optional-dependencies"].items() if name not in ("dev", "mutants")
}
DECLARED = {
    canonicalize_name(requirement.name): requirement
    for requirement in map(
        Requirement, [*PROJECT["dependencies"], *(each for found in EXTRAS.values() for each in found)]
    )
}


def imported_by(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]


IMPORTED = {name for room in ROOMS for file in (ROOT / room).rglob("*.py") for name in imported_by(file)} - {
    *sys.stdlib_module_names,
    *ROOMS,
}


@pytest.mark.parametrize("module", sorted(IMPORTED))
def test_an_imported_package_is_declared(module: str) -> None:
    packages = packages_distributions().get(module) or [MAY_BE_MISSING[module]]
    assert {canonicalize_name(package) for package in packages} & DECLARED.keys()


@pytest.mark.parametrize("package", sorted(DECLARED))
def test_a_declared_package_has_a_lower_bound_that_is_tested(package: NormalizedName) -> None:
    bounds = DECLARED[package].specifier
    assert any(bound.operator == ">=" for bound in bounds)
    if package not in MAY_BE_MISSING.values():
        assert bounds.contains(version(package))
