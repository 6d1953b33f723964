"""The installation that a process and a message belong to: processes with another database take no work from here.

Every message of an installation has its id in the header ``installation``. A process refuses to start while one of
another installation answers on the broker, and ends when it receives a check or an order of another; the message goes
back to the queue. A client's job of another installation goes back for as long as its sender waits, and is dropped
then: a client with a wrong database must not stop a coordinator.
"""

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cached_property
from inspect import signature
from typing import Any, Final

from celery import Celery, Task
from celery.worker import state as worker_state
from celery.worker.control import inspect_command
from celery.worker.strategy import default
from kombu.entity import Queue
from kombu.exceptions import OperationalError

from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Problem, Unavailable
from orchestrator.keys.envelope import CONTENT, Refused
from orchestrator.keys.key import KeyRing
from orchestrator.model.messages import JOBS
from orchestrator.queue.refusals import refusals
from orchestrator.queue.sealing import decrypted, sealed
from orchestrator.queue.serializers import SEALED, unpacked
from orchestrator.queue.setups import Setup, read_setup

log = get_logger()

#: The header of messages.
HEADER: Final = "installation"
#: The command by which the processes on a broker are asked for their installation.
WHICH: Final = "isotherm_installation"
#: The command by which they are asked for their setups.
SETUP: Final = "isotherm_setup"
#: How long a foreign job goes back to the queue, and the pause before each time.
WAITED_SECONDS: Final = 15.0
PAUSE_SECONDS: Final = 1.0
#: After a database that did not answer, the id is not read again so soon.
AGAIN_SECONDS: Final = 5.0
#: The exit code of a process that ends because of a foreign message.
FOREIGN_EXIT: Final = 2


class InstallationApp(Celery):  # type: ignore[misc]  # celery has no types
    """A Celery app whose messages carry the id of the installation."""

    task_cls = "orchestrator.queue.installation:GuardedTask"
    control_cls = "orchestrator.queue.monitoring:SignedControl"
    events_cls = "orchestrator.queue.monitoring:SignedEvents"
    #: The settings that it was made from.
    settings: Settings
    #: Returns the id; empty for a client that has no database, such as an agent.
    installation: "Callable[[], str]" = staticmethod(lambda: "")

    #: Returns the keys that it signs and verifies with.
    keys: "Callable[[], KeyRing]" = staticmethod(KeyRing)

    def send_task(
        self,
        name: str,
        args: None = None,  # noqa: ARG002  # Celery's order of arguments
        kwargs: Mapping[str, Any] | None = None,
        *,
        task_id: str | None = None,
        queue: Queue | str | None = None,
        headers: Mapping[str, Any] | None = None,
        expires: float | None = None,
        kwargsrepr: str = "{}",
        **options: Any,
    ) -> Any:
        """Send a message in a signed envelope; ``expires`` are seconds.

        Raises:
            InvalidInput: there is no key to sign it with, or receivers would refuse it as too large or too deep.
        """
        own, message_id = self.installation(), task_id or str(uuid.uuid4())
        addressee: Queue | str = queue or self.conf.task_routes[name]["queue"]
        envelope = sealed(
            name,
            kwargs or {},
            self.keys(),
            queue=addressee if isinstance(addressee, str) else str(addressee.name),
            message_id=message_id,
            installation=own,
            lifetime_seconds=expires,
            summary=kwargsrepr,
            settings=self.settings,
        )
        return super().send_task(
            name,
            (envelope,),
            {},
            task_id=message_id,
            queue=addressee,
            headers={**(headers or {}), **({HEADER: own} if own else {})} or None,
            expires=expires,
            serializer=SEALED,
            # Shown by Celery's tools: names only, never a value.
            argsrepr="()",
            kwargsrepr=kwargsrepr,
            **{name: value for name, value in options.items() if name not in ("argsrepr", "serializer")},
        )


class GuardedTask(Task):  # type: ignore[misc]  # as above
    """A task that is not carried out for a message of another installation."""

    abstract = True
    Strategy = "orchestrator.queue.installation:guarding"
    Request = "orchestrator.queue.requests:QuietRequest"

    def __call__(self, content: bytes) -> Any:
        """Carry it out with the arguments in the content of a verified message."""
        settings = self.app.settings
        try:
            content = decrypted(content, settings, self.name, self.request.id)
            arguments = unpacked(
                content, most_bytes=settings.max_message_bytes, deepest=settings.max_message_depth
            )
            if not isinstance(arguments, dict) or arguments.keys() != self.parameters:
                raise Refused(CONTENT, f"expected a map of {', '.join(sorted(self.parameters)) or 'nothing'}")
        except Refused as why:
            queue = self.request.delivery_info["routing_key"]
            refusals.add(queue, why, content, {"task": self.name, "id": self.request.id})
            return None
        return self.run(**arguments)

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The names of its arguments."""
        names = signature(self.run).parameters
        return frozenset(names)


class LazyId:
    """The installation's id in a process that may start before its database answers; read once."""

    def __init__(self, read: Callable[[], str]) -> None:
        self._read, self._id, self._next = read, "", 0.0

    def __call__(self) -> str:
        """Return the id; empty while the database does not answer."""
        if not self._id and time.monotonic() >= self._next:
            try:
                self._id = self._read()
            except Unavailable as error:
                self._next = time.monotonic() + AGAIN_SECONDS
                log.warning("the installation's id is not known yet", error=str(error))
        return self._id


class ForeignJobs:
    """The jobs of other installations that this process has received, and since when."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}

    def is_waited_for(self, message_id: str) -> bool:
        """Return whether the sender of a job may wait for another coordinator still."""
        now = self._clock()
        self._since = {
            each: since for each, since in self._since.items() if now - since < 10 * WAITED_SECONDS
        }
        return now - self._since.setdefault(message_id, now) < WAITED_SECONDS


def guarding(task: Any, app: Any, consumer: Any, **options: Any) -> Callable[..., None]:
    """Return Celery's handler of a task's messages, behind the comparison of installations."""
    handle = default(task, app, consumer, **options)
    foreign = ForeignJobs()

    def guarded(message: Any, body: Any, ack: Any, reject: Any, callbacks: Any, **more: Any) -> None:
        theirs, own = message.headers.get(HEADER), app.installation()
        if not theirs or not own or theirs == own:
            handle(message, body, ack, reject, callbacks, **more)
            return
        back = (log, consumer.connection_errors, True)
        if task.name not in JOBS:
            log.error(
                "a foreign message goes back to the queue, and this process ends", why=_found(theirs, own)
            )
            reject(*back)
            # Celery ends the worker when the running tasks are done.
            worker_state.should_stop = FOREIGN_EXIT
        elif foreign.is_waited_for(str(message.headers.get("id"))):
            consumer.timer.call_after(PAUSE_SECONDS, reject, back)
        else:
            log.error("a foreign job is dropped, whose sender waits no more", why=_found(theirs, own))
            reject(log, consumer.connection_errors, False)

    return guarded


def _found(theirs: str, own: str) -> str:
    return (
        f"a message of the installation {theirs} came by this broker, and the database of this process is that of "
        f"the installation {own}: all processes on a broker need the same ISOTHERM_DATABASE_URL; if {theirs} is gone "
        "for good, empty its broker"
    )


@inspect_command(name=WHICH)  # type: ignore[untyped-decorator]  # celery has no types
def _which(state: Any, **_: object) -> dict[str, str]:
    """Answer with the id of this process's installation."""
    return {HEADER: state.app.installation()}


@inspect_command(name=SETUP)  # type: ignore[untyped-decorator]  # celery has no types
def _setup(state: Any, **_: object) -> dict[str, Any]:
    """Answer with this process's setup."""
    return asdict(Setup.of(state.app.settings, state.app.installation()))


def installations_on(app: Celery, *, timeout_seconds: float) -> dict[str, str]:
    """Return the installations of the processes that answer on a broker within a time, by the process's Celery name.

    The first answer ends the wait. Agents, which have no database, are left out.

    Raises:
        OperationalError, OSError: the broker is out of reach.
    """
    for options in ({"limit": 1}, {}):
        replies = _asked(app, WHICH, timeout_seconds, **options)
        answers = {name: answer for reply in replies for name, answer in reply.items()}
        found = {name: answer[HEADER] for name, answer in answers.items() if answer.get(HEADER)}
        # The first answer may be that of an agent.
        if found or not answers:
            return found
    return {}


def _asked(app: Celery, question: str, timeout_seconds: float, **options: Any) -> list[dict[str, Any]]:
    """Return the replies of the processes on a broker within a time, each by the process's Celery name.

    They come over a connection outside the app's pool: who asks needs another one to publish, and as many threads as
    the pool has connections, each with one of them, would wait for each other for ever.
    """
    with app.connection_for_write() as connection:
        return (
            app.control.broadcast(
                question, reply=True, timeout=timeout_seconds, connection=connection, **options
            )
            or []
        )


def refuse_foreign_broker(app: Celery, own: str, *, timeout_seconds: float) -> None:
    """Refuse to work on a broker whose processes belong to another installation.

    A broker that does not answer is not refused.

    Raises:
        InvalidInput: a process of another installation answers.
    """
    try:
        with app.connection_for_write(connect_timeout=timeout_seconds) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=timeout_seconds)
        found = installations_on(app, timeout_seconds=timeout_seconds)
    except (OperationalError, OSError):
        return
    if foreign := {name: theirs for name, theirs in sorted(found.items()) if theirs != own}:
        name, theirs = next(iter(foreign.items()))
        problem = Problem(
            path="settings.database_url",
            message=f"this database is that of the installation {own}, and {name} on the same broker works for the "
            f"installation {theirs}",
            hint="set ISOTHERM_DATABASE_URL to the database of the other processes, or ISOTHERM_BROKER_URL to another "
            "broker",
        )
        raise InvalidInput([problem])


def setups_on(app: Celery, *, timeout_seconds: float) -> dict[str, Setup | None]:
    """Return the setups of the processes that answer on a broker within a time, by the process's Celery name.

    None for one that does not know the question: it has another version.

    Raises:
        OperationalError, OSError: the broker is out of reach.
    """
    replies = _asked(app, SETUP, timeout_seconds)
    answers = {name: answer for reply in replies for name, answer in reply.items()}
    return {name: read_setup(answer) for name, answer in sorted(answers.items())}
