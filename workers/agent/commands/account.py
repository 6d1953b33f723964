"""The user account of a command, when it is another than the agent's own."""

import os
import pwd
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class NoAccount(Exception):
    """A command cannot run as the requested user."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user as the kernel knows one, and the environment variables that name it."""

    name: str
    uid: int
    gid: int
    groups: Sequence[int]
    home: str
    shell: str

    @property
    def ids(self) -> tuple[int, int]:
        """The numbers of the user and its group, with whose rights files are reached."""
        return self.uid, self.gid

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables that name the user."""
        return {"USER": self.name, "LOGNAME": self.name, "HOME": self.home, "SHELL": self.shell}


def account_of(user: str) -> Account | None:
    """Return the account of a user; None: it is the agent's own, or none was requested.

    Raises:
        NoAccount: the user does not exist, or the agent, which is not root, cannot switch to it.
    """
    if not user:
        return None
    try:
        entry = pwd.getpwnam(user)
    except (KeyError, ValueError) as error:
        raise NoAccount(f"there is no user {user!r} on this machine") from error
    if entry.pw_uid == os.geteuid():
        return None
    if os.geteuid() != 0:
        raise NoAccount(f"only an agent that is root can run commands as {user!r}")
    groups = os.getgrouplist(user, entry.pw_gid)
    return Account(user, entry.pw_uid, entry.pw_gid, groups, entry.pw_dir, entry.pw_shell)
