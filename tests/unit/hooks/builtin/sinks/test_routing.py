"""Routing keys have five words, whatever names stacks and projects have."""

import re

from hypothesis import given
from hypothesis import strategies as st

from hooks.builtin.sinks.routing import routing_key
from tests.unit.hooks.builtin.sinks.histories import event, stack_event


def test_words_are_project_stack_kind_action_and_status() -> None:
    assert routing_key(event(1)) == "default.shop.resource.CREATE.COMPLETE"
    assert routing_key(stack_event(2, status="IN_PROGRESS")) == "default.shop.stack.CREATE.IN_PROGRESS"


def test_what_would_mean_something_in_a_binding_is_replaced() -> None:
    assert routing_key(event(1, project="acme.dev #1", stack_name="shop.web*")).startswith(
        "acme_dev__1.shop_web_."
    )


@given(project=st.text(), stack=st.text(max_size=300))
def test_every_key_has_five_words_within_the_limit_of_amqp(project: str, stack: str) -> None:
    key = routing_key(event(1, project=project, stack_name=stack))
    assert re.fullmatch(r"[\w-]+(\.[\w-]+){4}", key, re.ASCII)
    assert len(key.encode()) <= 255
