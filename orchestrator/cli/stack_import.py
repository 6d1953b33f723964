"""``isotherm stack import``: take existing objects into a stack that exists, or describe them as a template."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack

import click

from hooks.values.nearest import nearest
from orchestrator.cli.ending import follow_or_leave, refuse_to_leave
from orchestrator.cli.errors import warn
from orchestrator.cli.events import last_event
from orchestrator.cli.formats import as_json, as_yaml, show
from orchestrator.cli.options import (
    comment_option,
    existing_option,
    json_object,
    optional_template_options,
    shell_command,
    split_pairs,
    tags_option,
    timeout_option,
    wait_option,
)
from orchestrator.cli.plan_tables import plan_tables
from orchestrator.cli.shell import Shell
from orchestrator.cli.source import Given, existing_job, stack_job
from orchestrator.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from orchestrator.model.messages import StackJob
    from orchestrator.service import Service


@shell_command(
    "isotherm stack import web page=/srv/site/index.html -t web.yaml --existing",
    "isotherm stack import web page=/srv/site/index.html -t web.yaml --existing --dry-run",
    "isotherm stack import web page=/srv/site/index.html --type page=Isotherm::Node::File --write-template",
    name="import",
)
@click.argument("name")
@click.argument("objects", nargs=-1, required=True, metavar="RESOURCE=ID...", callback=split_pairs)
@optional_template_options
@existing_option
@click.option(
    "--dry-run", "is_dry_run", is_flag=True, help="Show what an import would do, and change nothing."
)
@click.option(
    "--write-template",
    "writes_template",
    is_flag=True,
    help="Write the objects as sections of a template, and import nothing.",
)
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="RESOURCE=TYPE",
    callback=split_pairs,
    help="With --write-template: the type of a resource that the template does not have yet. May be repeated.",
)
@click.option(
    "--data",
    "data",
    multiple=True,
    metavar="RESOURCE=JSON",
    callback=split_pairs,
    help="What the type of a resource keeps of its object: a JSON object, the resource_data of an adopt file; @FILE "
    "reads it from a file, @- from stdin. May be repeated.",
)
@tags_option("New tags of the stack, instead of those it has; an empty text removes them.")
@timeout_option
@comment_option
@wait_option
def import_objects(
    shell: Shell,
    name: str,
    *,
    objects: Mapping[str, str],
    template: str | None,
    is_upon_existing: bool,
    is_dry_run: bool,
    writes_template: bool,
    types: Mapping[str, str],
    data: Mapping[str, str],
    wait: bool,
    form: str,
    **given: Unpack[Given],
) -> None:
    """Take existing objects into a stack.

    Each RESOURCE=ID names a resource of the template that the stack does not have yet, and the physical id of its
    object. The object is checked, as far as its type can, and taken over as it is: nothing is changed, and nothing
    outside of the stack is created or deleted. The template must leave all other resources as they are; without -t, it
    is the present one. With --existing, the values of parameters that are not given are kept, and given environments
    are appended to the existing ones.

    Where an object differs from the template, the next update changes it: isotherm stack plan shows how. An object that
    belongs to a stack already is refused. If the import fails or is cancelled, the stack is rolled back to what it was,
    and every object is left alone.

    With --write-template nothing is imported. This process reads the objects, and writes the sections of a template
    that describe them, without properties that have their default. What is hidden, or a secret of the stack, is never
    written: it becomes a parameter without a value.
    """
    if writes_template and is_dry_run:
        raise click.UsageError("--write-template and --dry-run exclude each other: give one of them")
    if types and not writes_template:
        raise click.UsageError("--type is for --write-template: otherwise the template has the types")
    if data and writes_template:
        raise click.UsageError("--data is for an import: --write-template reads the objects")
    entries = _entries(objects, data)
    if not (is_dry_run or writes_template):
        refuse_to_leave(shell, wait=wait)
    with shell.service() as service:
        job = _definition(shell, service, name, template=template, is_upon_existing=is_upon_existing, **given)
        if writes_template:
            sections = service.imports.written_sections(job, objects, types)
            click.echo(as_json(sections) if form == "json" else as_yaml(sections), nl=form == "json")
            return
        from orchestrator.model.messages import ImportJob

        importing = ImportJob.of(job, resources=entries)
        if is_dry_run:
            plan = service.imports.plan(importing)
            warn(plan.warnings, form)
            show(form, plan.to_dict(), *plan_tables(plan))
            return
        after = last_event(service, name) if wait else 0
        going = service.import_objects(importing)
        follow_or_leave(shell, service, going, action="ADOPT", wait=wait, form=form, after=after)


def _entries(objects: Mapping[str, str], data: Mapping[str, str]) -> dict[str, dict[str, object]]:
    """Return the entries of an import, as in an adopt file.

    Raises:
        InvalidInput: data are no JSON object, or those of a resource without an object.
    """
    entries: dict[str, dict[str, object]] = {name: {"resource_id": each} for name, each in objects.items()}
    for name, text in data.items():
        if name not in entries:
            hint = nearest(name, objects)
            raise InvalidInput([Problem(path=f"--data {name}", message="no object is given", hint=hint)])
        entries[name]["resource_data"] = json_object(text, path=f"--data {name}", such_as='{"value": "x"}')
    return entries


def _definition(
    shell: Shell,
    service: "Service",
    name: str,
    *,
    template: str | None,
    is_upon_existing: bool,
    **given: Unpack[Given],
) -> "StackJob":
    """Return the job with the new definition of the stack: upon the present one unless a template is given alone."""
    if template is not None and not is_upon_existing:
        return stack_job(name, shell.settings, template=template, **given)
    return existing_job(service.definition(name), shell.settings, template=template, **given)
