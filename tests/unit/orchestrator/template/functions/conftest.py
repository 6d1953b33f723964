"""One call at a time, in any version."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.definition import AttributePath, NodeData, ResourceProxy, StackDefinition
from orchestrator.errors import InvalidInput, Problem
from orchestrator.template.definitions import ResolveError, ResourceDefinition
from orchestrator.template.dialects import dialect_of
from orchestrator.template.template import Template
from orchestrator.template.versions import find_version, version_of_date


def stack_with(
    parameters: Mapping[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
    resources: Mapping[str, ResourceProxy] | None = None,
) -> StackDefinition:
    return StackDefinition(
        name="s", id="1", parameters=parameters or {}, files=files or {}, resources=resources or {}
    )


def made(
    name: str, *, action: str = "CREATE", reference: str | None = None, **attributes: Any
) -> ResourceProxy:
    """Return a resource that exists; ``a__b`` stands for the attribute path ``("a", "b")``."""
    paths: dict[AttributePath, Any] = {tuple(key.split("__")): value for key, value in attributes.items()}
    data = NodeData(
        uuid="u", name=name, action=action, status="COMPLETE", reference_id=reference, attributes=paths
    )
    return ResourceProxy(name=name, type="X", data=data)


class Caller:
    """Builds a resource with one property and resolves it; keeps the definition for questions."""

    def __init__(self) -> None:
        self.definition: ResourceDefinition | None = None

    def build(self, value: Any, version: str = "wallaby") -> ResourceDefinition:
        found = find_version(version) or version_of_date(version)
        assert found is not None
        words = dialect_of(found)
        body = {
            found.key: version,
            words.resources: {"r": {words.type: "X", words.properties: {"p": value}}},
        }
        source = json.dumps(body)
        template = Template.parse(source, file="t.json", files={}, limits=Limits())
        self.definition = template.resources["r"]
        return self.definition

    def __call__(self, value: Any, stack: StackDefinition | None = None, *, version: str = "wallaby") -> Any:
        return self.build(value, version).resolve_properties(stack or stack_with())["p"]

    def refused(self, value: Any, version: str = "wallaby") -> Problem:
        """Return the one problem with which the template is refused."""
        with pytest.raises(InvalidInput) as caught:
            self.build(value, version)
        (problem,) = caught.value.problems
        return problem

    def fails(self, value: Any, stack: StackDefinition | None = None, *, version: str = "wallaby") -> Problem:
        """Return the problem with which resolving fails in a template that is accepted."""
        definition = self.build(value, version)
        with pytest.raises(ResolveError) as caught:
            definition.resolve_properties(stack or stack_with())
        return caught.value.problem


@pytest.fixture
def call() -> Caller:
    return Caller()


@pytest.fixture
def stack() -> Callable[..., StackDefinition]:
    return stack_with


@pytest.fixture
def resource() -> Callable[..., ResourceProxy]:
    return made
