"""Constraints of addresses: which texts are one."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plugins.custom import CustomConstraint
from workers.constraints.network import IpAddr, IpOrCidr, MacAddr, NetCidr

HOSTILE = ["", " ", "192.0.2.1 ", "x" * 100_000, "9" * 100_000, "\ud800", None, 7, True, ["192.0.2.1"]]


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        (
            IpAddr(),
            ["192.0.2.1", "0.0.0.0", "::", "2001:db8::1", "2001:DB8::1", "::ffff:192.0.2.1"],
            [
                "192.0.2",
                "192.0.2.256",
                "192.0.2.01",
                "192.0.2.1/24",
                "fe80::1%eth0",
                "2001:db8:::1",
                "\u0661.1.1.1",
                "host",
            ],
        ),
        (
            NetCidr(),
            ["192.0.2.0/24", "192.0.2.7/24", "0.0.0.0/0", "192.0.2.1/32", "2001:db8::/32", "2001:db8::1/128"],
            [
                "192.0.2.0",
                "192.0.2.0/",
                "/24",
                "192.0.2.0/33",
                "::/129",
                "192.0.2/24",
                "192.0.2.0/ 24",
                "192.0.2.0/-1",
                "192.0.2.0/255.255.255.0",
                "192.0.2.0/24/24",
                "192.0.2.0/²",
                "fe80::%eth0/64",
                "192.0.2.0/" + "9" * 10_000,
            ],
        ),
        (
            IpOrCidr(),
            ["192.0.2.1", "192.0.2.0/24", "2001:db8::1", "6000::/64", "::/0"],
            [
                "192.0.2",
                "192.0.2.0/33",
                "::/129",
                "192.0.2.0/ 24",
                "192.0.2.",
                "2001::db8::",
                "/",
                "fe80::1%eth0",
            ],
        ),
        (
            MacAddr(),
            ["00:16:3e:7f:00:01", "00-16-3E-7F-00-01"],
            [
                "00:16:3e:7f:00",
                "00:16:3e:7f:00:01:02",
                "00:16-3e:7f:00:01",
                "0016.3e7f.0001",
                "00:16:3e:7f:00:0g",
            ],
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_only_an_address_is_one(constraint: CustomConstraint, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if constraint.fault(text)] == []
    assert [text for text in [*bad, *HOSTILE] if not constraint.fault(text)] == []


def test_the_sentence_begins_with_the_value() -> None:
    assert IpAddr().fault("here") == "'here' is no IP address"
    assert NetCidr().fault("192.0.2.0") == "'192.0.2.0' is no network in CIDR form"
    assert IpOrCidr().fault("here") == "'here' is neither an IP address nor a network in CIDR form"
    assert MacAddr().fault(7) == "7 is no MAC address"


@given(st.ip_addresses(), st.integers(0, 128))
def test_every_address_is_one_and_with_a_fitting_prefix_a_network(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, length: int
) -> None:
    assert IpAddr().fault(str(address)) is None
    assert (NetCidr().fault(f"{address}/{length}") is None) == (length <= address.max_prefixlen)


@given(st.binary(min_size=6, max_size=6), st.sampled_from(":-"))
def test_six_bytes_are_a_hardware_address(raw: bytes, separator: str) -> None:
    assert MacAddr().fault(raw.hex(separator)) is None
