"""PostgreSQL's statement for a link of a chain: ends an action, and claims the only node that it makes ready.

As two statements in one transaction do, but cheaper: the second node is changed once, from blocked to running. Locks
are taken in the order of ``node_locks``: the traversal (so that no failure or newer traversal comes between the status
that is read here and the claim), the node, its dependent, which has a higher number, and the resources.

An expression that is used several times is computed once, in a common table expression of its own: PostgreSQL prepares
every expression of a statement anew at each call, which takes longer than to find and change the rows.
"""

from typing import Final

from orchestrator.store.nodes.batch_statements import IN_BATCH, of_done
from orchestrator.store.nodes.clauses import (
    BEGIN_ACTION,
    CLAIMED_COLUMNS,
    DOUBTED,
    EFFECTIVE,
    EVENT_COLUMNS,
    EVENT_VALUES,
    FINISH_NODE,
    FINISH_RESOURCE,
    GOING_ON,
    RESOURCE_COLUMNS,
    UNFIT,
)
from orchestrator.store.nodes.statements import Statement


def _of_row(clause: str) -> str:
    """Return a clause on a resource and an action with those of the row ``free``."""
    return clause.format(action="free.effective").replace("resource.", "free.")


def _done(clause: str) -> str:
    return of_done(clause, ":{}".format)


_RESOURCE: Final = ", ".join(f"r.{name.strip()}" for name in RESOURCE_COLUMNS.split(","))
_BEGIN: Final = BEGIN_ACTION.format(
    attempt="n.attempt", action="was.effective", same="was.same", kept="was.kept"
).replace(":no", ":next")
_BEGUN: Final = "EXISTS (SELECT 1 FROM was)"

#: Returns nothing if the node does not run under the attempt any more. Otherwise a row for the dependent, which has a
#: ``type`` if it is claimed; ``released`` tells whether it became ready.
LINK: Final = Statement(
    f"""
    WITH t AS MATERIALIZED (
        SELECT status FROM traversal WHERE id = :traversal_id FOR SHARE
    ), ended AS (
        {_done(FINISH_NODE)} AND EXISTS (SELECT 1 FROM t) RETURNING no
    ), kept AS (
        {_done(FINISH_RESOURCE)} AND EXISTS (SELECT 1 FROM ended) RETURNING id
    ), n AS MATERIALIZED (
        SELECT n.no, n.key, n.phase, n.action, n.quiet, n.lost, n.state, n.remaining,
            {CLAIMED_COLUMNS.replace("n.changed", "n.changed OR :changed AS changed")}
        FROM node n WHERE n.traversal_id = :traversal_id AND n.no = :next AND EXISTS (SELECT 1 FROM ended)
        FOR UPDATE
    ), free AS MATERIALIZED (
        SELECT r.id, r.name, r.action, r.status, {_RESOURCE}, n.hooks, {EFFECTIVE} AS effective
        FROM n JOIN resource r ON r.id = n.resource_id
        WHERE n.state = 'blocked' AND n.remaining = 1 AND (SELECT status FROM t) = 'IN_PROGRESS' AND {IN_BATCH}
            AND r.lock_traversal IS NULL AND r.type = ANY(string_to_array(:kinds, chr(31)))
            -- The resource of the first node is locked before this one.
            AND EXISTS (SELECT 1 FROM kept)
        FOR UPDATE OF r SKIP LOCKED
    ), looked AS MATERIALIZED (
        SELECT free.*,
            CASE WHEN hooks IS NULL OR going_on THEN false
                ELSE strpos(hooks, '"pre-' || lower(effective) || '"') > 0 END AS looks
        FROM (SELECT *, {_of_row(GOING_ON)} AS going_on, {_of_row(UNFIT)} AS unfit FROM free OFFSET 0) AS free
    ), was AS MATERIALIZED (
        SELECT free.*, going_on OR unfit OR looks AS same, {_of_row(DOUBTED)} OR unfit OR looks AS kept
        FROM looked AS free
    ), taken AS (
        UPDATE resource SET {_BEGIN}
        FROM was, n WHERE resource.id = was.id
    ), down AS (
        UPDATE node SET changed = n.changed, remaining = node.remaining - 1,
            state = CASE WHEN begun THEN 'running' WHEN ready THEN 'ready' ELSE node.state END,
            ready_at = CASE WHEN ready THEN {{now}} ELSE ready_at END,
            due_at = CASE WHEN begun THEN {{now}} + :lease_seconds WHEN ready THEN {{now}} + :redeliver_seconds
                ELSE due_at END,
            attempt = CASE WHEN begun THEN n.attempt ELSE node.attempt END,
            worker = CASE WHEN begun THEN :worker ELSE worker END, woken = woken AND NOT begun
        FROM (SELECT no, changed, attempt, state = 'blocked' AND remaining = 1 AS ready, {_BEGUN} AS begun FROM n) AS n
        WHERE node.traversal_id = :traversal_id AND node.no = :next
    ), recorded AS (
        INSERT INTO event ({EVENT_COLUMNS})
        SELECT {{now}}, {_done(EVENT_VALUES)} FROM ended
        UNION ALL
        SELECT {{now}}, :stack_id, :traversal_id, name, id, type, effective, 'IN_PROGRESS', '', physical_id, '', :worker
        FROM was WHERE NOT going_on AND NOT looks
    )
    SELECT (SELECT status FROM t) AS traversal_status, n.state = 'blocked' AND n.remaining = 1 AS released,
        n.no, n.key, n.phase, n.action AS planned, n.quiet, n.lost, n.state, n.attempt, n.retries, n.fragment, n.wanted,
        n.dependents, n.requirements, n.needs, n.resource_id, n.node_data, n.changed, n.hooks,
        COALESCE(was.effective, n.action) AS action, was.action AS was_action, was.status AS was_status, was.looks,
        was.type, was.physical_id, was.on_node, was.properties, was.data, was.metadata,
        CASE WHEN same THEN was.token END AS token, CASE WHEN same THEN was.started_at ELSE {{now}} END AS started_at,
        was.requires, {{now}} AS now
    FROM n LEFT JOIN was ON true
    """
)
