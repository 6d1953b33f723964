"""Where the states of nodes are remembered, as the settings say."""

from pathlib import Path
from typing import Any

import pytest

from cache.node_state.file_store import FileNodeStore
from cache.node_state.memory_store import MemoryNodeStore
from cache.node_state.redis_store import RedisNodeStore
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput
from orchestrator.nodes.rpc.state_cache import make_node_state_cache, make_node_state_store, where
from tests.unit.cache.node_state.worlds import Node

REDIS = "redis://localhost:6379/0"
OTHER = "redis://localhost:6379/1"
RABBIT = "amqp://localhost"


def settings(directory: Path = Path("/nowhere"), **said: Any) -> Settings:
    return Settings(state_directory=directory, **said)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, ("file", "")),
        ({"broker_url": REDIS}, ("redis", REDIS)),
        ({"broker_url": RABBIT}, ("file", "")),
        ({"broker_url": RABBIT, "cache_backend": "redis", "cache_url": OTHER}, ("redis", OTHER)),
        ({"broker_url": REDIS, "cache_backend": "redis", "cache_url": OTHER}, ("redis", OTHER)),
        ({"broker_url": REDIS, "cache_backend": "file", "cache_url": "/x"}, ("redis", REDIS)),
        ({"cache_backend": "redis", "cache_url": OTHER}, ("redis", OTHER)),
        ({"broker_url": REDIS, "node_state_cache": {"url": OTHER}}, ("redis", OTHER)),
        ({"broker_url": REDIS, "node_state_cache": {"backend": "file"}}, ("file", "")),
        ({"broker_url": REDIS, "node_state_cache": {"backend": "memory"}}, ("memory", "")),
    ],
    ids=[
        "embedded",
        "broker",
        "other broker",
        "cache",
        "cache before broker",
        "other cache",
        "embedded with cache",
        "own",
        "file asked for",
        "memory asked for",
    ],
)
def test_where_is_what_is_said_or_else_a_redis_that_is_there_or_else_a_file(
    said: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert where(settings(**said)) == expected


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            {"backend": "rediss"},
            "node_state_cache.backend.*no node state store 'rediss'.*did you mean 'redis'",
        ),
        ({"backend": "redis"}, "node_state_cache.url.*nothing says where Redis is"),
        ({"backend": "file", "url": REDIS}, "node_state_cache.url.*file has no URL"),
        ({"backend": "redis", "url": "http://user:secret@x"}, "node_state_cache.url.*no URL of a Redis"),
    ],
    ids=["unknown", "nowhere", "file with URL", "not a URL"],
)
def test_what_cannot_be_is_refused_and_no_password_shown(said: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as refused:
        make_node_state_store(settings(node_state_cache=said))
    assert "secret" not in str(refused.value)


def test_the_wrong_url_is_called_by_its_setting() -> None:
    with pytest.raises(InvalidInput, match=r"settings\.broker_url: 'redis://host:port/0' is no URL"):
        make_node_state_store(settings(broker_url="redis://host:port/0"))


def test_nothing_is_made_before_it_is_needed(tmp_path: Path) -> None:
    store = make_node_state_store(settings(tmp_path / "state"))
    assert isinstance(store, FileNodeStore)
    assert isinstance(make_node_state_store(settings(broker_url=REDIS)), RedisNodeStore)
    assert not list(tmp_path.iterdir())
    assert store.names() == frozenset()


def test_in_memory_those_of_one_state_directory_share_what_they_know(tmp_path: Path) -> None:
    said = settings(tmp_path, node_state_cache={"backend": "memory"})
    mine = make_node_state_store(said)
    assert isinstance(mine, MemoryNodeStore)
    assert make_node_state_store(said) is mine
    other = settings(tmp_path / "other", node_state_cache={"backend": "memory"})
    assert make_node_state_store(other) is not mine


@pytest.mark.parametrize("broker_url", ["", RABBIT], ids=["embedded", "distributed"])
def test_only_the_embedded_agent_needs_no_lease(tmp_path: Path, broker_url: str) -> None:
    node = Node("local")
    cache = make_node_state_cache(
        settings(tmp_path, broker_url=broker_url), lambda _name, request, _seconds: node.answer(request)
    )
    # The same files, as another process has them.
    another = make_node_state_cache(
        settings(tmp_path, broker_url=broker_url), lambda _name, request, _seconds: node.answer(request)
    )
    if broker_url:
        cache.acquire(node.lease())
    cache.machine_state("local")
    assert another.machine_state("local").cached


def test_what_was_said_before_this_machine_booted_is_void(tmp_path: Path) -> None:
    node = Node("local")
    boot_id = tmp_path / "boot_id"
    said = settings(tmp_path, agent={"boot_id_file": str(boot_id)})

    def served() -> bool:
        cache = make_node_state_cache(said, lambda _name, request, _seconds: node.answer(request))
        return cache.machine_state("local").cached

    boot_id.write_text("first")
    assert [served(), served()] == [False, True]
    boot_id.write_text("second")
    assert [served(), served()] == [False, True]
