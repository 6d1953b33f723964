"""Parts of a list: all values in order, each part full but the last."""

from hypothesis import given
from hypothesis import strategies as st

from hooks.values.parts import parts_of


@given(values=st.lists(st.integers(), max_size=20), most=st.integers(1, 7))
def test_parts_have_all_values_in_order_and_are_full_but_the_last(values: list[int], most: int) -> None:
    parts = list(parts_of(values, most))
    assert [each for part in parts for each in part] == values
    assert all(len(part) == most for part in parts[:-1])
    assert all(0 < len(part) <= most for part in parts)
