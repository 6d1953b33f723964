"""The threads of embedded mode do not wait for each other's plugins."""

import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.errors import NotFound, PluginMistake
from orchestrator.model.messages import CheckOrder, DeleteJob, StackJob, UpdateJob
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.processes.embedded import Embedded
from orchestrator.processes.runtime import Runtime
from orchestrator.service import Service
from orchestrator.store import migrations
from orchestrator.store.traversals.operation_rows import NewOperation
from tests.migrated import migrate
from tests.waiting import PATIENCE_SECONDS


def test_a_plugin_that_hangs_over_what_is_lost_does_not_hold_up_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(state_directory=tmp_path)
    migrate(settings.effective_database_url)
    embedded = Embedded(settings)
    coordinator, ledger = embedded.runtime.coordinator, embedded.runtime.store.ledger
    operation = NewOperation(
        id="1", cause="c", stack_id="s", stack="s", project="p", action="CREATE", shown=None
    )
    ledger.open(operation, owner="nobody", lease_seconds=-1_000_000, lost_limit=5, is_idle=lambda _: False)
    go, swept = threading.Event(), threading.Semaphore(0)
    told: list[str] = []
    sweep = coordinator.sweep

    def hang(lost: tuple[str, ...]) -> None:
        told.extend(lost)
        go.wait()

    def counted(**arguments: bool) -> object:
        try:
            return sweep(**arguments)
        finally:
            swept.release()

    monkeypatch.setattr(coordinator._brackets, "unwind", hang)
    monkeypatch.setattr(coordinator, "sweep", counted)
    embedded.start()
    try:
        assert all(swept.acquire(timeout=PATIENCE_SECONDS) for _ in range(4))
        assert told == ["1"]
    finally:
        go.set()
        embedded.close()


def test_a_step_that_hangs_costs_the_process_no_thread_and_its_end_does_not_wait(tmp_path: Path) -> None:
    settings = Settings(state_directory=tmp_path, embedded_threads=1)
    migrate(settings.effective_database_url)
    embedded = Embedded(settings)
    go, threads = threading.Event(), queue.SimpleQueue[threading.Thread]()

    class Hanging:
        def check(self, _orders: Sequence[CheckOrder]) -> None:
            threads.put(threading.current_thread())
            go.wait()

        def close(self) -> None:
            pass

    embedded.runtime.__dict__["checker"] = Hanging()
    embedded.start()
    try:
        order = CheckOrder(traversal_id="t", no=1, stack_id="s", key="a", phase="converge", alone=True)
        embedded.publish([order, order])
        hung = threads.get(timeout=PATIENCE_SECONDS)
        embedded.give_up(hung)
        another = threads.get(timeout=PATIENCE_SECONDS)
        assert hung.is_alive()
        assert another is not hung
        # Given up while the end of the command waits for it.
        ending = threading.Thread(target=embedded.close)
        ending.start()
        assert embedded._stopping.wait(PATIENCE_SECONDS)
        embedded.give_up(another)
        ending.join(PATIENCE_SECONDS)
        assert not ending.is_alive()
    finally:
        go.set()
    for thread in (hung, another):
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), RuntimeError("a\ud800b")])
def test_a_plugin_that_would_end_its_thread_ends_no_thread(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(state_directory=tmp_path, embedded_threads=1)
    migrate(settings.effective_database_url)
    embedded = Embedded(settings)
    reached = threading.Event()

    def check(orders: Sequence[CheckOrder]) -> None:
        if orders[0].no == 1:
            raise error
        reached.set()

    monkeypatch.setattr(embedded.runtime.checker, "check", check)
    embedded.start()
    try:
        orders = [CheckOrder(stack_id="s", traversal_id="t", no=no, key="it", alone=True) for no in (1, 2)]
        embedded.publish(orders)
        assert reached.wait(PATIENCE_SECONDS)
    finally:
        embedded.close()


TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  it: {type: OS::Heat::Value, properties: {value: 1}}
"""


def test_only_a_new_stack_is_begun_without_loading_all_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A type that cannot be loaded stops whatever may need it before anything is changed."""
    settings = Settings(state_directory=tmp_path)
    migrations.upgrade(settings.effective_database_url)
    embedded = Embedded(settings)

    def broken() -> ResourceTypes:
        raise PluginMistake("resource type 'My::Broken' cannot be loaded")

    monkeypatch.setattr(ResourceTypes, "load", broken)
    try:
        with pytest.raises(PluginMistake, match="My::Broken"):
            embedded.start()
        stack_id = embedded.submit(StackJob(name="one", template=TEMPLATE), stack="one")
        # The threads of a command that began a stack go on with it.
        embedded.start()
        with pytest.raises(PluginMistake, match="My::Broken"):
            embedded.submit(DeleteJob(name=stack_id), stack="one")
        with embedded.runtime.store.database.write() as connection:
            connection.exec_driver_sql("UPDATE node SET due_at = 1e12, state = 'waiting'")
        with pytest.raises(PluginMistake, match="My::Broken"):
            embedded.submit(StackJob(name="two", template=TEMPLATE), stack="two")
        assert [each.name for each in embedded.runtime.store.stacks.all(project="default")] == ["one"]
    finally:
        embedded.close()


def test_update_loads_the_types_of_its_stack_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(state_directory=tmp_path)
    inner = "heat_template_version: 2021-04-16\nresources:\n  on: {type: OS::Heat::RandomString}\n"
    outer = "heat_template_version: 2021-04-16\nresources:\n  in: {type: inner.yaml}\n"
    with Service.open(settings) as service:
        for job in (
            StackJob(name="one", template=outer, template_file="one.yaml", files={"inner.yaml": inner}),
            StackJob(name="other", template=TEMPLATE),
        ):
            assert [*service.watch(service.create(job).id)][-1].finished
    loaded: list[str] = []
    broken = ""

    class Types(Mapping[str, Any]):
        def __getitem__(self, name: str) -> Any:
            loaded.append(name)
            if name == broken:
                raise PluginMistake(f"resource type {name!r} cannot be loaded")
            return ResourceTypes.on_demand()[name]

        def __iter__(self) -> Iterator[str]:
            return iter(ResourceTypes.on_demand())

        def __len__(self) -> int:
            return len(ResourceTypes.on_demand())

    monkeypatch.setattr(Runtime, "types", Types())
    monkeypatch.setattr(ResourceTypes, "load", lambda: pytest.fail("all are loaded"))
    update = UpdateJob(name="one", template=TEMPLATE)
    with Service.open(settings) as service:
        broken = "OS::Heat::RandomString"
        with pytest.raises(PluginMistake, match=broken):
            service.update(update)
        assert service.stack("one").action == "CREATE"
        broken = ""
        loaded.clear()
        with pytest.raises(NotFound):
            service.update(replace(update, name="unknown"))
        assert loaded == []
        service.update(update)
        assert {*loaded[:2]} == {"OS::Heat::RandomString", "inner.yaml"}


def test_who_watches_is_woken_by_the_end_of_an_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(state_directory=tmp_path)
    waited: list[bool] = []

    def wait_for_an_end(embedded: Embedded, seconds: float) -> None:
        # However long the pause is: the end comes first.
        waited.append(embedded._ended.wait(PATIENCE_SECONDS))
        original(embedded, seconds)

    original = Embedded.wait_for_an_end
    monkeypatch.setattr(Embedded, "wait_for_an_end", wait_for_an_end)
    with Service.open(settings) as service:
        made = service.create(StackJob(name="one", template=TEMPLATE))
        *under_way, last = service.watch(made.id)
        # What is over already is not waited for.
        seen = len(waited)
        assert [each.finished for each in service.watch(made.id)] == [True]
        assert len(waited) == seen
    assert last.finished
    # The work has a while without looks, and then as long before each.
    assert len(waited) == len(under_way) + 1
    assert all(waited[:1])
