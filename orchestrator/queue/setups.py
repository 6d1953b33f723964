"""Setups of the processes on a broker, for comparison: version, settings, plugins, clients. No value is sent.

Settings are sent as short digests: they show that two values differ, and nothing else.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.metadata import version
from typing import Any, Final

from hooks.loading.index import entry_points
from orchestrator.config.secret import Secret
from orchestrator.config.section import Section
from orchestrator.config.settings import Settings

#: The settings that must be the same in all coordinators and workers.
MUST_AGREE: Final = (
    "encryption_keys",
    "lease_seconds",
    "job_lease_seconds",
    "redeliver_seconds",
    "action_retry_limit",
    "cache_backend",
    "cache_url",
    "constraint_cache",
    "node_state_cache",
    "lifecycle",
    "lifecycle_nested_stacks",
    "lifecycle_effects",
    "environment_event_sinks",
    "outgoing_targets",
    "project_limits",
    "availability_zones",
    "aws_region",
    "max_nested_stack_depth",
)
#: Those among them that agents use too.
MUST_AGREE_IN_AGENTS: Final = ("node_state_cache",)
_GROUPS: Final = ("isotherm.resources", "isotherm.clients", "isotherm.constraints", "isotherm.functions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The setup of one process."""

    #: Empty for an agent, which has no database, and while the database does not answer.
    installation: str
    version: str
    #: Digests of the settings that must agree, by name.
    settings: Mapping[str, str] = field(default_factory=dict)
    #: The version of the package of each plugin, by its kind and name.
    plugins: Mapping[str, str] = field(default_factory=dict)
    #: Digests of the settings of each client that has any, by its name.
    clients: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings, installation: str) -> "Setup":
        """Return the setup of this process."""
        values = {name: getattr(settings, name) for name in MUST_AGREE}
        # Named or not, the backend is the same.
        values["cache_backend"] = settings.cache_place.backend
        return cls(
            installation=installation,
            version=version("isotherm"),
            settings={name: _digest(value) for name, value in values.items()},
            plugins={
                f"{group.removeprefix('isotherm.')} {each.name}": each.dist.version if each.dist else ""
                for group in _GROUPS
                for each in entry_points(group=group)
            },
            clients={name: _digest(options) for name, options in settings.clients.items()},
        )


def _digest(value: object) -> str:
    return hmac.new(b"isotherm", repr(_plain(value)).encode(), hashlib.sha256).hexdigest()[:8]


def _plain(value: Any) -> Any:
    """Return a value whose text shows all of it, in an order that does not depend on the file."""
    if isinstance(value, Secret):
        return value.get_secret_value()
    if isinstance(value, Mapping):
        return sorted((key, _plain(each)) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return _plain(value.to_dict()) if isinstance(value, Section) else value


def read_setup(answer: Any) -> Setup | None:
    """Return the setup in an answer; None for another answer: that of a process which does not know the command."""
    known = [each.name for each in fields(Setup)]
    if not isinstance(answer, Mapping) or "version" not in answer:
        return None
    return Setup(**{name: answer[name] for name in known if name in answer})
