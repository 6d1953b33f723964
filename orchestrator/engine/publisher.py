"""Publisher of check orders: the engine's only way to a queue, to threads, or to a simulation."""

from collections.abc import Sequence
from typing import Protocol

import structlog

from orchestrator.model.messages import CheckOrder

log = structlog.get_logger()


class Publisher(Protocol):
    """Sends orders to workers; an order of the phase ``end`` goes to a coordinator."""

    def publish(self, orders: Sequence[CheckOrder]) -> None:
        """Send the orders.

        Raises:
            Exception: any error of the transport, when the queue is out of reach.
        """

    def backlog(self) -> int | None:
        """Return how many checks wait in the queue; None if it cannot be read now."""


def publish_or_leave(publisher: Publisher, orders: Sequence[CheckOrder]) -> None:
    """Publish orders; those that cannot be published now are left to the sweep, which reads them from the store.

    ``except Exception`` because a broker's client raises its transport's errors.
    """
    if not orders:
        return
    try:
        publisher.publish(orders)
    except Exception as error:  # noqa: BLE001  # any transport's error; the sweep publishes again
        log.warning("could not publish; the sweep will", orders=len(orders), error=str(error))
