"""What a command writes about a stack as its operation begins, and once it is over."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.cli.main import isotherm
from orchestrator.config.settings import load_settings
from orchestrator.model.messages import StackJob
from orchestrator.service import Service

TEMPLATE = """\
heat_template_version: 2021-04-16
description: Two words
parameters:
  size: {type: number, default: 1}
  key: {type: string, default: s3cret, hidden: true}
resources: {}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    (tmp_path / "web.yaml").write_text(TEMPLATE)


def test_the_view_of_every_beginning_has_the_description_and_the_parameters() -> None:
    with Service.open(load_settings()) as service:
        job = StackJob(name="web", template=TEMPLATE)
        views = [service.create(job)]
        for _ in service.watch("web"):
            pass
        views.append(service.update(StackJob(name="web", template=TEMPLATE.replace("Two", "Three"))))
        for _ in service.watch("web"):
            pass
        views.append(service.operate("CHECK", "web"))
    assert [view.description for view in views] == ["Two words", "Three words", "Three words"]
    assert all({"size": 1, "key": "******"}.items() <= view.parameters.items() for view in views)


def test_a_followed_operation_ends_with_the_description_and_the_parameters() -> None:
    for words in (["create", "web", "-t", "web.yaml"], ["update", "web", "-t", "web.yaml", "-P", "size=2"]):
        result = CliRunner().invoke(isotherm, ["stack", *words, "-f", "json"])
        shown = json.loads(result.stdout)
        assert shown["description"] == "Two words"
        assert shown["parameters"]["key"] == "******"
    assert shown["parameters"]["size"] == 2
