"""``OS::Heat::RandomString``."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.steps import ResourceFailure, ResourceState
from tests.unit.workers.resources.core.made import UUID, errors, make, validate
from workers.resources.core.random_string import CLASSES, Demand, RandomString, generate


def created(properties: dict[str, Any]) -> RandomString:
    resource = make(RandomString, properties)
    resource.handle_create()
    assert resource.check_create_complete(None) is True
    return resource


def test_default_is_32_letters_and_digits() -> None:
    value = created({}).attribute("value")
    assert len(value) == 32
    assert set(value) <= set(CLASSES["lettersdigits"])


def test_string_is_the_reference_and_stays_private_otherwise() -> None:
    resource = created({})
    assert resource.reference_id() == resource.attribute("value") == resource.state.data["value"]
    assert resource.state.physical_id == UUID
    assert resource.attribute("other") is None


def test_nothing_is_referred_to_before_it_exists() -> None:
    assert make(RandomString).reference_id() is None


def test_two_strings_differ() -> None:
    assert created({}).reference_id() != created({}).reference_id()


def test_create_that_is_run_again_keeps_the_string() -> None:
    first = created({})
    state = ResourceState(uuid=UUID, data=dict(first.state.data))
    second = make(RandomString, state=state)
    second.handle_create()
    assert second.reference_id() == first.reference_id()


def test_deletion_forgets_the_string() -> None:
    resource = created({})
    resource.handle_delete()
    assert resource.state.data == {}
    resource.handle_delete()


@pytest.mark.parametrize(
    ("properties", "characters"),
    [
        ({"character_classes": [{"class": "octdigits"}]}, "01234567"),
        (
            {"character_classes": [{"class": "hexdigits"}, {"class": "lowercase"}]},
            "0123456789ABCDEF" + CLASSES["lowercase"],
        ),
        ({"character_sequences": [{"sequence": "$%"}]}, "$%"),
        ({"sequence": "digits"}, "0123456789"),
        ({"character_classes": []}, CLASSES["lettersdigits"]),
        ({"character_classes": [{}]}, CLASSES["lettersdigits"]),
    ],
)
def test_only_the_characters_asked_for_are_drawn(properties: dict[str, Any], characters: str) -> None:
    value = created({"length": 200, **properties}).attribute("value")
    assert set(value) <= set(characters)


@given(data=st.data())
def test_every_demand_is_met_at_the_exact_length(data: st.DataObject) -> None:
    # Disjoint classes, so that what one demand drew cannot pay for another.
    kinds = data.draw(st.lists(st.sampled_from(["letters", "octdigits"]), min_size=1, unique=True))
    asked = [Demand(CLASSES[kind], data.draw(st.integers(1, 50))) for kind in kinds]
    needed = sum(demand.minimum for demand in asked)
    length = needed + data.draw(st.integers(0, 50))
    value = generate(length, asked)
    assert len(value) == length
    for demand in asked:
        assert sum(character in demand.characters for character in value) >= demand.minimum


def test_demanded_characters_are_not_always_first() -> None:
    asked = [Demand("a", 10), Demand("b", 10)]
    assert len({generate(20, asked) for _ in range(20)}) > 1


def test_minimums_above_the_length_are_refused() -> None:
    given_properties = {
        "length": 5,
        "character_classes": [{"class": "digits", "min": 3}],
        "character_sequences": [{"sequence": "ab", "min": 3}],
    }
    with pytest.raises(PropertyError, match="add up to 6 characters, which is more than the length 5"):
        validate(RandomString, given_properties)
    validate(RandomString, {**given_properties, "length": 6})
    validate(RandomString, {**given_properties, "length": UNKNOWN})


def test_schema_knows_the_limits() -> None:
    assert errors(
        RandomString,
        {
            "length": 513,
            "character_classes": [{"class": "digit", "min": 0}],
            "character_sequences": [{"sequence": ""}, {}],
        },
    ) == [
        "length: 513 is out of range; it must be from 1 to 512",
        (
            "character_classes[0].class: 'digit' is not allowed, did you mean 'digits'?; it must be one of "
            "'lettersdigits', 'letters', 'lowercase', 'uppercase', 'digits', 'hexdigits', 'octdigits'"
        ),
        "character_classes[0].min: 0 is out of range; it must be from 1 to 512",
        "character_sequences[0].sequence: the length is 0; it must be at least 1",
        "character_sequences[1].sequence: a value is required: expected a text, found nothing",
    ]


def test_every_change_replaces() -> None:
    assert not any(schema.update_allowed for schema in RandomString.properties_schema.values())


@pytest.mark.parametrize("data", [{}, {"value": 7}])
def test_a_text_that_nobody_tells_cannot_be_adopted(data: dict[str, Any]) -> None:
    state = ResourceState(uuid=UUID, physical_id="x", data=data)
    with pytest.raises(ResourceFailure, match="must tell the text"):
        make(RandomString, {}, state=state).handle_adopt()


def test_an_adopted_text_stays() -> None:
    state = ResourceState(uuid=UUID, physical_id="x", data={"value": "known"})
    resource = make(RandomString, {}, state=state)
    resource.handle_adopt()
    assert resource.reference_id() == "known"
