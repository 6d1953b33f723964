"""Hooks come from entry points of installed packages, and one that cannot be used names itself."""

import itertools
import textwrap
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from hooks.errors import HookNotLoaded
from hooks.events import load_event_sinks
from hooks.lifecycle import load_lifecycle_plugins
from hooks.origin import origin_of

Install = Callable[..., str]
NUMBERS = itertools.count()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a package with entry points, each given as name="module:Class", and return their group."""

    def install_package(source: str, *entries: str) -> str:
        number = next(NUMBERS)
        package, group = f"acme{number}", f"isotherm.test{number}"
        (tmp_path / f"{package}.py").write_text(textwrap.dedent(source))
        metadata = tmp_path / f"{package}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"[{group}]", *(entry.replace("acme", package) for entry in entries)]
        (metadata / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.syspath_prepend(tmp_path)
        return group

    return install_package


PLUGINS = """
    from hooks.lifecycle import LifecyclePlugin

    class Late(LifecyclePlugin):
        ordinal = 200

    class Early(LifecyclePlugin):
        ordinal = 1

    class Usual(LifecyclePlugin):
        pass

    class Broken(LifecyclePlugin):
        def __init__(self, options):
            raise RuntimeError("no licence server is configured")

    class Stranger:
        pass
"""


def test_plugins_come_in_order_under_the_names_of_their_entry_points(install: Install) -> None:
    group = install(PLUGINS, "a = acme:Late", "z = acme:Early", "m = acme:Usual", "b = acme:Usual")
    assert [plugin.name for plugin in load_lifecycle_plugins(namespace=group)] == ["z", "b", "m", "a"]


def test_sinks_are_loaded_by_their_own_base_class(install: Install) -> None:
    group = install("from hooks.events import EventSink\nclass Mail(EventSink): pass", "mail = acme:Mail")
    assert [sink.name for sink in load_event_sinks(namespace=group)] == ["mail"]


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("gone = acme:Gone", "cannot be loaded: AttributeError"),
        ("gone = acme_gone", "cannot be loaded: ModuleNotFoundError"),
        ("odd = acme:Stranger", "not a class derived from LifecyclePlugin"),
        ("broken = acme:Broken", "no licence server is configured"),
    ],
)
def test_hook_that_cannot_be_used_names_itself_and_its_package(
    entry: str, sentence: str, install: Install
) -> None:
    group = install(PLUGINS, "fine = acme:Usual", entry)
    name, _ = entry.split(" ", 1)
    with pytest.raises(HookNotLoaded, match=sentence) as error:
        load_lifecycle_plugins(namespace=group)
    assert f"hook {name!r}" in str(error.value)
    assert f"{group} of acme" in str(error.value)


def test_two_hooks_of_one_name_are_refused(tmp_path: Path, install: Install) -> None:
    group = install(PLUGINS, "twin = acme:Usual")
    rival = tmp_path / "rival-1.0.dist-info"
    rival.mkdir()
    (rival / "METADATA").write_text("Metadata-Version: 2.1\nName: rival\nVersion: 1.0\n")
    module = next(tmp_path.glob("acme*.py")).stem
    (rival / "entry_points.txt").write_text(f"[{group}]\ntwin = {module}:Late\n")
    with pytest.raises(HookNotLoaded, match=r"hook 'twin'.* is brought by two packages"):
        load_lifecycle_plugins(namespace=group)


def test_no_hooks_installed_is_no_error() -> None:
    assert load_lifecycle_plugins(namespace="isotherm.test.of.nobody") == ()


def test_an_entry_point_that_no_package_brings_is_said_to_be_of_none() -> None:
    stray = EntryPoint("stray", "acme:Stray", "isotherm.test.of.nobody")
    assert origin_of(stray) == "acme:Stray, isotherm.test.of.nobody of an unknown package"
