"""Targets of an update: the part of a stack that it visits, and what is left for the next update of the whole stack.

Pure functions. All problems with the names that an update gives are reported together, before anything is stored.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from hooks.values.nearest import Nearest
from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.actions import is_suspended
from orchestrator.model.graph import Graph
from orchestrator.model.messages import StackJob
from orchestrator.model.plan import DesiredResource
from orchestrator.planning.comparison import Comparison, Part
from orchestrator.planning.decision import NOT_REPLACED, Action, restricting, restrictions_of
from orchestrator.store.stacks.stacks import ResourceRow

_OUTER: Final = "what is in a nested stack cannot be named: name the resource that the nested stack is"


def focus_of(
    job: StackJob, desired_resources: Iterable[DesiredResource], rows: Iterable[ResourceRow]
) -> frozenset[str] | None:
    """Return the names of a job's targets and of all that they require, without unknown ones; None for no targets."""
    if not job.targets:
        return None
    requires = {each.name: each.requires for each in desired_resources}
    removed = {row.name for row in rows} - requires.keys()
    found, waiting = {*job.targets} & removed, [*job.targets]
    while waiting:
        name = waiting.pop()
        if name in requires and name not in found:
            found.add(name)
            waiting += requires[name]
    return frozenset(found)


def targeted(compared: Comparison, job: StackJob, focus: frozenset[str] | None) -> Comparison:
    """Return the part of a comparison that an update with targets visits; all of it where ``focus`` is None.

    Raises:
        InvalidInput: a resource that the job names is unknown, cannot be replaced, or cannot be changed without others.
    """
    problems = [*_unknown(compared, job), *_not_replaceable(compared, job, focus)]
    if focus is None:
        if problems:
            raise InvalidInput(problems)
        return compared
    stays = _required_by_others(compared.rows, focus)
    problems += [
        *_moved_alone(compared, focus),
        *_not_removable(compared, stays),
        *_under_way(compared.rows, focus),
    ]
    if problems:
        raise InvalidInput(problems)
    visited, left = _not_converged(compared, focus)
    part = Part(
        names=focus,
        others=[row for row in compared.rows if row.name not in focus],
        stays=stays,
        visited=visited,
        left=left,
    )
    return replace(
        compared,
        desired_resources=[each for each in compared.desired_resources if each.name in focus],
        rows=[row for row in compared.rows if row.name in focus],
        matches={name: match for name, match in compared.matches.items() if name in focus},
        part=part,
    )


def _unknown(compared: Comparison, job: StackJob) -> Iterator[Problem]:
    desired = [each.name for each in compared.desired_resources]
    known = dict.fromkeys([*desired, *(row.name for row in compared.rows)])
    nearest = Nearest()
    for path, names, among in (("targets", job.targets, known), ("replaces", job.replaces, desired)):
        for name in names:
            if name in among:
                continue
            hint = nearest.hint(name, among, f"there are: {', '.join(sorted(among))}" if among else "")
            if "/" in name:
                hint = _OUTER
            yield Problem(path=f"{path}.{name}", message="the definition has no such resource", hint=hint)


def _not_replaceable(compared: Comparison, job: StackJob, focus: frozenset[str] | None) -> Iterator[Problem]:
    desired = {each.name: each for each in compared.desired_resources}
    for name in job.replaces:
        if name not in desired:
            continue
        rows = [row for row in compared.rows if row.name == name and row.action not in ("INIT", "DELETE")]
        path = f"replaces.{name}"
        if focus is not None and name not in focus:
            hint = "name it as a target as well"
            yield Problem(path=path, message="it is none of the targets, nor required by one", hint=hint)
        elif not rows:
            hint = "the update makes it: leave it out"
            yield Problem(path=path, message="there is nothing yet that could be replaced", hint=hint)
        elif why := _why_not_replaced(compared, desired[name], rows):
            yield Problem(path=path, message=why)


def _why_not_replaced(compared: Comparison, desired: DesiredResource, rows: Sequence[ResourceRow]) -> str:
    """Return why a resource is not replaced on request; empty if it is."""
    if desired.fragment["definition"].get("e") is not None:
        return "it stands for something that is not ours: no update can replace it"
    if any(row.id in compared.protected for row in rows) and not compared.unprotect:
        return NOT_REPLACED
    if why := restricting(restrictions_of(desired.fragment), Action.REPLACE):
        return why
    for row in rows:
        if row.status == "IN_PROGRESS" or is_suspended(row.action, row.status):
            return f"it is {row.action}_{row.status}"
    return ""


def _required_by_others(rows: Sequence[ResourceRow], focus: frozenset[str]) -> frozenset[str]:
    """Return the ids of rows in the part that rows outside of it require, directly or by way of others."""
    by_id = {row.id: row for row in rows}
    found: set[str] = set()
    waiting = [row for row in rows if row.name not in focus]
    while waiting:
        for each in waiting.pop().requires:
            row = by_id.get(each)
            if row is not None and row.name in focus and row.id not in found:
                found.add(row.id)
                waiting.append(row)
    return frozenset(found)


def _not_removable(compared: Comparison, stays: frozenset[str]) -> Iterator[Problem]:
    """Yield a problem for each target that the definition no longer has, and that what stays still requires."""
    desired = {each.name for each in compared.desired_resources}
    for row in compared.rows:
        if row.name in desired or row.id not in stays:
            continue
        users = sorted({each.name for each in compared.rows if row.id in each.requires})
        yield Problem(
            path=f"targets.{row.name}",
            message=f"it would be removed, and {', '.join(map(repr, users))} still requires it",
            hint="name as targets all that depend on it, or update the whole stack",
        )


def _moved_alone(compared: Comparison, focus: frozenset[str]) -> Iterator[Problem]:
    """Yield a problem for each resource outside of the part that the environment moves."""
    for path, before in compared.moved.paths.items():
        name = path.partition("/")[0]
        if name not in focus:
            yield Problem(
                path=f"moved.{name}",
                message=f"the environment moves {before!r} there, and it is no target",
                hint="name it as a target, or update the whole stack",
            )


def _under_way(rows: Iterable[ResourceRow], focus: frozenset[str]) -> Iterator[Problem]:
    """Yield a problem for each resource outside of the part whose last action is not over, so that it may change."""
    for row in rows:
        is_open = row.status == "IN_PROGRESS" or (row.action == "ADOPT" and row.status != "COMPLETE")
        if row.name not in focus and (is_open or row.lock_traversal is not None):
            yield Problem(
                path=f"resources.{row.name}",
                message=f"it is {row.action}_{row.status}, and no target: it must not be left so",
                hint="wait until its action is over, name it as a target, or update the whole stack",
            )


def _not_converged(compared: Comparison, focus: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that are visited, and those of other resources that an update of the whole stack may change."""
    matches = compared.matches
    requires: Mapping[str, frozenset[str]] = {each.name: each.requires for each in compared.desired_resources}
    visited: set[str] = set()
    left: set[str] = set()
    for name in Graph(requires).in_order():
        is_after_other = not requires[name].isdisjoint(visited) or not requires[name].isdisjoint(left)
        if not matches[name].clean or is_after_other:
            (visited if name in focus else left).add(name)
    chosen = {match.row.id for match in matches.values() if match.row is not None}
    left |= {row.name for row in compared.rows if row.name not in focus and row.id not in chosen}
    return frozenset(visited), frozenset(left)
