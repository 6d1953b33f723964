"""Packages that bring plugins."""

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

Install = Callable[..., str]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return what installs a package with entry points in a new namespace, and returns that namespace."""
    # stevedore remembers what it found in files, which must not outlive the test.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    token = uuid4().hex
    namespace = f"isotherm.test.{token}"

    def package(name: str, entries: dict[str, str], source: str = "") -> str:
        metadata = tmp_path / f"{name}_{token}-1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-{token}\nVersion: 1\n")
        lines = [f"{key} = {name}_{token}:{attribute}" for key, attribute in entries.items()]
        (metadata / "entry_points.txt").write_text(f"[{namespace}]\n" + "\n".join(lines) + "\n")
        (tmp_path / f"{name}_{token}.py").write_text(source)
        return namespace

    return package
