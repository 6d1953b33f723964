"""``isotherm template``: validate and show templates without a stack."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

import click

from orchestrator.cli.errors import warn
from orchestrator.cli.formats import Table, fields_table, show
from orchestrator.cli.options import shell_command, template_options
from orchestrator.cli.shell import Shell
from orchestrator.cli.source import Given, stack_job, template_text

if TYPE_CHECKING:
    from orchestrator.views.stacks import TemplateView

#: The name in a job that is only validated: a job must have one.
JOB_NAME = "validation"

#: Shown as the type of a resource whose condition does not hold.
DISABLED = "(disabled: its condition does not hold)"

_PARAMETER_COLUMNS = ("name", "type", "default", "value", "constraints", "description")


@click.group()
def template() -> None:
    """Validate and show templates."""


@shell_command(
    "isotherm template validate -t web.yaml",
    "isotherm template validate -t web.yaml -e prod.yaml -P count=3 -f json",
    group=template,
)
@template_options
def validate(shell: Shell, template: str, form: str, **given: Unpack[Given]) -> None:
    """Validate a template and its parameters.

    Every problem is reported with its position in the template or in an environment. Parameters need no values.
    Needs neither a database nor a broker, and queries no other system.

    In JSON the problems are on stderr, as a list of objects with error, message, path, position (file, line, column; or
    null) and hint.
    """
    job = stack_job(JOB_NAME, shell.settings, template=template, **given)
    # Imports the language and the resource types' schemas, which other commands do not need.
    from orchestrator.validation.report import validate_job

    view = validate_job(job, shell.settings)
    warn(view.warnings, form)
    show(form, view.to_dict(), *_tables(template, view))


@shell_command(
    "isotherm template show -t web.yaml",
    "isotherm template show -t web.yaml --resolved -e prod.yaml -P count=3",
    group=template,
    name="show",
    forms=("yaml", "json"),
)
@template_options
@click.option(
    "--resolved",
    "is_resolved",
    is_flag=True,
    help="Evaluate the conditions with the values of -e and -P, and leave out what they exclude.",
)
def show_template(
    shell: Shell, template: str, *, is_resolved: bool, form: str, **given: Unpack[Given]
) -> None:
    """Show a template in its normal form.

    Equivalent templates look the same: sections and keys in one order, aliases and merge keys expanded, the version by
    its date, no comments. Function calls stay as they are, and no values are needed.

    With --resolved each `if` is replaced by the value that it chooses, and resources and outputs whose condition does
    not hold are left out. Only parameters that conditions use need values.
    """
    # Imports the whole language.
    from orchestrator.validation.normal_form import decided_form, normal_form

    if is_resolved:
        job = stack_job(JOB_NAME, shell.settings, template=template, **given)
        data = decided_form(job, shell.settings)
    elif given["environments"] or given["parameters"]:
        raise click.UsageError("-e and -P only matter for conditions: give --resolved as well")
    else:
        source = template_text(template, shell.settings)
        data = normal_form(source, file=template, settings=shell.settings)
    show(form, data)


def _tables(name: str, view: "TemplateView") -> Iterator[Table]:
    fields = {"template": name, "version": view.version, "description": view.description.strip()}
    yield fields_table({**fields, "state": "ok"})
    yield from _parameter_tables(view)
    if view.conditions:
        verdicts = {True: "holds", False: "does not hold", None: "depends on parameters without a value"}
        rows = [(condition, verdicts[verdict]) for condition, verdict in view.conditions.items()]
        yield Table(columns=("name", "verdict"), rows=rows, title="conditions")
    if view.resources or view.disabled:
        rows = [*view.resources, *((resource, DISABLED) for resource in view.disabled)]
        yield Table(columns=("name", "type"), rows=rows, title="resources")
    if view.outputs:
        yield Table(columns=("key",), rows=[[key] for key in view.outputs], title="outputs")


def _parameter_tables(view: "TemplateView") -> Iterator[Table]:
    left = {entry["name"]: entry for entry in view.parameters}
    for group in view.parameter_groups:
        rows = [_parameter_row(left.pop(name)) for name in group["parameters"] if name in left]
        about = ": ".join(part for part in (group["label"], group["description"].strip()) if part)
        title = f"parameters, {about}" if about else "parameters"
        yield Table(columns=_PARAMETER_COLUMNS, rows=rows, title=title)
    if left:
        title = "other parameters" if view.parameter_groups else "parameters"
        yield Table(
            columns=_PARAMETER_COLUMNS, rows=[_parameter_row(entry) for entry in left.values()], title=title
        )


def _parameter_row(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    value = "(required)" if entry["required"] else entry["value"]
    constraints = "; ".join(entry["constraints"])
    return entry["name"], entry["type"], entry["default"], value, constraints, entry["description"].strip()
