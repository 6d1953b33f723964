"""PostgreSQL's statements that claim and finish several nodes of one traversal at once.

Both change only what is locked without danger: nodes in the order of their numbers, a batch's own and its dependents,
and resources that no other transaction holds at that moment. What they leave out is claimed or finished one by one.

A plan made for small tables has to stay right for large ones, so every row is found by its whole key: ``LIMIT :many``
has the planner expect few rows, and ``ANY(ARRAY(...))`` leaves it no join that reads all nodes of a traversal.
"""

import re
from collections.abc import Callable

from orchestrator.store.nodes.clauses import (
    ALREADY,
    CLAIMED_COLUMNS,
    EFFECTIVE,
    EVENT_COLUMNS,
    EVENT_VALUES,
    FINISH_NODE,
    FINISH_RESOURCE,
    LIVE,
    LOOKS,
    RESOURCE_COLUMNS,
    begin,
)
from orchestrator.store.nodes.statements import RELEASED_COLUMNS, Statement

#: What the order for a claimed node is made of, besides what a claim reads.
_ORDER_COLUMNS = "n.no, n.key, n.phase, n.action, n.quiet, n.lost, n.state"
_RESOURCE = ", ".join(f"resource.{name.strip()}" for name in RESOURCE_COLUMNS.split(","))
#: A node that is neither passed on like a join nor the end, and never lost its worker.
IN_BATCH = (
    "n.phase IN ('converge', 'cleanup', 'operate') AND n.lost = 0 "
    "AND NOT (n.quiet AND (n.phase <> 'converge' OR NOT n.changed))"
)

#: Claims those of the nodes that are ready and whose resources are free and of the types; returns a row for each, and
#: one without a ``type`` for each other that is ready.
CLAIM = Statement(
    f"""
    WITH n AS MATERIALIZED (
        SELECT found.* FROM unnest(CAST(string_to_array(:asked, ',') AS integer[])) AS asked(no) CROSS JOIN LATERAL (
            SELECT {_ORDER_COLUMNS}, {CLAIMED_COLUMNS}, {IN_BATCH} AS fits
            FROM node n JOIN traversal t ON t.id = n.traversal_id
            WHERE n.traversal_id = :traversal_id AND n.no = asked.no AND n.state = 'ready' AND {LIVE}
            FOR UPDATE OF n SKIP LOCKED
        ) found LIMIT :many
    ), was AS MATERIALIZED (
        SELECT n.*, free.* FROM n CROSS JOIN LATERAL (
            SELECT r.action AS was_action, r.status AS was_status, {EFFECTIVE} AS effective,
                ({ALREADY}) AS going_on, {LOOKS.format(find="strpos")} AS looks
            FROM resource r
            WHERE r.id = n.resource_id AND r.lock_traversal IS NULL AND r.type = ANY(string_to_array(:kinds, chr(31)))
            FOR UPDATE SKIP LOCKED
        ) free WHERE n.fits LIMIT :most
    ), taken AS (
        UPDATE resource SET {begin("was.attempt", "was.effective", "was.looks").replace(":no", "was.no")}
        FROM was WHERE resource.id = was.resource_id
        RETURNING was.*, resource.name, {_RESOURCE}
    ), marked AS (
        UPDATE node SET state = 'running', due_at = {{now}} + :lease_seconds, attempt = node.attempt + 1,
            worker = :worker, woken = false
        WHERE node.traversal_id = :traversal_id AND node.no = ANY(ARRAY(SELECT no FROM taken))
    ), recorded AS (
        INSERT INTO event ({EVENT_COLUMNS})
        SELECT {{now}}, :stack_id, :traversal_id, taken.name, taken.resource_id, taken.type, taken.effective,
            'IN_PROGRESS', '', taken.physical_id, '', :worker
        FROM taken WHERE NOT taken.going_on AND NOT taken.looks ORDER BY taken.no
    )
    SELECT n.no, n.key, n.phase, n.action AS planned, n.quiet, n.lost, n.state, n.attempt, n.retries, n.fragment,
        n.wanted, n.dependents, n.requirements, n.needs, n.resource_id, n.node_data, n.changed, n.hooks,
        taken.effective AS action, taken.was_action, taken.was_status, taken.looks, taken.type, taken.physical_id,
        taken.on_node, taken.properties, taken.data, taken.metadata, taken.token, taken.started_at, taken.requires,
        {{now}} AS now
    FROM n LEFT JOIN taken ON taken.no = n.no ORDER BY n.no
    """
)

#: What the finish of one action is about, with PostgreSQL's type; the others are the same for all of a batch.
FINISHED = {
    "no": "integer",
    "attempt": "integer",
    "node_data": "bytea",
    "resource": "text",
    "resource_id": "text",
    "type": "text",
    "action": "text",
    "reason": "text",
    "physical_id": "text",
    "on_node": "text",
    "new_reference": "boolean",
    "reference_id": "bytea",
    "properties": "bytea",
    "definition_hash": "text",
    "attributes": "bytea",
    "requires": "text",
    "applied_traversal": "text",
    "applied_no": "integer",
    "metadata": "bytea",
    "metadata_hash": "text",
    "data": "bytea",
    "changed": "boolean",
}
_SAME = {
    "state": "'done'",
    "retried": "0",
    "seconds": "0",
    "untouched": "false",
    "token": "NULL",
    "status": "'COMPLETE'",
    "resource_status": "'COMPLETE'",
    "cause": "''",
}


def of_done(clause: str, value: Callable[[str], str]) -> str:
    """Return a clause of a finish for an action that is done; ``value`` returns the SQL of what differs by node."""

    def place(found: re.Match[str]) -> str:
        # The resource has the action that is done.
        name = "action" if found[1] == "resource_action" else found[1]
        return value(name) if name in FINISHED else _SAME.get(name, f":{name}")

    return re.sub(r"(?<!:):([a-z_]+)", place, clause)


def _of_each(clause: str) -> str:
    """Return a clause for one node with the columns of the batch in place of its parameters."""
    return of_done(clause, "v.v_{}".format)


_ARRAYS = ", ".join(f"CAST(:{name} AS {kind}[])" for name, kind in FINISHED.items())
_NAMES = ", ".join(f"v_{name}" for name in FINISHED)
_ENDED = "v.v_no IN (SELECT no FROM ended)"

#: Finishes actions that are done, counts their dependents down, and returns in each row the numbers of those that it
#: finished, and a released node if there is one.
FINISH = Statement(
    f"""
    WITH v AS MATERIALIZED (
        SELECT * FROM unnest({_ARRAYS}) AS v({_NAMES}) LIMIT :many
    ), locked AS (
        SELECT no FROM node WHERE traversal_id = :traversal_id AND no = ANY(CAST(:nodes AS integer[]))
        ORDER BY no FOR UPDATE
    ), held AS MATERIALIZED (
        SELECT v.v_no AS no FROM v CROSS JOIN LATERAL (
            SELECT 1 FROM resource WHERE id = v.v_resource_id AND lock_traversal = :traversal_id
                AND lock_no = v.v_no AND lock_attempt = v.v_attempt
            FOR UPDATE SKIP LOCKED
        ) mine
        -- Counting the nodes locks all of them before.
        WHERE (SELECT count(*) FROM locked) > 0
    ), ended AS (
        {_of_each(FINISH_NODE).replace("WHERE", "FROM v WHERE", 1)}
            AND node.no = ANY(ARRAY(SELECT no FROM held)) RETURNING node.no
    ), kept AS (
        {_of_each(FINISH_RESOURCE).replace("WHERE id", "FROM v WHERE id", 1)} AND {_ENDED}
    ), recorded AS (
        INSERT INTO event ({EVENT_COLUMNS}) SELECT {{now}}, {_of_each(EVENT_VALUES)} FROM v
        WHERE {_ENDED} ORDER BY v.v_no
    ), counted AS MATERIALIZED (
        SELECT * FROM (
            SELECT pair.no, count(*) AS times, bool_or(v.v_changed) AS changed
            FROM unnest(CAST(:dependents AS integer[]), CAST(:dependents_of AS integer[])) AS pair(no, of)
            JOIN v ON v.v_no = pair.of WHERE {_ENDED} GROUP BY pair.no
        ) each_once LIMIT :many_dependents
    ), down AS (
        UPDATE node SET
            changed = node.changed OR counted.changed, remaining = remaining - counted.times,
            state = CASE WHEN remaining = counted.times AND state = 'blocked' THEN 'ready' ELSE state END,
            ready_at = CASE WHEN remaining = counted.times AND state = 'blocked' THEN {{now}} ELSE ready_at END,
            due_at = CASE WHEN remaining = counted.times AND state = 'blocked' THEN {{now}} + :redeliver_seconds
                ELSE due_at END
        FROM counted WHERE node.traversal_id = :traversal_id AND node.no = counted.no
            AND node.no = ANY(ARRAY(SELECT no FROM counted))
        RETURNING node.remaining, {", ".join("node." + name for name in RELEASED_COLUMNS.split(", "))}
    )
    SELECT (SELECT string_agg(CAST(no AS text), ',') FROM ended) AS ended,
        (SELECT status FROM traversal WHERE id = :traversal_id) AS traversal_status, down.*
    FROM (VALUES (1)) AS one(row) LEFT JOIN down ON down.remaining = 0 AND down.state = 'ready'
    """
)

#: Gives a claim back whose step was not begun; the resource's action counts as begun all the same.
GIVE_BACK = Statement(
    """
    UPDATE node SET
        state = :state, published = 0, ready_at = {now},
        due_at = CASE WHEN :state = 'ready' THEN {now} + :redeliver_seconds END
    WHERE traversal_id = :traversal_id AND no = :no AND attempt = :attempt AND state = 'running'
    """
)
