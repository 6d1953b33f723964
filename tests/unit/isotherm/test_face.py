"""The package ``isotherm`` costs nothing to import, and is all that pages and examples import."""

import ast
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import assert_type

import pytest

import isotherm
from tests.unit.docs.pages import PAGES, ROOT, blocks

MODULES = sorted(
    {
        *(path.stem for path in (ROOT / "isotherm").glob("*.py") if not path.stem.startswith("_")),
        "testing",
    }
    - {"start"}
)
OWN = ("orchestrator", "workers", "cache", "hooks")
#: What a bare interpreter may need besides, to know types: all of it is small.
SMALL = {"typing", "collections", "copyreg", "functools", "operator", "re", "reprlib", "types", "warnings"}


def modules_after(code: str) -> set[str]:
    """Return the modules that a bare interpreter has after some code, and did not have before."""
    program = f"import sys; before = set(sys.modules)\n{code}\nimport json; print(json.dumps([*sys.modules]))"
    known = subprocess.run(
        [sys.executable, "-c", "import sys, json; print(json.dumps([*sys.modules]))"],
        capture_output=True,
        text=True,
        check=True,
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout)) - set(json.loads(known.stdout))


def test_the_package_imports_itself_and_next_to_nothing_else() -> None:
    found = modules_after("import isotherm")
    assert "isotherm" in found
    strangers = {name for name in found if name.partition(".")[0].lstrip("_") not in {"isotherm", *SMALL}}
    assert strangers == set()
    assert len(found) <= 20, sorted(found)


def test_what_is_asked_for_is_imported_then_and_no_more() -> None:
    found = modules_after("import isotherm; isotherm.hooks.verify_signature")
    assert "isotherm.hooks" in found
    assert not {
        name for name in found if name.startswith(("isotherm.conn", "orchestrator", "workers", "sqlalchemy"))
    }


def test_type_checkers_see_what_is_imported_late() -> None:
    assert_type(isotherm.resources.Wait(1.0).seconds, float)
    assert_type(isotherm.hooks.verify_signature(["s"], b"", isotherm.hooks.sign(["s"], b"", 5), now=5.0), int)
    assert isotherm.connect is import_module("isotherm.connection").connect


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'isotherm' has no attribute 'ressources'"):
        getattr(isotherm, "ressources")  # noqa: B009  # a type checker would see it
    assert set(isotherm.__all__) <= set(dir(isotherm))


@pytest.mark.parametrize("name", MODULES)
def test_a_module_says_of_every_name_what_it_is_for(name: str) -> None:
    module = import_module(f"isotherm.{name}")
    told = re.findall(r"``(\w+)``", module.__doc__ or "")
    assert list(module.__all__) == sorted(module.__all__, key=natural)
    assert set(module.__all__) - set(told) == set()
    for each in module.__all__:
        found = getattr(module, each)
        assert inspect.getdoc(found) or not callable(found), each


def natural(name: str) -> tuple[int, str]:
    """Order as ruff does: constants, classes, functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_a_name_is_the_same_in_every_module() -> None:
    places: dict[str, set[int]] = {}
    for name in MODULES:
        module = import_module(f"isotherm.{name}")
        for each in module.__all__:
            places.setdefault(each, set()).add(id(getattr(module, each)))
    assert [name for name, found in places.items() if len(found) > 1] == []


def test_the_page_lists_every_module() -> None:
    page = (ROOT / "docs" / "public-api.md").read_text()
    listed = re.findall(r"^\| `isotherm\.(\w+)` \|", page, flags=re.MULTILINE)
    assert sorted(listed) == MODULES


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def python_of(text: str) -> str:
    """Return the code of a block, which may be a dialogue."""
    if not re.match(r">>> ", text):
        return text
    return "\n".join(line[4:] for line in text.splitlines() if line.startswith((">>> ", "... ")))


def shown_code() -> Iterator[tuple[str, str]]:
    for page in (*PAGES, *sorted((ROOT / "examples").rglob("*.md"))):
        for block in blocks(page):
            if block.language in ("python", "pycon", "py"):
                yield block.place, python_of(block.text)
    for path in sorted((ROOT / "examples").rglob("*.py")):
        yield str(path.relative_to(ROOT)), path.read_text()


def test_pages_and_examples_import_nothing_else_of_isotherm() -> None:
    found = {place: set(imported(ast.parse(code))) for place, code in shown_code()}
    ours = {
        place: {name for name in names if name.partition(".")[0] in ("isotherm", *OWN)}
        for place, names in found.items()
    }
    assert sum(bool(names) for names in ours.values()) >= 12
    wrong = {
        place: outside
        for place, names in ours.items()
        if (outside := {name for name in names if not is_promised(name)})
    }
    assert wrong == {}


def is_promised(name: str) -> bool:
    first, _, rest = name.partition(".")
    return first == "isotherm" and (not rest or rest.partition(".")[0] in MODULES)


def test_pages_and_examples_name_what_is_there() -> None:
    for place, code in shown_code():
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "isotherm":
                module: ModuleType = import_module(node.module or "")
                assert {alias.name for alias in node.names} <= set(module.__all__), place


#: Pages for authors, whose sentences name classes as well.
FOR_AUTHORS = (
    "plugins",
    "hooks",
    "events",
    "lifecycle-http",
    "clients",
    "constraints",
    "properties-groups",
    "nodes",
    "public-api",
)


@pytest.mark.parametrize("page", FOR_AUTHORS)
def test_pages_for_authors_name_nothing_that_may_move(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text()
    names = re.findall(rf"`((?:{'|'.join(OWN)})\.[\w.]+)`", text)
    assert names == []
    for name in re.findall(r"`isotherm\.(\w+\.\w+)`", text):
        module, _, member = name.partition(".")
        assert member in import_module(f"isotherm.{module}").__all__, name


def test_nothing_below_imports_the_face() -> None:
    wrong = [
        str(path.relative_to(ROOT))
        for package in OWN
        for path in sorted((ROOT / package).rglob("*.py"))
        if any(name.partition(".")[0] == "isotherm" for name in imported(ast.parse(Path(path).read_text())))
    ]
    assert wrong == []
