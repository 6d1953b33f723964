"""A job is checked whole before anything is touched, and every problem has its place."""

import pytest

from orchestrator.errors import InvalidInput, Problem
from orchestrator.messages import StackJob
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.preparation import prepare
from orchestrator.settings import Settings

SETTINGS = Settings()


def problems_of(template: str) -> tuple[Problem, ...]:
    """Return what is wrong with a template; nothing if all is well."""
    job = StackJob(
        name="s", template=f"heat_template_version: 2021-04-16\n{template}", template_file="t.yaml"
    )
    try:
        prepare(job, ResourceTypes.load(), SETTINGS)
    except InvalidInput as error:
        return error.problems
    return ()


@pytest.mark.parametrize("policy", ["Snapshot", "snapshot"])
def test_a_snapshot_that_nobody_would_take_is_refused_and_not_silently_a_deletion(policy: str) -> None:
    (problem,) = problems_of(
        f"""\
resources:
  disk:
    type: OS::Heat::None
    deletion_policy: {policy}
"""
    )
    assert str(problem) == (
        "t.yaml:5:5: resources.disk.deletion_policy: a resource of type 'OS::Heat::None' cannot be snapshotted "
        "(no resource type can be snapshotted yet; use Delete or Retain)"
    )


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
def test_the_other_policies_are_accepted(policy: str) -> None:
    assert problems_of(f"resources: {{a: {{type: OS::Heat::None, deletion_policy: {policy}}}}}") == ()
