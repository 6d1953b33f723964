"""``isotherm plugin``: the installed plugins of all kinds, with their options and errors."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.formats import Table, fields_table, show, text_of
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell

if TYPE_CHECKING:
    from orchestrator.documentation.hook_options import OptionView
    from orchestrator.documentation.plugin_views import PluginDetails

namespace_option = click.option(
    "--namespace",
    metavar="NAME",
    help="Only one group of entry points, such as isotherm.lifecycle, or lifecycle for short.",
)


@click.group("plugin")
def plugin() -> None:
    """Show installed plugins."""


@shell_command(
    "isotherm plugin list", "isotherm plugin list --namespace lifecycle -f json", group=plugin, name="list"
)
@namespace_option
def list_plugins(shell: Shell, namespace: str | None, form: str) -> None:
    """List installed plugins of all kinds.

    Lists resource types, clients, constraints, functions, lifecycle plugins, event sinks, and the hypervisors and
    storage of agents, which are enabled if the settings here name them. ORDER is the place of a lifecycle plugin in the
    order of calls. A plugin that cannot be used is listed with its errors. JSON and YAML also have the class of each.
    """
    # Loads everything that is installed.
    from orchestrator.documentation import installed_plugins

    found = installed_plugins.list_plugins(shell.settings, namespace)
    columns = ("namespace", "name", "package", "version", "order", "enabled", "errors")
    rows = [
        (
            view.namespace,
            view.name,
            view.package,
            view.version,
            view.order,
            _yes_or_no(view.enabled),
            "; ".join(view.errors),
        )
        for view in found
    ]
    show(form, [view.to_dict() for view in found], Table(columns=columns, rows=rows))


@shell_command(
    "isotherm plugin show limits",
    "isotherm plugin show webhook --namespace lifecycle -f json",
    group=plugin,
    name="show",
)
@click.argument("name")
@namespace_option
def show_plugin(shell: Shell, name: str, namespace: str | None, form: str) -> None:
    """Show a plugin and its options.

    Shows the type, the default and the setting of each option; a value that may be a secret is hidden. For hypervisors
    and storage, the options that templates can use are shown as well.
    """
    from orchestrator.documentation import installed_plugins

    found = installed_plugins.show_plugin(shell.settings, name, namespace)
    show(form, found.to_dict(), *_tables(found))


def _tables(found: "PluginDetails") -> Iterator[Table]:
    view = found.plugin
    fields: Mapping[str, Any] = {
        "namespace": view.namespace,
        "name": view.name,
        "description": found.description,
        "package": " ".join(part for part in (view.package, view.version) if part),
        "class": view.target,
        "enabled": _yes_or_no(view.enabled),
        "order": view.order,
        **{name.replace("_", " "): _words(value) for name, value in found.traits.items()},
        "errors": "\n".join(view.errors),
    }
    yield fields_table({name: value for name, value in fields.items() if value not in (None, "")})
    if found.options:
        columns = ("name", "type", "default", "settings", "description")
        rows = [(*_option(each), text_of(each.said), each.description) for each in found.options]
        yield Table(columns=columns, rows=rows, title="options")
    for title, options in found.asked.items():
        if options:
            asked = [(*_option(each), each.description) for each in options]
            yield Table(columns=("name", "type", "default", "description"), rows=asked, title=title)


def _option(option: "OptionView") -> tuple[str, str, str]:
    return option.name, option.type, "required" if option.required else text_of(option.default)


def _yes_or_no(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"


def _words(value: object) -> object:
    if isinstance(value, bool):
        return _yes_or_no(value)
    return ", ".join(value) if isinstance(value, list) else value
