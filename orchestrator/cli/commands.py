"""The commands by their words, each of which is imported when it is used: most commands are others."""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Final

import click

from orchestrator.cli.access import acts, guard

#: The module of each command in this package, and its name there. Others are made with their group.
_PLACES: Final[Mapping[str, str]] = {
    "stack": "stack:stack",
    "stack preview": "stack_preview:preview",
    "stack plan": "stack_plan:plan",
    "stack apply": "stack_plan:apply",
    "stack adopt": "stack_adopt:adopt",
    "stack import": "stack_import:import_objects",
    "stack update": "stack_update:update",
    "stack delete": "stack_delete:delete",
    "stack cancel": "stack_cancel:cancel",
    "stack protect": "stack_protection:protect",
    "stack unprotect": "stack_protection:unprotect",
    "stack check": "stack_operations:check",
    "stack drift": "stack_drift:drift",
    "stack observe": "stack_observe:observe",
    "stack suspend": "stack_operations:suspend",
    "stack resume": "stack_operations:resume",
    "stack export": "stack_abandon:export",
    "stack abandon": "stack_abandon:abandon",
    "stack resource": "stack_resource:resource",
    "stack resource mark-unhealthy": "stack_resource_health:mark_unhealthy",
    "stack resource metadata": "stack_resource_health:metadata",
    "stack event": "stack_event:event",
    "stack history": "stack_history:history",
    "stack timeline": "stack_timeline:timeline",
    "stack failure": "stack_failure:failure",
    "stack output": "stack_output:output",
    "stack output share": "stack_sharing:share",
    "stack output unshare": "stack_sharing:unshare",
    "stack dependencies": "stack_dependencies:dependencies",
    "stack update-dependents": "stack_dependents:update_dependents",
    "stack template": "stack_definition:template",
    "stack environment": "stack_definition:environment",
    "stack files": "stack_definition:files",
    "stack hook": "stack_hook:hook",
    "stack snapshot": "stack_snapshot:snapshot",
    "plan": "plan:plan",
    "software": "software:software",
    "template": "template:template",
    "template functions": "language:functions",
    "template versions": "language:versions",
    "resource-type": "resource_type:resource_type",
    "plugin": "plugin:plugin",
    "docs": "docs:docs",
    "attention": "attention:attention",
    "worker": "processes:worker",
    "coordinator": "processes:coordinator",
    "agent": "processes:agent",
    "dashboard": "dashboard:dashboard",
    "api": "api:api",
    "api policy": "api_policy:policy",
    "api register": "api_register:register",
    "node": "node:node",
    "cache": "cache:cache",
    "event-sink": "event_sink:event_sink",
    "key": "key:key",
    "key reencrypt": "key_reencrypt:reencrypt",
    "token": "token:token",
    "audit": "audit:audit",
    "project": "project:project",
    "queue": "queue:queue",
    "db": "database:db",
    "db purge": "db_purge:purge",
    "doctor": "doctor:doctor",
}


class Commands(MutableMapping[str, click.Command]):
    """The commands of one group by name: those it has, and those that are imported when they are used.

    Every command checks the caller's role before it runs (:func:`orchestrator.cli.access.guard`).
    """

    def __init__(self, group: str = "", present: Mapping[str, click.Command] | None = None) -> None:
        """Take over the commands that the group ``group`` has; empty: of all commands."""
        self._prefix = f"{group} " if group else ""
        self._present: dict[str, click.Command] = {}
        for name, command in (present or {}).items():
            self[name] = command
        #: The places of the others, by name.
        self._absent = {
            words.removeprefix(self._prefix): place
            for words, place in _PLACES.items()
            if words.rpartition(" ")[0] == group
        }

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._present:
            module, _, attribute = self._absent[name].partition(":")
            self[name] = getattr(import_module(f"orchestrator.cli.{module}"), attribute)
        return self._present[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        words = f"{self._prefix}{name}"
        if isinstance(command, click.Group):
            command.commands = Commands(words, command.commands)
        if acts(command):
            guard(command, words)
        self._present[name] = command

    def __delitem__(self, name: str) -> None:
        self._absent.pop(name, None)
        del self._present[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._present, **self._absent})

    def __len__(self) -> int:
        return len({**self._present, **self._absent})
