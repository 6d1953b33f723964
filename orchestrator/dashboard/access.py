"""Who may do what: decided from how the dashboard was started, and from who asks.

There are two roles. A *viewer* reads; an *operator* may act on stacks, too, if actions are allowed at all. Whoever is
not known by name is a viewer, and is shown no values of parameters and outputs. Nothing here knows of HTTP but the
numbers of its refusals.
"""

import shlex
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any, Final, Self

from flower.utils.authentication import authenticate

#: What operators may do with a stack, and the command that does the same.
COMMANDS: Final[Mapping[str, str]] = {
    "cancel": "isotherm stack cancel {stack}",
    "retry": "isotherm stack update {stack} --existing",
    "delete": "isotherm stack delete {stack}",
    "signal": "isotherm stack resource signal {stack} RESOURCE",
    "clear_hook": "isotherm stack hook clear {stack} RESOURCE",
}
ACTIONS: Final = tuple(COMMANDS)


class Role(StrEnum):
    """What somebody is to the dashboard."""

    VIEWER = "viewer"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """How the dashboard was started, as far as it decides what anybody may do."""

    #: The names of ``--basic_auth``, and the pattern of ``--auth``; empty where there is no such authentication.
    users: tuple[str, ...] = ()
    pattern: str = ""
    #: Whether ``--stack_actions`` is on, and whom ``--stack_operators`` names.
    actions: bool = False
    operators: frozenset[str] = frozenset()
    read_only: bool = False
    #: Whether there is no broker, so that nobody would take a job.
    embedded: bool = False
    #: By which further names browsers may come where there is no authentication; None: by any.
    hosts: frozenset[str] | None = frozenset()

    @classmethod
    def of(cls, options: Any, *, embedded: bool) -> Self:
        """Return the mode that Flower's options and ours say."""
        return cls(
            users=tuple(each.partition(":")[0] for each in options.basic_auth or ()),
            pattern=options.auth or "",
            actions=bool(options.stack_actions),
            operators=frozenset(options.stack_operators or ()),
            read_only=bool(options.read_only),
            embedded=embedded,
            # No browser reaches a socket of the file system: what stands before it is to decide.
            hosts=None if options.unix_socket else frozenset(map(str.lower, options.stack_hosts or ())),
        )

    @property
    def authenticates(self) -> bool:
        """Whether it is known who asks."""
        return bool(self.users or self.pattern)

    def lets_in(self, name: str) -> bool:
        """Whether somebody of this name can come in: by OAuth where there is such, for then that tells the name."""
        return bool(authenticate(self.pattern, name)) if self.pattern else name in self.users


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who asks."""

    #: Empty where there is no authentication.
    name: str = ""
    role: Role = Role.VIEWER

    @classmethod
    def of(cls, mode: Mode, name: str) -> Self:
        """Return the visitor of this name."""
        known = mode.authenticates and bool(name)
        is_operator = known and name in mode.operators
        return cls(name=name if known else "", role=Role.OPERATOR if is_operator else Role.VIEWER)

    @property
    def sees_values(self) -> bool:
        """Whether values of parameters and outputs are shown, and not their names alone."""
        return bool(self.name)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why somebody may not do something, and what would have to be set."""

    status: HTTPStatus
    sentence: str


def refusal(mode: Mode, visitor: Visitor, action: str = "", stack: str = "") -> Refusal | None:
    """Return why a visitor may not act on stacks; None if they may.

    Args:
        mode: How the dashboard was started.
        visitor: Who asks.
        action: One of ``ACTIONS``; empty for all that change stacks.
        stack: The stack's name, for the command to type.
    """
    if mode.embedded:
        command = COMMANDS.get(action, "isotherm stack --help").format(stack=shlex.quote(stack) or "NAME")
        why = f"without a broker nobody takes jobs of the dashboard; type: {command}"
        return Refusal(HTTPStatus.FORBIDDEN, why)
    if not mode.authenticates:
        why = "nobody may act on stacks without authentication: start the dashboard with --basic_auth or --auth, "
        return Refusal(HTTPStatus.UNAUTHORIZED, f"{why}--stack_actions and --stack_operators")
    if mode.read_only:
        return Refusal(HTTPStatus.FORBIDDEN, "the dashboard is read only: it was started with --read_only")
    if not mode.actions:
        why = "actions are off: start the dashboard with --stack_actions and --stack_operators"
        return Refusal(HTTPStatus.FORBIDDEN, why)
    if visitor.role is not Role.OPERATOR:
        why = f"{visitor.name or 'whoever asks'} is a viewer: only those whom --stack_operators names may act on stacks"
        return Refusal(HTTPStatus.FORBIDDEN, why)
    return None


def host_refusal(mode: Mode, host: str) -> Refusal | None:
    """Return why nothing is answered under a name that a browser thinks is ours; None if it may be.

    Where nobody is asked who they are, a page of another site could have its own name lead here, and read us by it.
    A name in the public tree of names may be somebody else's; addresses, and names without a dot, are not.

    Args:
        mode: How the dashboard was started.
        host: What the browser says, without a port.
    """
    name = host.lower().rstrip(".")
    if mode.authenticates or mode.hosts is None or name in mode.hosts or _is_near(name):
        return None
    why = (
        f"without authentication nothing is told under the name {name[:100]!r}, which may be another site's: "
    )
    return Refusal(
        HTTPStatus.FORBIDDEN, f"{why}start the dashboard with --stack_hosts, --basic_auth or --auth"
    )


def _is_near(name: str) -> bool:
    if "." not in name or name.endswith(".localhost") or name == socket.gethostname().lower():
        return True
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def control_refusal(mode: Mode, visitor: Visitor, *, sends: bool) -> Refusal | None:
    """Return why a visitor may not use what Flower itself can do to workers and tasks; None if Flower decides.

    To send tasks is to act on stacks, by another door. Anything else is Flower's to decide, until there are operators:
    then it is for them.
    """
    if sends:
        return refusal(mode, visitor)
    if mode.operators and visitor.role is not Role.OPERATOR:
        why = f"{visitor.name or 'whoever asks'} is a viewer: only those whom --stack_operators names may do that"
        return Refusal(HTTPStatus.FORBIDDEN, why)
    return None


def powers(
    mode: Mode, visitor: Visitor, stack: str = "", *, only: Collection[str] = ACTIONS
) -> dict[str, Any]:
    """Return what a visitor may do, as pages are told it: of each action, why not, or an empty text."""
    refusals = {action: refusal(mode, visitor, action, stack) for action in only}
    return {
        "user": visitor.name,
        "role": visitor.role.value,
        "sees_values": visitor.sees_values,
        "actions": {action: each.sentence if each else "" for action, each in refusals.items()},
    }
