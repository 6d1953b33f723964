"""Links to consoles: patterns are checked when settings are read, and nothing of a resource changes where they lead."""

from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.console_links import PLACES, console_link, require_links
from orchestrator.config.settings import load_settings
from orchestrator.errors import InvalidInput

HORIZON = "https://horizon.example.org/project/instances/{physical_id}/"


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("javascript:alert({physical_id})", "expected an address that begins with http:// or https://"),
        ("//horizon.example.org/{physical_id}", "expected an address"),
        ("https://{project}.example.org/", "expected an address"),
        ("https://horizon{physical_id}", "expected an address"),
        ("https://user:password@horizon/{physical_id}", "expected an address"),
        ("https://horizon/{physical id}", "there is no {physical id}"),
        ("https://horizon/{fysical_id}", "there is no {fysical_id}; did you mean 'physical_id'"),
        ("https://horizon/{physical_id.__class__}", "there is no {physical_id.__class__}"),
        ("https://horizon/{physical_id!r:>9}", "expected {physical_id} without a format"),
        ("https://horizon/{}", "there is no {}"),
        ("https://horizon/{physical_id", "expected '}'"),
        ("https://horizon/a b", "expected an address"),
    ],
)
def test_what_is_no_pattern_is_refused_with_the_type_it_is_for(
    pattern: str, what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "isotherm.toml").write_text(f'[console_links]\n"OS::Nova::Server" = {pattern!r}\n')
    monkeypatch.delenv("ISOTHERM_CONFIG", raising=False)
    with pytest.raises(InvalidInput) as refused:
        load_settings()
    (problem,) = refused.value.problems
    assert problem.path == "settings.console_links"
    assert f"OS::Nova::Server: {what}" in problem.message


def link(patterns: dict[str, str], kind: str = "OS::Nova::Server", **places: str) -> str:
    require_links(patterns)
    return console_link(patterns, kind, {**dict.fromkeys(PLACES, "x"), **places})


def test_the_full_name_of_a_type_comes_before_patterns_in_their_order() -> None:
    patterns = {"OS::*": "http://a/{stack}", "OS::Nova::*": "http://b/", "OS::Nova::Server": HORIZON}
    assert link(patterns, physical_id="4f2") == "https://horizon.example.org/project/instances/4f2/"
    assert link(patterns, "OS::Nova::KeyPair", stack="web") == "http://a/web"
    assert link(patterns, "Isotherm::Value") == ""
    assert link({}) == ""


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_value_stays_one_part_of_the_path(value: str) -> None:
    parts = urlsplit(link({"*": "https://host/a/{physical_id}/b"}, physical_id=value))
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("https", "host", "", "")
    assert [unquote(each) for each in parts.path.split("/")] == ["", "a", value, "b"]
