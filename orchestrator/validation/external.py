"""Checks of properties against other systems, run concurrently for a template without other problems.

The time is that of the slowest queries, not their sum; a template that is refused anyway causes no queries.
"""

import threading
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Final

from orchestrator.errors import NotVerified, Problem
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.custom import Custom, CustomConstraints
from orchestrator.plugins.groups import VersionedProperties
from orchestrator.plugins.properties import Property
from orchestrator.plugins.resource import Resource
from orchestrator.sandbox.budget import outside
from orchestrator.template.definitions import ResourceDefinition
from orchestrator.validation.examiner import Examined
from orchestrator.validation.rules import Types, property_problems, snapshot_problems

if TYPE_CHECKING:
    from concurrent.futures import Future

#: The limit of concurrent queries; a client's own limit may be lower.
AT_ONCE: Final = 16


def external_problems(
    examined: Examined, types: Types, clients: NamedClients, *, seconds: float
) -> list[Problem]:
    """Return the problems with all resources according to other systems, in the template's order.

    ``examined`` must have no problems already, and must be known to be evaluated in time.

    Raises:
        NotVerified: a system could not be queried, or the queries took more than so many seconds: one hangs.
    """
    asking = {name: kind for name, kind in examined.used(types).items() if asks_outside(kind)}
    checked = list(_checked(examined, asking))
    if not checked:
        return []
    # Most templates query no other system.
    from concurrent.futures import ThreadPoolExecutor, wait

    # Once a query failed, none begins: a thread would take up a check before it is cancelled.
    failed = threading.Event()

    def check(within: Examined, definition: ResourceDefinition, kind: type[Resource]) -> list[Problem]:
        if failed.is_set():
            return []
        stack, hidden = within.blank, within.parameters.hidden
        try:
            template = within.template
            return [
                *property_problems(template, definition, kind, stack, hidden, clients=clients),
                *snapshot_problems(template, definition, kind, clients),
            ]
        except Exception:
            failed.set()
            raise

    pool, until = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="asking"), monotonic() + seconds
    checks: dict[Future[list[Problem]], str] = {}
    try:
        with outside():
            checks = {pool.submit(check, *each): each[1].name for each in checked}
            return [
                problem for each, name in checks.items() for problem in _in_time(each, name, until, seconds)
            ]
    finally:
        # A thread that hangs is left behind.
        pool.shutdown(wait=False, cancel_futures=True)
        wait([each for each in checks if not each.cancelled()], max(0.0, until - monotonic()))


def _in_time(check: "Future[list[Problem]]", name: str, until: float, seconds: float) -> list[Problem]:
    """Return the result of the check of a resource.

    Raises:
        NotVerified: there is none by then.
    """
    try:
        return check.result(max(0.0, until - monotonic()))
    except TimeoutError:
        if check.done():
            # The check's own error.
            raise
        problem = (
            f"resource {name!r}: queries of other systems about its properties took longer than {seconds:g} s"
        )
        raise NotVerified(problem) from None


def _checked(
    examined: Examined, types: Types
) -> Iterator[tuple[Examined, ResourceDefinition, type[Resource]]]:
    for name, definition in examined.template.resources.items():
        kind = types.get(examined.types[name])
        if kind is not None and definition.external_id is None:
            yield examined, definition, kind
        if name in examined.nested:
            yield from _checked(examined.nested[name], types)


def asks_outside(kind: type[Resource]) -> bool:
    """Return whether validating properties of this type may query another system."""
    if kind.implements("unsupported") or kind.implements("refuses_snapshots"):
        return True
    # The rules depend on the properties: any of them may resolve a name.
    translates = any("translation_rules" in vars(base) for base in kind.__mro__ if base is not Resource)
    if translates or any(isinstance(group, VersionedProperties) for group in kind.properties_groups):
        return True
    return any(
        isinstance(constraint, Custom) and _is_outside(constraint.name)
        for constraint in _constraints(kind.properties_schema.values())
    )


def _constraints(schemas: Iterable[Property]) -> Iterator[object]:
    for schema in schemas:
        yield from schema.constraints
        inner = schema.schema
        if isinstance(inner, Property):
            yield from _constraints([inner])
        elif inner is not None:
            yield from _constraints(inner.values())


def _is_outside(name: str) -> bool:
    plugin = CustomConstraints.on_demand().get(name)
    return plugin is not None and plugin.asks_outside
