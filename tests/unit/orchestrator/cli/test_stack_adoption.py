"""Export, abandon and adopt on the command line."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from orchestrator.errors import Unavailable
from orchestrator.model.messages import AdoptJob
from tests.unit.orchestrator.cli.fake_service import FakeService, Terminal, stack_view

DOCUMENT: dict[str, Any] = {
    "name": "web",
    "template": {"heat_template_version": "2021-04-16", "resources": {"a": {"type": "OS::Heat::None"}}},
    "template_file": "web.yaml",
    "environment": {"parameters": {"p": "1"}},
    "environment_files": ["env.yaml"],
    "parameters": {"q": "2"},
    "resources": {"a": {"resource_id": "x", "type": "OS::Heat::None"}},
}


@pytest.fixture
def service() -> FakeService:
    return FakeService(stacks_held={"web": stack_view("web")}, document_held=DOCUMENT)


def invoke(service: FakeService, *words: str) -> Result:
    return Terminal(service, Path("/nonexistent/state")).run(*words)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_an_export_is_written_for_its_owner_alone(service: FakeService, tmp_path: Path) -> None:
    path = tmp_path / "web.json"
    path.write_text("older")
    path.chmod(0o644)
    old = os.umask(0)
    try:
        result = invoke(service, "stack", "export", "web", "-o", str(path))
    finally:
        os.umask(old)
    assert result.exit_code == 0
    assert mode(path) == 0o600
    assert json.loads(path.read_text()) == DOCUMENT
    assert (result.stdout, list(tmp_path.iterdir())) == ("", [path])
    assert "secrets" in result.stderr


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_an_export_without_a_file_is_on_stdout_and_nothing_else(service: FakeService, form: str) -> None:
    result = invoke(service, "stack", "export", "web", "-f", form)
    assert yaml.safe_load(result.stdout) == DOCUMENT


def test_the_help_says_that_secrets_are_in_it() -> None:
    for command in ("export", "abandon"):
        assert "secrets" in invoke(FakeService(), "stack", command, "--help").stdout


@pytest.mark.parametrize("place", ["", "missing/web.json"])
def test_nothing_is_abandoned_whose_document_cannot_be_written(
    service: FakeService, tmp_path: Path, place: str
) -> None:
    result = invoke(service, "stack", "abandon", "web", "-o", str(tmp_path / place))
    assert result.exit_code == 2
    assert service.abandoned == []
    assert str(tmp_path) in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_document_is_there_before_anything_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "web.json"

    class Late(FakeService):
        def abandon(self, name: str, *, unprotect: bool, force: bool) -> Any:
            assert json.loads(path.read_text()) == DOCUMENT
            raise Unavailable("nobody there")

    late = Late(stacks_held={"web": stack_view("web")}, document_held=DOCUMENT)
    assert invoke(late, "stack", "abandon", "web", "-o", str(path)).exit_code == 3
    assert mode(path) == 0o600


def test_an_abandon_without_a_file_writes_the_document_and_nothing_else_on_stdout(
    service: FakeService,
) -> None:
    result = invoke(service, "stack", "abandon", "web", "--yes")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == DOCUMENT
    assert service.abandoned == ["id-of-web"]
    assert "DELETE_COMPLETE" in result.stderr


def test_an_abandon_that_fails_says_so(service: FakeService, tmp_path: Path) -> None:
    service.ending = "FAILED"
    assert invoke(service, "stack", "abandon", "web", "-o", str(tmp_path / "x")).exit_code == 1
    service.stacks_held["web"] = stack_view("web")
    assert invoke(service, "stack", "abandon", "web").exit_code == 1


def test_an_abandon_of_what_is_under_way_warns(service: FakeService, tmp_path: Path) -> None:
    service.stacks_held["web"] = stack_view("web", "CREATE", "IN_PROGRESS")
    result = invoke(service, "stack", "abandon", "web", "-o", str(tmp_path / "x"))
    assert "may be missing" in result.stderr


def adopted(service: FakeService, *words: str) -> AdoptJob:
    result = invoke(service, "stack", "adopt", "new", *words)
    assert result.exit_code == 0, result.stderr
    (job,) = service.jobs
    assert isinstance(job, AdoptJob)
    return job


def test_an_adopt_file_alone_says_what_the_stack_is(service: FakeService, tmp_path: Path) -> None:
    path = tmp_path / "web.json"
    path.write_text(json.dumps(DOCUMENT))
    job = adopted(service, "--adopt-file", str(path), "-P", "q=3", "--rollback")
    assert json.loads(job.template) == DOCUMENT["template"]
    assert job.resources == DOCUMENT["resources"]
    assert (job.name, job.parameters, job.rollback) == ("new", {"q": "3"}, True)
    assert [each.file for each in job.environments] == ["env.yaml"]


def test_a_template_that_is_given_counts_instead_of_the_file_s(service: FakeService, tmp_path: Path) -> None:
    path, template = tmp_path / "web.json", tmp_path / "other.yaml"
    path.write_text(yaml.safe_dump({"resources": DOCUMENT["resources"]}))
    template.write_text("heat_template_version: 2021-04-16\n")
    job = adopted(service, "--adopt-file", str(path), "-t", str(template), "-P", "p=3")
    assert job.template == "heat_template_version: 2021-04-16\n"
    assert (job.parameters, job.environments) == ({"p": "3"}, ())


@pytest.mark.parametrize("content", [None, b"\xff", b"[]", b"{}"])
def test_what_is_no_adopt_file_is_refused(
    service: FakeService, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "web.json"
    if content is not None:
        path.write_bytes(content)
    result = invoke(service, "stack", "adopt", "new", "--adopt-file", str(path))
    assert result.exit_code == 2
    assert "web.json" in result.stderr
    assert "Traceback" not in result.stderr
    assert service.jobs == []


def test_an_adopted_stack_has_the_tags_of_the_file_unless_others_are_given(
    service: FakeService, tmp_path: Path
) -> None:
    for name, tags, options in (
        ("a", None, ()),
        ("b", ["prod", "eu", "prod"], ()),
        ("c", ["prod"], ("--tags", "test")),
        ("d", ["prod"], ("--tags", "")),
    ):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({**DOCUMENT, "tags": tags}))
        invoke(service, "stack", "adopt", name, "--adopt-file", str(path), *options)
    assert [job.tags for job in service.jobs] == [(), ("prod", "eu"), ("test",), ()]


@pytest.mark.parametrize("tags", ["prod", ["a/b"], {"a": 1}])
def test_a_file_with_what_are_no_tags_is_refused(service: FakeService, tmp_path: Path, tags: Any) -> None:
    path = tmp_path / "web.json"
    path.write_text(json.dumps({**DOCUMENT, "tags": tags}))
    result = invoke(service, "stack", "adopt", "again", "--adopt-file", str(path))
    assert result.exit_code == 2
    assert "tags: expected a list" in result.output
    assert not service.jobs
