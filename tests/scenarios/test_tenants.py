"""Stacks of projects that use the same names are each held to what their own project has, twice."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import InvalidInput
from tests.scenarios.world import World
from tests.services.demanding import NAMES, TYPE, Demanding, path_of, template
from tests.services.http_api import HttpApi

PROJECTS = ("ours", "theirs", "ours/theirs")
PLACES = [(project, name) for project in PROJECTS for name in NAMES]


@settings(max_examples=25)
@given(
    there=st.sets(st.sampled_from(PLACES)),
    creates=st.lists(
        st.tuples(st.sampled_from(PROJECTS), st.sampled_from(NAMES), st.integers(0, 3)), max_size=12
    ),
)
def test_what_another_project_has_makes_no_name_right_or_wrong(
    there: set[tuple[str, str]], creates: list[tuple[str, str, int]]
) -> None:
    with HttpApi() as api:
        for project, name in there:
            api.put(path_of(name), tenant=project)
        world = World(
            {TYPE: Demanding}, clients={"http": {"base_url": api.url, "project_header": "X-Project"}}
        )
        made: list[tuple[str, str]] = []
        for number, (project, name, deliveries) in enumerate(creates):
            stack = f"stack-{number}"
            if (project, name) in there:
                world.create(template(2, [name]), stack, project=project)
                made.append((project, stack))
            else:
                with pytest.raises(InvalidInput, match=f"there is no path '{path_of(name)}'"):
                    world.create(template(2, [name]), stack, project=project)
            for _ in range(min(deliveries, len(world.messages))):
                world.deliver()
        world.settle()
        for project, stack in made:
            row = world.store.stacks.find(stack, project=project)
            assert (row.action, row.status) == ("CREATE", "COMPLETE"), row.reason
        # Coordinator and worker remember by themselves here: each asked once for what each project has.
        for project, name in there:
            assert api.count("GET", path_of(name), tenant=project) <= 2
        world.close()
