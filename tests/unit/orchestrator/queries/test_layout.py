"""Where boxes are drawn."""

import random
from itertools import combinations

from hypothesis import given, settings

from orchestrator.queries.layout import BOX_SHAPE, LAYER, Layout, lay_out, lay_out_layers
from tests.counting import calls
from tests.unit.orchestrator.queries.made import graphs

Edges = tuple[tuple[int, int], ...]


def edges_of(requires: dict[int, tuple[int, ...]]) -> Edges:
    return tuple((no, other) for no, others in requires.items() for other in others)


def drawn(boxes: int, edges: Edges) -> Layout:
    """Lay out what nobody remembers."""
    return lay_out.__wrapped__(tuple(range(boxes)), edges)


def wide_graph(boxes: int) -> Edges:
    chance = random.Random(boxes)
    found = {
        (no, chance.randrange(max(0, no - boxes // 8 - 1), no))
        for no in range(1, boxes)
        for _ in range(chance.choice([0, 1, 2, 2]))
    }
    return tuple(sorted(found))


@settings(max_examples=40)
@given(requires=graphs())
def test_no_two_boxes_overlap(requires: dict[int, tuple[int, ...]]) -> None:
    places = drawn(len(requires), edges_of(requires)).places
    assert places.keys() == requires.keys()
    for one, other in combinations(places.values(), 2):
        assert abs(one[0] - other[0]) >= 1.2 or abs(one[1] - other[1]) >= 1.5


@settings(max_examples=40)
@given(requires=graphs())
def test_every_edge_goes_down_by_a_layer_at_least(requires: dict[int, tuple[int, ...]]) -> None:
    edges = edges_of(requires)
    layout = drawn(len(requires), edges)
    for requirer, required in edges:
        assert layout.layers[requirer] > layout.layers[required]
        assert layout.places[requirer][1] >= layout.places[required][1] + LAYER - 0.01


@settings(max_examples=40)
@given(requires=graphs())
def test_a_layer_is_the_longest_way_to_what_requires_nothing(requires: dict[int, tuple[int, ...]]) -> None:
    layers = drawn(len(requires), edges_of(requires)).layers
    for no, others in requires.items():
        assert layers[no] == 1 + max((layers[other] for other in others), default=-1)


@settings(max_examples=40)
@given(requires=graphs())
def test_the_same_graph_always_looks_the_same(requires: dict[int, tuple[int, ...]]) -> None:
    edges = edges_of(requires)
    assert drawn(len(requires), edges) == drawn(len(requires), edges)


@settings(max_examples=40)
@given(requires=graphs())
def test_the_picture_begins_at_its_upper_left_corner(requires: dict[int, tuple[int, ...]]) -> None:
    places = drawn(len(requires), edges_of(requires)).places.values()
    assert min(x for x, _ in places) == 0.5
    assert min(y for _, y in places) == 0.5


def test_no_graph_is_no_picture() -> None:
    assert lay_out((), ()) == Layout({}, {})


def test_what_requires_one_alone_is_straight_below_it() -> None:
    # Three chains side by side; and one box below the middle of three.
    edges = ((3, 0), (4, 1), (5, 2), (6, 3), (7, 4), (8, 5), (9, 6), (9, 7), (9, 8))
    places = drawn(10, edges).places
    for chain in ((0, 3, 6), (1, 4, 7), (2, 5, 8)):
        assert len({places[no][0] for no in chain}) == 1
    assert places[9][0] == places[7][0]


def test_what_requires_nothing_is_just_above_what_requires_it() -> None:
    # A chain of four, whose last requires another as well.
    layout = drawn(5, ((1, 0), (2, 1), (3, 2), (3, 4)))
    assert layout.layers[4] == 0
    assert layout.places[4][1] == layout.places[2][1]


def test_clusters_stay_together() -> None:
    # Two networks with three ports each, numbered in turn.
    edges = tuple((no, no % 2) for no in range(2, 8))
    places = drawn(8, edges).places
    assert max(places[no][0] for no in (2, 4, 6)) < min(places[no][0] for no in (3, 5, 7))


def test_edges_between_two_layers_do_not_cross_where_they_need_not() -> None:
    # Each of the lower ones requires one of the upper ones, in another order.
    edges = ((4, 2), (5, 0), (6, 3), (7, 1))
    places = drawn(8, edges).places
    by_required = sorted(edges, key=lambda edge: places[edge[1]][0])
    assert [requirer for requirer, _ in by_required] == sorted(
        (requirer for requirer, _ in edges), key=lambda no: places[no][0]
    )


def test_a_wide_layer_is_folded_into_the_shape_of_a_screen() -> None:
    places = drawn(2000, ()).places.values()
    shape = max(x for x, _ in places) * BOX_SHAPE / max(y for _, y in places)
    assert 1.3 < shape < 2


def test_a_narrow_layer_is_not_folded() -> None:
    assert len({y for _, y in drawn(8, ()).places.values()}) == 1


def test_given_layers_are_kept() -> None:
    layout = lay_out_layers({0: 0, 1: 2, 2: 2}, [(1, 0)])
    assert layout.layers == {0: 0, 1: 2, 2: 2}
    assert layout.places[1][1] == layout.places[2][1] == layout.places[0][1] + LAYER


def test_ten_times_the_boxes_cost_ten_times_the_calls() -> None:
    few, many = wide_graph(1_000), wide_graph(10_000)
    assert len(set(drawn(10_000, many).places.values())) == 10_000
    assert calls(lambda: drawn(10_000, many)) < 12 * calls(lambda: drawn(1_000, few))
