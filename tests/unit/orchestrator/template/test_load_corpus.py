"""Templates and environments that people wrote are read with all the files that they name."""

import os
from pathlib import Path

import pytest

from orchestrator.errors import InvalidInput, Problem
from orchestrator.template.files import StackFiles, load_stack
from orchestrator.template.locations import base_between, is_template
from tests.unit.orchestrator.template.environments import parsed

CORPUS = Path(__file__).parents[4].parent / "shared" / "corpus" / "heat-templates"
FOUND = sorted(CORPUS.rglob("*.yaml")) + sorted(CORPUS.rglob("*.template"))
ENVIRONMENTS = [path for path in FOUND if path.name.endswith("_env.yaml")]
TEMPLATES = [path for path in FOUND if path not in ENVIRONMENTS]

needs_corpus = pytest.mark.skipif(not FOUND, reason="the corpus of templates is not beside the repository")


def name_of(path: Path) -> str:
    return str(path.relative_to(CORPUS))


def loaded_or_absent(template: Path, *environments: Path) -> StackFiles | list[Problem]:
    try:
        return load_stack(str(template), [str(path) for path in environments])
    except InvalidInput as error:
        return list(error.problems)


@needs_corpus
@pytest.mark.parametrize("path", TEMPLATES, ids=name_of)
def test_templates_that_people_wrote_are_read_with_what_they_name(path: Path) -> None:
    loaded = loaded_or_absent(path)
    if isinstance(loaded, StackFiles):
        assert loaded.template == path.read_text()
    else:
        # Most of what they name is not in the corpus.
        assert all("does not exist" in problem.message for problem in loaded)
        assert all(problem.path.endswith(("get_file", "type")) for problem in loaded)


@needs_corpus
@pytest.mark.parametrize("path", ENVIRONMENTS, ids=name_of)
def test_environments_that_people_wrote_lead_to_their_templates(path: Path) -> None:
    template = CORPUS / "hot" / "condition.yaml"
    environment = parsed(path.read_text(), str(path), base_between(str(path), str(template)))
    (target,) = environment.registry.entries.types.targets.values()
    if is_template(target.name):
        assert target.name == os.path.relpath(path.parent / target.given.value, template.parent)
    loaded = loaded_or_absent(template, path)
    if isinstance(loaded, StackFiles):
        assert set(loaded.files) >= {each.name for each in environment.registry.template_targets()}
    else:
        assert all("does not exist" in problem.message for problem in loaded)


@needs_corpus
def test_the_corpus_is_all_there() -> None:
    assert (len(ENVIRONMENTS), len(TEMPLATES)) == (9, 86)
    nested = [
        path for path in TEMPLATES if isinstance(found := loaded_or_absent(path), StackFiles) and found.files
    ]
    assert len(nested) >= 6
