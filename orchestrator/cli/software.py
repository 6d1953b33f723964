"""``isotherm software``: software configs, and their deployments to servers."""

from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.formats import Table, fields_table, moment, show
from orchestrator.cli.options import shell_command, split_pairs
from orchestrator.cli.shell import Shell
from orchestrator.cli.source import text_in
from orchestrator.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from orchestrator.views.stacks import View


@click.group()
def software() -> None:
    """Keep and deploy software configs."""


@software.group()
def config() -> None:
    """Keep software configs.

    A config is a text, such as a script, with declared inputs and outputs. It never changes. It is deployed to servers,
    which look up what they are to apply.
    """


@software.group()
def deployment() -> None:
    """Deploy software configs to servers.

    Nothing is sent: a server, or an agent on it, reads its deployments' metadata by the API, and reports what became of
    each.
    """


@shell_command(
    "isotherm software config create greeting --config-file greet.sh --group script",
    "isotherm software config create greeting --config-file greet.sh --definition-file greet.yaml",
    group=config,
    name="create",
)
@click.argument("name")
@click.option("--config-file", metavar="FILE", help="The file with the text, such as a script.")
@click.option(
    "--definition-file",
    metavar="FILE",
    help="The file with inputs, outputs and options, in YAML or JSON.",
)
@click.option(
    "--group", "tool", default="", help="The kind of tool that applies it; Heat::Ungrouped by default."
)
def create_config(
    shell: Shell,
    name: str,
    *,
    config_file: str | None,
    definition_file: str | None,
    tool: str,
    form: str,
) -> None:
    """Create a software config."""
    given = _definition(definition_file) if definition_file else {}
    text = text_in(config_file) if config_file else ""
    with shell.service() as service:
        view = service.software.create_config({**given, "name": name, "group": tool, "config": text})
    _show(view, form)


@shell_command(
    "isotherm software config list",
    "isotherm software config list --limit 20 -f json",
    group=config,
    name="list",
)
@click.option("--limit", type=click.IntRange(min=1), help="The most that are listed.")
@click.option("--marker", default="", metavar="ID", help="List those behind this one.")
def list_configs(shell: Shell, limit: int | None, marker: str, form: str) -> None:
    """List software configs, the newest first."""
    with shell.service() as service:
        views = service.software.configs(after=marker, limit=limit)
    rows = [(each.id, each.name, each.group, moment(each.created_at)) for each in views]
    show(
        form, [each.to_dict() for each in views], Table(columns=("id", "name", "group", "created"), rows=rows)
    )


@shell_command(
    "isotherm software config show 5a0c3c3c-7c0f-4c4b-9c51-0f3f5c1f2a11",
    "isotherm software config show 5a0c3c3c-7c0f-4c4b-9c51-0f3f5c1f2a11 -f json",
    group=config,
    name="show",
)
@click.argument("config_id", metavar="ID")
def show_config(shell: Shell, config_id: str, form: str) -> None:
    """Show a software config, with all that is in it."""
    with shell.service() as service:
        view = service.software.config(config_id)
    _show(view, form)


@shell_command(
    "isotherm software config delete 5a0c3c3c-7c0f-4c4b-9c51-0f3f5c1f2a11", group=config, name="delete"
)
@click.argument("config_id", metavar="ID")
def delete_config(shell: Shell, config_id: str, form: str) -> None:
    """Delete a software config.

    One that a deployment uses cannot be deleted.
    """
    with shell.service() as service:
        service.software.delete_config(config_id)
    data = {"id": config_id, "state": "deleted"}
    show(form, data, fields_table(data))


@shell_command(
    "isotherm software deployment create --server web-1 --config 5a0c3c3c-7c0f-4c4b-9c51-0f3f5c1f2a11 -i who=you",
    group=deployment,
    name="create",
)
@click.option("--server", "server_id", required=True, metavar="ID", help="The server.")
@click.option("--config", "config_id", required=True, metavar="ID", help="The software config.")
@click.option(
    "-i",
    "--input",
    "input_values",
    multiple=True,
    metavar="NAME=VALUE",
    callback=split_pairs,
    help="The value of an input; may be given several times.",
)
@click.option(
    "--action", default="UPDATE", show_default=True, help="What the server does when it applies it."
)
def create_deployment(shell: Shell, form: str, **given: Any) -> None:
    """Deploy a software config to a server."""
    with shell.service() as service:
        view = service.software.create_deployment({**given, "status": "IN_PROGRESS"})
    _show(view, form)


@shell_command(
    "isotherm software deployment list",
    "isotherm software deployment list --server web-1 -f json",
    group=deployment,
    name="list",
)
@click.option("--server", "server_id", default="", metavar="ID", help="List those to this server only.")
def list_deployments(shell: Shell, server_id: str, form: str) -> None:
    """List software deployments, the oldest first."""
    with shell.service() as service:
        views = service.software.deployments(server_id=server_id)
    columns = ("id", "server_id", "config_id", "action", "status", "status_reason")
    rows = [[getattr(each, name) for name in columns] for each in views]
    show(form, [each.to_dict() for each in views], Table(columns=columns, rows=rows))


@shell_command(
    "isotherm software deployment show 0c7e3d52-4d0f-4c6e-8f3f-9e8a7a0f1b22", group=deployment, name="show"
)
@click.argument("deployment_id", metavar="ID")
def show_deployment(shell: Shell, deployment_id: str, form: str) -> None:
    """Show a software deployment, with its values."""
    with shell.service() as service:
        view = service.software.deployment(deployment_id)
    _show(view, form)


@shell_command(
    "isotherm software deployment delete 0c7e3d52-4d0f-4c6e-8f3f-9e8a7a0f1b22",
    group=deployment,
    name="delete",
)
@click.argument("deployment_id", metavar="ID")
def delete_deployment(shell: Shell, deployment_id: str, form: str) -> None:
    """Delete a software deployment; its config stays."""
    with shell.service() as service:
        service.software.delete_deployment(deployment_id)
    data = {"id": deployment_id, "state": "deleted"}
    show(form, data, fields_table(data))


@shell_command(
    "isotherm software deployment metadata web-1",
    "isotherm software deployment metadata web-1 -f json",
    group=deployment,
)
@click.argument("server_id", metavar="SERVER")
def metadata(shell: Shell, server_id: str, form: str) -> None:
    """Show what a server is to apply.

    Those are the configs of its deployments in the order of their names, with the values of inputs.
    """
    with shell.service() as service:
        views = service.software.metadata(server_id)
    show(form, [each.to_dict() for each in views], *(fields_table(each.to_dict()) for each in views))


def _show(view: "View", form: str) -> None:
    data = view.to_dict()
    show(form, data, fields_table(data))


def _definition(file: str) -> dict[str, Any]:
    """Return the map in a file; an empty one for an empty file."""
    import yaml

    try:
        found = yaml.safe_load(text_in(file)) or {}
    except (yaml.YAMLError, RecursionError) as error:
        raise _wrong(file, f"it is no YAML: {error}") from error
    if not isinstance(found, dict):
        raise _wrong(file, f"expected a map of inputs, outputs and options, found {type(found).__name__}")
    return found


def _wrong(file: str, message: str) -> InvalidInput:
    return InvalidInput([Problem(path=file, message=message)])
