"""What templates say becomes what is there: conditions, functions, formats, and objects that nobody here made."""

import json
from typing import Any

import pytest

from orchestrator.planning.rows import definition_of_rows, node_data_of
from orchestrator.planning.stored_templates import load_template
from tests.scenarios.world import World

HOT = """\
heat_template_version: wallaby
parameters:
  env: {type: string}
  names: {type: comma_delimited_list, default: 'x,y'}
conditions:
  is_prod: {equals: [{get_param: env}, prod]}
  is_dev: {not: is_prod}
resources:
  always:
    type: Cloud::Object
    properties:
      value: {list_join: ['-', {repeat: {template: N1, for_each: {N: {get_param: names}}}}]}
  only_prod: {type: Cloud::Object, condition: is_prod, properties: {value: {get_attr: [always, value]}}}
  only_dev: {type: Cloud::Object, condition: is_dev, depends_on: only_prod}
  after:
    type: Cloud::Object
    depends_on: [only_prod, only_dev]
    properties:
      value: {if: [is_prod, {str_replace: {template: "of P", params: {P: {get_attr: [only_prod, value]}}}}]}
  adopted: {type: Cloud::Object, external_id: theirs}
outputs:
  value: {value: {get_attr: [after, value]}}
  prod: {value: {get_attr: [only_prod, value]}, condition: is_prod}
  adopted: {value: {get_resource: adopted}}
  all: {value: {get_attr: [always]}}
"""

CFN = json.dumps(
    {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Parameters": {"Size": {"Type": "String", "Default": "small"}},
        "Mappings": {"Sizes": {"small": {"n": "1"}, "large": {"n": "9"}}},
        "Conditions": {"Large": {"Fn::Equals": [{"Ref": "Size"}, "large"]}},
        "Resources": {
            "First": {
                "Type": "Cloud::Object",
                "Properties": {"value": {"Fn::FindInMap": ["Sizes", {"Ref": "Size"}, "n"]}},
            },
            "Second": {
                "Type": "Cloud::Object",
                "Properties": {
                    "value": {"Fn::Join": [":", [{"Fn::GetAtt": ["First", "value"]}, {"Ref": "Size"}]]}
                },
            },
            "Third": {"Type": "Cloud::Object", "Condition": "Large", "DependsOn": "Second"},
        },
        "Outputs": {"Second": {"Value": {"Fn::GetAtt": ["Second", "value"]}}},
    }
)


def values(world: World) -> dict[str, Any]:
    """Return the names and values of the objects that were made."""
    return {
        physical_id.rpartition("-")[0]: value
        for physical_id, (maker, value) in world.cloud.objects.items()
        if maker != "somebody"
    }


def outputs(world: World, stack_id: str) -> dict[str, Any]:
    stack = world.store.stacks.find(stack_id, project="default")
    context = world.store.traversals.context(stack.traversal_id)
    template = load_template(world.store, stack.template_id, context, world.coordinator._settings)
    rows = [node_data_of(row) for row in world.store.stacks.resources(stack_id)]
    definition = definition_of_rows(context, template, rows, {})
    return {name: output.resolve(definition) for name, output in template.outputs.items()}


@pytest.mark.parametrize(
    ("env", "made", "told"),
    [
        (
            "prod",
            {"always": "x1-y1", "only_prod": "x1-y1", "after": "of x1-y1"},
            {"value": "of x1-y1", "prod": "x1-y1"},
        ),
        ("dev", {"always": "x1-y1", "only_dev": "", "after": ""}, {"value": "", "prod": None}),
    ],
)
def test_a_template_makes_what_its_conditions_and_functions_say(
    env: str, made: dict[str, str], told: dict[str, Any]
) -> None:
    world = World()
    theirs = {"theirs": ("somebody", "theirs")}
    world.cloud.objects.update(theirs)
    world.cloud.sizes["theirs"] = ""
    stack_id = world.create(HOT, parameters={"env": env})
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert values(world) == made
    assert outputs(world, stack_id) == {**told, "adopted": "theirs", "all": {"value": "x1-y1", "measure": ""}}
    world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == theirs
    assert sorted(world.unmade_names()) == sorted(made)


def test_a_template_of_the_other_format_makes_the_same_kind_of_stack() -> None:
    world = World()
    stack_id = world.create(CFN)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert values(world) == {"First": "1", "Second": "1:small"}
    assert outputs(world, stack_id) == {"Second": "1:small"}
    world.delete()
    world.settle()
    assert world.cloud.objects == {}
