"""``isotherm token``: the tokens by which callers prove who they are."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from orchestrator.cli.formats import Table, fields_table, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.roles import check_user, user_options
from orchestrator.cli.shell import Shell

if TYPE_CHECKING:
    from orchestrator.access.tokens import Token


@click.group()
def token() -> None:
    """Make, list and revoke users' tokens.

    A token names its user and the user's roles. ISOTHERM_TOKEN names one for the command line, which has its roles
    then; the dashboard takes them with the setting authenticator=tokens. The file (setting token_file) has hashes only.
    """


@shell_command("isotherm token create --user alice --role operator --for-project acme", group=token)
@user_options(required=True)
def create(shell: Shell, *, user: str, role: str, projects: tuple[str, ...], form: str) -> None:
    """Make a token, and show it once."""
    from orchestrator.access.tokens import Token, TokenFile

    check_user(user, role, projects)
    made, text = Token.generate(user, dict.fromkeys(projects, role))
    TokenFile(shell.settings.effective_token_file).add(made)
    fields = {**_view(made), "token": text}
    show(form, fields, fields_table({**fields, "roles": _roles(made)}))


@shell_command("isotherm token list", "isotherm token list -f json", group=token, name="list")
def list_tokens(shell: Shell, *, form: str) -> None:
    """List tokens, without their texts."""
    from orchestrator.access.tokens import TokenFile

    tokens = TokenFile(shell.settings.effective_token_file).tokens()
    rows = [(each.id, each.user, _roles(each), each.created_at) for each in tokens]
    show(
        form,
        [_view(each) for each in tokens],
        Table(columns=("id", "user", "roles", "created at"), rows=rows),
    )


@shell_command("isotherm token revoke 1f0c9a3e", group=token)
@click.argument("token_id", metavar="ID")
def revoke(shell: Shell, *, token_id: str, form: str) -> None:
    """Revoke a token; it is refused from now on."""
    from orchestrator.access.tokens import TokenFile

    revoked = TokenFile(shell.settings.effective_token_file).revoke(token_id)
    show(form, _view(revoked), fields_table({**_view(revoked), "roles": _roles(revoked)}))


def _view(each: "Token") -> dict[str, object]:
    return {name: value for name, value in asdict(each).items() if name != "hash"}


def _roles(each: "Token") -> str:
    return ", ".join(f"{role} in {project}" for project, role in each.roles.items())
