"""``isotherm key``: the keys that sign the messages on the broker."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from orchestrator.cli.formats import Table, fields_table, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.roles import check_user, user_options
from orchestrator.cli.shell import Shell
from orchestrator.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from pathlib import Path

    from orchestrator.keys.key import Key


@click.group()
def key() -> None:
    """Make and rotate the keys that sign messages.

    Every process on a broker needs the same file of keys (setting key_file), except agents, which need an excerpt.
    """


@shell_command(
    "isotherm key create",
    "isotherm key create --node host1",
    "isotherm key create --user alice --role operator --for-project acme",
    group=key,
)
@click.option("--node", default="", metavar="NAME", help="Make a key of this node's agent instead.")
@click.option("--missing", is_flag=True, help="Make only keys for what has none yet.")
@user_options(required=False)
def create(
    shell: Shell,
    *,
    node: str,
    user: str,
    role: str | None,
    projects: tuple[str, ...],
    missing: bool,
    form: str,
) -> None:
    """Make keys.

    The first time, makes the file of keys. Afterwards, adds a new key for each use, which verifies at once, and signs
    after 'isotherm key rotate': bring the file to all machines between the two. Running processes read it again within
    seconds.

    With --user, makes a key for this user's jobs instead. It decides what they may do, and in which projects, whatever
    they say of themselves. A job that is signed with another key for jobs is the installation's own, and may do
    everything.
    """
    # Imports cryptography, which most commands do not need.
    from orchestrator.keys.key import ACTIVE, AGENT, JOB
    from orchestrator.keys.key_file import write_keys
    from orchestrator.keys.rotation import OWN, created

    check_user(user, role, projects)
    if user and node:
        raise InvalidInput([Problem(message="expected either --node or --user")])
    path = shell.settings.effective_key_file
    keys = _read(path) if path.exists() else []
    if user:
        of_user = {"user": user, "projects": ",".join(projects), "role": role or ""}
        made = created(keys, [] if keys else OWN) + created(keys, [JOB], **of_user)
    elif node:
        from orchestrator.nodes.rpc.names import check_node_name

        check_node_name(node)
        made = created(keys, [] if keys else OWN) + created(keys, [AGENT], node=node)
    else:
        made = created(keys, OWN)
    if missing:
        made = [each for each in made if each.state == ACTIVE]
    write_keys(path, [*keys, *made])
    _show(form, made)


@shell_command("isotherm key list", "isotherm key list -f json", group=key, name="list")
def list_keys(shell: Shell, *, form: str) -> None:
    """List the keys, without their secrets."""
    _show(form, _read(shell.settings.effective_key_file))


@shell_command("isotherm key rotate", group=key)
def rotate(shell: Shell, *, form: str) -> None:
    """Sign with the newest keys from now on.

    Those before still verify, until 'isotherm key remove' when all processes have the file.
    """
    from orchestrator.keys.key_file import write_keys
    from orchestrator.keys.rotation import rotated

    path = shell.settings.effective_key_file
    keys = rotated(_read(path))
    write_keys(path, keys)
    _show(form, keys)


@shell_command("isotherm key remove", "isotherm key remove 1f0c9a3e", group=key)
@click.argument("ids", nargs=-1, metavar="[ID]...")
def remove(shell: Shell, *, ids: tuple[str, ...], form: str) -> None:
    """Remove old keys, or those named.

    What they signed is refused from now on, also what waits in a queue. Without ID, removes all old ones.
    """
    from orchestrator.keys.key_file import write_keys
    from orchestrator.keys.rotation import without

    path = shell.settings.effective_key_file
    keys = without(_read(path), ids)
    write_keys(path, keys)
    _show(form, keys)


@shell_command(
    "isotherm key export --node host1 -o host1.keys.json",
    "isotherm key export --client -o client.keys.json",
    "isotherm key export --user alice -o alice.keys.json",
    group=key,
)
@click.option("--node", default="", metavar="NAME", help="What the agent of this node needs.")
@click.option(
    "--client", is_flag=True, help="What a client of the installation itself needs that only sends jobs."
)
@click.option("--user", default="", metavar="NAME", help="What a client of this user needs.")
@click.option("-o", "--output", required=True, metavar="FILE", help="The file to write, for its owner alone.")
def export(shell: Shell, *, node: str, client: bool, user: str, output: str, form: str) -> None:
    """Write a file of keys for an agent or a client.

    Bring it there, and name it with ISOTHERM_KEY_FILE. Write it again after each step of a rotation.
    """
    from pathlib import Path

    from orchestrator.keys.key_file import write_keys
    from orchestrator.keys.rotation import for_agent, for_client

    if sum(map(bool, (node, client, user))) != 1:
        raise InvalidInput([Problem(message="expected one of --node, --client and --user")])
    keys = _read(shell.settings.effective_key_file)
    excerpt = for_agent(keys, node) if node else for_client(keys, user)
    write_keys(Path(output), excerpt)
    written = {"file": output, "keys": len(excerpt)}
    show(form, written, fields_table(written))


def _read(path: "Path") -> "list[Key]":
    from orchestrator.keys.key_file import read_keys

    return read_keys(path)


def _show(form: str, keys: "Sequence[Key]") -> None:
    views = [
        {
            "id": each.id,
            "use": each.use,
            "node": each.node,
            "user": each.user,
            "projects": each.projects,
            "role": each.role,
            "state": each.state,
            "created_at": each.created_at,
            "has_secret": bool(each.secret),
        }
        for each in keys
    ]
    columns = ("id", "use", "node", "user", "projects", "role", "state", "created at", "secret")
    rows = [(*list(view.values())[:-1], "yes" if view["has_secret"] else "no") for view in views]
    show(form, views, Table(columns=columns, rows=rows))
