"""``isotherm stack preview``: the resources that a create would make, and where."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Unpack

import click

from orchestrator.cli.annotation_tables import annotation_tables
from orchestrator.cli.errors import warn
from orchestrator.cli.formats import Table, fields_table, show
from orchestrator.cli.options import shell_command, tags_option, template_options
from orchestrator.cli.shell import Shell
from orchestrator.cli.source import Given, stack_job
from orchestrator.cli.template import DISABLED

if TYPE_CHECKING:
    from orchestrator.model.messages import StackJob
    from orchestrator.views.stacks import ResourcePreview, StackPreview


@shell_command(
    "isotherm stack preview web -t web.yaml",
    "isotherm stack preview web -t web.yaml -e prod.yaml -P count=3 -f yaml",
)
@click.argument("name")
@template_options
@tags_option("Tags of the stack.")
def preview(shell: Shell, name: str, *, template: str, form: str, **given: Unpack[Given]) -> None:
    """Show what a create would make.

    Shows every resource with its properties, as far as they are known before anything exists; resources of a nested
    template follow it, as web/server. Errors are reported as a create would report them, and lifecycle plugins that are
    enabled here are called. Resources on nodes are shown with the node on which they would be placed at present; only
    for that the database and the broker are needed. What the project's limits do not allow is refused; those in the
    database hold where there is one. Nothing is changed.
    """
    show_preview(shell, stack_job(name, shell.settings, template=template, **given), form)


def show_preview(shell: Shell, job: "StackJob", form: str) -> None:
    """Write the preview of a job, with its warnings."""
    # Imports the language and the resource types' schemas, which other commands do not need.
    from orchestrator.engine.stack_preview import preview_job

    view = preview_job(job, shell.settings)
    warn(view.warnings, form)
    show(form, view.to_dict(), *_tables(view))


def _tables(view: "StackPreview") -> Iterator[Table]:
    tags = {"tags": ", ".join(view.tags)} if view.tags else {}
    yield fields_table({"name": view.name, "description": view.description.strip(), **tags})
    if view.parameters:
        yield fields_table(view.parameters, "parameters")
    resources = list(_with_paths(view.resources, ""))
    rows = [
        (path, _type(each), each.action, _required(path, each), each.deletion_policy)
        for path, each in resources
    ]
    rows += [(name, DISABLED, "", "", "") for name in view.disabled]
    if rows:
        columns = ("name", "type", "action", "requires", "deletion policy")
        yield Table(columns=columns, rows=rows, title="resources")
    for path, each in resources:
        if each.properties:
            yield fields_table(each.properties, f"properties of {path}")
    if view.outputs:
        yield fields_table(view.outputs, "outputs")
    yield from annotation_tables(view.annotations)


def _with_paths(
    resources: "Iterable[ResourcePreview]", above: str
) -> "Iterator[tuple[str, ResourcePreview]]":
    for each in resources:
        path = above + each.name
        yield path, each
        yield from _with_paths(each.resources, f"{path}/")


def _required(path: str, resource: "ResourcePreview") -> str:
    above = path.removesuffix(resource.name)
    marks = dict.fromkeys(resource.implied, " (implied by its type)")
    return ", ".join(f"{above}{name}{marks.get(name, '')}" for name in resource.requires)


def _type(resource: "ResourcePreview") -> str:
    if resource.actual_type == resource.type:
        return resource.type
    return f"{resource.type} -> {resource.actual_type}"
