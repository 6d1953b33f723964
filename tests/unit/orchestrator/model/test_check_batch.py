"""The message of a check, which holds the orders for several nodes."""

import ast
import json
from dataclasses import replace

import msgpack
import pytest

from orchestrator.errors import InvalidInput
from orchestrator.model.check_batch import FULL_BYTES, batches_of, from_wire, summary, to_wire
from orchestrator.model.messages import END, CheckOrder

ORDER = CheckOrder(
    stack_id="s", traversal_id="t", no=1, key="it", stack="web", action="CREATE", node_data=(b"data",)
)
#: The consumer refuses a longer summary.
LONGEST_SUMMARY = 2000


def test_orders_come_out_of_a_message_as_they_went_in() -> None:
    orders = (
        ORDER,
        replace(ORDER, no=2, key="other", node_data=None),
        replace(ORDER, no=3, phase="join", node_data=()),
    )
    assert from_wire(msgpack.unpackb(msgpack.packb(to_wire(orders)))) == orders


@pytest.mark.parametrize(
    "data", [[], ["s"], ["s", "t", "web", 5], ["s", "t", "web", [[1, "it"]]], None, 7], ids=str
)
def test_a_message_of_another_shape_is_refused(data: object) -> None:
    with pytest.raises(InvalidInput, match="unknown shape"):
        from_wire(data)  # type: ignore[arg-type]


def test_a_batch_is_of_one_operation_and_the_end_and_what_is_alone_travel_by_themselves() -> None:
    orders = [replace(ORDER, no=no) for no in range(5)]
    other = [replace(order, traversal_id="u") for order in orders[:2]]
    alone = [replace(order, alone=True) for order in orders[:2]]
    end = replace(ORDER, phase=END)
    sizes = [len(batch) for batch in batches_of([*orders, *other, *alone, end], 3)]
    assert sizes == [3, 2, 2, 1, 1, 1]
    assert [order for batch in batches_of([*orders, *alone, end], 3) for order in batch] == [
        *orders,
        *alone,
        end,
    ]


def test_a_message_with_much_node_data_takes_no_further_order() -> None:
    heavy = replace(ORDER, node_data=(b"x" * (FULL_BYTES // 2),))
    assert [len(batch) for batch in batches_of([heavy] * 5, 32)] == [2, 2, 1]
    assert [
        len(batch) for batch in batches_of([replace(heavy, node_data=(b"x" * FULL_BYTES * 2,))] * 2, 32)
    ] == [1, 1]


def test_a_summary_names_the_resources_for_python_and_for_scripts() -> None:
    orders = [replace(ORDER, key=key) for key in ("it", 'the "first"', "back\\slash", "naïve")]
    text = summary(orders)
    assert ast.literal_eval(text) == json.loads(text)
    assert json.loads(text) == {"stack": "web", "resource": [order.key for order in orders], "op": "CREATE"}
    assert json.loads(summary(orders[:1]))["resource"] == "it"
    assert all(json.dumps(order.key, ensure_ascii=False) in text for order in orders)


def test_a_summary_of_many_long_names_stays_short() -> None:
    orders = [replace(ORDER, key=f"{'é' * 250}{no}", stack="s" * 255) for no in range(32)]
    assert len(summary(orders)) < LONGEST_SUMMARY
    assert json.loads(summary(orders))["resource"][-1] == "..."
