"""The plugin refuses what breaks rules and warns of the rest, in a preview as in the operation itself."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hooks.builtin.policy.plugin import Policy, PolicyOptions
from hooks.errors import HookNotLoaded, Refusal
from hooks.lifecycle import Annotations, LifecycleContext, find_lifecycle_plugins
from hooks.stack import FrozenStack
from tests.unit.hooks.builtin.policy.stacks import stack_of

RULES = """
rules:
- name: no-volumes
  forbid_types: OS::Cinder::*
  except_projects: storage
- name: no-secrets
  forbid_types: OS::Barbican::*
- name: has-owner
  effect: warn
  require_tags: owner
- name: keep
  actions: [delete]
  forbid_tags: keep
"""
FINE = stack_of("web: {type: OS::Nova::Server}", tags=("owner",))
WRONG = stack_of("disk: {type: OS::Cinder::Volume}\nkey: {type: OS::Barbican::Secret}")
UNOWNED = stack_of("web: {type: OS::Nova::Server}")
KEPT = stack_of("disk: {type: OS::Cinder::Volume}", tags=("keep",))


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)
    return Policy(PolicyOptions(files=(file,)))


def ask(
    policy: Policy,
    stack: FrozenStack,
    action: str = "CREATE",
    project: str = "default",
    how: str = "do_pre_op",
) -> Annotations | None:
    context = LifecycleContext(operation_id="1", project=project)
    answer: Annotations | None = getattr(policy, how)(context, stack, None, action)
    return answer


@pytest.mark.parametrize("how", ["do_pre_op", "do_preview"])
def test_it_refuses_warns_or_allows(policy: Policy, how: str) -> None:
    assert ask(policy, FINE, how=how) == Annotations()
    with pytest.raises(Refusal) as refused:
        ask(policy, WRONG, how=how)
    assert str(refused.value) == (
        "resource 'disk' breaks rule 'no-volumes': the type OS::Cinder::Volume is forbidden; "
        "resource 'key' breaks rule 'no-secrets': the type OS::Barbican::Secret is forbidden"
    )
    assert ask(policy, UNOWNED, how=how) == Annotations(
        warnings=("the stack breaks rule 'has-owner': it has no tag 'owner'",)
    )


def test_a_rule_may_leave_out_projects(policy: Policy) -> None:
    with pytest.raises(Refusal) as refused:
        ask(policy, WRONG, project="storage")
    assert "no-volumes" not in str(refused.value)


@pytest.mark.parametrize("action", ["ROLLBACK", "CHECK", "SUSPEND", "RESUME", "SNAPSHOT", "ABANDON"])
def test_what_no_rule_is_about_leaves_standing_what_was_said(policy: Policy, action: str) -> None:
    assert ask(policy, WRONG, action) is None


def test_rules_about_another_action_are_asked_then_alone(policy: Policy) -> None:
    assert ask(policy, WRONG, "DELETE") == Annotations()
    with pytest.raises(Refusal, match="breaks rule 'keep': the tag 'keep' is forbidden"):
        ask(policy, KEPT, "DELETE")


def test_rules_that_change_hold_at_once(policy: Policy) -> None:
    (file,) = policy.options.files
    file.write_text("rules: []  # for now")
    assert ask(policy, WRONG) == Annotations()


@pytest.mark.parametrize(
    "said", [{}, {"files": []}, {"files": ["a"], "file": "b"}], ids=["none", "empty", "odd"]
)
def test_options_name_files(said: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PolicyOptions.model_validate(said)


def test_a_process_does_not_start_with_wrong_rules(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("rules:\n- {name: a, forbid_type: X}")
    with pytest.raises(HookNotLoaded) as error:
        find_lifecycle_plugins({"policy": {"enabled": True, "files": [str(file)]}}).enabled()
    assert f"{file}:2:13: there is no key 'forbid_type' here; did you mean 'forbid_types'?" in str(
        error.value
    )
