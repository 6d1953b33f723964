"""The signals that end a process in good order: SIGTERM, SIGINT (Ctrl-C) and SIGHUP (its terminal was closed)."""

import signal
from types import FrameType
from typing import Final, NoReturn

#: The exit code of a command that a signal ended is this plus the number of the signal, as in shells.
_BY_SIGNAL: Final = 128


class Ended(KeyboardInterrupt):
    """A signal ends this command, as Ctrl-C does; ``code`` is its exit code."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.strsignal(number))
        self.code = _BY_SIGNAL + number


def code_of(interrupt: KeyboardInterrupt) -> int:
    """Return the exit code of a command that was interrupted."""
    return interrupt.code if isinstance(interrupt, Ended) else _BY_SIGNAL + signal.SIGINT


def end_commands_by_signals() -> None:
    """Let SIGTERM and SIGHUP end the command of this process as Ctrl-C does; a signal that is ignored stays so."""

    def end(number: int, _frame: FrameType | None) -> NoReturn:
        raise Ended(number)

    for each in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, end)


def share_handler(*, hangup_is_ignored: bool) -> None:
    """Let SIGINT and SIGHUP do what SIGTERM does, and the second SIGINT what SIGQUIT does.

    SIGHUP is ignored if it was when the process began, as under ``nohup``.
    """
    end, at_once = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGQUIT)

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, at_once)
        if callable(end):
            end(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGHUP, signal.SIG_IGN if hangup_is_ignored else end)


def leave_to_parent() -> None:
    """Ignore SIGINT and SIGHUP in a child process, which a terminal sends them too: its parent ends it."""
    for each in (signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
