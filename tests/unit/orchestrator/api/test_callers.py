"""Callers as keystone's middleware describes them: its roles and ours."""

from typing import Any

import pytest

from orchestrator.api.callers import of_keystone

CONFIRMED = {"HTTP_X_IDENTITY_STATUS": "Confirmed", "HTTP_X_PROJECT_ID": "p", "HTTP_X_USER_NAME": "ann"}


@pytest.mark.parametrize(
    ("said", "roles"),
    [
        ({"HTTP_X_ROLES": "reader"}, {"p": "reader"}),
        ({"HTTP_X_ROLES": "member,reader"}, {"p": "operator"}),
        ({"HTTP_X_ROLES": "Admin,member"}, {"p": "administrator"}),
        ({"HTTP_X_ROLES": "heat_stack_user"}, {}),
        ({"HTTP_X_ROLES": ""}, {}),
        ({"HTTP_X_ROLES": "admin", "HTTP_OPENSTACK_SYSTEM_SCOPE": "all"}, {"*": "administrator"}),
        ({"HTTP_X_ROLES": "admin", "HTTP_X_IS_ADMIN_PROJECT": "False"}, {"p": "administrator"}),
        ({"HTTP_X_ROLES": "member", "HTTP_OPENSTACK_SYSTEM_SCOPE": "all"}, {"p": "operator"}),
        ({"HTTP_X_ROLES": "admin", "HTTP_X_PROJECT_ID": ""}, {}),
    ],
)
def test_roles_of_keystone_are_ours(said: dict[str, Any], roles: dict[str, str]) -> None:
    found = of_keystone({**CONFIRMED, **said})
    assert found is not None
    assert (found.user, dict(found.roles)) == ("ann", roles)


@pytest.mark.parametrize("status", ["", "Invalid", "confirmed"])
def test_caller_who_is_not_confirmed_is_nobody(status: str) -> None:
    assert of_keystone({**CONFIRMED, "HTTP_X_ROLES": "admin", "HTTP_X_IDENTITY_STATUS": status}) is None
