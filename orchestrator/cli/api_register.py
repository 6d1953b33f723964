"""``isotherm api register``: the API in keystone's catalogue."""

import click

from orchestrator.cli.formats import Table, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell


@shell_command(
    "isotherm api register --public https://heat.example.com:8004/v1 --dry-run",
    "isotherm api register --os-cloud admin --region north --public https://heat.example.com:8004/v1 --cfn",
)
@click.option(
    "--public",
    metavar="URL",
    help="The address for everyone: https://HOST:PORT/v1; by default the setting api_url.",
)
@click.option("--internal", metavar="URL", help="The address within the cloud; by default the public one.")
@click.option(
    "--admin", metavar="URL", help="The address for administrators; without it no such endpoint is written."
)
@click.option("--region", default="", metavar="NAME", help="The region; by default that of the login.")
@click.option(
    "--name", default="isotherm", show_default=True, help="The name of the service; Heat's is heat."
)
@click.option(
    "--cfn", is_flag=True, help="Register signals and metadata for cfn-tools, too, as type cloudformation."
)
@click.option(
    "--os-cloud", metavar="NAME", help="The cloud in clouds.yaml; without it OS_CLOUD, or the other OS_*."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be written.")
def register(
    shell: Shell,
    *,
    public: str | None,
    internal: str | None,
    admin: str | None,
    region: str,
    name: str,
    cfn: bool,
    os_cloud: str | None,
    dry_run: bool,
    form: str,
) -> None:
    """Write the API into keystone's catalogue.

    Clients look for it there. The service of the type orchestration is created, or changed if there is one, such as
    Heat's; so are its endpoints in one region. What is as it should be is left, and so is all else. The user needs
    keystone's role admin.
    """
    # Packages that no other command needs.
    from orchestrator.api.registration import connect, services
    from orchestrator.api.registration import register as write

    public = public or shell.settings.api_url
    given = {"public": public, "internal": internal or public, "admin": admin}
    wanted = services(name, {each: address for each, address in given.items() if address}, cfn=cfn)
    entries = write(connect(os_cloud), wanted, region=region, dry_run=dry_run)
    rows = [(each.what, each.type, each.name, each.url, each.outcome, each.before) for each in entries]
    show(
        form,
        [each.to_dict() for each in entries],
        Table(columns=("what", "type", "name", "url", "outcome", "before"), rows=rows),
    )
