"""Environment of a command: settings, the service, and whether a terminal can answer questions."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from hooks.values.dataclass import dataclass
from orchestrator.cli.errors import warn
from orchestrator.cli.logs import configure_logs
from orchestrator.errors import NotAllowed, Problem, Unavailable

if TYPE_CHECKING:
    # Help needs no settings.
    from orchestrator.config.settings import Settings
    from orchestrator.model.identity import Caller
    from orchestrator.service import Service


#: How long a command tries to record what it does in the audit log.
_RECORD_SECONDS: Final = 3.0


def read_settings() -> "Settings":
    """Read the settings of this process; warn on stderr of variables that are nearly a setting's.

    Raises:
        InvalidInput: a setting has an unknown name or a bad value.
    """
    from orchestrator.config.settings import Settings, load_settings
    from orchestrator.config.variables import unread_variables

    settings = load_settings()
    unread = unread_variables(Settings, os.environ)
    warn(
        [
            Problem(path=name, message="there is no such setting", hint=f"did you mean {near}?")
            for name, near in unread
        ]
    )
    return settings


def open_service(settings: "Settings") -> "Service":
    """Open the real service.

    Raises:
        Unavailable: the database or the broker cannot be reached.
    """
    # Imports the database, which many commands do not need.
    from orchestrator.service import Service

    return Service.open(settings)


def stdin_is_a_terminal() -> bool:
    """Whether a question can be answered: stdin is a terminal."""
    return sys.stdin.isatty()


@dataclass
class Shell:
    """Settings and service of a command; tests pass one with stand-ins."""

    load: Callable[[], "Settings"] = read_settings
    connect: Callable[["Settings"], "Service"] = open_service
    can_answer: Callable[[], bool] = stdin_is_a_terminal
    #: Waits so many seconds between two queries of a followed list.
    pause: Callable[[float], None] = time.sleep
    #: The format of the command line, also for errors.
    form: str = "table"
    #: Why the command is given, by its option ``--comment``.
    comment: str = ""

    @property
    def log_level(self) -> str:
        """The log level of the settings; empty if no command has read them, or they are invalid."""
        settings = self.__dict__.get("settings")
        return settings.log_level if settings else ""

    @property
    def directories(self) -> list[str]:
        """The directories that this process may write to; none if no command has read the settings."""
        settings = self.__dict__.get("settings")
        return (
            [str(each) for each in (settings.state_directory, *settings.allowed_directories)]
            if settings
            else []
        )

    @cached_property
    def settings(self) -> "Settings":
        """The settings, read once at the first use, which sets up logging as well."""
        settings = self.load()
        configure_logs(settings, quiet=True)
        return settings

    @cached_property
    def caller(self) -> "Caller":
        """Who types the command.

        Raises:
            NotAllowed: by a token that is unknown.
            InvalidInput: by a token that cannot be verified.
        """
        from orchestrator.access.authenticators import local_caller

        return replace(local_caller(self.settings, "command line"), comment=self.comment)

    def may(self, operation: str) -> bool:
        """Return whether the caller's role allows an operation in the settings' project; nothing is recorded.

        Raises:
            InvalidInput: the policy cannot be read, or the caller's token cannot be verified.
        """
        from orchestrator.config.access_policy import load_policy

        return load_policy(self.settings).allows(self.caller.identity, operation, self.settings.project)

    @contextmanager
    def allowed(self, operation: str, typed: str = "") -> Iterator[None]:
        """Return a context in which the caller acts, after a check that its role allows the operation.

        A refusal is recorded, and so is what changes the installation; ``typed`` is the command for the record.

        Raises:
            NotAllowed: it does not.
            InvalidInput: the policy cannot be read, or the caller's token cannot be verified.
        """
        from orchestrator.config.access_policy import load_policy
        from orchestrator.config.caller import acting_for
        from orchestrator.model.policy import OPERATIONS

        policy, project = load_policy(self.settings), self.settings.project
        try:
            policy.require(self.caller.identity, operation, project)
        except NotAllowed as error:
            self._record(operation, typed, refused=str(error))
            raise
        is_recorded = not OPERATIONS[operation].is_recorded or self._record(operation, typed)
        # A process of the installation acts for no caller.
        with nullcontext() if operation == "process.run" else acting_for(self.caller):
            yield
        if not is_recorded:
            # An upgrade may have made the table.
            self._record(operation, typed)

    def _record(self, operation: str, typed: str, refused: str = "") -> bool:
        """Record a command; False where there is no database yet, or it does not answer."""
        from orchestrator.model.audit import AuditEntry
        from orchestrator.model.policy import OPERATIONS
        from orchestrator.store.retrying import impatient
        from orchestrator.store.store import Store

        settings = self.settings
        if not settings.database_url and not (settings.state_directory / "isotherm.db").exists():
            return False
        project = "" if OPERATIONS[operation].is_of_installation else settings.project
        entry = AuditEntry.of(self.caller, operation, project=project, target=typed, refused=refused)
        store = Store.of(settings)
        try:
            with impatient(_RECORD_SECONDS):
                store.audit_log.append(entry)
        except Unavailable as error:
            warn([Problem(message=f"{operation} is not in the audit log: {error}")], self.form)
            return False
        finally:
            store.close()
        return True

    @contextmanager
    def service(self) -> Iterator["Service"]:
        """Return a context with the service, which is closed at its end, so that an interrupt leaves no thread."""
        service = self.connect(self.settings)
        try:
            yield service
        finally:
            service.close()
