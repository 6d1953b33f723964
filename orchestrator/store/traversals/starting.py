"""The start of a traversal, in one transaction: the stack, new resource rows, and the nodes with their edges."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final

from hooks.values.texts import storable
from orchestrator.config.caller import caller
from orchestrator.errors import Conflict
from orchestrator.model.messages import CONVERGE
from orchestrator.model.nested_stack import AtRest, Fence
from orchestrator.model.project_limits import limited
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.nodes.failing import fail_traversal
from orchestrator.store.nodes.requirements import requirements_of, widen_requirements
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import is_duplicate, retrying
from orchestrator.store.rows import Values
from orchestrator.store.stack_events import insert_event
from orchestrator.store.stacks.in_service import DEFINING
from orchestrator.store.stacks.project_usage import lock_project, refuse_too_much
from orchestrator.store.stacks.sinks import write_stack_sinks
from orchestrator.store.stacks.snapshots import fail_snapshot, insert_snapshot
from orchestrator.store.traversals.new_traversal import Fenced, NewTraversal, Overtaken
from orchestrator.store.traversals.operation_starting import begin_operation
from orchestrator.store.traversals.superseding import supersede

if TYPE_CHECKING:
    from orchestrator.store.direct import Direct
    from orchestrator.store.traversals.transfer_writer import TransferWriter

#: The actions by which users give a stack a definition.
_BY_USERS = tuple(action for action in DEFINING if action != "ROLLBACK")


#: The columns of a node that are as they were planned.
_AS_PLANNED = ("no", "key", "phase", "resource_id", "action", "state", "remaining", "quiet")
_REPLACEMENTS: Final = f"""
    SELECT id FROM resource WHERE stack_id = :stack_id AND replaces IS NOT NULL AND NOT {tables.IS_GONE}"""


def _may_take(new: NewTraversal, expected: str) -> tuple[str, Values]:
    """Return the condition that a traversal takes its stack over from the expected one, as it was planned.

    With it come the values of its parameters, none of which is called as a column of a stack.
    """
    terms = ["id = :mine", "traversal_id = :expected", "deleted_at IS NULL"]
    values: dict[str, object] = {"mine": new.stack_id, "expected": expected}
    if new.plan.action == "ROLLBACK" and new.completed_template_id is None:
        terms.append("completed_template_id IS NULL")
    elif new.plan.action == "ROLLBACK":
        terms.append("completed_template_id = :completed")
        values["completed"] = new.completed_template_id
    if new.plan.action == "ROLLBACK" or new.is_unfinished:
        terms.append("status <> 'COMPLETE'")
    if new.protection is not None:
        terms.append("protections = :version")
        values["version"] = new.protection.version
    return " AND ".join(terms), values


class TraversalStarts(Repository):
    """Starts of traversals; each is written all or nothing."""

    @retrying
    def begin_create(self, new: NewTraversal) -> None:
        """Write the stack, rows, traversal and nodes of a new stack, all or nothing.

        Raises:
            Conflict: the project has a stack of this name, or would have more than a limit allows, or another stack has
                taken an object since it was planned.
            Fenced: the attempt that makes it is over.
            TakenOver: another process holds the operation of the lifecycle plugins by now.
        """
        within = asdict(new.family) if new.family else {"root_id": new.stack_id}
        try:
            with self._db.timed_transaction() as (direct, now):
                self._refuse_too_much(direct, new)
                if self._are_taken(direct, new):
                    raise Conflict("another stack has just taken an object that is to be adopted; try again")
                self._hold(direct, new.fence)
                values = self._stack_values(new, now)
                values |= {"id": new.stack_id, **within, "project": new.project, "created_at": now}
                direct.insert("stack", [values])
                self._write_traversal(direct, new, now, is_new=True)
                if new.refused:
                    fail_traversal(direct, self._db, self._timings, new.id, new.refused, codec=self._codec)
        except Exception as error:
            if is_duplicate(error) and (self._db.postgres or "stack" in str(getattr(error, "orig", ""))):
                raise Conflict(
                    f"project {new.project!r} has a stack {new.stack!r} already; "
                    "delete it, or choose another name"
                ) from error
            raise

    @retrying
    def begin_next(self, new: NewTraversal, *, expected: str) -> NewTraversal | None:
        """Let a traversal supersede that of an existing stack, which must be ``expected``; all or nothing.

        Returns the traversal with its final plan, which has the requirements that the old traversal gave to rows since
        the plan was made. None if another traversal was faster, or the old one has made rows that the plan does not
        contain, or a row is not as the saved plan has it that the traversal applies, or another stack has taken an
        object that is to be adopted. The old traversal begins nothing new afterwards; its running steps end, and
        release their resources.

        Raises:
            Conflict: the project would have more than a limit allows, or other stacks read outputs of what it deletes.
            Fenced: the attempt that begins it is over.
            TakenOver: another process holds the operation of the lifecycle plugins by now.
        """
        try:
            return self._begin_next(new, expected)
        except Overtaken:
            return None

    def _begin_next(self, new: NewTraversal, expected: str) -> NewTraversal | None:
        with self._db.timed_transaction() as (direct, now):
            self._refuse_too_much(direct, new)
            if self._are_taken(direct, new):
                return None
            self._hold(direct, new.fence)
            transfers = self._transfers(direct, new, now)
            # An import of objects is always rolled back if it fails: that says nothing of the operations after it.
            values = self._stack_values(new, now, chooses=new.plan.action != "ADOPT")
            if direct.update("stack", values, *_may_take(new, expected)) != 1:
                return None
            if new.unread:
                from orchestrator.store.stacks.output_readers import refuse_read

                refuse_read(direct, new.stack_id, new.project)
            supersede(direct, self._db, expected, now)
            fail_snapshot(direct, self._codec, expected, f"{new.plan.action} came before it was complete")
            if new.snapshot is not None:
                insert_snapshot(
                    direct.alchemy,
                    new.snapshot,
                    stack_id=new.stack_id,
                    traversal_id=new.id,
                    template_id=new.template_id,
                    now=now,
                )
            self._refuse_unknown_rows(direct, new)
            self._refuse_other_marks(direct, new)
            widen_requirements(direct, expected)
            new = self._planned_anew(direct, new)
            if new.names:
                # Few traversals move anything.
                from orchestrator.store.traversals.moving import move_rows

                move_rows(direct.alchemy, self._codec, new, now)
            if transfers is not None and new.transfers is not None:
                transfers.write(new.transfers, new.id)
            if new.successors:
                replaced = sa.text("UPDATE resource SET replaced_by = :successor WHERE id = :id")
                successors = [{"id": each, "successor": by} for each, by in sorted(new.successors.items())]
                direct.alchemy.execute(replaced, successors)
            self._write_traversal(direct, new, now, is_new=False)
            if new.protection is not None and new.protection.takes:
                from orchestrator.store.stacks.protections import take_protection

                take_protection(
                    direct.alchemy,
                    new.protection,
                    now,
                    stack_id=new.stack_id,
                    traversal_id=new.id,
                    action=new.plan.action,
                )
        return new

    def _refuse_too_much(self, direct: Direct, new: NewTraversal) -> None:
        """Refuse what would take the project beyond a limit; what two add at once is counted one after the other."""
        if limited(new.limits, new.added):
            lock_project(direct, new.project)
            refuse_too_much(direct, new.project, new.limits, new.added)

    def _are_taken(self, direct: Direct, new: NewTraversal) -> bool:
        """Return whether other rows have got adopted objects since the traversal was planned; two never take one."""
        if not new.adopted:
            return False
        # Few traversals adopt anything.
        from orchestrator.store.stacks.owners import lock_objects, owners_in

        lock_objects(direct.alchemy, self._db)
        owners = owners_in(direct.alchemy, [each.physical_id for each in new.adopted.values()])
        return not owners <= new.owners

    def _transfers(self, direct: Direct, new: NewTraversal, now: float) -> TransferWriter | None:
        """Return what writes moves between stacks, with the stacks locked that take part; None for no such moves."""
        if new.transfers is None:
            # As for nearly all.
            return None
        from orchestrator.store.traversals.transfer_writer import TransferWriter

        writer = TransferWriter(direct.alchemy, self._db, self._codec, now)
        writer.hold(new.stack_id, new.transfers)
        return writer

    @staticmethod
    def _planned_anew(direct: Direct, new: NewTraversal) -> NewTraversal:
        """Return the traversal, planned again if the rows require something else by now; they are locked here."""
        if new.planned_by is None or not new.required:
            return new
        required = requirements_of(direct, new.stack_id)
        if all(required.get(row_id, before) == before for row_id, before in new.required.items()):
            return new
        return replace(new, plan=new.planned_by(required))

    @staticmethod
    def _hold(direct: Direct, fence: Fence | AtRest | None) -> None:
        """Lock the resource that a traversal is begun for, if its attempt holds it still, or it is still at rest."""
        if fence is None:
            return
        resource = tables.resource
        held = sa.select(resource.c.id).where(resource.c.id == fence.resource_id)
        if isinstance(fence, AtRest):
            held = held.where(
                resource.c.lock_traversal.is_(None),
                resource.c.status == "COMPLETE",
                resource.c.metadata_version == fence.metadata_version,
            )
        else:
            held = held.where(
                resource.c.lock_traversal == fence.traversal_id,
                resource.c.lock_no == fence.no,
                resource.c.lock_attempt == fence.attempt,
            )
        if direct.alchemy.execute(held.with_for_update(read=True)).first() is None:
            raise Fenced

    @staticmethod
    def _refuse_unknown_rows(direct: Direct, new: NewTraversal) -> None:
        replacements = direct.rows(_REPLACEMENTS, {"stack_id": new.stack_id})
        if not {row.id for row in replacements} <= frozenset(new.known):
            raise Overtaken

    @staticmethod
    def _refuse_other_marks(direct: Direct, new: NewTraversal) -> None:
        """Refuse rows to which something was done since the saved plan was made that a traversal applies."""
        if new.applies is None:
            return
        from orchestrator.store.stacks.row_marks import marks_in

        if marks_in(direct.alchemy, new.stack_id) != new.applies.rows:
            raise Overtaken

    def _stack_values(self, new: NewTraversal, now: float, *, chooses: bool = True) -> dict[str, object]:
        """Return the columns of the stack; ``chooses``: whether a user has chosen if failures are rolled back.

        They are bound by textual statements, so the words of a list are JSON.
        """
        is_chosen = chooses and new.plan.action in _BY_USERS
        return {
            "name": new.stack,
            "action": new.plan.action,
            "status": "IN_PROGRESS",
            "reason": "",
            "traversal_id": new.id,
            "template_id": new.template_id,
            **({"in_service": False, "defining_traversal_id": new.id} if new.plan.action in DEFINING else {}),
            **({"rollback": bool(new.options.get("rollback"))} if is_chosen else {}),
            **({"tags": json.dumps(new.tags)} if new.tags is not None else {}),
            **({"partial": json.dumps(new.not_converged)} if new.not_converged is not None else {}),
            "timeout_minutes": new.timeout_minutes,
            "updated_at": now,
        }

    def _write_traversal(self, direct: Direct, new: NewTraversal, now: float, *, is_new: bool) -> None:
        action = new.plan.action
        user = storable(caller().identity.user)
        traversal = {
            "id": new.id,
            "stack_id": new.stack_id,
            "action": action,
            "status": "IN_PROGRESS",
            "options": json.dumps(dict(new.options)),
            "context": self._codec.pack(new.context, ("traversal", "context", new.id)),
            "template_id": new.template_id,
            "left_out": json.dumps(list(new.left)),
            "deadline": now + new.timeout_minutes * 60,
            "created_at": now,
            "user_name": user,
            "comment": direct.sealed(caller().comment),
        }
        direct.insert("traversal", [traversal])
        direct.insert("resource", list(self._resource_rows(new, now)))
        direct.insert("node", list(self._node_rows(new, now)))
        self._point_at_plan(direct, new)
        if new.job_id is not None:
            job = {
                "id": new.job_id,
                "stack_id": new.stack_id,
                "traversal_id": new.id,
                "status": "accepted",
                "created_at": now,
                "user_name": user,
            }
            direct.insert("job", [job])
        if new.event_sinks is not None:
            # Before the event, so that a new event sink receives it.
            write_stack_sinks(
                direct, self._codec, now, stack_id=new.stack_id, wanted=new.event_sinks, is_new=is_new
            )
        if new.observation:
            # Most stacks have no policy of their environment.
            from orchestrator.store.stacks.observation_turns import write_policy

            write_policy(direct.alchemy, self._db, now, stack_id=new.stack_id, given=new.observation)
        event = {"action": action, "status": "IN_PROGRESS", "reason": ""}
        insert_event(direct, now, stack_id=new.stack_id, traversal_id=new.id, **event)
        if new.agreed is not None:
            begin_operation(
                direct.alchemy, self._codec, new.agreed, stack_id=new.stack_id, action=action, now=now
            )

    @staticmethod
    def _point_at_plan(direct: Direct, new: NewTraversal) -> None:
        """Point each existing row at the node with its new definition, in the order of the rows' ids."""
        pointed = [
            {"row": node.resource_id, "at": node.no}
            for node in new.plan.nodes
            # The definition of a quiet node is the one that was applied.
            if node.phase == CONVERGE
            and node.fragment
            and not node.quiet
            and node.resource_id not in new.new_types
        ]
        if not (pointed or new.other_types or new.as_applied):
            # As where all rows are new.
            return
        resource, connection = tables.resource, direct.alchemy
        if pointed:
            sql = (
                resource.update()
                .where(resource.c.id == sa.bindparam("row"))
                .values(planned_traversal=new.id, planned_no=sa.bindparam("at"))
            )
            connection.execute(sql, sorted(pointed, key=operator.itemgetter("row")))
        if new.other_types:
            retyped = (
                resource.update().where(resource.c.id == sa.bindparam("row")).values(type=sa.bindparam("of"))
            )
            rows = [{"row": row_id, "of": name} for row_id, name in sorted(new.other_types.items())]
            connection.execute(retyped, rows)
        if new.as_applied:
            again = resource.c.id.in_(sorted(new.as_applied)) & resource.c.applied_no.is_not(None)
            applied = {
                "planned_traversal": resource.c.applied_traversal,
                "planned_no": resource.c.applied_no,
            }
            connection.execute(resource.update().where(again).values(**applied))

    def _resource_rows(self, new: NewTraversal, now: float) -> Iterable[dict[str, object]]:
        ids = {node.no: node.resource_id for node in new.plan.nodes}
        for node in new.plan.nodes:
            if node.resource_id is not None and node.resource_id in new.new_types:
                yield {
                    "id": node.resource_id,
                    "stack_id": new.stack_id,
                    "name": node.key,
                    "type": new.new_types[node.resource_id],
                    "requires": json.dumps([ids[no] for no in node.requirements]),
                    "template_id": new.template_id,
                    "planned_traversal": new.id,
                    "planned_no": node.no,
                    "created_at": now,
                    "updated_at": now,
                    **self._adopted(new, node.resource_id),
                }

    def _adopted(self, new: NewTraversal, resource_id: str) -> Values:
        """Return the columns of a row to be adopted: in progress, but not started until its node is claimed."""
        if not new.adopted:
            return {}
        adopted = new.adopted[resource_id]

        def pack(column: str, values: Mapping[str, object]) -> bytes:
            return self._codec.pack(dict(values), ("resource", column, resource_id))

        return {
            "action": "ADOPT",
            "status": "IN_PROGRESS",
            "physical_id": adopted.physical_id,
            "metadata": pack("metadata", adopted.metadata) if adopted.metadata else None,
            "data": pack("data", adopted.data),
        }

    def _node_rows(self, new: NewTraversal, now: float) -> Iterable[dict[str, object]]:
        for node in new.plan.nodes:
            ready = node.state == "ready"
            fragment = dict(node.fragment or {})
            hooks = fragment.pop("hooks", None)
            key = node.no, new.id
            packed = {
                "needs": node.needs,
                "fragment": fragment or None,
                "wanted": node.wanted or None,
                "node_data": node.node_data,
            }
            yield {
                "traversal_id": new.id,
                **{name: getattr(node, name) for name in _AS_PLANNED},
                "dependents": json.dumps(node.dependents),
                "requirements": json.dumps(node.requirements),
                "hooks": json.dumps(hooks) if hooks else None,
                "ready_at": now if ready else None,
                "due_at": now + self._timings.redeliver_seconds if ready else None,
                **{
                    name: None if value is None else self._codec.pack(value, ("node", name, *key))
                    for name, value in packed.items()
                },
            }
