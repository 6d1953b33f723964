"""Write ``docs/access.md`` from the policy itself: ``python docs/make_access.py``."""

from pathlib import Path

from orchestrator.cli.access import COMMANDS
from orchestrator.model.messages import JOBS
from orchestrator.model.policy import OPERATIONS

PAGE = Path(__file__).with_name("access.md")

INTRODUCTION = """\
# Who may do what, and who did what

<!-- Written by docs/make_access.py from orchestrator/model/policy.py: change it there. -->

A caller has an identity: a user's name, and a role by project. A *reader* sees, an *operator* also changes stacks, an
*administrator* may do all that there is in a project. The role in the project `*` holds in every project, and is the
one that counts for nodes, caches, keys and whatever else belongs to the installation.

| face | the identity comes from |
|---|---|
| jobs over the queue | the key that signed the job: `isotherm key create --user alice --role operator --for-project \
acme`, then `isotherm key export --user alice` for the user's machine. What the job says of itself grants nothing. A \
key without a user is the installation's own: an administrator's |
| commands | the token in `ISOTHERM_TOKEN` (`isotherm token create`); without one, the user of the operating system is \
an administrator. A token guards against mistakes, not against someone who has the password of the database: that \
person has all that is in it |
| scripts (`isotherm.connect`) | as of commands |
| the dashboard | its login; with the setting `authenticator` the user's token, as `Authorization: Bearer TOKEN`, or \
as the password of the browser's dialogue. See [dashboard.md](dashboard.md#access) |
| the API | a token, of ours or of keystone; see [api.md](api.md#callers) |

Coordinators hold the file with all users' keys, and decide by their own copy of a key's projects and role. To change a
user's role, make another key with it and rotate; to shut a user out, `isotherm key remove ID` and
`isotherm token revoke ID`. A refused job is counted as `not allowed` (`isotherm queue refused list`), and its sender
reads which role is needed for which project.

The setting `policy_file` names a YAML file, a map of operation and least role, for those that are to differ:

```yaml
stack.delete: administrator
stack.export: administrator
```

An unknown operation or role is refused at the start, with the nearest right name. All processes need the same file.

## Operations

The whole table of commands, addresses and messages, made by a test with real callers, is in
`tests/unit/access/table.md`.

| operation | is | least role | counts | commands and jobs |
|---|---|---|---|---|
"""

AUDIT = """
## Authenticators

A package may bring another authenticator, a class under the entry points `isotherm.authenticators`, which the setting
`authenticator` names. It is made once in each process, with the settings, and called by several threads:

```python
from isotherm.authenticators import Authenticator, Identity


class Badges(Authenticator):
    def identify(self, credential: str) -> Identity | None:
        user = {"badge-1": "alice"}.get(credential)
        return None if user is None else Identity(user=user, roles={"acme": "operator"})
```

`credential` is the token of a request or of `ISOTHERM_TOKEN`, as it was sent, unproven and of any length. None, like
any exception, refuses the caller. The dashboard waits for the answer: keep what another system said, and ask it in a
thread.

## Who did what

`isotherm stack history` and the dashboard show who began each operation; events say who signalled a resource, marked it
or cleared its hook. With `--comment` a command says why: `isotherm stack suspend web --comment 'ticket 4711'`;
the history shows the comment, and the audit log has that of what begins no operation, such as a signal. Requests to the
API say so in a header ([api.md](api.md#callers)). What the engine does by itself, such as a rollback after a failure,
or an operation on a nested stack, has no user.

The audit log has a record of every job that is taken, of commands that change the installation, of what was refused for
lack of a role, of logins to the dashboard by tokens (a user's first request from an address within an hour), and of
tokens that the dashboard or the API refused: the time, the user, the project, the operation, what it was done to, and
from where; why, as the comment that the caller gave, or the reason of the refusal. *Allowed* says that the role allows
it; what became of it is in the history. Reads and checks are not recorded. Refusals of one user and operation are
recorded once a minute by each process, with their number. A command that finds no database is not recorded, and says
so.

Each record has the SHA-256 of the one before it and its own content, so that `isotherm audit verify` finds the first
that was changed or is missing. Who owns the database can write all records anew, or remove the newest: note the last
hash elsewhere, and give it with `--expect` the next time. With the setting `audit_events` the event sinks of the
settings receive the records as events of the type `audit`, of no stack, whose `reason` is the record as JSON: so a copy
is kept where the owner of the database has no hand. Triggers in the database refuse to change or remove records; on
PostgreSQL, have the tables owned by another user than the one of `database_url`, or that user can drop the triggers. No
record is ever purged.
"""


def page() -> str:
    """Return the page's text."""
    return INTRODUCTION + "".join(map(_row, OPERATIONS)) + AUDIT


def _row(name: str) -> str:
    operation = OPERATIONS[name]
    faces = [f"`{words}`" for words, needed in COMMANDS.items() if needed == name]
    faces += ["the job"] if name in JOBS or name == "stack.abandon" else []
    counts = "of the installation" if operation.is_of_installation else "of the project"
    return f"| `{name}` | {operation.what} | {operation.role} | {counts} | {', '.join(faces)} |\n"


if __name__ == "__main__":
    PAGE.write_text(page())
