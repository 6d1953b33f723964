"""What a command takes from the process around it: settings, the service, the terminal."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from orchestrator.cli.face import StackService
from orchestrator.cli.logs import configure_logs

if TYPE_CHECKING:
    # pydantic costs half of what `isotherm --help` may take, and help needs no settings.
    from orchestrator.config.settings import Settings


def read_settings() -> "Settings":
    """Read the settings of this process.

    Raises:
        InvalidInput: a setting has an unknown name or a bad value.
    """
    from orchestrator.config.settings import load_settings

    return load_settings()


def open_service(settings: "Settings") -> StackService:
    """Open the real service.

    Raises:
        Unavailable: the database or the broker cannot be reached.
    """
    # Brings the database in, which a good part of the commands does without.
    from orchestrator.service import Service

    return Service.open(settings)


def stdin_is_a_terminal() -> bool:
    """Whether somebody sits there who can answer a question."""
    return sys.stdin.isatty()


@dataclass
class Shell:
    """Handed to every command; a test passes one with stand-ins of its own."""

    load: Callable[[], "Settings"] = read_settings
    connect: Callable[["Settings"], StackService] = open_service
    can_answer: Callable[[], bool] = stdin_is_a_terminal
    #: Seconds to wait before a follower looks again.
    pause: Callable[[float], None] = time.sleep
    #: The format that the command line asked for, also for errors.
    form: str = "table"

    @property
    def log_level(self) -> str:
        """The level in the settings; empty while no command has read them, or they are wrong."""
        settings = self.__dict__.get("settings")
        return settings.log_level if settings else ""

    @cached_property
    def settings(self) -> "Settings":
        """The settings, read once, when a command first needs them; logs are set up by them before anything else."""
        settings = self.load()
        configure_logs(settings, quiet=True)
        return settings

    @contextmanager
    def service(self) -> Iterator[StackService]:
        """Give the service and close it afterwards, so that an interrupt leaves no thread behind."""
        service = self.connect(self.settings)
        try:
            yield service
        finally:
            service.close()
