"""What a worker keeps of the operations under way: loaded once each, within a bound."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.model.messages import END, CheckOrder, StackJob
from orchestrator.processes.runtime import Runtime
from orchestrator.store import migrations
from tests.counting import statements
from workers.check.remembered import Remembered, weight_of

STACKS = 200
TEMPLATE = """\
heat_template_version: 2021-04-16
parameters: {p: {type: string, default: value}}
resources:
  a: {type: OS::Heat::Value, properties: {value: {get_param: p}}}
  b: {type: OS::Heat::Value, properties: {value: {get_param: p}}}
"""


class Loading:
    """Values of some size, and how often each was loaded."""

    def __init__(self, size: int = 1000) -> None:
        self.size = size
        self.times: Counter[str] = Counter()

    def load(self, key: str) -> str:
        self.times[key] += 1
        return key.ljust(self.size)


def test_each_value_is_loaded_once_while_all_fit() -> None:
    loading, remembered = Loading(), Remembered(10_000 * 2_000)
    for _ in range(3):
        for number in range(10_000):
            assert remembered.get(loading.load, str(number)).strip() == str(number)
    assert set(loading.times.values()) == {1}


def test_the_least_recently_used_goes_first_where_not_all_fit() -> None:
    loading, remembered = Loading(), Remembered(3 * weight_of(" " * 1000))
    for key in ("a", "b", "c", "a", "d", "a", "b"):
        remembered.get(loading.load, key)
    assert loading.times == {"a": 1, "b": 2, "c": 1, "d": 1}


def test_a_value_larger_than_the_bound_is_kept_alone() -> None:
    small, large = Loading(), Loading(100_000)
    remembered = Remembered(10_000)
    remembered.get(small.load, "small")
    for _ in range(5):
        remembered.get(large.load, "large")
    assert large.times == {"large": 1}
    for _ in range(2):
        remembered.get(small.load, "small")
    assert small.times == {"small": 2}


def test_one_key_of_two_loaders_is_two_values() -> None:
    one, another = Loading(10), Loading(20)
    remembered = Remembered(10_000)
    assert len(remembered.get(one.load, "a")) == 10
    assert len(remembered.get(another.load, "a")) == 20


def test_what_fails_to_load_is_loaded_again() -> None:
    def fail(_: str) -> str:
        raise LookupError

    remembered = Remembered(10)
    for _ in range(2):
        with pytest.raises(LookupError):
            remembered.get(fail, "a")


@pytest.mark.parametrize(
    "value", [{"a": ["b" * 5000]}, {"b" * 5000: 1}, [("b" * 5000,)], "b" * 5000, {"a": {"c": "b" * 5000}}]
)
def test_a_value_weighs_what_its_parts_weigh(value: Any) -> None:
    assert 5000 <= weight_of(value) <= 6000


class Kept:
    """A publisher that keeps the orders in their order."""

    def __init__(self) -> None:
        self.orders: list[CheckOrder] = []

    def publish(self, orders: Sequence[CheckOrder]) -> None:
        self.orders += orders

    def backlog(self) -> int:
        return len(self.orders)

    def checks(self) -> Iterator[CheckOrder]:
        """Yield the orders that came first, first."""
        while self.orders:
            order = self.orders.pop(0)
            if order.phase != END:
                yield order


def test_checks_of_many_stacks_in_turn_read_the_context_of_each_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'isotherm.db'}"
    migrations.upgrade(url)
    kept = Kept()
    runtime = Runtime(Settings(state_directory=tmp_path, database_url=url), kept, kind="test")
    for number in range(STACKS):
        runtime.coordinator.create(StackJob(name=f"s{number}", template=TEMPLATE))
    # The first resource of each stack before the second of any.
    kept.orders.sort(key=lambda order: order.key)
    checks = 0
    with statements() as sent:
        for order in kept.checks():
            runtime.checker.check((order,))
            checks += 1
    assert checks >= 2 * STACKS
    assert len([sql for sql in sent if sql.startswith("SELECT context FROM traversal")]) == STACKS
    runtime.close()
