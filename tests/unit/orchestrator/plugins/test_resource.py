"""The contract of resource types, as a type that overrides nothing keeps it."""

from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import CANNOT_TELL, ResourceState


def test_a_type_that_does_not_look_says_so_and_not_that_the_object_is_gone() -> None:
    resource = Resource(
        name="it",
        type_name="Plain",
        state=ResourceState(uuid="1", physical_id="there"),
        properties={},
        stack=StackDefinition(name="s", id="1"),
        settings=Settings(),
        now=0.0,
    )

    assert resource.observe() is CANNOT_TELL
