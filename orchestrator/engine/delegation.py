"""Delegation: what a token becomes, so that a stack can act for its caller long after the token has expired."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from orchestrator.errors import InvalidInput, IsothermError, Problem, typed_message
from orchestrator.model.messages import StackJob
from orchestrator.planning.preparation import Prepared
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.resource import Resource
from orchestrator.store.store import Store

JobKind = TypeVar("JobKind", bound=StackJob)


@contextmanager
def delegated(
    job: JobKind,
    token: str,
    prepared: Prepared,
    *,
    types: Mapping[str, type[Resource]],
    clients: Clients,
    store: Store,
) -> Iterator[JobKind]:
    """Give the job a credential of the caller with this token, if its resources act in another system for its caller.

    If the block fails, so that nothing began, the credential is revoked by a coordinator soon.

    Raises:
        InvalidInput: no credential could be made with the token.
    """
    client = _acts_by(prepared, types) if token else ""
    if not client:
        yield job
        return
    credential = str(uuid.uuid4())
    try:
        options = clients.of(job.project).get(client).delegate(token, f"isotherm-{job.name}-{credential}")
    except IsothermError:
        raise
    except Exception as error:
        message = f"the stack cannot act for you: {typed_message(error)}"
        hint = "application credentials must be unrestricted to delegate; a password's token may always"
        raise InvalidInput([Problem(message=message, path=f"clients.{client}", hint=hint)]) from error
    store.credentials.add(credential, project=job.project, client=client, options=options)
    try:
        yield replace(job, credential=credential)
    except Exception:
        store.credentials.give_up(credential)
        raise


def _acts_by(prepared: Prepared, types: Mapping[str, type[Resource]]) -> str:
    """Return the client plugin by which a resource, also of a nested stack, acts for its caller; empty for none."""
    own = {name: types[name] for name in prepared.types.values() if name in types}
    for nested in prepared.nested.values():
        own |= nested.used(types)
    return next((kind.acts_by for kind in own.values() if kind.acts_by), "")
