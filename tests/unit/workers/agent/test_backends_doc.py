"""Everything that hypervisors and storage take is documented, and the page says what the code does."""

import runpy
from importlib.metadata import entry_points
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[4] / "docs"
PAGE = (DOCS / "backends.md").read_text()
MAKER = runpy.run_path(str(DOCS / "make_backends.py"))
MODELS = {
    model.__name__: model
    for backend, *asked in (*MAKER["HYPERVISORS"], *MAKER["STORAGE"])
    for model in (backend.Options, *asked)
    if model is not None
}


def test_page_is_the_one_that_the_backends_make() -> None:
    assert MAKER["page"]() == PAGE, "docs/backends.md is out of date: run python docs/make_backends.py"


@pytest.mark.parametrize("name", sorted(MODELS))
def test_everything_that_may_be_said_says_what_it_means(name: str) -> None:
    for field in MODELS[name].model_fields.values():
        assert (field.description or "").endswith(".")


def test_no_backend_is_left_out() -> None:
    hypervisors = {each.name for each in entry_points(group="isotherm.hypervisors")}
    storage = {each.name for each in entry_points(group="isotherm.storage")}
    assert {hypervisor.name for hypervisor, *_ in MAKER["HYPERVISORS"]} == hypervisors
    assert {unit.kind for unit, *_ in MAKER["STORAGE"]} == storage
