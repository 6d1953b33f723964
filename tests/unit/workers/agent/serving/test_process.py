"""What an agent refuses before it touches anything."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.nodes import AgentSettings
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Unavailable
from workers.agent.serving.process import agent_app, labelled, serve

BROKER = "redis://127.0.0.1:1/0"


@pytest.mark.parametrize(
    ("node", "given", "said"),
    [
        ("n1", {}, "settings.broker_url: there is no broker"),
        ("a b", {"broker_url": BROKER}, "node: 'a b' is no name of a node"),
        ("n*", {"broker_url": BROKER}, "node: 'n*' is no name of a node"),
        ("local", {"broker_url": BROKER}, "'local' is what a command without a broker calls its own machine"),
        (
            "n1",
            {"broker_url": BROKER, "node_state_cache": {"backend": "memory"}},
            "settings.node_state_cache.backend: nobody sees what an agent writes into its own memory",
        ),
    ],
    ids=["no broker", "blank", "pattern", "local", "memory"],
)
def test_agent_is_refused(node: str, given: dict[str, Any], said: str, tmp_path: Path) -> None:
    settings = Settings(state_directory=tmp_path / "state", **given)
    with pytest.raises(InvalidInput) as caught:
        serve(settings, node=node, labels={})
    assert said in str(caught.value)
    assert caught.value.problems[0].hint
    assert not (tmp_path / "state").exists(), "nothing was touched"


def test_agent_does_not_begin_without_the_store_of_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.serving.process.LISTEN_SECONDS", 0.01)
    settings = Settings(state_directory=tmp_path, broker_url=BROKER)
    with pytest.raises(Unavailable, match="the node state cache does not answer"):
        serve(settings, node="n1", labels={})


def test_labels_of_the_command_win() -> None:
    settings = Settings(agent=AgentSettings(labels={"rack": "r1", "zone": "z"}))
    assert labelled(settings, {"rack": "r2"}).agent.labels == {"rack": "r2", "zone": "z"}


def test_agent_takes_from_its_own_queue_alone() -> None:
    app = agent_app(Settings(broker_url=BROKER), "n1")
    assert list(app.amqp.queues) == ["node.n1"]
