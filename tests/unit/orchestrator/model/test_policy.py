"""Roles, and the one table of what each may do."""

from pathlib import Path

import pytest

from orchestrator.config.access_policy import load_policy
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, NotAllowed
from orchestrator.model.identity import ADMINISTRATOR, OPERATOR, READER, ROLES, Identity
from orchestrator.model.messages import JOBS
from orchestrator.model.policy import OPERATIONS, Policy


@pytest.mark.parametrize("role", ROLES)
def test_role_may_do_what_lower_roles_may_and_no_more(role: str) -> None:
    who = Identity(user="ann", roles={"acme": role})
    allowed = [each for each in ROLES if who.has(each, "acme")]
    assert allowed == list(ROLES[: ROLES.index(role) + 1])
    assert not any(who.has(each, "beta") for each in ROLES)
    assert not any(who.has(each, "*") for each in ROLES)


def test_role_in_all_projects_holds_in_each_and_does_not_lower_another() -> None:
    who = Identity(user="ann", roles={"*": READER, "acme": OPERATOR})
    assert (who.role_in("acme"), who.role_in("beta"), who.role_in("*")) == (OPERATOR, READER, READER)


def test_every_kind_of_job_has_an_operation() -> None:
    assert set(JOBS) <= set(OPERATIONS)


def test_administrator_of_a_project_may_do_nothing_to_the_installation() -> None:
    who, policy = Identity(user="ann", roles={"acme": ADMINISTRATOR}), Policy()
    for name, operation in OPERATIONS.items():
        assert policy.allows(who, name, "acme") is not operation.is_of_installation
        assert policy.allows(Identity.administrator(), name, "acme")
    with pytest.raises(
        NotAllowed, match=r"node.read needs the role administrator in all projects \('\*'\); ann has no"
    ):
        policy.require(who, "node.read", "acme")


def policy_in(path: Path, text: str) -> Policy:
    file = path / "policy.yaml"
    file.write_text(text)
    return load_policy(Settings(policy_file=file))


def test_policy_file_changes_the_roles_that_it_names(tmp_path: Path) -> None:
    policy = policy_in(tmp_path, "stack.delete: administrator\nstack.read: operator\n")
    operator = Identity(user="ann", roles={"acme": OPERATOR})
    assert not policy.allows(operator, "stack.delete", "acme")
    assert policy.allows(operator, "stack.update", "acme")
    assert not policy.allows(Identity(user="r", roles={"acme": READER}), "stack.read", "acme")
    assert policy_in(tmp_path, "").overrides == {}


def test_unknown_operations_and_roles_are_refused_at_once_with_the_right_names(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        policy_in(tmp_path, "stack.delte: operator\nstack.update: oprator\n3: []\n")
    unknown, role, *_ = refused.value.problems
    assert (unknown.message, unknown.hint) == (
        "'stack.delte' is no operation",
        "did you mean 'stack.delete'?",
    )
    assert (role.message, role.hint) == ("'oprator' is no role", "did you mean 'operator'?")
    assert len(refused.value.problems) == 4


@pytest.mark.parametrize("text", ["- stack.delete", "{", "stack.read", "[" * 5000])
def test_file_that_is_no_policy_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match=r"policy\.yaml"):
        policy_in(tmp_path, text)


def test_policy_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_policy(Settings(policy_file=tmp_path / "none.yaml"))
