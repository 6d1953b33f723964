"""Templates that people wrote for Heat are read, but for what is not supported yet."""

from pathlib import Path

import pytest

from orchestrator.errors import InvalidInput, Problem
from orchestrator.limits import Limits
from orchestrator.template.environment import Environment
from orchestrator.template.template import Template

CORPUS = Path(__file__).parents[4].parent / "shared" / "corpus" / "heat-templates"

FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file() and path.name != "LICENSE")

pytestmark = pytest.mark.skipif(not FILES, reason="the corpus of templates is not beside the repository")


def name_of(path: Path) -> str:
    return str(path.relative_to(CORPUS))


def problems_of(path: Path) -> tuple[Problem, ...]:
    source = path.read_text()
    try:
        if "emplate" in source and "ersion" in source:
            Template.parse(source, file=path.name, files={}, limits=Limits())
        else:
            Environment.parse(source, file=path.name, limits=Limits())
    except InvalidInput as error:
        return error.problems
    return ()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nothing_is_refused_but_what_is_not_supported_yet(path: Path) -> None:
    for problem in problems_of(path):
        assert "not supported yet" in problem.message
        assert problem.position is not None


def test_most_templates_are_read_whole() -> None:
    assert sum(not problems_of(path) for path in FILES) >= 60
