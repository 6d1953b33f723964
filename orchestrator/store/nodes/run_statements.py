"""The statements of runs: they read the links of a chain that are not claimed yet, and pass over them in one go.

A run leaves the rows as claims and finishes of its links one after the other do, but changes each row once. Its locks
are taken in the order of ``node_locks``: the traversal, the nodes, which have ascending numbers, and the resources.
"""

from typing import Final

from orchestrator.store.nodes.batch_statements import FINISHED, IN_BATCH, of_done
from orchestrator.store.nodes.clauses import (
    BEGIN_ACTION,
    CLAIMED_COLUMNS,
    EVENT_COLUMNS,
    FINISH_RESOURCE,
    RESOURCE_COLUMNS,
)
from orchestrator.store.nodes.statements import Statement

#: What is around the names of types in ``:kinds``, so that one is found as a whole.
MARK: Final = "\x1f"

# The first try of a plain create, which only the end of the node before is missing for.
_LINK: Final = f"""
    n.phase = 'converge' AND n.action = 'CREATE' AND n.state = 'blocked' AND n.remaining = 1 AND n.attempt = 0
    AND n.retries = 0 AND n.hooks IS NULL AND n.hook IS NULL AND {IN_BATCH}
    AND r.action = 'INIT' AND r.status = 'COMPLETE' AND r.started_at = 0 AND r.token IS NULL
    AND r.physical_id IS NULL AND r.lock_traversal IS NULL AND {{find}}(:kinds, :mark || r.type || :mark) > 0"""
_COLUMNS: Final = f"""
    n.no, n.key, n.phase, n.quiet, n.lost, n.state, n.action AS planned, {CLAIMED_COLUMNS}, n.action AS action,
    r.action AS was_action, r.status AS was_status, false AS looks,
    {", ".join(f"r.{name.strip()}" for name in RESOURCE_COLUMNS.replace("started_at,", "").split(","))},
    {{now}} AS started_at, {{now}} AS now"""
#: The number of the only dependent of a link, which is behind it; NULL if it has none or several.
_NEXT: Final = """
    CASE WHEN link.dependents <> '[]' AND {find}(link.dependents, ',') = 0
        THEN CAST(trim(link.dependents, '[]') AS integer) END"""

#: Reads the links behind a node in their order, as claims of them would find them: at most ``most``.
PG_AHEAD = Statement(
    f"""
    WITH RECURSIVE link AS (
        SELECT 0 AS place, CAST(:dependents AS text) AS dependents, CAST(:no AS integer) AS no
        UNION ALL
        SELECT link.place + 1, found.dependents, found.no FROM link CROSS JOIN LATERAL (
            SELECT n.no, n.dependents FROM node n JOIN resource r ON r.id = n.resource_id
            WHERE n.traversal_id = :traversal_id AND n.no = {_NEXT} AND n.no > link.no AND {_LINK} LIMIT 1
        ) found WHERE link.place < :most
    )
    SELECT found.* FROM link CROSS JOIN LATERAL (
        SELECT {_COLUMNS}, CAST(n.xmin AS text) AS node_version, CAST(r.xmin AS text) AS resource_version
        FROM node n JOIN resource r ON r.id = n.resource_id
        WHERE n.traversal_id = :traversal_id AND n.no = link.no LIMIT 1
    ) found WHERE link.place > 0 ORDER BY link.place
    """.replace("{find}", "strpos")
)
SQLITE_AHEAD = Statement(
    f"""
    WITH RECURSIVE link(place, dependents, no) AS (
        SELECT 0, :dependents, :no
        UNION ALL
        SELECT link.place + 1, n.dependents, n.no FROM link
            JOIN node n ON n.traversal_id = :traversal_id AND n.no = {_NEXT} JOIN resource r ON r.id = n.resource_id
        WHERE link.place < :most AND n.no > link.no AND {_LINK}
    )
    SELECT {_COLUMNS} FROM link
        JOIN node n ON n.traversal_id = :traversal_id AND n.no = link.no JOIN resource r ON r.id = n.resource_id
    WHERE link.place > 0 ORDER BY link.place
    """.replace("{find}", "instr")
)


def _of_each(clause: str) -> str:
    return of_done(clause, "v.v_{}".format)


_ARRAYS: Final = ", ".join(f"CAST(:{name} AS {kind}[])" for name, kind in FINISHED.items())
_NAMES: Final = ", ".join(f"v_{name}" for name in FINISHED)
_DONE: Final = "ANY(ARRAY(SELECT {} FROM v WHERE EXISTS (SELECT 1 FROM whole)))"
_BEGIN: Final = BEGIN_ACTION.format(attempt=":last_attempt", action="'CREATE'", same="false", kept="false")

#: Ends the action of a running node and passes over links behind it, up to the last, which runs afterwards. Returns no
#: row, and changes nothing, if one of them is not as it was read, or the traversal is over.
PASS: Final = Statement(
    f"""
    WITH t AS MATERIALIZED (
        SELECT 1 FROM traversal WHERE id = :traversal_id AND status = 'IN_PROGRESS' FOR SHARE
    ), first AS MATERIALIZED (
        SELECT 1 FROM node WHERE traversal_id = :traversal_id AND no = :first AND attempt = :first_attempt
            AND state = 'running' AND EXISTS (SELECT 1 FROM t)
        FOR UPDATE
    ), link AS MATERIALIZED (
        SELECT * FROM unnest(
            CAST(:links AS integer[]), CAST(:resources AS text[]),
            CAST(:node_versions AS text[]), CAST(:resource_versions AS text[])
        ) AS link(no, resource_id, node_version, resource_version) LIMIT :many
    ), locked AS MATERIALIZED (
        SELECT link.* FROM link CROSS JOIN LATERAL (
            SELECT 1 FROM node n WHERE n.traversal_id = :traversal_id AND n.no = link.no
                AND CAST(n.xmin AS text) = link.node_version
            FOR UPDATE
        ) same WHERE EXISTS (SELECT 1 FROM first)
    ), behind AS MATERIALIZED (
        -- What the end of the last link counts down is locked here already: after these nodes come the resources.
        SELECT 1 FROM node WHERE traversal_id = :traversal_id AND no = ANY(CAST(:behind AS integer[]))
            -- Counting the links locks all of them before.
            AND (SELECT count(*) FROM locked) = :many
        ORDER BY no FOR UPDATE
    ), held AS MATERIALIZED (
        SELECT 1 FROM resource WHERE id = :first_resource AND lock_traversal = :traversal_id AND lock_no = :first
            AND lock_attempt = :first_attempt AND (SELECT count(*) FROM behind) > 0
        FOR UPDATE
    ), free AS MATERIALIZED (
        SELECT 1 FROM locked CROSS JOIN LATERAL (
            SELECT 1 FROM resource r WHERE r.id = locked.resource_id
                AND CAST(r.xmin AS text) = locked.resource_version
            FOR UPDATE SKIP LOCKED
        ) same WHERE EXISTS (SELECT 1 FROM held)
    ), whole AS MATERIALIZED (
        SELECT 1 AS passed WHERE (SELECT count(*) FROM free) = :many
    ), v AS MATERIALIZED (
        SELECT * FROM unnest({_ARRAYS}, CAST(:after AS boolean[])) WITH ORDINALITY AS v({_NAMES}, v_after, v_place)
        LIMIT :many
    ), ended AS (
        UPDATE node SET
            state = 'done', node_data = COALESCE(v.v_node_data, node.node_data), published = 0, due_at = NULL,
            remaining = 0, changed = node.changed OR v.v_after, attempt = v.v_attempt, worker = :worker,
            ready_at = CASE WHEN v.v_place = 1 THEN ready_at ELSE {{now}} END, woken = woken AND v.v_place = 1
        FROM v WHERE node.traversal_id = :traversal_id AND node.no = v.v_no AND node.no = {_DONE.format("v_no")}
    ), begun AS (
        UPDATE node SET
            state = 'running', remaining = 0, changed = changed OR :last_after, attempt = :last_attempt,
            worker = :worker, ready_at = {{now}}, due_at = {{now}} + :lease_seconds, woken = false
        WHERE traversal_id = :traversal_id AND no = :last AND EXISTS (SELECT 1 FROM whole)
    ), kept AS (
        {_of_each(FINISH_RESOURCE.partition("WHERE")[0])},
            started_at = CASE WHEN v.v_place = 1 THEN started_at ELSE {{now}} END
        FROM v WHERE id = v.v_resource_id AND id = {_DONE.format("v_resource_id")}
    ), taken AS (
        UPDATE resource SET {_BEGIN.replace(":no", ":last")}
        WHERE id = :last_resource AND EXISTS (SELECT 1 FROM whole)
    ), recorded AS (
        INSERT INTO event ({EVENT_COLUMNS})
        SELECT {{now}}, :stack_id, :traversal_id, resource, resource_id, type, action, status, reason, physical_id, '',
            :worker
        FROM (
            SELECT 2 * v_place AS place, v_resource AS resource, v_resource_id AS resource_id, v_type AS type,
                v_action AS action, 'COMPLETE' AS status, v_reason AS reason, v_physical_id AS physical_id
            FROM v
            UNION ALL
            SELECT 2 * v_place - 1, v_resource, v_resource_id, v_type, v_action, 'IN_PROGRESS', '', NULL
            FROM v WHERE v_place > 1
            UNION ALL
            SELECT 2 * CAST(:many AS bigint) + 1, :last_name, :last_resource, :last_type, 'CREATE', 'IN_PROGRESS', '',
                NULL
        ) AS each WHERE EXISTS (SELECT 1 FROM whole) ORDER BY place
    )
    SELECT passed FROM whole
    """
)
