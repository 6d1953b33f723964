"""Warnings about what should not be used any more: all of them with their places, and never in the way."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner

from orchestrator.cli.main import isotherm
from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.engine.stack_preview import preview_job
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import StackJob
from orchestrator.planning.preparation import prepare
from orchestrator.plugins.properties import Attribute, Property, PropertyType
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.support import Support, SupportStatus
from orchestrator.sandbox.budget import evaluation
from orchestrator.validation.report import validate_job
from orchestrator.validation.warnings import MOST_WARNINGS

DEPRECATED = SupportStatus(status=Support.DEPRECATED, version="5.0", message="use network")
HIDDEN = SupportStatus(status=Support.HIDDEN, version="6.0", previous=DEPRECATED)
UNSUPPORTED = SupportStatus(status=Support.UNSUPPORTED, version="7.0", message="use name")
STRING = PropertyType.STRING


class Port(Resource):
    properties_schema: ClassVar[Mapping[str, Property]] = {
        "network": Property(type=STRING),
        "network_id": Property(type=STRING, support_status=DEPRECATED),
        "hidden": Property(type=STRING, support_status=HIDDEN),
        "label": Property(type=STRING, support_status=UNSUPPORTED),
        "ips": Property(
            type=PropertyType.LIST,
            schema=Property(
                type=PropertyType.MAP, schema={"subnet_id": Property(type=STRING, support_status=DEPRECATED)}
            ),
        ),
    }
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {
        "mac": Attribute("it"),
        "owner": Attribute("old", support_status=SupportStatus(status=Support.DEPRECATED)),
        "tenant": Attribute("gone", support_status=UNSUPPORTED),
    }


class Old(Resource):
    support_status = SupportStatus(status=Support.DEPRECATED, substitute="My::Port")


class Gone(Resource):
    support_status = SupportStatus(status=Support.UNSUPPORTED, version="2", substitute="My::Port")


TEMPLATE = """\
heat_template_version: 2021-04-16
parameters:
  secret: {type: json, hidden: true, default: {subnet_id: s3cret}}
resources:
  port:
    type: My::Port
    properties:
      network_id: n
      hidden: h
      ips: [{}, {subnet_id: s}, {get_param: secret}]
  old: {type: My::Old}
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: 2, resource_def: {type: My::Old}}
outputs:
  owner: {value: {get_attr: [port, owner]}}
  mac: {value: {get_attr: [port, mac]}}
"""
WARNINGS = [
    (
        8,
        "resources.port.properties.network_id",
        "the property 'network_id' is deprecated since 5.0: use network",
    ),
    (9, "resources.port.properties.hidden", "the property 'hidden' is deprecated since 5.0: use network"),
    (
        10,
        "resources.port.properties.ips[1].subnet_id",
        "the property 'subnet_id' is deprecated since 5.0: use network",
    ),
    (10, "resources.port.properties.ips[2]", "the property 'subnet_id' is deprecated since 5.0: use network"),
    (11, "resources.old.type", "the resource type 'My::Old' is deprecated: use My::Port"),
    (14, "resources.group.properties", "the resource type 'My::Old' is deprecated: use My::Port"),
    (16, "outputs.owner.value.get_attr", "the attribute 'owner' of resource 'port' is deprecated"),
]


@pytest.fixture(autouse=True)
def types(monkeypatch: pytest.MonkeyPatch) -> ResourceTypes:
    """Install the types above."""
    made = ResourceTypes({**ResourceTypes.load(), "My::Port": Port, "My::Old": Old, "My::Gone": Gone})
    monkeypatch.setattr(ResourceTypes, "load", lambda *_: made)
    monkeypatch.setattr(ResourceTypes, "on_demand", lambda *_: made)
    return made


def job(template: str = TEMPLATE) -> StackJob:
    return StackJob(name="s", template=template, template_file="t.yaml")


def test_every_use_is_told_with_its_place(types: ResourceTypes) -> None:
    for view in (validate_job(job(), Settings()), preview_job(job(), Settings())):
        told = [
            (each.position.line if each.position else 0, each.path, each.message) for each in view.warnings
        ]
        assert told == WARNINGS
    prepared = prepare(job(), types, Settings())
    assert len(prepared.context["warnings"]) == len(WARNINGS)


def test_nothing_is_told_where_nothing_is_outdated(types: ResourceTypes) -> None:
    template = (
        "heat_template_version: 2021-04-16\nresources: {it: {type: My::Port, properties: {network: n}}}\n"
    )
    assert validate_job(job(template), Settings()).warnings == ()
    assert "warnings" not in prepare(job(template), types, Settings()).context


def test_many_warnings_are_cut() -> None:
    resources = "".join(f"  r{number}: {{type: My::Old}}\n" for number in range(60))
    view = validate_job(job(f"heat_template_version: 2021-04-16\nresources:\n{resources}"), Settings())
    assert len(view.warnings) == MOST_WARNINGS
    assert view.warnings[-1].message == "these are the first 49 warnings; there are more"


def test_what_is_not_supported_is_refused_with_its_place() -> None:
    template = """\
heat_template_version: 2021-04-16
resources:
  gone: {type: My::Gone}
  port: {type: My::Port, properties: {label: l}}
outputs:
  tenant: {value: {get_attr: [port, tenant]}}
"""
    with pytest.raises(InvalidInput) as caught, evaluation(Limits()):
        validate_job(job(template), Settings())
    assert [str(problem) for problem in caught.value.problems] == [
        "t.yaml:3:10: resources.gone.type: the resource type 'My::Gone' is not supported since 2 (use My::Port)",
        "t.yaml:4:39: resources.port.properties.label: it is not supported since 7.0 (use name)",
        (
            "t.yaml:6:20: outputs.tenant.value.get_attr: the attribute 'tenant' of resource 'port' "
            "is not supported (use name)"
        ),
    ]


def run(*arguments: str) -> Any:
    result = CliRunner().invoke(isotherm, list(arguments))
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize(
    "command",
    [
        ("template", "validate"),
        ("stack", "preview", "s"),
        ("stack", "create", "s"),
        ("stack", "update", "s", "--dry-run"),
    ],
    ids=["validate", "preview", "create", "update"],
)
def test_people_see_them_on_stderr_and_programs_in_the_result(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    template = "heat_template_version: 2021-04-16\nresources: {old: {type: My::Old}}\n"
    (tmp_path / "t.yaml").write_text(template)
    if "update" in command:
        run("stack", "create", "s", "-t", "t.yaml")
    sentence = "the resource type 'My::Old' is deprecated: use My::Port"
    told = run(*command, "-t", "t.yaml")
    assert told.stderr.startswith(f"Warning: t.yaml:2:19: resources.old.type: {sentence}\n")
    assert "Warning" not in told.stdout
    if "create" in command:
        command = ("stack", "create", "other")
    told = run(*command, "-t", "t.yaml", "-f", "json")
    (warning,) = json.loads(told.stdout)["warnings"]
    assert (warning["message"], warning["path"]) == (sentence, "resources.old.type")
    assert "Warning" not in told.stderr
