"""What a service shows equals what is given, however it spells that."""

from typing import Any

import pytest

from workers.resources.openstack.comparing import as_given, spelled_as_given


@pytest.mark.parametrize(
    ("given", "found", "expected"),
    [
        ("2001:DB8::0/64", "2001:db8::/64", "2001:DB8::0/64"),
        ("2001:DB8::1", "2001:db8::1/128", "2001:db8::1/128"),
        ("10.4.0.7/24", "10.4.0.0/24", "10.4.0.7/24"),
        ("10.4.0.7/24", "10.4.0.0/25", "10.4.0.0/25"),
        ("10.4.0.7", "10.4.0.7/32", "10.4.0.7/32"),
        ("FA-16-3E-00-00-01", "fa:16:3e:00:00:01", "FA-16-3E-00-00-01"),
        ("10.0.0.1", "10.0.0.2", "10.0.0.2"),
        ([{"ip": "2001:DB8::1"}], [{"ip": "2001:db8::1", "mac": "x"}], [{"ip": "2001:DB8::1", "mac": "x"}]),
        ("a name", None, None),
    ],
)
def test_addresses_are_compared_by_what_they_mean(given: Any, found: Any, expected: Any) -> None:
    assert spelled_as_given(given, found) == expected


def test_items_that_nobody_gave_differ() -> None:
    given = [{"subnet": "a", "ip_address": None}]
    found = [{"subnet": "b", "ip_address": "1"}, {"subnet": "a", "ip_address": "2"}]
    assert as_given(given, found[1:]) == given
    assert as_given(given, found) != given
