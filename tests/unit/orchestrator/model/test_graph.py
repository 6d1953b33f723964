"""The order of a dependency graph: each name after everything that it requires, or the circle that is in the way."""

from graphlib import TopologicalSorter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model.graph import CircularDependency, Graph

NAMES = st.sampled_from("abcdefgh")
GRAPHS = st.dictionaries(NAMES, st.frozensets(NAMES, max_size=4))


def has_circle(requirements: dict[str, frozenset[str]]) -> bool:
    left = dict(requirements)
    while free := [name for name, required in left.items() if not required & left.keys()]:
        for name in free:
            del left[name]
    return bool(left)


@given(GRAPHS.filter(lambda requirements: not has_circle(requirements)))
def test_the_order_is_that_of_graphlib(requirements: dict[str, frozenset[str]]) -> None:
    assert Graph(requirements).in_order() == (*TopologicalSorter(requirements).static_order(),)


@given(GRAPHS.filter(has_circle))
def test_a_circle_is_named_along_what_is_required(requirements: dict[str, frozenset[str]]) -> None:
    with pytest.raises(CircularDependency) as caught:
        Graph(requirements).in_order()
    cycle = caught.value.cycle
    assert cycle[0] == cycle[-1]
    assert all(other in requirements[name] for name, other in pairwise(cycle))
