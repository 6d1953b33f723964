"""What the views of an operation show of its resources, and of changes in the definition."""

from collections.abc import Mapping
from typing import Any

from orchestrator.model.messages import EnvironmentSource
from tests.scenarios.test_observation import SECRET, graph, observer
from tests.scenarios.world import World


def number(world: World, name: str) -> int:
    return next(vertex.no for vertex in graph(world).vertices if vertex.name == name)


def test_details_tell_functions_and_not_what_they_result_in() -> None:
    world = World()
    world.create(SECRET, parameters={"password": "top-secret"})
    world.settle()
    details = observer(world).details("s", number(world, "a"))
    assert details.properties == {"value": {"get_param": "password"}}
    assert details.required_by == ("b",)
    assert details.vertex.physical_id == "a-1"
    assert [event[2] for event in details.events] == ["CREATE_COMPLETE", "CREATE_IN_PROGRESS"]
    assert details.created_at == world.now
    assert "top-secret" not in str(details.to_dict())


def test_details_of_what_is_deleted_tell_what_it_was_made() -> None:
    world = World()
    stack_id = world.create(SECRET, parameters={"password": "top-secret"})
    world.settle()
    world.delete()
    world.settle()
    picture = observer(world).graph(stack_id)
    no = next(vertex.no for vertex in picture.vertices if vertex.name == "b")
    assert observer(world).details(stack_id, no).properties == {"size": "big"}


# -- changes -----------------------------------------------------------------------------------------------------------


def changes(world: World, *, shows_values: bool = True) -> Mapping[str, Any]:
    traversal_id = world.store.stacks.find("s", project="default").traversal_id
    return observer(world).changes("s", traversal_id, shows_values=shows_values).to_dict()


def test_the_first_operation_is_compared_with_nothing() -> None:
    world = World()
    world.create(SECRET, parameters={"password": "top-secret"})
    told = changes(world)
    assert told["before_id"] is None
    assert told["added"] == ("a", "b")
    assert told["parameters"] == (("password", "(none)", "******"),)


def test_an_update_is_compared_with_what_was_before() -> None:
    world = World()
    world.create(SECRET, parameters={"password": "top-secret"}, files={"f": "one\n"})
    world.settle()
    before = world.store.stacks.find("s", project="default").traversal_id
    world.now += 1
    world.update(
        SECRET.replace("big", "small").replace("b:", "c:"),
        parameters={"password": "other-secret"},
        files={"f": "two\n"},
    )
    told = changes(world)
    assert told["before_id"] == before
    assert (told["added"], told["removed"], told["changed"]) == (("c",), ("b",), ())
    assert [line for line in told["template"] if line[0] in "+-"] == [
        "-  b: {type: Cloud::Object, depends_on: a, properties: {size: big}}",
        "+  c: {type: Cloud::Object, depends_on: a, properties: {size: small}}",
    ]
    assert told["parameters"] == (("password", "******", "******"),)
    assert told["files"] == (("f", ("@@ -1 +1 @@", "-one", "+two")),)
    assert "secret" not in str(told)


def test_what_an_environment_says_of_types_is_compared_and_its_parameters_are_not_shown() -> None:
    world = World()
    said = "parameters: {password: top-secret}\nresource_registry: {'My::Type': 'Cloud::Object'}\n"
    world.create(SECRET, environments=(EnvironmentSource(file="e.yaml", source=said),))
    world.settle()
    world.now += 1
    said = said.replace("top-secret", "other-secret").replace("My::Type", "Your::Type")
    world.update(SECRET, environments=(EnvironmentSource(file="e.yaml", source=said),))
    told = changes(world)
    assert told["files"] == (
        (
            "e.yaml",
            (
                "@@ -1,2 +1,2 @@",
                " resource_registry:",
                "-  My::Type: Cloud::Object",
                "+  Your::Type: Cloud::Object",
            ),
        ),
    )
    assert "secret" not in str(told)
