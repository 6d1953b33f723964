"""Lists as single parameters of textual statements."""

from collections.abc import Sequence

import pytest

from tests.unit.orchestrator.store.conftest import Bench


def is_in(bench: Bench, values: Sequence[str], wanted: str) -> bool:
    database = bench.store.database
    sql = f"SELECT CAST(:wanted AS text) {database.in_list('values')} AS found"
    return bool(database.one(sql, {"wanted": wanted, "values": database.texts(values)}).found)


@pytest.mark.parametrize("text", ["web", "it's", '"', "\\u0000", "a,b", "", "ü", "{}"])
def test_a_text_is_in_a_list_that_has_it(bench: Bench, text: str) -> None:
    assert is_in(bench, ["other", text], text)
    assert not is_in(bench, [f"{text}x"], text)
    assert not is_in(bench, [], text)


def test_a_text_with_a_nul_is_not_what_comes_before_it(bench: Bench) -> None:
    database = bench.store.database
    if not database.postgres:
        assert not is_in(bench, ["web\0x"], "web")
        assert is_in(bench, ["web\0x", "web"], "web")


def test_an_integer_is_in_a_list_that_has_it(bench: Bench) -> None:
    database = bench.store.database
    sql = f"SELECT CAST(:wanted AS integer) {database.in_list('values')} AS found"
    for wanted, found in ((3, True), (4, False)):
        values = {"wanted": wanted, "values": database.integers([1, 2, 3])}
        assert bool(database.one(sql, values).found) is found
