"""Access control of the dashboard: roles, and the reasons for refusals, by the options it was started with.

There are two roles. A *viewer* reads; an *operator* may also act on stacks, if actions are allowed at all. A visitor
without a name is a viewer, and sees no values of parameters and outputs. Of HTTP, only the status codes of refusals
appear here.
"""

import shlex
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any, Final, Self

from flower.utils.authentication import authenticate

from orchestrator.errors import NotAllowed
from orchestrator.model.identity import OPERATOR, READER, Identity
from orchestrator.model.policy import Policy

#: What operators do, each with the equivalent command: actions on a stack, and new definitions.
COMMANDS: Final[Mapping[str, str]] = {
    "cancel": "isotherm stack cancel {stack}",
    "retry": "isotherm stack update {stack} --existing",
    "delete": "isotherm stack delete {stack}",
    "check": "isotherm stack check {stack}",
    "suspend": "isotherm stack suspend {stack}",
    "resume": "isotherm stack resume {stack}",
    "snapshot": "isotherm stack snapshot create {stack}",
    "restore": "isotherm stack snapshot restore {stack} SNAPSHOT",
    "protect": "isotherm stack protect {stack}",
    "unprotect": "isotherm stack unprotect {stack}",
    "mark_unhealthy": "isotherm stack resource mark-unhealthy {stack} RESOURCE",
    "mark_healthy": "isotherm stack resource mark-unhealthy {stack} RESOURCE --reset",
    "signal": "isotherm stack resource signal {stack} RESOURCE",
    "clear_hook": "isotherm stack hook clear {stack} RESOURCE",
    "create": "isotherm stack create {stack} -t TEMPLATE",
    "update": "isotherm stack update {stack} --existing -t TEMPLATE",
    "import": "isotherm stack import {stack} RESOURCE=ID --existing -t TEMPLATE",
}
#: Those that need no more than a button on the pages of a stack.
ACTIONS: Final = tuple(action for action in COMMANDS if action not in ("create", "update", "import"))
#: The operation of each, whose role the visitor needs.
OPERATIONS: Final[Mapping[str, str]] = {
    "cancel": "stack.cancel",
    "retry": "stack.update",
    "delete": "stack.delete",
    "check": "stack.check",
    "suspend": "stack.suspend",
    "resume": "stack.resume",
    "snapshot": "stack.snapshot",
    "restore": "stack.restore",
    "protect": "stack.protect",
    "unprotect": "stack.unprotect",
    "mark_unhealthy": "stack.mark_unhealthy",
    "mark_healthy": "stack.mark_unhealthy",
    "signal": "stack.signal",
    "clear_hook": "stack.clear_hook",
    "create": "stack.create",
    "update": "stack.update",
    "import": "stack.import",
}


class Role(StrEnum):
    """The role of a visitor."""

    VIEWER = "viewer"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """The options of the dashboard that decide about access."""

    #: The names of ``--basic_auth``, and the pattern of ``--auth``; empty without such authentication.
    users: tuple[str, ...] = ()
    pattern: str = ""
    #: Whether ``--stack_actions`` is on, and the names in ``--stack_operators``.
    actions: bool = False
    operators: frozenset[str] = frozenset()
    read_only: bool = False
    #: Whether the authenticator of the settings knows the visitors, by a token with each request.
    tokens: bool = False
    #: The project that is shown, and what each role may do there.
    project: str = "default"
    policy: Policy = field(default_factory=Policy)
    #: Whether there is no broker, so that no coordinator would take a job.
    embedded: bool = False
    #: The host names that are accepted without authentication, besides local ones; None: any.
    hosts: frozenset[str] | None = frozenset()

    @classmethod
    def of(cls, options: Any, *, embedded: bool, tokens: bool = False) -> Self:
        """Return the mode set by Flower's options and ours."""
        return cls(
            tokens=tokens,
            users=tuple(each.partition(":")[0] for each in options.basic_auth or ()),
            pattern=options.auth or "",
            actions=bool(options.stack_actions),
            operators=frozenset(options.stack_operators or ()),
            read_only=bool(options.read_only),
            embedded=embedded,
            # Browsers reach a Unix socket only through a proxy, which has to check the host.
            hosts=None if options.unix_socket else frozenset(map(str.lower, options.stack_hosts or ())),
        )

    @property
    def authenticates(self) -> bool:
        """Whether visitors have to log in."""
        return bool(self.users or self.pattern or self.tokens)

    def lets_in(self, name: str) -> bool:
        """Whether a user of this name can log in: by OAuth if it is on, else by basic authentication."""
        return bool(authenticate(self.pattern, name)) if self.pattern else name in self.users


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """The user behind a request."""

    #: Empty without authentication.
    name: str = ""
    role: Role = Role.VIEWER
    #: As the authenticator has it; None for one who logged in by the dashboard's own options.
    proven: Identity | None = None

    @classmethod
    def of(cls, mode: Mode, name: str) -> Self:
        """Return the visitor of this name, with its role."""
        known = mode.authenticates and bool(name)
        is_operator = known and name in mode.operators
        return cls(name=name if known else "", role=Role.OPERATOR if is_operator else Role.VIEWER)

    @classmethod
    def with_identity(cls, mode: Mode, identity: Identity) -> Self:
        """Return the visitor that an authenticator has identified."""
        is_operator = identity.has(OPERATOR, mode.project)
        role = Role.OPERATOR if is_operator else Role.VIEWER
        return cls(name=identity.user, role=role, proven=identity)

    def identity(self, mode: Mode) -> Identity:
        """Return who it is: by the dashboard's own login, a reader or an operator of the project that is shown."""
        if self.proven is not None:
            return self.proven
        role = OPERATOR if self.role is Role.OPERATOR else READER
        return Identity(user=self.name, roles={mode.project: role})

    def may(self, mode: Mode, operation: str) -> bool:
        """Return whether the policy allows an operation in the project that is shown."""
        return mode.policy.allows(self.identity(mode), operation, mode.project)

    @property
    def sees_values(self) -> bool:
        """Whether values of parameters and outputs are shown, and not only their names."""
        return bool(self.name)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a request is refused, and the options that would allow it."""

    status: HTTPStatus
    sentence: str


def refusal(mode: Mode, visitor: Visitor, action: str = "", stack: str = "") -> Refusal | None:
    """Return why a visitor may not act on stacks; None if they may.

    ``action`` is one of ``OPERATIONS``, empty for any; ``stack`` is the name for the command in the sentence.
    """
    if mode.embedded:
        command = COMMANDS.get(action, "isotherm stack --help").format(stack=shlex.quote(stack) or "NAME")
        why = f"without a broker the dashboard cannot submit jobs; run: {command}"
        return Refusal(HTTPStatus.FORBIDDEN, why)
    if not mode.authenticates:
        why = "actions on stacks require authentication: start the dashboard with --basic_auth or --auth, "
        return Refusal(HTTPStatus.UNAUTHORIZED, f"{why}--stack_actions and --stack_operators")
    if mode.read_only:
        return Refusal(HTTPStatus.FORBIDDEN, "the dashboard is read only: it was started with --read_only")
    if not mode.actions:
        why = "actions are off: start the dashboard with --stack_actions and --stack_operators"
        return Refusal(HTTPStatus.FORBIDDEN, why)
    if not mode.tokens and visitor.role is not Role.OPERATOR:
        why = f"{visitor.name or 'the user'} is a viewer: only users named by --stack_operators may act on stacks"
        return Refusal(HTTPStatus.FORBIDDEN, why)
    return role_refusal(mode, visitor, OPERATIONS[action]) if action else None


def role_refusal(mode: Mode, visitor: Visitor, operation: str) -> Refusal | None:
    """Return why a visitor's role does not allow an operation in the project that is shown; None if it does."""
    try:
        mode.policy.require(visitor.identity(mode), operation, mode.project)
    except NotAllowed as error:
        return Refusal(HTTPStatus.FORBIDDEN, str(error))
    return None


def host_refusal(mode: Mode, host: str) -> Refusal | None:
    """Return why a request for this host, without its port, is refused; None: accepted. Protects against DNS rebinding.

    Without authentication, a page of another site could point its own host name here, and read the dashboard by it.
    Public host names may belong to another site; addresses, and names without a dot, do not.
    """
    name = host.lower().rstrip(".")
    if mode.authenticates or mode.hosts is None or name in mode.hosts or _is_near(name):
        return None
    why = (
        f"without authentication the host name {name[:100]!r} is refused, because it may be another site's: "
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
    """Return why a visitor may not use Flower's control of workers and tasks; None if Flower decides.

    A task that is sent is the installation's, and could act on the stacks of any project: only administrators of the
    installation may. Anything else is for Flower to decide unless there are operators; then it is theirs alone.
    """
    if sends:
        return refusal(mode, visitor) or role_refusal(mode, visitor, "flower.send")
    if mode.tokens:
        return role_refusal(mode, visitor, "flower.control")
    if mode.operators and visitor.role is not Role.OPERATOR:
        why = f"{visitor.name or 'the user'} is a viewer: only users named by --stack_operators may do that"
        return Refusal(HTTPStatus.FORBIDDEN, why)
    return None


def powers(
    mode: Mode, visitor: Visitor, stack: str = "", *, only: Collection[str] = ACTIONS
) -> dict[str, Any]:
    """Return a visitor's rights as JSON for pages: for each action the reason of refusal, empty if allowed."""
    refusals = {action: refusal(mode, visitor, action, stack) for action in only}
    return {
        "user": visitor.name,
        "role": visitor.role.value,
        "sees_values": visitor.sees_values,
        "actions": {action: each.sentence if each else "" for action, each in refusals.items()},
    }
