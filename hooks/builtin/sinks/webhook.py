"""The event sink ``webhook``: events as signed batches of JSON over HTTP."""

import time
from collections.abc import Sequence
from typing import ClassVar, Final

import httpx
from pydantic import Field, PrivateAttr, SecretStr, ValidationError, ValidationInfo, model_validator

from hooks.builtin.sinks.choice import EventChoice, StackChoice
from hooks.builtin.sinks.document import VERSION, document
from hooks.events import TARGETS, Event, EventSink
from hooks.http.look_up import REFUSED
from hooks.http.options import SenderOptions
from hooks.http.permitted import host_and_port
from hooks.http.sender import SignedSender
from hooks.http.targets import Targets
from hooks.options import HookOptions
from hooks.values.masking import sentence_of
from hooks.values.parts import parts_of

#: The share of a call's time-out for sending: it ends by itself before the call is given up.
SHARE: Final = 0.8


class WebhookOptions(StackChoice, SenderOptions):
    """The options of the sink ``webhook`` in the settings: the receiver, and a filter."""

    max_events: int = Field(
        default=100, ge=1, le=500, description="The largest number of events in one request."
    )


class EnvironmentWebhookOptions(EventChoice):
    """The options of the sink ``webhook`` in an environment: no files of this machine, and no trust settings."""

    target: str = Field(
        description="The URL of the receiver: http:// or https://, without a user or a password."
    )
    secrets: tuple[SecretStr, ...] = Field(
        description="The secrets that sign messages, of 16 characters at least; several during a rotation. "
        "Secrets of the settings are never used for sinks of environments."
    )
    _targets: Targets | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _can_be_sent_to(self, info: ValidationInfo) -> "EnvironmentWebhookOptions":
        try:
            self.sending()
        except ValidationError as error:
            names = {"url": "target"}
            problems = [
                ": ".join(
                    (*(names.get(str(step), str(step)) for step in fault["loc"][:1]), sentence_of(fault))
                )
                for fault in error.errors(include_url=False, include_context=False)
            ]
            raise ValueError("; ".join(problems)) from None
        self._targets = (info.context or {}).get(TARGETS)
        host, port = host_and_port(httpx.URL(self.target))
        if self._targets is not None and not self._targets.may_permit(host, port):
            raise ValueError(f"target: {host}:{port}: {REFUSED}")
        return self

    @property
    def targets(self) -> Targets | None:
        """Where messages may be sent to; None: anywhere."""
        return self._targets

    def sending(self) -> WebhookOptions:
        """Return the equivalent options of the settings."""
        fields = {name: getattr(self, name) for name in EventChoice.model_fields}
        return WebhookOptions(url=self.target, secrets=self.secrets, **fields)


class WebhookSink(EventSink):
    """Sends events to a URL."""

    description: ClassVar[str] = "Sends events to a URL, as signed batches of JSON."
    enabled_by_default: ClassVar[bool] = False
    Options: ClassVar[type[HookOptions]] = WebhookOptions
    in_environments: ClassVar[bool] = True
    EnvironmentOptions: ClassVar[type[HookOptions] | None] = EnvironmentWebhookOptions

    def __init__(self, options: WebhookOptions | EnvironmentWebhookOptions) -> None:
        super().__init__(options)
        if isinstance(options, EnvironmentWebhookOptions):
            self._options, targets = options.sending(), options.targets
        else:
            self._options, targets = options, None
        self._sender = SignedSender(self._options, targets=targets)

    def consume(self, events: Sequence[Event]) -> None:
        """Send the events that pass the filter, in order; when this returns, the receiver has accepted them all.

        Raises:
            RequestFailed: the receiver did not accept all of them, or that is unknown.
        """
        until = time.monotonic() + self.time_limit_seconds * SHARE
        wanted = [event for event in events if self._options.wants(event)]
        for batch in parts_of(wanted, self._options.max_events):
            document_batch = {"version": VERSION, "events": [document(event) for event in batch]}
            self._sender.send(document_batch, within_seconds=max(0.0, until - time.monotonic()))

    def close(self) -> None:
        """Close the connections."""
        self._sender.close()
