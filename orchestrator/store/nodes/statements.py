"""The statements of claim and finish, the two transactions of every check.

On PostgreSQL each is one statement: data-modifying CTEs, dependents locked in the order of their numbers. SQLite has
no such CTEs and runs the same steps one after the other under its single writer's lock. ``{now}`` is the database's
clock.
"""

import functools

from hooks.values.dataclass import dataclass
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


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL with a place for the clock's expression."""

    sql: str

    def at(self, now: str) -> str:
        """Return the SQL with the clock's expression."""
        return _filled_in(self.sql, now)


@functools.lru_cache(maxsize=256)
def _filled_in(sql: str, now: str) -> str:
    return sql.replace("{now}", now)


# Nodes are found by their whole key in parameters, never by a join, so that a plan made for small tables stays right
# for large ones.
PG_CLAIM = Statement(
    f"""
    WITH n AS (
        SELECT n.no, n.phase, n.action, {CLAIMED_COLUMNS}
        FROM node n JOIN traversal t ON t.id = n.traversal_id
        WHERE n.traversal_id = :traversal_id AND n.no = :no AND n.state = 'ready' AND {LIVE}
        FOR UPDATE OF n SKIP LOCKED
    ), was AS (
        SELECT r.id, r.action AS was_action, r.status AS was_status, {EFFECTIVE} AS effective,
            ({ALREADY}) AS going_on, {LOOKS.format(find="strpos")} AS looks
        FROM resource r JOIN n ON r.id = n.resource_id
    ), taken AS (
        UPDATE resource SET {begin("n.attempt", "was.effective", "was.looks")}
        FROM n, was WHERE resource.id = was.id AND resource.lock_traversal IS NULL
            -- Unless another transaction has changed it meanwhile.
            AND resource.action = was.was_action AND resource.status = was.was_status
        RETURNING resource.id, resource.name, resource.type, resource.physical_id, resource.on_node,
            resource.properties, resource.data, resource.metadata, resource.token, resource.started_at,
            resource.requires
    ), marked AS (
        UPDATE node SET
            state = CASE WHEN EXISTS (SELECT 1 FROM taken) THEN 'running' ELSE 'waiting' END,
            due_at = {{now}} + CASE WHEN EXISTS (SELECT 1 FROM taken) THEN :lease_seconds ELSE :locked_seconds END,
            -- Waiting for a lock is no attempt.
            attempt = attempt + CASE WHEN EXISTS (SELECT 1 FROM taken) THEN 1 ELSE 0 END,
            worker = CASE WHEN EXISTS (SELECT 1 FROM taken) THEN :worker ELSE worker END, woken = false
        WHERE node.traversal_id = :traversal_id AND node.no = :no AND EXISTS (SELECT 1 FROM n)
    ), recorded AS (
        INSERT INTO event ({EVENT_COLUMNS})
        SELECT {{now}}, :stack_id, :traversal_id, taken.name, taken.id, taken.type, was.effective, 'IN_PROGRESS', '',
            taken.physical_id, '', :worker
        FROM taken, was WHERE NOT was.going_on AND NOT was.looks
    )
    SELECT n.attempt, n.retries, n.fragment, n.wanted, n.dependents, n.requirements, n.needs, n.resource_id,
        n.node_data, n.changed, n.hooks, n.action AS planned, was.effective AS action, was.was_action,
        was.was_status, was.looks, {RESOURCE_COLUMNS},
        {{now}} AS now
    FROM n, was LEFT JOIN taken ON true
    """
)

PG_READY_IF_FREE = Statement(
    """
    UPDATE node SET state = 'ready', published = 0, ready_at = {now}, due_at = {now} + :redeliver_seconds
    FROM resource WHERE node.traversal_id = :traversal_id AND node.no = :no AND node.state = 'waiting'
        AND node.hook IS NULL AND resource.id = node.resource_id AND resource.lock_traversal IS NULL
    """
)

SQLITE_CLAIM_READ = Statement(
    f"""
    SELECT n.no, n.key, n.phase, n.quiet, n.lost, n.state, {CLAIMED_COLUMNS}, n.action AS planned,
        {EFFECTIVE} AS action,
        r.action AS was_action, r.status AS was_status, r.name,
        r.lock_traversal, {ALREADY} AS going_on, {LOOKS.format(find="instr")} AS looks, r.type, r.physical_id,
        r.on_node, r.properties, r.data, r.metadata, r.requires, CASE WHEN {ALREADY} THEN r.token END AS token,
        CASE WHEN {ALREADY} THEN r.started_at ELSE {{now}} END AS started_at, {{now}} AS now
    FROM node n JOIN traversal t ON t.id = n.traversal_id JOIN resource r ON r.id = n.resource_id
    WHERE n.traversal_id = :traversal_id AND n.no = :no AND n.state = 'ready' AND {LIVE}
    """
)

SQLITE_CLAIM_NODE = """
    UPDATE node SET state = :state, due_at = :due_at, attempt = :attempt, woken = 0,
        worker = CASE WHEN :state = 'running' THEN :worker ELSE worker END
    WHERE traversal_id = :traversal_id AND no = :no
    """

SQLITE_CLAIM_RESOURCE = (
    f"UPDATE resource SET {begin(':attempt', ':action', ':looks')} WHERE id = :resource_id"
).replace("{now}", ":now")

INSERT_EVENT = f"INSERT INTO event ({EVENT_COLUMNS}) VALUES (:now, {EVENT_VALUES})"

# The row, as the claim marked it, has the action of the lost attempt. An attempt before a hook has begun nothing.
LOST_EVENT = Statement(
    f"""
    INSERT INTO event ({EVENT_COLUMNS})
    SELECT {{now}}, r.stack_id, n.traversal_id, r.name, r.id, r.type, {EFFECTIVE}, 'IN_PROGRESS', :reason,
        r.physical_id, :cause, :worker
    FROM node n JOIN resource r ON r.id = n.resource_id
    WHERE n.traversal_id = :traversal_id AND n.no = :no
        AND (n.hooks IS NULL OR ({ALREADY}) OR n.hooks NOT LIKE '%"pre-' || lower({EFFECTIVE}) || '"%')
    """
)

UNLOCK_RESOURCE = """
    UPDATE resource SET lock_traversal = NULL, lock_no = NULL, lock_attempt = NULL
    WHERE id = :resource_id AND lock_traversal = :traversal_id AND lock_no = :no AND lock_attempt = :attempt"""

_COUNT_DOWN = """
    UPDATE node SET
        changed = changed OR :changed, remaining = remaining - 1,
        state = CASE WHEN remaining = 1 AND state = 'blocked' THEN 'ready' ELSE state END,
        ready_at = CASE WHEN remaining = 1 AND state = 'blocked' THEN {now} ELSE ready_at END,
        due_at = CASE WHEN remaining = 1 AND state = 'blocked' THEN {now} + :redeliver_seconds ELSE due_at END"""

RELEASED_COLUMNS = "no, key, phase, action, resource_id, requirements, needs, state, quiet, changed, lost"

_PG_EVENT = f"INSERT INTO event ({EVENT_COLUMNS}) SELECT {{now}}, {EVENT_VALUES} FROM ended"

# Unlimited retries record one event for each new reason, so that a long outage does not fill the history.
_IS_NEWS = "(:counts OR (SELECT reason FROM resource WHERE id = :resource_id) <> :reason)"

# Rows are locked in the order of their numbers, so that two finishes cannot deadlock. Counting them locks all before
# the first is changed; EXISTS would lock the first alone.
_PG_DOWN = f"""
    locked AS (
        SELECT traversal_id, no FROM node
        WHERE traversal_id = :traversal_id AND no = ANY(:dependents) AND EXISTS (SELECT 1 FROM ended)
        ORDER BY no FOR UPDATE
    ), down AS (
        {_COUNT_DOWN}
        WHERE traversal_id = :traversal_id AND no = ANY(:dependents) AND (SELECT count(*) FROM locked) > 0
        RETURNING node.remaining, {", ".join("node." + name for name in RELEASED_COLUMNS.split(", "))}
    )"""

_PG_ENDED = (
    f"WITH ended AS ({FINISH_NODE} RETURNING no), "
    f"kept AS ({FINISH_RESOURCE} AND EXISTS (SELECT 1 FROM ended))"
)
_PG_STATUS = "(SELECT status FROM traversal WHERE id = :traversal_id) AS traversal_status"

#: The finish of a step after which the action continues later.
PG_STEP = Statement(f"{_PG_ENDED} SELECT ended.no, {_PG_STATUS} FROM ended")
#: The finish of a step that will be tried again.
PG_RETRY = Statement(
    f"{_PG_ENDED}, recorded AS ({_PG_EVENT} WHERE {_IS_NEWS}) SELECT ended.no, {_PG_STATUS} FROM ended"
)
#: The finish of an action without dependents.
PG_END = Statement(f"{_PG_ENDED}, recorded AS ({_PG_EVENT}) SELECT ended.no, {_PG_STATUS} FROM ended")
#: The finish of an action that counts its dependents down; returns a row for itself, or one for each released node.
PG_END_AND_RELEASE = Statement(
    f"{_PG_ENDED}, recorded AS ({_PG_EVENT}), {_PG_DOWN} "
    f"SELECT ended.no AS ended_no, {_PG_STATUS}, "
    f"{RELEASED_COLUMNS.replace('no,', 'down.no,', 1)} "
    "FROM ended LEFT JOIN down ON down.remaining = 0 AND down.state = 'ready'"
)

SQLITE_FINISH_NODE = Statement(FINISH_NODE)
SQLITE_FINISH_RESOURCE = Statement(FINISH_RESOURCE)
#: It compares with the row's former reason, so it runs before the row's own statement.
SQLITE_RETRY_EVENT = Statement(
    f"INSERT INTO event ({EVENT_COLUMNS}) SELECT {{now}}, {EVENT_VALUES} WHERE {_IS_NEWS}"
)
TRAVERSAL_STATUS = "SELECT status FROM traversal WHERE id = :traversal_id"


def event_at(now: str) -> str:
    """Return the statement that records an event at the database's time."""
    return _filled_in(INSERT_EVENT.replace(":now", "{now}"), now)


@functools.lru_cache(maxsize=256)
def count_down(now: str, in_list: str) -> str:
    """Return the statement that counts nodes down and returns them."""
    where = f"WHERE traversal_id = :traversal_id AND no {in_list} RETURNING remaining, {RELEASED_COLUMNS}"
    return f"{_COUNT_DOWN} {where}".replace("{now}", now)


#: As in ``_PG_DOWN``.
PG_LOCK_DEPENDENTS = (
    "SELECT no FROM node WHERE traversal_id = :traversal_id AND no = ANY(:dependents) ORDER BY no FOR UPDATE"
)

# A quiet node passes on that nothing changed; a join passes on what its requirements did.
RELEASE_JOIN = (
    "UPDATE node SET state = 'done', due_at = NULL "
    "WHERE traversal_id = :traversal_id AND no = :no AND state = 'ready' "
    "AND (phase = 'join' OR quiet AND (phase = 'cleanup' OR NOT changed)) "
    "RETURNING dependents, changed AND phase = 'join' AS changed, "
    "CASE WHEN phase = 'converge' THEN resource_id END AS unchanged"
)
# A resource that stays as it is has the definition of this traversal from now on.
APPLIED_AGAIN = """
    UPDATE resource SET planned_traversal = :traversal_id, planned_no = :no,
        applied_traversal = :traversal_id, applied_no = :no
    WHERE id = :resource_id"""
