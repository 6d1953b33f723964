"""A plan's file: no byte of it can be changed, and it counts only where it was made."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput
from orchestrator.keys.key import ACTIVE, JOB, Key
from orchestrator.keys.key_file import write_keys
from orchestrator.keys.plan_seal import LIFETIME_SECONDS, OWN_KEY, PlanKeys, parts_of, require_body
from orchestrator.model.plan_binding import PlanBinding, RowMark

BINDING = PlanBinding(
    id="p1",
    action="UPDATE",
    project="default",
    stack="web",
    stack_id="s1",
    traversal_id="t1",
    planned_at=1e9,
    user="alice",
    definition="d",
    rows={"r1": RowMark(name="db", digest="00")},
    actions={"db": ("UNCHANGED", "UPDATE")},
    deletes=("old",),
)
BODY = b"what is in it"


def settings_of(directory: Path, **more: Any) -> Settings:
    more = {"key_file": directory / "keys.json", **more}
    return Settings(state_directory=directory, **more)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> PlanKeys:
    return PlanKeys(settings_of(tmp_path_factory.mktemp("state")))


@pytest.fixture(autouse=True)
def _in_2001(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.keys.plan_seal.time.time", lambda: 1e9 + 60)


def opened(
    keys: PlanKeys, content: bytes, *, project: str = "default", installation: str = "i"
) -> PlanBinding:
    seal, body = parts_of(content, "web.plan")
    binding = keys.open(seal, project=project, installation=installation)
    require_body(binding, body, "web.plan")
    return binding


def test_what_is_sealed_is_opened(keys: PlanKeys) -> None:
    binding = opened(keys, keys.seal(BINDING, BODY, installation="i"))
    assert replace(binding, body="") == BINDING


@given(data=st.data())
def test_a_file_with_one_byte_changed_is_refused(keys: PlanKeys, data: st.DataObject) -> None:
    content = bytearray(keys.seal(BINDING, BODY, installation="i"))
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(InvalidInput):
        opened(keys, bytes(content))
    with pytest.raises(InvalidInput):
        opened(keys, bytes(content[:at]))


def test_a_plan_counts_in_its_installation_and_project_and_for_a_month(
    keys: PlanKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = keys.seal(BINDING, BODY, installation="i")
    with pytest.raises(InvalidInput, match="another installation: 'i'"):
        opened(keys, content, installation="j")
    with pytest.raises(InvalidInput, match="signed for 'default'"):
        opened(keys, content, project="other")
    monkeypatch.setattr("orchestrator.keys.plan_seal.time.time", lambda: 1e9 + LIFETIME_SECONDS + 3600)
    with pytest.raises(InvalidInput, match="s old"):
        opened(keys, content)


def test_the_user_of_a_plan_is_the_one_of_the_key(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    bob = Key.generate(JOB, state=ACTIVE, user="bob", projects="default", role="operator")
    own = Key.generate(JOB, state=ACTIVE)
    settings = settings_of(tmp_path)
    write_keys(file, [bob])
    content = PlanKeys(settings).seal(BINDING, BODY, installation="i")
    write_keys(file, [own, bob])
    # The file says that alice made it; the key, that bob did.
    assert opened(PlanKeys(settings), content).user == "bob"
    # A face that signs with the installation's own key says for whom.
    assert (
        opened(PlanKeys(settings), PlanKeys(settings).seal(BINDING, BODY, installation="i")).user == "alice"
    )


def test_who_has_no_role_in_a_project_makes_no_plan_of_it(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    settings = settings_of(tmp_path)
    write_keys(file, [Key.generate(JOB, state=ACTIVE, user="eve", projects="other", role="administrator")])
    content = PlanKeys(settings).seal(BINDING, BODY, installation="i")
    with pytest.raises(InvalidInput, match="'eve', who made this plan, has no role in the project 'default'"):
        opened(PlanKeys(settings), content)


def test_a_client_without_the_key_of_a_plan_reads_it_unverified(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    users = [Key.generate(JOB, state=ACTIVE, user=each, projects="default", role="operator") for each in "ab"]
    settings = settings_of(tmp_path, broker_url="redis://nowhere", database_url="sqlite://")
    write_keys(file, users[:1])
    seal, _ = parts_of(PlanKeys(settings).seal(BINDING, BODY, installation="i"), "web.plan")
    write_keys(file, users[1:])
    binding, is_verified = PlanKeys(settings).read(seal, project="default", installation="i", file="web.plan")
    assert (binding.stack, binding.user, is_verified) == ("web", "", False)
    with pytest.raises(InvalidInput, match="a key that is none"):
        PlanKeys(settings).open(seal, project="default", installation="i")


def test_only_an_embedded_installation_makes_a_key_for_its_plans(tmp_path: Path) -> None:
    PlanKeys(settings_of(tmp_path))
    assert (tmp_path / OWN_KEY).stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidInput, match=r"keys\.json"):
        PlanKeys(settings_of(tmp_path, broker_url="redis://nowhere", database_url="sqlite://"))


@pytest.mark.parametrize("content", [b"", b"heat_template_version: wallaby\n", b"isotherm plan 1\n\0"])
def test_what_is_no_plan_is_refused_in_words(content: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"web\.plan"):
        parts_of(content, "web.plan")


def test_the_key_of_the_first_process_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = PlanKeys(settings_of(tmp_path))
    content = first.seal(BINDING, BODY, installation="i")
    # The second looks before the first has made it, and makes its own afterwards.
    monkeypatch.setattr(Path, "exists", lambda _: False)
    assert opened(PlanKeys(settings_of(tmp_path)), content).stack == "web"
    assert {each.name for each in tmp_path.iterdir()} == {OWN_KEY}
