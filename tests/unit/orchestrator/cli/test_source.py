"""What the command line makes of ``-t``, ``-e`` and ``-P``: one job with every text in it."""

import json
import socket
from pathlib import Path

import pytest

from orchestrator.cli.source import stack_job
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import EnvironmentSource, StackJob
from tests.unit.orchestrator.cli.fake_service import Terminal
from tests.unit.orchestrator.template.web import Site

VERSION = "heat_template_version: rocky\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def job(template: str, *environments: str, settings: Settings | None = None) -> StackJob:
    return stack_job(
        "shop", settings or Settings(), template=template, environments=environments, parameters={"a": "1"}
    )


def test_a_job_has_every_text(tmp_path: Path) -> None:
    (tmp_path / "envs").mkdir()
    for name, text in {
        "t.yaml": f"{VERSION}resources: {{web: {{type: nested.yaml}}}}\n",
        "nested.yaml": f"{VERSION}outputs: {{x: {{value: {{get_file: a.sh}}}}}}\n",
        "a.sh": "a",
        "envs/e.yaml": "resource_registry: {A: b.template}\n",
        "envs/b.template": "{}",
        "f.yaml": "parameters: {p: 1}\n",
    }.items():
        (tmp_path / name).write_text(text)
    made = job("t.yaml", "envs/e.yaml", "f.yaml")
    assert (made.name, made.template_file, made.parameters) == ("shop", "t.yaml", {"a": "1"})
    assert set(made.files) == {"nested.yaml", "a.sh", "envs/b.template"}
    assert made.environments == (
        EnvironmentSource(file="envs/e.yaml", source="resource_registry: {A: b.template}\n"),
        EnvironmentSource(file="f.yaml", source="parameters: {p: 1}\n"),
    )
    assert StackJob.from_wire(made.to_wire()) == made


def test_the_limits_are_those_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(VERSION + "a: [{get_file: t.yaml}, {get_file: ./t.yaml}]")
    assert len(job("t.yaml").files) == 2
    with pytest.raises(InvalidInput, match="more than 1 files"):
        job("t.yaml", settings=Settings(max_template_files=1))


def test_urls_are_fetched_where_the_settings_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Site() as site:
        template, environment = site.put("/t.yaml", VERSION), site.put("/e.yaml", "{}")
        with pytest.raises(InvalidInput, match="ISOTHERM_FETCH_URLS"):
            job(template, environment)
        made = job(template, environment, settings=Settings(fetch_urls=True))
    assert (made.template_file, made.template) == (template, VERSION)
    assert made.environments == (EnvironmentSource(file=environment, source="{}"),)


def test_a_url_that_leads_nowhere_is_bad_input(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("ISOTHERM_FETCH_URLS", "true")
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/t.yaml"
    result = terminal.run("stack", "create", "shop", "-t", url, "-f", "json")
    assert result.exit_code == 2
    (problem,) = json.loads(result.stderr)
    assert problem["path"] == url
    assert problem["message"] == "the file cannot be fetched: Connection refused"
