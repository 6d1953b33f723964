"""Configs: what others are configured with changes when they change, and only then."""

from email import message_from_string
from email.message import Message
from typing import Any

import pytest

from orchestrator.errors import InvalidInput
from tests.scenarios.world import World
from workers.resources.core.cloud_config import CloudConfig
from workers.resources.core.multipart_mime import MultipartMime
from workers.resources.core.software_config import SoftwareConfig, StructuredConfig

TYPES = {
    "OS::Heat::CloudConfig": CloudConfig,
    "OS::Heat::MultipartMime": MultipartMime,
    "OS::Heat::SoftwareConfig": SoftwareConfig,
    "OS::Heat::StructuredConfig": StructuredConfig,
}

TEMPLATE = """\
heat_template_version: wallaby
parameters:
  word: {type: string, default: hello}
  package: {type: string, default: nginx}
resources:
  boot:
    type: OS::Heat::CloudConfig
    properties: {cloud_config: {packages: [{get_param: package}]}}
  script:
    type: OS::Heat::SoftwareConfig
    properties:
      config: {str_replace: {template: "#!/bin/sh\\necho WORD", params: {WORD: {get_param: word}}}}
  scripts:
    type: OS::Heat::MultipartMime
    properties: {parts: [{config: {get_resource: script}}, {config: "#!/bin/sh\\ntrue"}]}
  user_data:
    type: OS::Heat::MultipartMime
    properties:
      parts:
        - config: {get_resource: boot}
        - {config: {get_resource: scripts}, type: multipart}
  server:
    type: Cloud::Object
    properties: {value: {get_attr: [user_data, config]}}
"""


def world_of(template: str, **job: Any) -> tuple[World, str]:
    """Return a world in which a stack was made of a template, and the stack's id."""
    world = World(TYPES)
    stack_id = world.create(template, **job)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    return world, stack_id


def update(world: World, template: str, **job: Any) -> None:
    world.update(template, **job)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"


def ids(world: World, stack_id: str) -> dict[str, str]:
    return {row.name: row.id for row in world.store.stacks.resources(stack_id)}


def texts(world: World) -> list[str]:
    """Return the texts of the message that the one server there is was made with."""
    ((_, told),) = world.cloud.objects.values()
    payload = message_from_string(told).get_payload()
    assert isinstance(payload, list)
    return [str(part.get_payload()) for part in payload if isinstance(part, Message)]


def test_a_message_has_the_texts_of_the_configs_that_it_refers_to() -> None:
    world, _ = world_of(TEMPLATE)
    assert texts(world) == [
        "#cloud-config\npackages:\n- nginx\n",
        "#!/bin/sh\necho hello",
        "#!/bin/sh\ntrue",
    ]


def test_what_changes_is_replaced_up_to_the_server_and_what_does_not_stays() -> None:
    world, stack_id = world_of(TEMPLATE)
    before = ids(world, stack_id)
    update(world, TEMPLATE, parameters={"word": "goodbye"})
    after = ids(world, stack_id)
    assert {name for name in after if after[name] != before[name]} == {
        "script",
        "scripts",
        "user_data",
        "server",
    }
    assert texts(world)[1] == "#!/bin/sh\necho goodbye"
    assert texts(world)[2] == "#!/bin/sh\ntrue"


def test_an_update_with_the_same_texts_visits_nothing() -> None:
    world, stack_id = world_of(TEMPLATE)
    before = ids(world, stack_id)
    log = list(world.cloud.log)
    world.update(TEMPLATE, parameters={"word": "hello"})
    assert [order.phase for order in world.messages] == ["end"]
    world.settle()
    assert ids(world, stack_id) == before
    assert world.cloud.log == log


def test_a_message_may_refer_to_a_config_that_nobody_asked_for_its_text_before() -> None:
    start = TEMPLATE[: TEMPLATE.index("  scripts:")]
    world, stack_id = world_of(start)
    before = ids(world, stack_id)
    update(world, TEMPLATE)
    after = ids(world, stack_id)
    assert {name: after[name] for name in before} == before
    assert texts(world)[1] == "#!/bin/sh\necho hello"


def test_a_config_that_is_a_map_keeps_its_inputs_as_they_are_written() -> None:
    template = """\
heat_template_version: wallaby
resources:
  config:
    type: OS::Heat::StructuredConfig
    properties:
      inputs: [{name: host}]
      config: {hosts: [{get_input: host}], port: 80}
  server:
    type: Cloud::Object
    properties:
      value: {get_attr: [config, config, port]}
      size: {get_attr: [config, config, hosts, 0, get_input]}
"""
    world, _ = world_of(template)
    assert [value for _, value in world.cloud.objects.values()] == ["80"]
    assert [*world.cloud.sizes.values()] == ["host"]


def test_an_id_written_out_is_refused_before_anything_is_made() -> None:
    world, stack_id = world_of(TEMPLATE)
    script = ids(world, stack_id)["script"]
    with pytest.raises(InvalidInput, match="this is an id, but not that of a config"):
        world.update(TEMPLATE.replace("{get_resource: script}", script))
    assert world.messages == []


def test_the_id_of_what_is_no_config_fails_the_message() -> None:
    world = World(TYPES)
    world.create(
        TEMPLATE.replace("{get_resource: script}", "{get_attr: [given, value]}")
        + """\
  given: {type: Cloud::Object, properties: {value: {get_resource: script}}}
"""
    )
    world.settle()
    assert world.state() == "CREATE_FAILED"
    reason = world.store.stacks.find("s", project="default").reason
    assert "properties.parts[0].config: this is an id, but not that of a config" in reason
