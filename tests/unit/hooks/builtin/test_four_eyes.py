"""Who applies a plan is not who made it."""

import pytest

from hooks.builtin.four_eyes import FourEyes, FourEyesOptions
from hooks.errors import Refusal
from hooks.lifecycle import LifecycleContext, PlannedOperation
from hooks.stack import FrozenStack


def asked(
    action: str = "UPDATE",
    *,
    user: str = "bob",
    by: str | None = "alice",
    project: str = "shop",
    parent_id: str = "",
    **options: tuple[str, ...],
) -> str:
    """Return why the plugin refuses; empty if it agrees. ``by`` None: there is no plan."""
    plugin = FourEyes(FourEyesOptions(**options))
    plan = None if by is None else PlannedOperation(id="p", user=by, planned_at=0.0)
    context = LifecycleContext(operation_id="1", project=project, user=user, plan=plan)
    stack = FrozenStack(name="s", id="1", project=project, parent_id=parent_id)
    try:
        assert plugin.do_pre_op(context, stack, None, action) is None
    except Refusal as error:
        return str(error)
    return ""


@pytest.mark.parametrize("action", ["CREATE", "UPDATE", "DELETE"])
def test_another_users_plan_may_be_applied_and_ones_own_may_not(action: str) -> None:
    assert asked(action) == ""
    assert "'bob' made this one" in asked(action, by="bob")
    assert "make one with: isotherm stack plan -o" in asked(action, by=None)


def test_a_user_who_is_not_known_is_nobody_else() -> None:
    assert "not known who made the plan" in asked(by="")
    assert "not known who applies the plan" in asked(user="")
    assert asked(user="", by="") != ""


@pytest.mark.parametrize("action", ["ADOPT", "RESTORE", "ABANDON"])
def test_what_cannot_be_planned_is_refused_unless_it_is_left_out(action: str) -> None:
    assert "is needed" in asked(action, by=None)
    assert asked(action, by=None, actions=("UPDATE",)) == ""


@pytest.mark.parametrize("action", ["ROLLBACK", "CHECK", "SUSPEND", "RESUME", "SNAPSHOT"])
def test_what_brings_back_or_looks_is_always_possible(action: str) -> None:
    assert asked(action, by=None, user="") == ""


def test_it_holds_for_outermost_stacks_of_its_projects() -> None:
    assert asked(by=None, parent_id="2") == ""
    assert asked(by=None, projects=("prod-*",)) == ""
    assert asked(by=None, projects=("sh*",)) != ""


def test_a_misspelt_action_is_no_option() -> None:
    with pytest.raises(ValueError, match="UPDATE"):
        FourEyesOptions(actions=("UPDAT",))
