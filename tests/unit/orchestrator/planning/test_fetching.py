"""A job brings its files with it: the process that carries it out fetches none, whatever its settings are."""

import json
from pathlib import Path

import pytest

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.planning.preparation import prepare
from orchestrator.plugins.registry import ResourceTypes
from tests.services.receiver import Receiver, Reply

TEMPLATE = "heat_template_version: 2021-04-16\nresources: {it: %s}"


@pytest.mark.parametrize(
    "resource",
    [
        "{type: '%s/nested.yaml'}",
        "{type: Some::Alias}",
        "{type: OS::Heat::Value, properties: {value: {get_file: '%s/secret'}}}",
        "{type: OS::Heat::ResourceGroup, properties: {resource_def: {type: '%s/nested.yaml'}}}",
        "{type: OS::Heat::Stack, properties: {template: {get_file: '%s/nested.yaml'}}}",
    ],
)
def test_what_a_job_names_and_does_not_bring_is_not_fetched(tmp_path: Path, resource: str) -> None:
    with Receiver(lambda _: Reply(body={"heat_template_version": "2021-04-16"})) as site:
        registry = json.dumps({"resource_registry": {"Some::Alias": f"{site.url}/nested.yaml"}})
        job = StackJob(
            name="s",
            template=TEMPLATE % (resource % site.url if "%s" in resource else resource),
            environments=(EnvironmentSource(file="e.yaml", source=registry),),
        )
        settings = Settings(state_directory=tmp_path, fetch_urls=True)
        with pytest.raises(InvalidInput, match=site.url):
            prepare(job, ResourceTypes.load(), settings)
        assert site.messages == []
