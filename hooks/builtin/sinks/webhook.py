"""Events as signed batches of JSON over HTTP."""

import time
from collections.abc import Sequence
from typing import ClassVar, Final

from pydantic import Field, SecretStr, ValidationError, model_validator

from hooks.builtin.sinks.choice import EventChoice, StackChoice
from hooks.builtin.sinks.document import VERSION, document
from hooks.events import Event, EventSink
from hooks.hook import HookOptions
from hooks.http.options import SenderOptions
from hooks.http.sender import SignedSender
from hooks.values.masking import sentence_of

#: Of the time that a call may take, so much is for sending: it ends by itself before it is given up.
SHARE: Final = 0.8


class WebhookOptions(StackChoice, SenderOptions):
    """What the settings may say of the sink ``webhook``: where to send, and of what."""

    max_events: int = Field(default=100, ge=1, le=500, description="So many events are sent at once at most.")


class EnvironmentWebhookOptions(EventChoice):
    """What an environment may say of the sink ``webhook``: nothing of files of this machine, nor of trust."""

    target: str = Field(description="Where to send: http:// or https://, without a user or a password.")
    secrets: tuple[SecretStr, ...] = Field(
        description="What messages are signed with, 16 characters at least; several while one is replaced. Those of "
        "the settings are never used for what an environment names."
    )

    @model_validator(mode="after")
    def _can_be_sent_to(self) -> "EnvironmentWebhookOptions":
        try:
            self.sending()
        except ValidationError as error:
            names = {"url": "target"}
            said = [
                ": ".join(
                    (*(names.get(str(step), str(step)) for step in fault["loc"][:1]), sentence_of(fault))
                )
                for fault in error.errors(include_url=False, include_context=False)
            ]
            raise ValueError("; ".join(said)) from None
        return self

    def sending(self) -> WebhookOptions:
        """Return the same as the settings would say it."""
        said = {name: getattr(self, name) for name in EventChoice.model_fields}
        return WebhookOptions(url=self.target, secrets=self.secrets, **said)


class WebhookSink(EventSink):
    """Sends events to a URL."""

    description: ClassVar[str] = "Sends events to a URL, as signed batches of JSON."
    enabled_by_default: ClassVar[bool] = False
    Options: ClassVar[type[HookOptions]] = WebhookOptions
    in_environments: ClassVar[bool] = True
    EnvironmentOptions: ClassVar[type[HookOptions] | None] = EnvironmentWebhookOptions

    def __init__(self, options: WebhookOptions | EnvironmentWebhookOptions) -> None:
        super().__init__(options)
        self._said = options.sending() if isinstance(options, EnvironmentWebhookOptions) else options
        self._sender = SignedSender(self._said)

    def consume(self, events: Sequence[Event]) -> None:
        """Send those that are wanted, in order; when this returns the receiver has taken them all.

        Raises:
            RequestFailed: it did not take all of them, or nobody knows.
        """
        until = time.monotonic() + self.time_limit_seconds * SHARE
        wanted = [event for event in events if self._said.wants(event)]
        for start in range(0, len(wanted), self._said.max_events):
            batch = wanted[start : start + self._said.max_events]
            told = {"version": VERSION, "events": [document(event) for event in batch]}
            self._sender.send(told, within_seconds=max(0.0, until - time.monotonic()))

    def close(self) -> None:
        """Close the connections."""
        self._sender.close()
