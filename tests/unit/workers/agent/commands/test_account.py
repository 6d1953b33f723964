"""Under which user a command runs."""

import os
import pwd

import pytest

from workers.agent.commands.account import NoAccount, account_of

OWN = pwd.getpwuid(os.geteuid()).pw_name
OTHER = next(entry for entry in pwd.getpwall() if entry.pw_uid not in {0, os.geteuid()})


@pytest.mark.parametrize("user", ["", OWN], ids=["none", "own"])
def test_the_agents_own_user_needs_no_change(user: str) -> None:
    assert account_of(user) is None


@pytest.mark.parametrize("user", ["no-such-user", "a\0b"], ids=["unknown", "null"])
def test_a_user_that_there_is_not_is_refused(user: str) -> None:
    with pytest.raises(NoAccount, match="no user"):
        account_of(user)


def test_root_can_become_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    account = account_of(OTHER.pw_name)
    assert account is not None
    assert (account.uid, account.gid) == (OTHER.pw_uid, OTHER.pw_gid)
    assert OTHER.pw_gid in account.groups
    assert account.environment["HOME"] == OTHER.pw_dir


def test_nobody_else_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: OTHER.pw_uid + 1)
    with pytest.raises(NoAccount, match="only an agent that is root"):
        account_of(OTHER.pw_name)
