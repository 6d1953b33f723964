"""``isotherm stack snapshot``: take, list, show, delete and restore snapshots of a stack."""

import time
from typing import TYPE_CHECKING

import click

from orchestrator.cli.ending import follow_or_leave, refuse_to_leave
from orchestrator.cli.errors import STACK_FAILED
from orchestrator.cli.events import last_event
from orchestrator.cli.formats import Table, fields_table, moment, show
from orchestrator.cli.options import (
    comment_option,
    rollback_option,
    shell_command,
    timeout_option,
    unprotect_option,
    wait_option,
)
from orchestrator.cli.shell import Shell

if TYPE_CHECKING:
    from orchestrator.service import Service
    from orchestrator.views.stacks import SnapshotView


@click.group()
def snapshot() -> None:
    """Take, list and restore snapshots of a stack."""


@shell_command(
    "isotherm stack snapshot create web",
    "isotherm stack snapshot create web --name before-upgrade",
    group=snapshot,
)
@click.argument("name")
@click.option("--name", "snapshot_name", default="", metavar="SNAPSHOT", help="The name of the snapshot.")
@comment_option
@wait_option
def create(shell: Shell, name: str, *, snapshot_name: str, wait: bool, form: str) -> None:
    """Take a snapshot of a stack.

    It holds the stack's definition, and the data that the type of each resource can keep. It is refused while an
    operation is in progress, and if the last update failed.
    """
    refuse_to_leave(shell, wait=wait)
    with shell.service() as service:
        after = last_event(service, service.stack(name).id) if wait else 0
        going = service.take_snapshot(name, snapshot_name)
        follow_or_leave(shell, service, going, action="SNAPSHOT", wait=wait, form=form, after=after)


@shell_command(
    "isotherm stack snapshot list web",
    "isotherm stack snapshot list web -f json",
    group=snapshot,
    name="list",
)
@click.argument("name")
def list_snapshots(shell: Shell, name: str, form: str) -> None:
    """List the snapshots of a stack."""
    with shell.service() as service:
        views = service.snapshots(name)
    rows = [(view.name, view.state, moment(view.created_at), view.id, view.reason) for view in views]
    table = Table(columns=("name", "state", "created", "id", "reason"), rows=rows)
    show(form, [view.to_dict() for view in views], table)


@shell_command("isotherm stack snapshot show web before-upgrade", group=snapshot, name="show")
@click.argument("name")
@click.argument("snapshot_name", metavar="SNAPSHOT")
def show_snapshot(shell: Shell, name: str, snapshot_name: str, form: str) -> None:
    """Show a snapshot.

    It is found by its name or id. Of its contents, the resources are listed.
    """
    with shell.service() as service:
        view = service.snapshot(name, snapshot_name)
    table = Table(columns=("name", "type"), rows=view.resources, title="resources")
    show(form, view.to_dict(), _fields(view), *([table] if view.resources else []))


@shell_command("isotherm stack snapshot delete web before-upgrade", group=snapshot)
@click.argument("name")
@click.argument("snapshot_name", metavar="SNAPSHOT")
@comment_option
def delete(shell: Shell, name: str, snapshot_name: str, form: str) -> None:
    """Delete a snapshot, not the stack.

    It is found by its name or id. A snapshot that is being taken cannot be deleted. A failed deletion can be repeated.
    """
    with shell.service() as service:
        before = service.snapshot(name, snapshot_name)
        left = service.delete_snapshot(name, before.id)
        while left is not None and left.status == "IN_PROGRESS":
            time.sleep(0.25)
            left = _left(service, name, before.id)
    if left is None:
        gone = {"name": before.name, "id": before.id, "state": "deleted"}
        show(form, gone, fields_table(gone))
        return
    show(form, left.to_dict(), _fields(left))
    raise click.exceptions.Exit(STACK_FAILED)


@shell_command(
    "isotherm stack snapshot restore web before-upgrade",
    "isotherm stack snapshot restore web before-upgrade --rollback --timeout 30",
    group=snapshot,
)
@click.argument("name")
@click.argument("snapshot_name", metavar="SNAPSHOT")
@rollback_option
@timeout_option
@unprotect_option
@comment_option
@wait_option
def restore(
    shell: Shell,
    name: str,
    snapshot_name: str,
    *,
    rollback: bool,
    timeout_minutes: float | None,
    unprotect: bool,
    wait: bool,
    form: str,
) -> None:
    """Restore a stack from a snapshot.

    It is found by its name or id. The stack gets the definition and the parameter values of the snapshot. Every
    resource is checked, and recreated if it is gone; then its data are restored from the snapshot.
    """
    refuse_to_leave(shell, wait=wait)
    with shell.service() as service:
        after = last_event(service, service.stack(name).id) if wait else 0
        going = service.restore(
            name, snapshot_name, timeout_minutes=timeout_minutes, rollback=rollback, unprotect=unprotect
        )
        follow_or_leave(shell, service, going, action="RESTORE", wait=wait, form=form, after=after)


def _left(service: "Service", name: str, snapshot_id: str) -> "SnapshotView | None":
    return next((view for view in service.snapshots(name) if view.id == snapshot_id), None)


def _fields(view: "SnapshotView") -> Table:
    fields = {
        "name": view.name,
        "id": view.id,
        "state": view.state,
        "reason": view.reason,
        "created": moment(view.created_at),
    }
    return fields_table(fields)
