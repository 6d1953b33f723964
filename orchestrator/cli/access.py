"""Access control of commands: each names its operation, and none runs that the caller's role does not allow.

Commands with :data:`LOCAL` use nothing but this machine's packages and the caller's own files.
"""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import wraps
from typing import Any, Final

import click
from click.core import ParameterSource

from orchestrator.cli.shell import Shell

LOCAL: Final = ""
COMMANDS: Final[Mapping[str, str]] = {
    "stack create": "stack.create",
    "stack list": "stack.read",
    "stack show": "stack.read",
    "stack delete": "stack.delete",
    "stack watch": "stack.read",
    "stack graph": "stack.read",
    "stack preview": "stack.preview",
    "stack plan": "stack.update",
    "stack apply": "stack.update",
    "plan show": "stack.preview",
    "stack adopt": "stack.adopt",
    "stack import": "stack.import",
    "stack update": "stack.update",
    "stack cancel": "stack.cancel",
    "stack protect": "stack.protect",
    "stack unprotect": "stack.unprotect",
    "stack check": "stack.check",
    "stack drift detect": "stack.detect_drift",
    "stack drift show": "stack.read",
    "stack observe run": "stack.observe",
    "stack observe set": "stack.observe",
    "stack observe show": "stack.read",
    "stack suspend": "stack.suspend",
    "stack resume": "stack.resume",
    "stack export": "stack.export",
    "stack abandon": "stack.abandon",
    "stack resource list": "stack.read",
    "stack resource show": "stack.read",
    "stack resource logs": "stack.read",
    "stack resource signal": "stack.signal",
    "stack resource mark-unhealthy": "stack.mark_unhealthy",
    "stack resource metadata": "stack.read",
    "stack event list": "stack.read",
    "stack event show": "stack.read",
    "stack template show": "stack.read",
    "stack environment show": "stack.read",
    "stack files list": "stack.read",
    "stack files show": "stack.export",
    "stack history": "stack.read",
    "stack timeline": "stack.read",
    "stack failure": "stack.read",
    "stack output list": "stack.read",
    "stack output show": "stack.read",
    "stack output share": "stack.share",
    "stack output unshare": "stack.unshare",
    "stack dependencies": "stack.read",
    "stack update-dependents": "stack.update",
    "stack hook list": "stack.read",
    "stack hook clear": "stack.clear_hook",
    "stack snapshot create": "stack.snapshot",
    "stack snapshot list": "stack.read",
    "stack snapshot show": "stack.read",
    "stack snapshot delete": "stack.delete_snapshot",
    "stack snapshot restore": "stack.restore",
    "software config create": "software.create",
    "software config list": "software.list",
    "software config show": "software.read",
    "software config delete": "software.delete",
    "software deployment create": "software.create",
    "software deployment list": "software.read",
    "software deployment show": "software.read",
    "software deployment delete": "software.delete",
    "software deployment metadata": "software.read",
    "template validate": LOCAL,
    "template show": LOCAL,
    "template functions": LOCAL,
    "template versions": LOCAL,
    "resource-type list": LOCAL,
    "resource-type show": LOCAL,
    "resource-type template": LOCAL,
    "plugin list": LOCAL,
    "plugin show": LOCAL,
    "docs build": LOCAL,
    "attention": "stack.read",
    "worker": "process.run",
    "coordinator": "process.run",
    "agent": "process.run",
    "dashboard": "process.run",
    "api": "process.run",
    "api policy": LOCAL,
    "api register": LOCAL,
    "node list": "node.read",
    "node show": "node.read",
    "node instances": "node.read",
    "node refresh": "node.change",
    "node flush": "node.change",
    "node drain": "node.change",
    "node undrain": "node.change",
    "node forget": "node.change",
    "node stats": "node.read",
    "cache stats": "cache.read",
    "cache flush": "cache.change",
    "event-sink list": "sink.read",
    "event-sink forget": "sink.change",
    "key create": "key.change",
    "key list": "key.read",
    "key reencrypt": "key.change",
    "key rotate": "key.change",
    "key remove": "key.change",
    "key export": "key.change",
    "token create": "token.change",
    "token list": "token.read",
    "token revoke": "token.change",
    "project limits list": "project.read",
    "project limits set": "project.change",
    "project limits unset": "project.change",
    "project usage": "project.usage",
    "queue refused list": "queue.read",
    "queue refused show": "queue.read",
    "queue refused purge": "queue.purge",
    "audit list": "audit.read",
    "audit verify": "audit.read",
    "db upgrade": "database.upgrade",
    "db current": "database.read",
    "db purge": "database.purge",
    "doctor": "process.check",
}


def leaves(command: click.Command, *path: str) -> dict[str, click.Command]:
    """Return the commands that do something by themselves, by their words; few of them are groups."""
    found = {" ".join(path): command} if acts(command) else {}
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            found |= leaves(child, *path, name)
    return found


def acts(command: click.Command) -> bool:
    """Return whether a command does something by itself."""
    return not isinstance(command, click.Group) or command.invoke_without_command


def guard(command: click.Command, words: str) -> None:
    """Have the command with these words check the caller's role first.

    Raises:
        LookupError: it has no operation.
    """
    operation = COMMANDS[words]
    if command.callback is not None and operation != LOCAL:
        command.callback = _guarded(command.callback, operation)


def _guarded(callback: Callable[..., Any], operation: str) -> Callable[..., Any]:
    @wraps(callback)
    def checked(*args: Any, **options: Any) -> Any:
        context = click.get_current_context()
        shell = context.ensure_object(Shell)
        if context.invoked_subcommand is not None:
            # It is not this command that runs: the other has an operation of its own.
            return None
        # Resetting what is shown changes it.
        resets = operation.endswith(".read") and options.get("reset")
        needed = operation.replace(".read", ".change") if resets else operation
        # So does an order that may delete and replace what is protected.
        overrides = shell.allowed("stack.unprotect") if options.get("unprotect") else nullcontext()
        with shell.allowed(needed, _typed(context)), overrides:
            return callback(*args, **options)

    return checked


def _typed(context: click.Context) -> str:
    """Return the command as it was typed, for the audit log: administration takes no secrets."""
    typed = {
        name: value
        for name, value in context.params.items()
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE and name != "form"
    }
    return " ".join([context.command_path, *(f"{name}={value!r}" for name, value in typed.items())])
