"""``isotherm api``: the orchestration API that clients of Heat speak."""

from pathlib import Path

import click

from orchestrator.api.kinds import KINDS, TOKENS
from orchestrator.cli.logs import configure_logs
from orchestrator.cli.options import example
from orchestrator.cli.shell import Shell

_FILE = click.Path(path_type=Path)


@click.group(
    invoke_without_command=True,
    epilog=example(
        "isotherm api --auth none",
        "isotherm api --address 0.0.0.0 --processes 4 --certificate api.pem --auth keystone",
    ),
)
@click.option("--address", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    default=8004,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="The port; 0 for any that is free.",
)
@click.option(
    "--auth",
    type=click.Choice(KINDS),
    default=TOKENS,
    show_default=True,
    help="How callers prove who they are: not at all, on this machine alone; by a token (isotherm token create); or "
    "by a token of keystone, which the setting keystone_authtoken describes.",
)
@click.option(
    "--processes", default=1, show_default=True, type=click.IntRange(1), help="How many processes serve it."
)
@click.option(
    "--threads",
    default=8,
    show_default=True,
    type=click.IntRange(1),
    help="How many requests each serves at once.",
)
@click.option(
    "--certificate", type=_FILE, help="The file with the certificate for TLS, and those that signed it."
)
@click.option("--key", type=_FILE, help="The file with the certificate's key, if that is in another.")
@click.option(
    "--behind-proxy",
    is_flag=True,
    help="Believe X-Forwarded-*: a proxy that sets them is in front of it, and only the proxy reaches it.",
)
@click.option(
    "--metrics",
    is_flag=True,
    help="Serve Prometheus metrics at /metrics: to this machine, and to those who may see the dashboard's.",
)
@click.pass_obj
def api(
    shell: Shell,
    *,
    address: str,
    port: int,
    auth: str,
    processes: int,
    threads: int,
    certificate: Path | None,
    key: Path | None,
    behind_proxy: bool,
    metrics: bool,
) -> None:
    """Serve Heat's API.

    The openstack client, openstacksdk and whatever else speaks to Heat work with it as they are: docs/api.md. Without a
    broker, this process carries the work out itself.
    """
    settings = shell.settings
    configure_logs(settings)
    # Packages that no other command needs.
    from orchestrator.api.installed import require_api

    require_api(auth, metrics=metrics)
    from orchestrator.api.door import Door
    from orchestrator.api.server import Server, Serving, check_serving

    serving = Serving(
        address=address,
        port=port,
        auth=auth,
        processes=processes,
        threads=threads,
        certificate=certificate,
        key=key,
        behind_proxy=behind_proxy,
        metrics=metrics,
    )
    check_serving(serving)
    # What is wrong is said once, and not by each process that serves.
    Door.open(settings).close()
    Server(
        settings, serving, lambda url: click.echo(f"The API is served at {url}; Ctrl-C ends it", err=True)
    ).run()
