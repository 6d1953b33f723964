"""One registry finds and loads the plugins of every kind, hooks among them."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hooks.lifecycle import find_lifecycle_plugins
from hooks.loading.entries import installed_entries, load_entries
from orchestrator.errors import PluginMistake
from orchestrator.nodes.rpc.registry import load_rpcs
from orchestrator.plugins.loading import load_classes
from orchestrator.plugins.resource import Resource
from tests.unit.packages import install

ROOT = Path(__file__).parents[4]
GROUP = "isotherm.test.entries"


def load_hooks(namespace: str) -> None:
    (found,) = find_lifecycle_plugins({}, namespace).faults
    raise PluginMistake(found.message)


LOADERS: dict[str, Callable[[str], object]] = {
    "hooks": load_hooks,
    "classes": lambda namespace: load_classes(namespace, Resource, "resource type"),
    "RPCs": load_rpcs.__wrapped__,
}


@pytest.mark.parametrize("load", LOADERS.values(), ids=LOADERS)
@pytest.mark.parametrize("statement", ["raise SystemExit(3)", "assert False, 'no'", "raise OSError('no')"])
def test_an_import_that_ends_the_process_is_a_failure_as_any_other(
    load: Callable[[str], object], statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "acme_ends", f"{statement}\n", {GROUP: ["ends = acme_ends:Gone"]})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginMistake, match=r"acme_ends.*cannot be loaded"):
        load(GROUP)


def test_a_failure_hides_no_other_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = ["a = acme_some:gone", "c = acme_some:THERE", "b = acme_some:THERE"]
    install(tmp_path, "acme_some", "THERE = 3\n", {GROUP: entries})
    monkeypatch.syspath_prepend(tmp_path)
    installed = installed_entries(GROUP)
    assert list(installed) == ["a", "b", "c"]
    (gone, *others) = load_entries(each for found in installed.values() for each in found)
    assert isinstance(gone.error, AttributeError)
    assert [(each.entry.name, each.plugin, each.error) for each in others] == [("b", 3, None), ("c", 3, None)]


def test_no_other_module_loads_entry_points() -> None:
    rooms = ("isotherm", "orchestrator", "workers", "cache", "hooks")
    loading = re.compile(r"ExtensionManager|\bentry(_point)?\.load\(")
    found = {
        str(file.relative_to(ROOT))
        for room in rooms
        for file in (ROOT / room).rglob("*.py")
        if loading.search(file.read_text(encoding="utf-8"))
    }
    assert found == {"hooks/loading/entries.py", "hooks/loading/manager.py"}
