"""Hypervisors and storage that are missing, broken, badly configured, or that hang: each marks its own section."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stevedore.extension import ExtensionManager

from cache.node_state.requests import (
    ABSENT,
    ERROR,
    OK,
    TIMEOUT,
    HypervisorSection,
    MachineStateRequest,
    Section,
    StorageSection,
)
from orchestrator.nodes.rpc.errors import BackendAway, NotSupported, RpcRetryable
from tests.unit.packages import install
from tests.unit.workers.agent.agents import agent_of, ask, change, spec
from tests.waiting import PATIENCE_SECONDS
from workers.agent.agent import Agent
from workers.agent.patience import Patience, Unanswered

#: A package whose backends fail in as many ways as there are.
SOURCE = """
import threading

from workers.agent.hypervisors.fake import Fake

going_on = threading.Event()
reason = ""


class Odd(Fake):
    def probe(self):
        return reason


class Hanging(Fake):
    def instances(self):
        if not going_on.wait(300):
            raise RuntimeError("nobody let it go on")
        return super().instances()

    def instance(self, name):
        going_on.wait(300)
        return super().instance(name)


class HangingProbe(Fake):
    def probe(self):
        going_on.wait(300)
        return ""


class Raising(Fake):
    def node(self):
        raise RuntimeError("out of its mind")


class Dying(Fake):
    def __init__(self, options, directory):
        raise RuntimeError("never born")
"""
KINDS = ("odd:Odd", "hanging:Hanging", "hanging-probe:HangingProbe", "raising:Raising", "dying:Dying")
ENTRIES = {
    "isotherm.hypervisors": [
        *(f"{name} = acme_backends:{cls}" for name, cls in (each.split(":") for each in KINDS)),
        "unloadable = acme_never_there:Nothing",
        "stranger = threading:Event",
    ]
}
#: How long an agent waits for what hangs.
SECONDS = 0.7


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The package's module; whatever hangs goes on afterwards."""
    install(tmp_path, "acme_backends", SOURCE, ENTRIES)
    monkeypatch.syspath_prepend(tmp_path)
    # stevedore remembers what it found, here and in files; neither is to outlive the test.
    monkeypatch.setattr(ExtensionManager, "ENTRY_POINT_CACHE", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "stevedore"))
    import acme_backends  # type: ignore[import-not-found]  # it is made here

    yield acme_backends
    acme_backends.going_on.set()
    del sys.modules["acme_backends"]


def node_with(tmp_path: Path, *names: str, **options: Any) -> Agent:
    """Return an agent with these hypervisors, and ``fake`` besides, which is well; only what hangs is given up soon."""
    hypervisors = {name: options.get(name, {}) for name in ("fake", *names)}
    agent = agent_of(tmp_path, hypervisors=hypervisors, backend_seconds=PATIENCE_SECONDS)
    for name in names:
        if name.startswith("hanging"):
            agent.hypervisors[name].patience = Patience(f"hypervisor {name!r}", SECONDS)
    return agent


def sections(agent: Agent, **request: Any) -> dict[str, Section]:
    answer = ask(agent, "node_snapshot", request=request or {"everything": True})
    return {key: Section.from_wire(each) for key, each in answer["sections"].items()}


def told_of(agent: Agent, name: str) -> Section:
    """Return what a snapshot of everything says of a hypervisor; that all others are well is claimed by the way."""
    found = sections(agent)
    section = found.pop(HypervisorSection(name).key)
    assert {each.status for each in found.values()} == {OK}
    assert len(found) == 3
    return section


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("unloadable", ERROR, "cannot be loaded: No module named 'acme_never_there'"),
        ("missing", ERROR, "no package brings the hypervisor 'missing'"),
        ("stranger", ERROR, "no subclass of Hypervisor"),
        ("dying", ERROR, "'dying' is broken: never born"),
        ("raising", ERROR, "out of its mind"),
        ("hanging", TIMEOUT, "'hanging' did not answer within 0.7 s"),
        ("hanging-probe", TIMEOUT, "did not answer within 0.7 s"),
    ],
)
def test_backend_that_fails_marks_its_section_and_no_other(
    tmp_path: Path, name: str, status: str, said: str
) -> None:
    section = told_of(node_with(tmp_path, name), name)
    assert section.status == status
    assert said in section.message


@pytest.mark.usefixtures("acme")
def test_wrong_options_are_told_without_their_values(tmp_path: Path) -> None:
    agent = node_with(tmp_path, "odd", odd={"memory_mb": "my-secret", "cpus": "my-secret"})
    section = told_of(agent, "odd")
    assert section.status == ERROR
    assert "agent.hypervisors.odd" in section.message
    assert "did you mean 'memory_mib'" in section.message
    assert "my-secret" not in section.message


@pytest.mark.usefixtures("acme")
def test_lease_tells_of_what_can_be_used(tmp_path: Path) -> None:
    agent = node_with(tmp_path, "hanging-probe", "unloadable", "dying", "raising", raising={"cpus": 64})
    lease = agent.lease()
    assert lease.hypervisors == ("fake", "raising")
    assert lease.storage == {"default": "file"}
    assert lease.totals["vcpus"] != 64, "what a hypervisor does not tell does not count"


def test_what_the_machine_has_is_asked_again_with_each_lease(tmp_path: Path, acme: Any) -> None:
    agent = node_with(tmp_path, "odd", odd={"memory_mib": 10_000_000})
    acme.reason = "its daemon is away"
    assert agent.lease().totals["memory_mib"] == agent.totals.memory_mib < 10_000_000
    acme.reason = ""
    agent.hypervisors["odd"]._fault = None
    assert agent.lease().totals["memory_mib"] == agent.totals.memory_mib == 10_000_000


def test_what_cannot_be_used_is_probed_again(
    tmp_path: Path, acme: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = node_with(tmp_path, "odd")
    monkeypatch.setattr("workers.agent.backends._PROBE_AGAIN_SECONDS", 0.0)
    acme.reason = "its daemon is away"
    assert told_of(agent, "odd").message == "hypervisor 'odd' cannot be used: its daemon is away"
    with pytest.raises(BackendAway, match="its daemon is away"):
        ask(agent, "instance_look", hypervisor="odd", name="web")
    with pytest.raises(RpcRetryable, match="its daemon is away"):
        change(agent, "instance_start", hypervisor="odd", spec=spec())
    acme.reason = ""
    assert told_of(agent, "odd").status == OK
    change(agent, "instance_start", hypervisor="odd", spec=spec())


def test_backend_that_hangs_says_nothing_of_what_is_there(tmp_path: Path, acme: Any) -> None:
    agent = node_with(tmp_path, "hanging")
    with pytest.raises(BackendAway) as caught:
        ask(agent, "instance_look", hypervisor="hanging", name="none")
    assert caught.value.passing
    acme.going_on.set()
    assert ask(agent, "instance_look", hypervisor="hanging", name="none") is None


def test_what_the_node_does_not_have_is_absent(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, hypervisors={"fake": {"cpus": 3}})
    asked = MachineStateRequest(
        hypervisors=frozenset(
            {
                HypervisorSection("qemu"),
                HypervisorSection.of("fake", {"cpus": 4}),
                HypervisorSection.of("fake", {"cpus": 3}),
            }
        ),
        storage=frozenset({StorageSection("lvm-vg", "default"), StorageSection("file", "default")}),
        bootid=True,
    )
    found = sections(agent, **asked.to_wire())
    assert {key: section.status for key, section in found.items()} == {
        HypervisorSection("qemu").key: ABSENT,
        HypervisorSection.of("fake", {"cpus": 4}).key: ABSENT,
        HypervisorSection.of("fake", {"cpus": 3}).key: OK,
        StorageSection("lvm-vg", "default").key: ABSENT,
        StorageSection("file", "default").key: OK,
        "bootid": OK,
    }
    assert found["bootid"].data == "boot-1"
    with pytest.raises(NotSupported, match="no storage unit 'defult': did you mean 'default'"):
        ask(agent, "volume_list", storage="defult")


def test_boot_id_that_cannot_be_read_is_an_error_of_its_own(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, boot_id_file=str(tmp_path / "none"))
    found = sections(agent)
    assert found.pop("bootid").status == ERROR
    assert {each.status for each in found.values()} == {OK}


def test_node_that_changes_while_it_is_looked_at_says_so(tmp_path: Path) -> None:
    agent = agent_of(tmp_path)
    assert ask(agent, "node_snapshot", request={})["unsettled"] is False
    backend, looking, changed = agent.hypervisors["fake"], threading.Event(), threading.Event()
    slow = backend.get()
    instances = slow.instances
    answers: list[bool] = []

    def held_up() -> Any:
        looking.set()
        changed.wait(PATIENCE_SECONDS)
        return instances()

    slow.instances = held_up  # type: ignore[method-assign]  # this one takes its time
    asking = threading.Thread(
        target=lambda: answers.append(ask(agent, "node_snapshot", request={"everything": True})["unsettled"])
    )
    asking.start()
    looking.wait(PATIENCE_SECONDS)
    change(agent, "instance_remove", hypervisor="fake", name="web")
    changed.set()
    asking.join(PATIENCE_SECONDS)
    assert answers == [True]


def test_what_hangs_is_not_asked_again_and_again() -> None:
    patience, going_on = Patience("it", 0.0), threading.Event()
    for _ in range(4):
        with pytest.raises(Unanswered, match="did not answer"):
            patience.ask(going_on.wait).answer()
    with pytest.raises(Unanswered, match="4 calls of it hang already"):
        patience.ask(going_on.wait)
    going_on.set()


def test_own_time_out_of_a_backend_is_its_answer() -> None:
    def call() -> None:
        raise TimeoutError("of its own")

    with pytest.raises(TimeoutError, match="of its own"):
        Patience("it", 30).ask(call).answer()
