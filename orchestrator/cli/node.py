"""``isotherm node``: the machines with agents, how they are, and taking them out of use."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from orchestrator.cli.errors import DONE, UNREACHABLE
from orchestrator.cli.formats import Table, fields_table, moment, show
from orchestrator.cli.options import example, format_option
from orchestrator.cli.progress import duration
from orchestrator.cli.shell import Shell
from orchestrator.views.nodes import UP, AskedView, NodeDetails, NodeView


@click.group()
def node() -> None:
    """Look at nodes, and take them out of use."""


@node.command("list", epilog=example("isotherm node list", "isotherm node list -f json"))
@format_option()
@click.pass_obj
def list_nodes(shell: Shell, form: str) -> None:
    """List nodes: what they have, and what is left.

    STATE is up, unreachable, failing or drained. Memory is in MiB: what there is, what is promised to resources, and
    what the machine itself says is free. VCPUS are those promised, of those there are: more may be promised than there
    are. AGE is how long ago the machine said so; of a node that cannot be asked, the last that it said is shown, with
    the reason. A terminal that is too narrow shows fewer columns.
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


@node.command("show", epilog=example("isotherm node show n1", "isotherm node show n1 -f json"))
@click.argument("name")
@format_option()
@click.pass_obj
def show_node(shell: Shell, name: str, form: str) -> None:
    """Show a node, and all that is on it.

    What its agent says of it, its hypervisors and storage, and the resources that are on it.
    """
    with shell.service() as service:
        details = service.nodes.show(name)
    show(form, {**details.to_dict(), "node": _plain(details.node)}, *_tables(details))


@node.command("instances", epilog=example("isotherm node instances n1", "isotherm node instances n1 -f json"))
@click.argument("name")
@format_option()
@click.pass_obj
def list_instances(shell: Shell, name: str, form: str) -> None:
    """List the instances of a node.

    Also those that no stack has made. Memory is in MiB, processor time in seconds.
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
                f"node {name!r} cannot be asked: it said so {_seconds(view.age_seconds)} ago", err=True
            )
        for fault in view.faults:
            click.echo(fault, err=True)


@node.command(epilog=example("isotherm node refresh", "isotherm node refresh n1 n2"))
@click.argument("names", metavar="[NAME]...", nargs=-1)
@format_option()
@click.pass_obj
def refresh(shell: Shell, names: tuple[str, ...], form: str) -> None:
    """Ask nodes anew, whatever is remembered.

    All of them if none is named. Ends with 3 if one does not answer.
    """
    with shell.service() as service:
        views = service.nodes.refresh(names)
    _show_asked(views, form)
    all_answered = all(view.state == "refreshed" for view in views)
    raise click.exceptions.Exit(DONE if all_answered else UNREACHABLE)


@node.command(epilog=example("isotherm node flush", "isotherm node flush n1 n2"))
@click.argument("names", metavar="[NAME]...", nargs=-1)
@format_option()
@click.pass_obj
def flush(shell: Shell, names: tuple[str, ...], form: str) -> None:
    """Have what is remembered of nodes forgotten.

    Of all of them if none is named. Whoever needs a node's state next asks the node.
    """
    with shell.service() as service:
        views = service.nodes.flush(names)
    _show_asked(views, form)


@node.command(epilog=example('isotherm node drain n1 --reason "new disks"'))
@click.argument("name")
@click.option("--reason", default="", metavar="TEXT", help="Why; it is shown to whoever asks for the node.")
@format_option()
@click.pass_obj
def drain(shell: Shell, name: str, reason: str, form: str) -> None:
    """Place nothing on a node any more.

    What is on it stays, and is looked after as before. A template that names the node is refused.
    """
    with shell.service() as service:
        view = service.nodes.drain(name, reason)
    show(form, _plain(view), fields_table(_fields(view)))


@node.command(epilog=example("isotherm node undrain n1"))
@click.argument("name")
@format_option()
@click.pass_obj
def undrain(shell: Shell, name: str, form: str) -> None:
    """Place things on a node again."""
    with shell.service() as service:
        view = service.nodes.undrain(name)
    show(form, _plain(view), fields_table(_fields(view)))


@node.command(epilog=example("isotherm node forget n1", "isotherm node forget n1 --lost"))
@click.argument("name")
@click.option("--lost", is_flag=True, help="Count what is on it as gone with it; make sure that it is.")
@format_option()
@click.pass_obj
def forget(shell: Shell, name: str, *, lost: bool, form: str) -> None:
    """Forget a node that is gone for good.

    Nothing may be on it any more, and its agent must have ended. With --lost, what is on it is CHECK_FAILED: the next
    update of its stack makes it anew on another node, and a deletion asks the lost one no more.
    """
    with shell.service() as service:
        service.nodes.forget(name, lost=lost)
    forgotten = {"name": name, "state": "forgotten"}
    show(form, forgotten, fields_table(forgotten))


@node.command(epilog=example("isotherm node stats", "isotherm node stats --reset -f json"))
@click.option("--reset", is_flag=True, help="Begin to count again at zero, after showing what was counted.")
@format_option()
@click.pass_obj
def stats(shell: Shell, *, reset: bool, form: str) -> None:
    """Show how well nodes' states are remembered.

    Sums over all processes but agents: questions that needed no node (hits), and those that did (misses) by cause:
    there was nothing (absent), not all of it (partial), something had changed since (token) or was changing (dirty),
    it was too old (aged), or whoever asked wanted it so (forced). Bumps are how often what is remembered of a node
    became void.
    """
    with shell.service() as service:
        view = service.nodes.stats(reset=reset)
    fields = {
        "since": "" if view.since is None else moment(view.since),
        "hits": view.hits,
        "misses": _pairs(view.misses) or 0,
        "hit rate": "" if view.hit_rate is None else f"{view.hit_rate:.1%}",
        "answered by another's question": view.shared,
        "age at serve": duration(view.mean_age_seconds),
        "nodes asked": view.asked,
        "nodes that did not answer": view.unanswered,
        "time of an answer": duration(view.mean_asked_seconds),
        "bumps": _pairs(view.bumps) or 0,
        "flushes": _pairs(view.flushes) or 0,
        "answers not kept": view.refused + view.unsettled,
        "errors of the store": view.errors,
    }
    show(form, view.to_dict(), fields_table({name: value for name, value in fields.items() if value != ""}))


def _show_asked(views: Sequence[AskedView], form: str) -> None:
    rows = [(view.node, view.state, view.detail) for view in views]
    show(form, [view.to_dict() for view in views], Table(columns=("node", "state", "detail"), rows=rows))


def _tables(details: NodeDetails) -> Iterator[Table]:
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
        yield Table(columns=("kind", "name", "state", "instances", "says"), rows=rows, title="backends")
    if details.bumps or details.flushes:
        counted = {"bumps": _pairs(details.bumps), "flushes": _pairs(details.flushes)}
        yield fields_table(
            {name: value for name, value in counted.items() if value}, title="what its agent made void"
        )
    if details.residents:
        columns = ("stack", "resource", "state", "type", "physical id")
        residents = [
            (each.stack, each.resource, each.state, each.type, each.physical_id) for each in details.residents
        ]
        yield Table(columns=columns, rows=residents, title="resources")


def _fields(view: NodeView) -> dict[str, Any]:
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


def _reason(view: NodeView) -> str:
    booted = "it has booted, and not all that is on it has been checked since" if view.booted else ""
    return "; ".join(part for part in (view.drain_reason, view.reason, booted) if part)


def _plain(view: NodeView) -> dict[str, Any]:
    return {**view.to_dict(), "states": view.states, "is_up": view.state == UP}


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.0f} s"


def _mib(amount: int | None) -> str:
    return "" if amount is None else f"{amount} MiB"
