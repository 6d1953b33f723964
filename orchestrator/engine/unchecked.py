"""Failures of resources whose check is not carried out: it cannot be published, or its worker is lost each time."""

from orchestrator.config.logger import get_logger
from orchestrator.engine.publisher import Publisher, publish_or_leave
from orchestrator.model.messages import CheckOrder
from orchestrator.store.nodes.claims import failure_of
from orchestrator.store.store import Store

log = get_logger()


def fail_unchecked(
    store: Store, publisher: Publisher, order: CheckOrder, reason: str, *, process: str
) -> None:
    """Fail the resource of a ready node as a check would that fails, without a call of its type.

    Another process may claim the node before ``process``: then it is that one's again.
    """
    claim = store.nodes.claim(order, worker=process)
    if claim is None:
        return
    log.warning("a resource fails without a check", resource=order.key, stack_name=order.stack, reason=reason)
    outcome = failure_of(claim, reason, physical_id=claim.physical_id, untouched=claim.looks)
    publish_or_leave(publisher, store.nodes.finish(claim, outcome).ready)
