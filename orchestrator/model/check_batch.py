"""The message of a check: the orders for some nodes of one traversal, which a worker may take together."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.messages import END, CheckOrder

#: How long the names of resources in a summary may be, besides the first.
SUMMARY_LENGTH: Final = 1000
#: A message whose node data reach this size takes no further order.
FULL_BYTES: Final = 256 * 1024


def batches_of(orders: Iterable[CheckOrder], size: int) -> Iterator[tuple[CheckOrder, ...]]:
    """Return the orders in batches of at most ``size``, each of one traversal.

    The end of a traversal, what is to travel ``alone``, and what has much node data, is a batch by itself.
    """
    for (_, is_alone), some in groupby(orders, _kind):
        batch: list[CheckOrder] = []
        weight = 0
        for order in some:
            own = weight_of(order)
            if batch and (is_alone or len(batch) >= size or weight + own > FULL_BYTES):
                yield tuple(batch)
                batch, weight = [], 0
            batch.append(order)
            weight += own
        yield tuple(batch)


def weight_of(order: CheckOrder) -> int:
    """Return how many bytes of node data travel with an order."""
    return sum(len(data) for data in order.node_data or () if isinstance(data, bytes))


def _kind(order: CheckOrder) -> tuple[str, bool]:
    return order.traversal_id, order.alone or order.phase == END


def to_wire(orders: Sequence[CheckOrder]) -> list[Any]:
    """Return plain types: what the orders of a batch have in common, and what is each one's own."""
    first = orders[0]
    own = [[each.no, each.key, each.phase, each.action, _listed(each.node_data)] for each in orders]
    return [first.stack_id, first.traversal_id, first.stack, own]


def from_wire(data: list[Any]) -> tuple[CheckOrder, ...]:
    """Rebuild the orders of a batch, the inverse of :func:`to_wire`.

    Raises:
        InvalidInput: the list has another shape.
    """
    try:
        stack_id, traversal_id, stack, own = data
        return tuple(
            CheckOrder(
                stack_id=stack_id,
                traversal_id=traversal_id,
                stack=stack,
                no=no,
                key=key,
                phase=phase,
                action=action,
                node_data=None if node_data is None else tuple(node_data),
            )
            for no, key, phase, action, node_data in own
        )
    except (TypeError, ValueError) as error:
        raise InvalidInput([Problem(message=f"a check message of an unknown shape: {error}")]) from error


def summary(orders: Sequence[CheckOrder]) -> str:
    """Return a literal that names stack, resources and action, for Flower; it never shows a value.

    Of many resources with long names it names the first. It is JSON too, so that a script can search for a name.
    """
    first = orders[0]
    names, room = [first.key], SUMMARY_LENGTH
    for order in orders[1:]:
        room -= len(json.dumps(order.key)) + len(", ")
        if room < 0:
            names.append("...")
            break
        names.append(order.key)
    resource = names[0] if len(orders) == 1 else names
    actions = sorted({order.action or order.phase for order in orders})
    shown = {"stack": first.stack, "resource": resource, "op": "/".join(actions)}
    return json.dumps(shown, ensure_ascii=False)


def _listed(node_data: tuple[bytes, ...] | None) -> list[bytes] | None:
    return None if node_data is None else list(node_data)
