"""The statements of claim and finish, the two transactions of every check.

On PostgreSQL each is one statement: data-modifying CTEs, dependents locked in the order of their numbers. SQLite has
no such CTEs and runs the same steps one after the other under its single writer's lock. ``{now}`` is the database's
clock.
"""

import functools
from collections.abc import Collection
from dataclasses import dataclass

from orchestrator.model.actions import OPERATIONS


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


_EVENT_COLUMNS = """
    at, stack_id, traversal_id, resource, resource_id, type, action, status, reason, physical_id, cause, worker"""
#: All but the time.
_EVENT_VALUES = (
    ":stack_id, :traversal_id, :resource, :resource_id, :type, :action, :status, :reason, :physical_id, "
    ":cause, :worker"
)

# A failed traversal begins no new nodes, but carries begun ones to their end.
_LIVE = "(t.status = 'IN_PROGRESS' OR (t.status = 'FAILED' AND n.attempt > 0))"

_CLAIMED_COLUMNS = """
    n.attempt + 1 AS attempt, n.retries, n.fragment, n.wanted, n.dependents, n.requirements, n.needs, n.resource_id,
    n.node_data, n.changed, n.hooks"""

# The effective action of a converge node depends on the resource's present state, because another traversal may have
# worked on it since the plan was made. An unfinished create, adoption, resume or restore is finished first, and a
# suspended resource is resumed first.
_EFFECTIVE = """
    CASE WHEN n.phase <> 'converge' OR n.action NOT IN ('CREATE', 'UPDATE') THEN n.action
         WHEN r.action = 'ADOPT' AND r.status <> 'COMPLETE' THEN 'ADOPT'
         WHEN r.action = 'INIT' OR (r.action = 'CREATE' AND r.status = 'IN_PROGRESS') THEN 'CREATE'
         WHEN r.action = 'SUSPEND' OR (r.action = 'RESUME' AND r.status = 'IN_PROGRESS') THEN 'RESUME'
         WHEN r.action = 'RESTORE' AND r.status = 'IN_PROGRESS' AND r.token IS NOT NULL THEN 'RESTORE'
         ELSE 'UPDATE' END"""

_RESOURCE_COLUMNS = """
    type, physical_id, on_node, properties, data, metadata, token, started_at, requires"""

# A failed or deleted resource keeps its status until it is replaced or the first step of its repair is recorded, so
# that it does not look sound if the worker dies. Likewise a resource in a check, which may have found a fault before.
_DOUBTED = """
    ({action} = 'UPDATE' AND (resource.action = 'DELETE' OR resource.status = 'FAILED'
        OR (resource.action = 'CHECK' AND resource.status <> 'COMPLETE')))"""


def _in(names: Collection[str]) -> str:
    return "(" + ", ".join(f"'{name}'" for name in sorted(names)) + ")"


# A resource that is not fit for an operation (``orchestrator.model.actions``) is not changed.
_UNFIT = "({action} IN " + _in(OPERATIONS) + " AND CASE {action} "
_UNFIT += " ".join(
    f"WHEN '{name}' THEN resource.action IN {_in(fitness.never)} "
    f"OR (resource.status <> 'COMPLETE' AND resource.action NOT IN {_in(fitness.unfinished)})"
    for name, fitness in OPERATIONS.items()
)
_UNFIT += " END)"

# A row to be adopted is in progress before its first claim.
_GOING_ON = "resource.action = {action} AND resource.status = 'IN_PROGRESS' AND resource.started_at > 0"

# Before a hook, a claim begins nothing: the step only finds out whether there is a change.
_ALREADY = f"r.action = ({_EFFECTIVE}) AND r.status = 'IN_PROGRESS' AND r.started_at > 0"
_LOOKS = f"""
    CASE WHEN n.hooks IS NULL OR ({_ALREADY}) THEN false
         ELSE {{find}}(n.hooks, '"pre-' || lower({_EFFECTIVE}) || '"') > 0 END"""

_BEGIN_ACTION = """
    lock_traversal = :traversal_id, lock_no = :no, lock_attempt = {attempt},
    started_at = CASE WHEN {same} THEN resource.started_at ELSE {{now}} END,
    reason = CASE WHEN {same} THEN resource.reason ELSE '' END,
    token = CASE WHEN {same} THEN resource.token END,
    action = CASE WHEN {kept} THEN resource.action ELSE {action} END,
    status = CASE WHEN {kept} THEN resource.status ELSE 'IN_PROGRESS' END, updated_at = {{now}}"""


def _begin(attempt: str, action: str, looks: str) -> str:
    going_on, doubted, unfit = (each.format(action=action) for each in (_GOING_ON, _DOUBTED, _UNFIT))
    kept, same = f"{doubted} OR {unfit} OR {looks}", f"({going_on}) OR {unfit} OR {looks}"
    return _BEGIN_ACTION.format(attempt=attempt, action=action, same=same, kept=kept)


# Nodes are found by their whole key in parameters, never by a join, so that a plan made for small tables stays right
# for large ones.
PG_CLAIM = Statement(
    f"""
    WITH n AS (
        SELECT n.no, n.phase, n.action, {_CLAIMED_COLUMNS}
        FROM node n JOIN traversal t ON t.id = n.traversal_id
        WHERE n.traversal_id = :traversal_id AND n.no = :no AND n.state = 'ready' AND {_LIVE}
        FOR UPDATE OF n SKIP LOCKED
    ), was AS (
        SELECT r.id, r.action AS was_action, r.status AS was_status, {_EFFECTIVE} AS effective,
            ({_ALREADY}) AS going_on, {_LOOKS.format(find="strpos")} AS looks
        FROM resource r JOIN n ON r.id = n.resource_id
    ), taken AS (
        UPDATE resource SET {_begin("n.attempt", "was.effective", "was.looks")}
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
        INSERT INTO event ({_EVENT_COLUMNS})
        SELECT {{now}}, :stack_id, :traversal_id, taken.name, taken.id, taken.type, was.effective, 'IN_PROGRESS', '',
            taken.physical_id, '', :worker
        FROM taken, was WHERE NOT was.going_on AND NOT was.looks
    )
    SELECT n.attempt, n.retries, n.fragment, n.wanted, n.dependents, n.requirements, n.needs, n.resource_id,
        n.node_data, n.changed, n.hooks, n.action AS planned, was.effective AS action, was.was_action,
        was.was_status, was.looks, {_RESOURCE_COLUMNS},
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
    SELECT {_CLAIMED_COLUMNS}, n.action AS planned, {_EFFECTIVE} AS action,
        r.action AS was_action, r.status AS was_status, r.name,
        r.lock_traversal, {_ALREADY} AS going_on, {_LOOKS.format(find="instr")} AS looks, r.type, r.physical_id,
        r.on_node, r.properties, r.data, r.metadata, r.requires, CASE WHEN {_ALREADY} THEN r.token END AS token,
        CASE WHEN {_ALREADY} THEN r.started_at ELSE {{now}} END AS started_at, {{now}} AS now
    FROM node n JOIN traversal t ON t.id = n.traversal_id JOIN resource r ON r.id = n.resource_id
    WHERE n.traversal_id = :traversal_id AND n.no = :no AND n.state = 'ready' AND {_LIVE}
    """
)

SQLITE_CLAIM_NODE = """
    UPDATE node SET state = :state, due_at = :due_at, attempt = :attempt, woken = 0,
        worker = CASE WHEN :state = 'running' THEN :worker ELSE worker END
    WHERE traversal_id = :traversal_id AND no = :no
    """

SQLITE_CLAIM_RESOURCE = (
    f"UPDATE resource SET {_begin(':attempt', ':action', ':looks')} WHERE id = :resource_id"
).replace("{now}", ":now")

INSERT_EVENT = f"INSERT INTO event ({_EVENT_COLUMNS}) VALUES (:now, {_EVENT_VALUES})"

# The row, as the claim marked it, has the action of the lost attempt. An attempt before a hook has begun nothing.
LOST_EVENT = Statement(
    f"""
    INSERT INTO event ({_EVENT_COLUMNS})
    SELECT {{now}}, r.stack_id, n.traversal_id, r.name, r.id, r.type, {_EFFECTIVE}, 'IN_PROGRESS', :reason,
        r.physical_id, :cause, :worker
    FROM node n JOIN resource r ON r.id = n.resource_id
    WHERE n.traversal_id = :traversal_id AND n.no = :no
        AND (n.hooks IS NULL OR ({_ALREADY}) OR n.hooks NOT LIKE '%"pre-' || lower({_EFFECTIVE}) || '"%')
    """
)

# A wake-up during the step makes the node due at once, because the step may not have seen its cause.
_FINISH_NODE = """
    UPDATE node SET
        state = :state, node_data = COALESCE(:node_data, node_data), retries = retries + :retried, published = 0,
        ready_at = CASE WHEN :state = 'ready' THEN {now} ELSE ready_at END,
        due_at = CASE WHEN :state = 'ready' THEN {now} + :redeliver_seconds
            WHEN :state <> 'waiting' THEN NULL WHEN woken THEN {now} ELSE {now} + :seconds END
    WHERE traversal_id = :traversal_id AND no = :no AND attempt = :attempt AND state = 'running'"""

# Stored metadata belong to signals, until the template has others than before.
_NEW_METADATA = "metadata_hash <> :metadata_hash"

_FINISH_RESOURCE = f"""
    UPDATE resource SET
        action = :resource_action, status = :resource_status, physical_id = :physical_id,
        on_node = COALESCE(:on_node, on_node),
        reason = CASE WHEN :untouched THEN reason ELSE :reason END,
        reference_id = CASE WHEN :new_reference THEN :reference_id ELSE reference_id END,
        properties = COALESCE(:properties, properties), definition_hash = COALESCE(:definition_hash, definition_hash),
        attributes = COALESCE(:attributes, attributes), requires = COALESCE(:requires, requires),
        applied_traversal = COALESCE(:applied_traversal, applied_traversal),
        applied_no = COALESCE(:applied_no, applied_no),
        metadata = CASE WHEN {_NEW_METADATA} THEN :metadata ELSE COALESCE(metadata, :metadata) END,
        metadata_version = metadata_version + 1,
        metadata_hash = COALESCE(:metadata_hash, metadata_hash),
        data = :data, token = CASE WHEN :untouched THEN token ELSE :token END,
        lock_traversal = NULL, lock_no = NULL, lock_attempt = NULL, updated_at = {{now}}
    WHERE id = :resource_id AND lock_traversal = :traversal_id AND lock_no = :no AND lock_attempt = :attempt"""

UNLOCK_RESOURCE = """
    UPDATE resource SET lock_traversal = NULL, lock_no = NULL, lock_attempt = NULL
    WHERE id = :resource_id AND lock_traversal = :traversal_id AND lock_no = :no AND lock_attempt = :attempt"""

_COUNT_DOWN = """
    UPDATE node SET
        changed = changed OR :changed, remaining = remaining - 1,
        state = CASE WHEN remaining = 1 AND state = 'blocked' THEN 'ready' ELSE state END,
        ready_at = CASE WHEN remaining = 1 AND state = 'blocked' THEN {now} ELSE ready_at END,
        due_at = CASE WHEN remaining = 1 AND state = 'blocked' THEN {now} + :redeliver_seconds ELSE due_at END"""

RELEASED_COLUMNS = "no, key, phase, action, resource_id, requirements, needs, state, quiet, changed"

_PG_EVENT = f"INSERT INTO event ({_EVENT_COLUMNS}) SELECT {{now}}, {_EVENT_VALUES} FROM ended"

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
    f"WITH ended AS ({_FINISH_NODE} RETURNING no), "
    f"kept AS ({_FINISH_RESOURCE} AND EXISTS (SELECT 1 FROM ended))"
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

SQLITE_FINISH_NODE = Statement(_FINISH_NODE)
SQLITE_FINISH_RESOURCE = Statement(_FINISH_RESOURCE)
#: It compares with the row's former reason, so it runs before the row's own statement.
SQLITE_RETRY_EVENT = Statement(
    f"INSERT INTO event ({_EVENT_COLUMNS}) SELECT {{now}}, {_EVENT_VALUES} WHERE {_IS_NEWS}"
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
