"""Publisher of check orders: the engine's only way to a queue, to threads, or to a simulation."""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from orchestrator.config.logger import get_logger
from orchestrator.model.messages import CheckOrder

log = get_logger()

#: An order that no message can hold, and why.
Unfit: TypeAlias = tuple[CheckOrder, str]


class Publisher(Protocol):
    """Sends orders to workers; an order of the phase ``end`` goes to a coordinator."""

    def publish(self, orders: Sequence[CheckOrder]) -> Sequence[Unfit] | None:
        """Send the orders; return those that can never be sent, if there are any. One stops no other.

        Raises:
            Exception: any error of the transport, when the queue is out of reach.
        """

    def backlog(self) -> int | None:
        """Return how many checks wait in the queue; None if it cannot be read now."""


def publish_or_leave(publisher: Publisher, orders: Sequence[CheckOrder]) -> tuple[Unfit, ...]:
    """Publish orders; those that cannot be published now are left to the sweep, which reads them from the store.

    Return those that can never be published, which the sweep fails.

    ``except Exception`` because a broker's client raises its transport's errors.
    """
    if not orders:
        return ()
    try:
        return tuple(publisher.publish(orders) or ())
    except Exception as error:  # noqa: BLE001  # any transport's error; the sweep publishes again
        log.warning("could not publish; the sweep will", orders=len(orders), error=str(error))
        return ()
