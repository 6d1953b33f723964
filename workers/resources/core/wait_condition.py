"""``OS::Heat::WaitConditionHandle`` receives signals; ``OS::Heat::WaitCondition`` waits for enough of them.

The signals are stored in the handle's metadata, ``{id: {status, reason, data}}``, next to the template's.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any, Final

from hooks.values.nearest import Nearest
from orchestrator.plugins.constraints import AllowedValues, Range, shown
from orchestrator.plugins.properties import Attribute, PropertyType
from orchestrator.plugins.steps import ResourceFailure, Wait
from workers.resources.core.row import RowResource
from workers.resources.core.signalled import ADDRESS, COMMAND, SignalledResource
from workers.resources.schemas import integer, live, number, text

SUCCESS: Final = "SUCCESS"
FAILURE: Final = "FAILURE"
_KEYS: Final = ("status", "reason", "data", "id")
_TRANSPORTS: Final = ("CFN", "TEMP_URL", "HEAT", "NO", "ZAQAR", "TOKEN")


def signals(metadata: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the signals among ``metadata``, by id, in the order of their first arrival."""
    return {
        key: entry
        for key, entry in metadata.items()
        if isinstance(entry, Mapping) and entry.get("status") in (SUCCESS, FAILURE)
    }


class WaitConditionHandle(SignalledResource):
    """Receives signals; a signal with the id of an earlier one replaces it."""

    description = "Receives the signals for a wait condition."
    example = """\
heat_template_version: 2021-04-16
resources:
  handle:
    type: OS::Heat::WaitConditionHandle
  first_boot:
    type: OS::Heat::SoftwareConfig
    properties:
      config:
        str_replace:
          template: |
            #!/bin/sh
            SIGNAL --data-binary '{"status": "SUCCESS"}'
          params:
            SIGNAL: {get_attr: [handle, curl_cli]}
  installed:
    type: OS::Heat::WaitCondition
    properties:
      handle: {get_resource: handle}
      timeout: 600
"""
    properties_schema = {
        "signal_transport": text(
            "Accepted, without effect: every handle is signalled in the same way.",
            default="TOKEN_SIGNAL",
            constraints=(AllowedValues(tuple(f"{transport}_SIGNAL" for transport in _TRANSPORTS)),),
        ),
    }
    attributes_schema = {
        "curl_cli": Attribute(
            f"{COMMAND} Append the data of the signal as --data-binary JSON.",
            PropertyType.STRING,
            sensitive=True,
        ),
        "endpoint": Attribute(ADDRESS, PropertyType.STRING, sensitive=True),
        "token": Attribute("Always null: the address is enough.", PropertyType.STRING),
    }

    def attribute(self, name: str) -> Any:
        """Return the command that signals, or the address."""
        if name == "curl_cli":
            return self.signal_command()
        return self.signal_address() if name == "endpoint" else None

    def handle_signal(self, details: Mapping[str, Any]) -> str:
        """Store the signal under its id, or the next free number.

        ``status`` is SUCCESS (the default) or FAILURE; ``reason`` is a text, ``data`` anything.

        Raises:
            ResourceFailure: the signal has an unknown key or status.
        """
        for key in details:
            if key not in _KEYS:
                hint = Nearest().hint(str(key), _KEYS, f"there are: {', '.join(_KEYS)}")
                raise ResourceFailure(f"a signal has no key {key!r} ({hint})")
        status = details.get("status", SUCCESS)
        if status not in (SUCCESS, FAILURE):
            raise ResourceFailure(f"the status of a signal is SUCCESS or FAILURE, not {shown(status)}")
        signal_id = self._text(details, "id") or self._next_id()
        reason = self._text(details, "reason") or f"signal {signal_id} received"
        entry = {"status": status, "reason": reason, "data": details.get("data")}
        self.state.metadata = {**self.state.metadata, signal_id: entry}
        return f"{status}: {reason}"

    @staticmethod
    def _text(details: Mapping[str, Any], key: str) -> str:
        value = details.get(key)
        if value is None:
            return ""
        if not isinstance(value, (str, int, float)):
            raise ResourceFailure(f"the {key} of a signal is a text, not {shown(value)}")
        return str(value)

    def _next_id(self) -> str:
        first = len(signals(self.state.metadata)) + 1
        # A sender may have chosen the next number as an id: a signal without id must not overwrite it.
        return next(str(number) for number in count(first) if str(number) not in self.state.metadata)


class UpdateWaitConditionHandle(WaitConditionHandle):
    """A handle that must be signalled anew after every update, which makes a replacement without signals.

    The wait conditions that refer to it are replaced with it, and wait again.
    """

    description = "Receives the signals for a wait condition, again after every update."
    example = """\
heat_template_version: 2021-04-16
resources:
  handle:
    type: OS::Heat::UpdateWaitConditionHandle
  installed:
    type: OS::Heat::WaitCondition
    properties:
      handle: {get_resource: handle}
      timeout: 600
outputs:
  signal:
    value: {get_attr: [handle, curl_cli]}
"""
    renewed_by_updates = True


class WaitCondition(RowResource):
    """Completes when its handle has enough signals; fails on a failure signal, or at the time-out."""

    description = "Waits until its handle has received enough signals."
    example = """\
heat_template_version: 2021-04-16
resources:
  handle:
    type: OS::Heat::WaitConditionHandle
  installed:
    type: OS::Heat::WaitCondition
    properties:
      handle: {get_resource: handle}
      count: 2
      timeout: 600
outputs:
  signals:
    value: {get_attr: [installed, data]}
"""
    watches = "handle"
    properties_schema = {
        "handle": text("The handle: get_resource of it.", required=True),
        "timeout": number("Seconds to wait, at most.", required=True, constraints=(Range(1, 43200),)),
        "count": integer(
            "How many signals of success to wait for.",
            default=1,
            update_allowed=True,
            constraints=(Range(min=1),),
        ),
    }
    attributes_schema = {"data": live("JSON text of a map: id of a signal, its data.", PropertyType.STRING)}

    def attribute(self, name: str) -> Any:
        """Return the data of the signals, as JSON text."""
        if name != "data":
            return None
        return json.dumps({key: entry.get("data") for key, entry in signals(self.watched_metadata).items()})

    def check_create_complete(self, token: object) -> bool | Wait:  # noqa: ARG002 (the contract's signature)
        """Check the signals so far.

        Raises:
            ResourceFailure: one reports a failure, or the time is over.
        """
        received = signals(self.watched_metadata).values()
        failures = [str(entry.get("reason", "")) for entry in received if entry["status"] == FAILURE]
        if failures:
            raise ResourceFailure("; ".join(failures))
        # CloudFormation's names begin with a capital.
        given = {name.lower(): each for name, each in self.properties.items()}
        wanted, timeout = given["count"], given["timeout"]
        # Before the time-out: signals that are enough still count if they are seen late.
        if len(received) >= wanted:
            return True
        left = self.state.started_at + timeout - self.now
        if left <= 0:
            raise ResourceFailure(
                f"timed out after {timeout} seconds: {len(received)} of {wanted} signals received"
            )
        return Wait(left)

    # After an update it waits again, for as long: a higher count needs more signals.
    check_update_complete = check_create_complete


#: CloudFormation's words for the keys of a signal.
_WORDS: Final = {"Status": "status", "Reason": "reason", "Data": "data", "UniqueId": "id"}


class CfnWaitConditionHandle(WaitConditionHandle):
    """A handle that is signalled as CloudFormation's are: with ``cfn-signal`` and the address that ``Ref`` returns."""

    description = "Receives the signals for a wait condition, sent with cfn-signal."
    example = """\
heat_template_version: 2018-08-31
resources:
  handle:
    type: AWS::CloudFormation::WaitConditionHandle
  installed:
    type: AWS::CloudFormation::WaitCondition
    properties:
      Handle: {get_resource: handle}
      Timeout: 600
outputs:
  signals:
    value: {get_attr: [installed, Data]}
"""
    properties_schema = {}
    attributes_schema = {}

    def reference_id(self) -> str | None:
        """Return the signed address; the id where the setting api_url is not set."""
        return self.cfn_signal_address() or super().reference_id()

    def handle_signal(self, details: Mapping[str, Any]) -> str:
        """Store the signal, with the keys of either language.

        Raises:
            ResourceFailure: as for every handle.
        """
        return super().handle_signal({_WORDS.get(key, key): each for key, each in details.items()})


class CfnWaitCondition(WaitCondition):
    """The same condition, with CloudFormation's names."""

    example = CfnWaitConditionHandle.example
    watches = "Handle"
    properties_schema = {
        # Whoever knows the address of the handle may signal it.
        name.title(): replace(each, sensitive=name == "handle")
        for name, each in WaitCondition.properties_schema.items()
    }
    attributes_schema = {"Data": WaitCondition.attributes_schema["data"]}

    def attribute(self, name: str) -> Any:
        """Return the data of the signals, as JSON text."""
        return super().attribute(name.lower())
