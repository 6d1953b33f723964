"""Templates that people wrote for Heat: every one is read and checked, and nothing is missed but resource types."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import StackJob
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.template.files import load_stack
from orchestrator.validation.job import examine_job
from tests.unit.orchestrator.template.environments import parsed

CORPUS = Path(__file__).parents[4].parent / "shared" / "corpus" / "heat-templates"
FILES = sorted(
    str(path.relative_to(CORPUS)) for path in CORPUS.rglob("*") if path.is_file() and path.name != "LICENSE"
)
#: A type that only an environment gives a meaning, and one that does.
AGENT, AGENT_ENVIRONMENT = "Heat::InstallConfigAgent", "hot/software-config/boot-config/fedora_pip_env.yaml"

VALID, TYPES_MISSING, ENVIRONMENT = "valid", "valid, but for types that are not installed", "environment"

pytestmark = pytest.mark.skipif(not FILES, reason="the corpus of templates is not beside the repository")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the corpus in which every file is there that a template names."""
    copy = (
        tmp_path_factory.mktemp("corpus")
        / "so"
        / "deep"
        / "that"
        / "no"
        / "name"
        / "leaves"
        / "heat-templates"
    )
    shutil.copytree(CORPUS, copy)
    for name in FILES:
        for named in named_files(yaml.load((copy / name).read_text(), Loader=yaml.BaseLoader)):
            path = (copy / name).parent / named
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("heat_template_version: rocky\noutputs: {secret_ref: {value: x}}\n")
    return copy


def named_files(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            is_type = key == "type" and isinstance(item, str) and item.endswith(".yaml")
            if is_type or (key == "get_file" and isinstance(item, str)):
                yield item
            yield from named_files(item)
    elif isinstance(value, list):
        for item in value:
            yield from named_files(item)


def outcome_of(corpus: Path, name: str) -> str:
    """Return what became of a file; what is wrong with it beyond missing types raises."""
    text = (corpus / name).read_text(encoding="utf-8-sig")
    if not re.search(r"(?i)^\s*['\"]?\w*template_?(format)?_?version", text, flags=re.MULTILINE):
        parsed(text, name)
        return ENVIRONMENT
    environments = [corpus / AGENT_ENVIRONMENT] if AGENT in text else []
    loaded = load_stack(str(corpus / name), [str(path) for path in environments])
    job = StackJob(
        name="s",
        template=loaded.template,
        template_file=str(corpus / name),
        files=loaded.files,
        environments=loaded.environments,
    )
    try:
        examine_job(job, ResourceTypes.load(), Settings(), offline=True, values_required=False)
    except InvalidInput as error:
        others = [
            each for each in error.problems if not each.message.startswith("there is no resource type '")
        ]
        if others:
            raise InvalidInput(others) from error
        return TYPES_MISSING
    return VALID


#: What is really wrong with a file, beyond missing types: one sentence says it.
REFUSED = {
    "hot/software-config/example-templates/example-chef-template.yaml": "expected a map, found a list",
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_cannot_be_made_is_refused(corpus: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match=REFUSED[name]):
        outcome_of(corpus, name)


@pytest.mark.parametrize("name", [name for name in FILES if name not in REFUSED])
def test_nothing_is_missed_but_resource_types(corpus: Path, name: str) -> None:
    assert outcome_of(corpus, name) in (VALID, TYPES_MISSING, ENVIRONMENT)


def test_the_whole_corpus_is_understood(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = Counter(outcome_of(corpus, name) for name in FILES if name not in REFUSED)
    with capsys.disabled():
        print(f"\ncorpus of {len(FILES)} files: {dict(counts)}")
    assert counts[ENVIRONMENT] == 9
    assert counts[VALID] >= 2
