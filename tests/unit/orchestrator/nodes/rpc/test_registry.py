"""How packages bring RPCs, as docs/nodes.md says; and that none is lost or taken for another in silence."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from stevedore.extension import ExtensionManager

from orchestrator.errors import PluginMistake
from orchestrator.nodes.rpc.registry import NAMESPACE, Effect, NodeRpc, load_rpcs
from tests.unit.packages import install
from tests.unit.workers.agent.agents import agent_of, ask, change

ROOT = Path(__file__).parents[5]
Bring = Callable[[str, str], Mapping[str, NodeRpc]]


@pytest.fixture
def bring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bring:
    """Return what installs a package with a module of RPCs, and returns all that are found then."""

    def installed(package: str, source: str) -> Mapping[str, NodeRpc]:
        install(tmp_path, package, source, {NAMESPACE: [f"{package} = {package}"]})
        monkeypatch.syspath_prepend(tmp_path)
        # stevedore remembers what it found, here and in files; neither is to outlive the test.
        monkeypatch.setattr(ExtensionManager, "ENTRY_POINT_CACHE", {})
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "stevedore"))
        return load_rpcs.__wrapped__()

    return installed


def test_package_of_the_documentation_teaches_agents_its_calls(tmp_path: Path, bring: Bring) -> None:
    text = (ROOT / "docs" / "nodes.md").read_text()
    (source,) = re.findall(r"```python\n(from isotherm.nodes import.*?)```", text, re.DOTALL)
    rpcs = bring("acme_motd", source)
    agent = agent_of(tmp_path, rpcs=rpcs)
    agent.directory.mkdir()
    assert ask(agent, "acme_motd_look") is None
    change(agent, "acme_motd_put", text="Mind the gap")
    assert ask(agent, "acme_motd_look") == "Mind the gap"
    assert rpcs["acme_motd_put"].effect is Effect.NEUTRAL


def test_rpc_is_not_replaced_by_another_of_its_name(bring: Bring) -> None:
    source = """
        from orchestrator.nodes.rpc.registry import node_rpc

        @node_rpc("instance_start")
        def mine(agent):
            return None
    """
    with pytest.raises(PluginMistake, match="'instance_start' is brought twice"):
        bring("acme_twice", source)


def test_module_that_cannot_be_imported_is_named(bring: Bring) -> None:
    with pytest.raises(PluginMistake, match="'acme_broken' cannot be loaded: no such thing"):
        bring("acme_broken", "raise ImportError('no such thing')")


def test_everything_that_is_to_be_there_is() -> None:
    found = load_rpcs()
    assert list(found) == sorted(found)
    flushing = {name for name, rpc in found.items() if rpc.effect is Effect.FLUSH_ALL}
    assert flushing == {"instance_migrate", "instance_failover", "instance_export", "instance_import"}
    assert found["node_powercycle"].deferred
    assert {"node_snapshot", "operation", "node_version"} <= {
        name for name, rpc in found.items() if rpc.is_read
    }
