"""``isotherm node``: states, instances, draining and removal of the machines with agents."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.errors import DONE, UNREACHABLE
from orchestrator.cli.formats import Table, fields_table, moment, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell
from orchestrator.cli.times import duration

if TYPE_CHECKING:
    from orchestrator.views.nodes import AskedView, NodeDetails, NodeView


@click.group()
def node() -> None:
    """Show, drain and remove nodes."""


@shell_command("isotherm node list", "isotherm node list -f json", group=node, name="list")
def list_nodes(shell: Shell, form: str) -> None:
    """List nodes with their state and capacity.

    STATE is up, unreachable, failing or drained. Memory is in MiB: in total, PROMISED (reserved for
    resources), and free as the machine reports it. VCPUS are reserved/total, and may be overcommitted. AGE is the age
    of the machine's report; for a node that does not answer, the last report is shown, with the reason. A terminal
    that is too narrow shows fewer columns.
    """
    with shell.service() as service:
        views = service.nodes.all()
    columns = (
        *("name", "state", "labels", "hypervisors", "memory", "promised", "free"),
        *("vcpus", "instances", "age", "reason"),
    )
    rows = [
        (
            view.name,
            view.states,
            _pairs(view.labels),
            ",".join(view.hypervisors),
            view.memory_mib,
            view.promised.get("memory_mib", 0),
            view.memory_free_mib,
            f"{view.promised.get('vcpus', 0)}/{view.vcpus}" if view.vcpus is not None else "",
            view.instances,
            _seconds(view.age_seconds),
            _reason(view),
        )
        for view in views
    ]
    spare = ("hypervisors", "labels", "instances", "vcpus", "promised")
    show(form, [_plain(view) for view in views], Table(columns=columns, rows=rows, spare=spare))


@shell_command("isotherm node show n1", "isotherm node show n1 -f json", group=node, name="show")
@click.argument("name")
def show_node(shell: Shell, name: str, form: str) -> None:
    """Show a node and the resources on it.

    Shows the report of its agent, its hypervisors and storage, and the resources placed on it.
    """
    with shell.service() as service:
        details = service.nodes.show(name)
    show(form, {**details.to_dict(), "node": _plain(details.node)}, *_tables(details))


@shell_command(
    "isotherm node instances n1", "isotherm node instances n1 -f json", group=node, name="instances"
)
@click.argument("name")
def list_instances(shell: Shell, name: str, form: str) -> None:
    """List the instances of a node.

    Instances that no stack created are listed as well. Memory is in MiB, processor time in seconds.
    """
    with shell.service() as service:
        view = service.nodes.instances(name)
    columns = ("stack", "resource", "state", "hypervisor", "memory", "used", "vcpus", "time", "id", "name")
    rows = [
        (
            *(each.stack, each.resource, each.state, each.hypervisor, each.memory_mib, each.memory_used_mib),
            *(each.vcpus, round(each.cpu_seconds, 1), each.id, each.name),
        )
        for each in view.instances
    ]
    show(form, view.to_dict(), Table(columns=columns, rows=rows))
    if form == "table":
        if view.stale:
            click.echo(
                f"node {name!r} does not answer: this was reported {_seconds(view.age_seconds)} ago", err=True
            )
        for fault in view.faults:
            click.echo(fault, err=True)


@shell_command("isotherm node refresh", "isotherm node refresh n1 n2", group=node)
@click.argument("names", metavar="[NAME]...", nargs=-1)
def refresh(shell: Shell, names: tuple[str, ...], form: str) -> None:
    """Query nodes, bypassing the cache.

    Queries all nodes if none is named. Ends with 3 if one does not answer.
    """
    with shell.service() as service:
        views = service.nodes.refresh(names)
    _show_asked(views, form)
    all_answered = all(view.state == "refreshed" for view in views)
    raise click.exceptions.Exit(DONE if all_answered else UNREACHABLE)


@shell_command("isotherm node flush", "isotherm node flush n1 n2", group=node)
@click.argument("names", metavar="[NAME]...", nargs=-1)
def flush(shell: Shell, names: tuple[str, ...], form: str) -> None:
    """Remove the cached states of nodes.

    Removes those of all nodes if none is named. The next use of a node's state queries the node.
    """
    with shell.service() as service:
        views = service.nodes.flush(names)
    _show_asked(views, form)


@shell_command('isotherm node drain n1 --reason "new disks"', group=node)
@click.argument("name")
@click.option("--reason", default="", metavar="TEXT", help="Why; shown wherever the node is shown.")
def drain(shell: Shell, name: str, reason: str, form: str) -> None:
    """Exclude a node from placement.

    Resources on it stay, and are managed as before. A template that names the node is refused.
    """
    with shell.service() as service:
        view = service.nodes.drain(name, reason)
    show(form, _plain(view), fields_table(_fields(view)))


@shell_command("isotherm node undrain n1", group=node)
@click.argument("name")
def undrain(shell: Shell, name: str, form: str) -> None:
    """Include a node in placement again."""
    with shell.service() as service:
        view = service.nodes.undrain(name)
    show(form, _plain(view), fields_table(_fields(view)))


@shell_command("isotherm node forget n1", "isotherm node forget n1 --lost", group=node)
@click.argument("name")
@click.option("--lost", is_flag=True, help="Treat the resources on it as lost; make sure that they are.")
def forget(shell: Shell, name: str, *, lost: bool, form: str) -> None:
    """Remove a node that no longer exists.

    No resource may be on it any more, and its agent must have ended. With --lost, resources on it become CHECK_FAILED:
    the next update of their stack recreates them on another node, and a deletion does not contact the lost one.
    """
    with shell.service() as service:
        service.nodes.forget(name, lost=lost)
    forgotten = {"name": name, "state": "forgotten"}
    show(form, forgotten, fields_table(forgotten))


@shell_command("isotherm node stats", "isotherm node stats --reset -f json", group=node)
@click.option("--reset", is_flag=True, help="Set the counters to zero after showing them.")
def stats(shell: Shell, *, reset: bool, form: str) -> None:
    """Show the hit rate of the node state cache.

    Sums over all processes but agents: look-ups answered from the cache (hits), and look-ups that queried the node
    (misses) by cause: there was no entry (absent), or a part of it (partial), the node had changed since (token) or
    was changing (dirty), the entry was too old (aged), or the caller bypassed the cache (forced). Bumps are how often
    the entries of a node were invalidated.
    """
    with shell.service() as service:
        view = service.nodes.stats(reset=reset)
    fields = {
        "since": "" if view.since is None else moment(view.since),
        "hits": view.hits,
        "misses": _pairs(view.misses) or 0,
        "hit rate": "" if view.hit_rate is None else f"{view.hit_rate:.1%}",
        "answered by a concurrent query": view.shared,
        "age at serve": duration(view.mean_age_seconds),
        "nodes queried": view.asked,
        "nodes that did not answer": view.unanswered,
        "time of a query": duration(view.mean_asked_seconds),
        "bumps": _pairs(view.bumps) or 0,
        "flushes": _pairs(view.flushes) or 0,
        "answers not cached": view.refused + view.unsettled,
        "errors of the cache": view.errors,
    }
    show(form, view.to_dict(), fields_table({name: value for name, value in fields.items() if value != ""}))


def _show_asked(views: Sequence["AskedView"], form: str) -> None:
    rows = [(view.node, view.state, view.detail) for view in views]
    show(form, [view.to_dict() for view in views], Table(columns=("node", "state", "detail"), rows=rows))


def _tables(details: "NodeDetails") -> Iterator[Table]:
    yield fields_table({**_fields(details.node), **({"version": details.version} if details.version else {})})
    if details.sections:
        rows = [
            (
                each.kind,
                f"{each.name} ({each.type})" if each.type else each.name,
                each.status,
                each.instances,
                each.message or _pairs({key: value for key, value in each.data.items() if value is not None}),
            )
            for each in details.sections
        ]
        yield Table(columns=("kind", "name", "state", "instances", "details"), rows=rows, title="backends")
    if details.bumps or details.flushes:
        counted = {"bumps": _pairs(details.bumps), "flushes": _pairs(details.flushes)}
        yield fields_table(
            {name: value for name, value in counted.items() if value}, title="invalidations by its agent"
        )
    if details.residents:
        columns = ("stack", "resource", "state", "type", "physical id")
        residents = [
            (each.stack, each.resource, each.state, each.type, each.physical_id) for each in details.residents
        ]
        yield Table(columns=columns, rows=residents, title="resources")


def _fields(view: "NodeView") -> dict[str, Any]:
    fields = {
        "name": view.name,
        "state": view.states,
        "reason": _reason(view),
        "drained": "" if view.drained_at is None else moment(view.drained_at),
        "agent last seen": "" if view.seen_at is None else moment(view.seen_at),
        "age of its state": _seconds(view.age_seconds),
        "labels": _pairs(view.labels),
        "hypervisors": ", ".join(view.hypervisors),
        "storage": ", ".join(f"{name} ({kind})" for name, kind in view.storage.items()),
        "memory": _mib(view.memory_mib),
        "memory kept for itself": _mib(view.reserved_memory_mib),
        "memory may be promised": f"{view.memory_ratio:g} times",
        "memory free": _mib(view.memory_free_mib),
        "vcpus": view.vcpus,
        "vcpus may be promised": f"{view.vcpu_ratio:g} times",
        "promised": _pairs(view.promised),
        "instances": view.instances,
        "boot": view.boot_id,
        "agent": " ".join(part for part in (view.incarnation, view.holder) if part),
    }
    return {name: value for name, value in fields.items() if value not in (None, "")}


def _reason(view: "NodeView") -> str:
    booted = "it has rebooted, and not all resources on it have been checked since" if view.booted else ""
    return "; ".join(part for part in (view.drain_reason, view.reason, booted) if part)


def _plain(view: "NodeView") -> dict[str, object]:
    from orchestrator.views.nodes import UP

    return {**view.to_dict(), "states": view.states, "is_up": view.state == UP}


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.0f} s"


def _mib(amount: int | None) -> str:
    return "" if amount is None else f"{amount} MiB"
