"""``isotherm template``: work with templates without touching anything."""

import click

from orchestrator.cli.formats import Table, fields_table, show
from orchestrator.cli.options import example, format_option, template_options
from orchestrator.cli.shell import Shell
from orchestrator.cli.source import stack_job

#: A stack must have a name; this one is never made.
NOBODY = "validation"


@click.group()
def template() -> None:
    """Check templates; nothing is touched."""


@template.command(
    epilog=example(
        "isotherm template validate -t web.yaml",
        "isotherm template validate -t web.yaml -e prod.yaml -P count=3 -f json",
    )
)
@template_options
@format_option()
@click.pass_obj
def validate(
    shell: Shell, template: str, environments: tuple[str, ...], parameters: dict[str, str], form: str
) -> None:
    """Check a template and its parameters.

    Every problem is named with its place, in the template or in an environment. Needs neither a database
    nor a broker.
    """
    # The language and the resource types' schemas: more than the other commands want to load.
    from orchestrator.service import validate_job

    job = stack_job(
        NOBODY, shell.settings, template=template, environments=environments, parameters=parameters
    )
    view = validate_job(job, shell.settings)
    columns = ("name", "type", "default", "value", "description")
    tables = [fields_table({"template": template, "description": view.description.strip(), "state": "ok"})]
    if view.parameters:
        rows = [[entry.get(column) for column in columns] for entry in view.parameters]
        tables.append(Table(columns=columns, rows=rows, title="parameters"))
    if view.resources:
        tables.append(Table(columns=("name", "type"), rows=view.resources, title="resources"))
    if view.outputs:
        tables.append(Table(columns=("key",), rows=[[key] for key in view.outputs], title="outputs"))
    show(form, view.to_dict(), *tables)
