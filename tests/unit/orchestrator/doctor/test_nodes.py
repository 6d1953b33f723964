"""The doctor tells where it is remembered what nodes said, and which of them answer."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cache.node_state.lease import Lease
from cache.node_state.store import NodeStateStore
from orchestrator.config.nodes import NodeStateCacheSettings
from orchestrator.config.settings import Settings
from orchestrator.doctor.check import Check
from orchestrator.doctor.nodes import check_nodes
from orchestrator.nodes.rpc.kombu_transport import mailbox_address
from orchestrator.nodes.rpc.mailbox import Mailbox, Poster
from orchestrator.nodes.rpc.messages import Fault, Reply, Request
from orchestrator.nodes.rpc.sealing import Seal
from orchestrator.nodes.rpc.state_cache import make_node_state_store
from orchestrator.queue.celery_app import make_app


def found(settings: Settings) -> dict[str, Check]:
    return {check.name: check for check in check_nodes(settings)}


def test_without_a_broker_there_is_nothing_to_be_asked(tmp_path: Path) -> None:
    checks = found(Settings(state_directory=tmp_path))
    assert {name: (check.ok, check.detail) for name, check in checks.items()} == {
        "node state cache": (True, f"file at {tmp_path / 'node-state'}")
    }
    assert list(tmp_path.iterdir()) == [], "asking makes nothing"


@pytest.mark.parametrize(
    ("said", "is_service", "detail"),
    [
        ({"backend": "reddis"}, False, "there is no node state store 'reddis'"),
        ({"backend": "memory"}, False, "memory: the cache is not shared between agents"),
        ({"url": "redis://:secret@127.0.0.1:1/0"}, True, "redis at redis://***@127.0.0.1:1/0: "),
    ],
    ids=["unknown", "memory", "away"],
)
def test_a_cache_that_is_of_no_use_is_told(said: dict[str, Any], is_service: bool, detail: str) -> None:
    settings = Settings(broker_url="redis://127.0.0.1:1/0", node_state_cache=NodeStateCacheSettings(**said))
    checks = found(settings)
    check = checks.pop("node state cache")
    assert not checks
    assert (check.ok, check.is_service) == (False, is_service)
    assert detail in check.detail
    assert "secret" not in check.detail
    assert check.hint


class Answering:
    """An agent that answers whatever it is asked."""

    def __init__(self, settings: Settings, node: str, reply: Callable[[Request], Reply]) -> None:
        app = make_app(settings)
        poster, seal = Poster(app), Seal(settings, app.keys, node=node)

        def receive(address: str, data: bytes) -> None:
            request, reply_to, _ = seal.opened_read(data, address=address)
            poster.post(reply_to, seal.reply(reply(request), address=reply_to, seconds=5), keep_seconds=5)

        self.mailbox = Mailbox(app, mailbox_address(node), seal, on_message=receive)
        self.mailbox.start()
        assert self.mailbox.wait_until_heard(20)

    def close(self) -> None:
        self.mailbox.close()


def reply(request: Request, error: Fault | None = None) -> Reply:
    return Reply(
        id=request.id,
        node=request.node,
        incarnation="1",
        boot_id="b",
        seq=0,
        inflight=0,
        taken_at=1.0,
        duration_seconds=0.0,
        error=error,
    )


def lease(store: NodeStateStore, node: str) -> None:
    said = Lease(node=node, incarnation="1", boot_id="b")
    assert store.acquire(node, "1", said.to_bytes(), 60) is None


def test_each_node_is_told_that_does_not_answer(redis_url: str) -> None:
    settings = Settings(broker_url=redis_url)
    assert found(settings)["nodes"].ok
    assert found(settings)["nodes"].detail == "none has had an agent: nothing can be placed on nodes"
    with closing(make_node_state_store(settings)) as store:
        for node in ("well", "deaf", "broken", "gone", "drained"):
            lease(store, node)
        store.withdraw("gone", "1")
        store.withdraw("drained", "1")
        store.set_offline("drained", "repairs")
        fault = Fault(kind="failed", message="its disk is full")
        with (
            closing(Answering(settings, "well", reply)),
            closing(Answering(settings, "broken", lambda request: reply(request, error=fault))),
        ):
            check = found(settings)["nodes"]
            assert (check.ok, check.is_service) == (False, True)
            assert check.detail == (
                "answering: well; drained: drained; broken: its disk is full; "
                "deaf: node 'deaf' did not answer within 1 s; gone: no agent"
            )
            assert "isotherm agent --node" in check.hint
            for node in ("deaf", "broken", "gone"):
                store.forget(node)
            check = found(settings)["nodes"]
            assert (check.ok, check.detail) == (True, "answering: well; drained: drained")
