"""The clauses that the statements of claims and finishes are made of.

``{now}`` is the database's clock; ``:names`` are parameters.
"""

from collections.abc import Collection

from orchestrator.model.actions import OPERATIONS

EVENT_COLUMNS = """
    at, stack_id, traversal_id, resource, resource_id, type, action, status, reason, physical_id, cause, worker"""
#: All but the time.
EVENT_VALUES = (
    ":stack_id, :traversal_id, :resource, :resource_id, :type, :action, :status, :reason, :physical_id, "
    ":cause, :worker"
)

# A failed traversal begins no new nodes, but carries begun ones to their end.
LIVE = "(t.status = 'IN_PROGRESS' OR (t.status = 'FAILED' AND n.attempt > 0))"

CLAIMED_COLUMNS = """
    n.attempt + 1 AS attempt, n.retries, n.fragment, n.wanted, n.dependents, n.requirements, n.needs, n.resource_id,
    n.node_data, n.changed, n.hooks"""

# The effective action of a converge node depends on the resource's present state, because another traversal may have
# worked on it since the plan was made. An unfinished create, adoption, resume or restore is finished first, and a
# suspended resource is resumed first.
EFFECTIVE = """
    CASE WHEN n.phase <> 'converge' OR n.action NOT IN ('CREATE', 'UPDATE') THEN n.action
         WHEN r.action = 'ADOPT' AND r.status <> 'COMPLETE' THEN 'ADOPT'
         WHEN r.action = 'INIT' OR (r.action = 'CREATE' AND r.status = 'IN_PROGRESS') THEN 'CREATE'
         WHEN r.action = 'SUSPEND' OR (r.action = 'RESUME' AND r.status = 'IN_PROGRESS') THEN 'RESUME'
         WHEN r.action = 'RESTORE' AND r.status = 'IN_PROGRESS' AND r.token IS NOT NULL THEN 'RESTORE'
         ELSE 'UPDATE' END"""

RESOURCE_COLUMNS = """
    type, physical_id, on_node, properties, data, metadata, token, started_at, requires"""

# A failed or deleted resource keeps its status until it is replaced or the first step of its repair is recorded, so
# that it does not look sound if the worker dies. Likewise a resource in a check, which may have found a fault before.
DOUBTED = """
    ({action} = 'UPDATE' AND (resource.action = 'DELETE' OR resource.status = 'FAILED'
        OR (resource.action = 'CHECK' AND resource.status <> 'COMPLETE')))"""


def _in(names: Collection[str]) -> str:
    return "(" + ", ".join(f"'{name}'" for name in sorted(names)) + ")"


# A resource that is not fit for an operation (``orchestrator.model.actions``) is not changed.
UNFIT = "({action} IN " + _in(OPERATIONS) + " AND CASE {action} "
UNFIT += " ".join(
    f"WHEN '{name}' THEN resource.action IN {_in(fitness.never)} "
    f"OR (resource.status <> 'COMPLETE' AND resource.action NOT IN {_in(fitness.unfinished)})"
    for name, fitness in OPERATIONS.items()
)
UNFIT += " END)"

# A row to be adopted is in progress before its first claim.
GOING_ON = "resource.action = {action} AND resource.status = 'IN_PROGRESS' AND resource.started_at > 0"

# Before a hook, a claim begins nothing: the step only finds out whether there is a change.
ALREADY = f"r.action = ({EFFECTIVE}) AND r.status = 'IN_PROGRESS' AND r.started_at > 0"
LOOKS = f"""
    CASE WHEN n.hooks IS NULL OR ({ALREADY}) THEN false
         ELSE {{find}}(n.hooks, '"pre-' || lower({EFFECTIVE}) || '"') > 0 END"""

BEGIN_ACTION = """
    lock_traversal = :traversal_id, lock_no = :no, lock_attempt = {attempt},
    started_at = CASE WHEN {same} THEN resource.started_at ELSE {{now}} END,
    reason = CASE WHEN {same} THEN resource.reason ELSE '' END,
    token = CASE WHEN {same} THEN resource.token END,
    action = CASE WHEN {kept} THEN resource.action ELSE {action} END,
    status = CASE WHEN {kept} THEN resource.status ELSE 'IN_PROGRESS' END, updated_at = {{now}}"""


def begin(attempt: str, action: str, looks: str) -> str:
    """Return what a claim sets in the row of its resource; the arguments are SQL expressions."""
    going_on, doubted, unfit = (each.format(action=action) for each in (GOING_ON, DOUBTED, UNFIT))
    kept, same = f"{doubted} OR {unfit} OR {looks}", f"({going_on}) OR {unfit} OR {looks}"
    return BEGIN_ACTION.format(attempt=attempt, action=action, same=same, kept=kept)


# A wake-up during the step makes the node due at once, because the step may not have seen its cause.
FINISH_NODE = """
    UPDATE node SET
        state = :state, node_data = COALESCE(:node_data, node_data), retries = retries + :retried, published = 0,
        ready_at = CASE WHEN :state = 'ready' THEN {now} ELSE ready_at END,
        due_at = CASE WHEN :state = 'ready' THEN {now} + :redeliver_seconds
            WHEN :state <> 'waiting' THEN NULL WHEN woken THEN {now} ELSE {now} + :seconds END
    WHERE traversal_id = :traversal_id AND no = :no AND attempt = :attempt AND state = 'running'"""

# Stored metadata belong to signals, until the template has others than before.
NEW_METADATA = "metadata_hash <> :metadata_hash"

FINISH_RESOURCE = f"""
    UPDATE resource SET
        action = :resource_action, status = :resource_status, physical_id = :physical_id,
        on_node = COALESCE(:on_node, on_node),
        reason = CASE WHEN :untouched THEN reason ELSE :reason END,
        reference_id = CASE WHEN :new_reference THEN :reference_id ELSE reference_id END,
        properties = COALESCE(:properties, properties), definition_hash = COALESCE(:definition_hash, definition_hash),
        attributes = COALESCE(:attributes, attributes), requires = COALESCE(:requires, requires),
        applied_traversal = COALESCE(:applied_traversal, applied_traversal),
        applied_no = COALESCE(:applied_no, applied_no),
        metadata = CASE WHEN {NEW_METADATA} THEN :metadata ELSE COALESCE(metadata, :metadata) END,
        metadata_version = metadata_version + 1,
        metadata_hash = COALESCE(:metadata_hash, metadata_hash),
        data = :data, token = CASE WHEN :untouched THEN token ELSE :token END,
        lock_traversal = NULL, lock_no = NULL, lock_attempt = NULL, updated_at = {{now}}
    WHERE id = :resource_id AND lock_traversal = :traversal_id AND lock_no = :no AND lock_attempt = :attempt"""
