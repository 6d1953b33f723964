"""Callers as keystone's middleware describes them."""

import pytest
from falcon import testing

from orchestrator.api.callers import caller_of_keystone


@pytest.mark.parametrize(
    ("status", "user"), [("Confirmed", "ann"), ("", None), ("Invalid", None), ("confirmed", None)]
)
def test_only_a_caller_who_is_confirmed_is_known(status: str, user: str | None) -> None:
    headers = {"X-Identity-Status": status, "X-Project-Id": "p", "X-User-Name": "ann", "X-Roles": "admin"}
    found = caller_of_keystone(testing.create_req(headers=headers))
    assert (None if found is None else found.user) == user
