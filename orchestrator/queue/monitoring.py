"""Celery's events and remote control, signed: by them Flower and the doctor see the processes on a broker."""

from typing import Any

from celery.app.control import Control
from celery.app.events import Events
from celery.events import EventReceiver
from celery.worker.control import Panel

from orchestrator.keys.envelope import FORM, Refused
from orchestrator.queue.refusals import refusals
from orchestrator.queue.serializers import CONTROL, EVENT

#: The commands of remote control that are left: they change nothing, and show no setting.
HARMLESS_COMMANDS = (
    "ping",
    "active",
    "active_queues",
    "clock",
    # Sends an event; every receiver of events sends it when it begins.
    "heartbeat",
    "registered",
    "reserved",
    "revoked",
    "scheduled",
    "stats",
    "isotherm_installation",
    "isotherm_setup",
)


class SignedControl(Control):  # type: ignore[misc]  # celery has no types
    """Remote control whose commands and answers are signed."""

    def __init__(self, app: Any = None) -> None:
        super().__init__(app)
        self.mailbox.serializer = CONTROL
        self.mailbox.accept = [CONTROL]


class SignedReceiver(EventReceiver):  # type: ignore[misc]  # as above
    """A receiver of signed events."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "accept": {EVENT}})

    def on_decode_error(self, message: Any, exc: Exception) -> None:
        """Refuse an event that is not signed."""
        why = exc.__cause__ if isinstance(exc.__cause__, Refused) else Refused(FORM, "it cannot be decoded")
        refusals.add("events", why, message.body)
        message.ack()


class SignedEvents(Events):  # type: ignore[misc]  # as above
    """Events of an app, received where they are signed."""

    receiver_cls = "orchestrator.queue.monitoring:SignedReceiver"


def limit_remote_control() -> None:
    """Remove the commands of remote control that change a process, or show its settings or memory.

    Flower queries the settings, too: it gets none.
    """
    for name in [each for each in Panel.data if each not in HARMLESS_COMMANDS]:
        del Panel.data[name]
        Panel.meta.pop(name, None)
    Panel.data["conf"] = _no_settings


def _no_settings(_state: Any, **_: object) -> dict[str, Any]:
    return {}
