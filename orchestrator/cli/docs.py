"""``isotherm docs``: a documentation site of the installed types, constraints and clients."""

from pathlib import Path

import click

from orchestrator.cli.options import example
from orchestrator.cli.shell import Shell

#: As in :mod:`orchestrator.documentation.site`, which is too heavy to import for a help text.
_FORMATS = ("html", "markdown")


@click.group()
def docs() -> None:
    """Document the installed plugins."""


@docs.command(
    epilog=example(
        "isotherm docs build",
        "isotherm docs build --output site --format markdown",
        "isotherm docs build -o site OS::Heat::RandomString OS::Heat::Value",
    )
)
@click.argument("types", nargs=-1, metavar="[TYPE]...")
@click.option(
    "-o",
    "--output",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default="isotherm-docs",
    show_default=True,
    metavar="DIR",
    help="Where to write; created if missing, refused unless it is empty or was written by an earlier build.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default=_FORMATS[0],
    show_default=True,
    help="The format of the pages.",
)
@click.pass_obj
def build(shell: Shell, types: tuple[str, ...], directory: Path, form: str) -> None:
    """Write a site about the installed plugins.

    A page for each resource type, those of other packages included, or for the TYPEs that are named; a page for each
    custom constraint and each client plugin; and an index to begin with. The same packages always give the same pages,
    and no page loads anything from a server.
    """
    # Imports every plugin, and Jinja.
    from orchestrator.documentation.catalogue import Catalogue
    from orchestrator.documentation.directory import write_site
    from orchestrator.documentation.site import PageFormat, pages

    files = pages(Catalogue.load(shell.settings, names=types), PageFormat(form))
    write_site(directory, files)
    index = next(path for path in files if path.startswith("index."))
    click.echo(f"{len(files)} files; begin with {directory / index}")
