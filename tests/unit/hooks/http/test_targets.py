"""Which targets an allow-list permits: by name, by address, and never by a name alone what is not public."""

import ipaddress
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.http.look_up import permitted_addresses
from hooks.http.targets import NOT_PUBLIC, OWN_MACHINE, NotATarget, Targets

PUBLIC = ("93.184.215.14", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:2800:21f:cb07::1", "2a00:1450::8")
HIDDEN = (
    *("0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1"),
    *(
        "172.31.255.255",
        "192.0.0.170",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "203.0.113.9",
    ),
    *("224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fc00::1", "fd12:3456::1"),
    *("fe80::1", "fec0::1", "ff02::1", "2001:db8::1", "2001::1", "2002:a00:1::", "2002:808:808::", "3fff::1"),
    *(
        "64:ff9b::a00:1",
        "64:ff9b::808:808",
        "64:ff9b:1::1",
        "::ffff:10.0.0.1",
        "::ffff:127.0.0.1",
        "::10.0.0.1",
    ),
    *("::ffff:0:10.0.0.1", "100::1", "5f00::1", "fe80::1%1"),
)


@pytest.mark.parametrize("address", HIDDEN)
def test_names_with_wildcards_and_all_networks_together_permit_no_address_that_is_not_public(
    address: str,
) -> None:
    wide = Targets(["*", "*.example.com", "0.0.0.0/0", "::/0", "0.0.0.0/1", "128.0.0.0/1", "2000::/3"])
    assert not wide.permits("api.example.com", 443, address)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_permitted_by_each_of_them(address: str) -> None:
    every = "::/0" if ":" in address else "0.0.0.0/0"
    for entry in ("*", "*.example.com", every, address, "api.example.com"):
        assert Targets([entry]).permits("api.example.com", 443, address)
    assert not Targets([]).permits("api.example.com", 443, address)


@pytest.mark.parametrize(
    ("entry", "host", "port", "address", "expected"),
    [
        ("hooks.example.com", "hooks.example.com", 80, "10.0.0.7", True),
        ("hooks.example.com", "HOOKS.example.com.", 80, "127.0.0.1", True),
        ("Hooks.Example.com.", "hooks.example.com", 80, "8.8.8.8", True),
        ("hooks.example.com:8443", "hooks.example.com", 8443, "10.0.0.7", True),
        ("hooks.example.com:8443", "hooks.example.com", 443, "10.0.0.7", False),
        ("hooks.example.com", "hooks.example.com.evil.net", 80, "8.8.8.8", False),
        ("hooks.example.com", "a.hooks.example.com", 80, "8.8.8.8", False),
        ("*.example.com", "example.com", 80, "8.8.8.8", False),
        ("*.example.com", "badexample.com", 80, "8.8.8.8", False),
        ("*.example.com:443", "a.b.example.com", 443, "8.8.8.8", True),
        ("*.example.com:443", "a.b.example.com", 80, "8.8.8.8", False),
        ("*", "8.8.8.8", 80, "8.8.8.8", True),
        ("10.0.0.0/8", "anything.net", 80, "10.1.2.3", True),
        ("10.0.0.0/8", "anything.net", 80, "::ffff:10.1.2.3", True),
        ("10.0.0.0/8", "anything.net", 80, "11.1.2.3", False),
        ("10.0.0.7", "anything.net", 80, "10.0.0.7", True),
        ("10.0.0.7:80", "10.0.0.7", 80, "10.0.0.7", True),
        ("10.0.0.7:80", "10.0.0.7", 81, "10.0.0.7", False),
        ("::ffff:10.0.0.7", "10.0.0.7", 80, "10.0.0.7", True),
        ("[fd00::1]:80", "[fd00::1]", 80, "fd00::1", True),
        ("fd00::1", "[FD00:0::1]", 80, "fd00::1", True),
        ("fe80::/10", "x", 80, "fe80::1%1", False),
        ("64:ff9b::/96", "x", 80, "64:ff9b::808:808", True),
        ("8.0.0.0/6", "x", 80, "10.0.0.1", False),
    ],
)
def test_an_entry_permits_what_it_names(
    entry: str, host: str, port: int, address: str, expected: bool
) -> None:
    targets = Targets([entry])
    assert targets.permits(host, port, address) is expected
    if expected:
        assert targets.may_permit(host, port)


@pytest.mark.parametrize(
    "entry",
    [
        *("", " ", "https://a.example.com", "a.example.com/x", "user@a.example.com", "a b", "*example.com"),
        *(
            "a.*.com",
            "**",
            "10.0.0.1/8",
            "10.0.0.0/33",
            "a:",
            "a:0",
            "a:65536",
            "a:-1",
            "[a]",
            "[::1",
            "::1]:80",
        ),
        *("[]:80", "fe80::1%eth0", "höst.example.com", "a.example.com:80:80", "-a.example.com"),
    ],
)
def test_what_is_no_entry_is_refused_with_its_text(entry: str) -> None:
    with pytest.raises(ValueError, match=r"is no (target|network): ") as error:
        Targets([entry])
    assert repr(entry) in str(error.value)


def test_what_cannot_be_a_target_is_known_without_a_look_up() -> None:
    names = Targets(["a.example.com:443", "*.example.org"])
    assert names.may_permit("a.example.com", 443)
    assert names.may_permit("b.example.org", 80)
    assert not names.may_permit("a.example.com", 80)
    assert not names.may_permit("example.net", 443)
    networks = Targets(["10.0.0.0/8"])
    assert networks.may_permit("example.net", 443)
    assert networks.may_permit("10.0.0.1", 443)
    assert not networks.may_permit("11.0.0.1", 443)
    assert not networks.may_permit("[::1]", 443)


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_nothing_that_python_knows_as_special_counts_as_public(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if Targets(["*"]).permits("x", 80, str(address)):
        plain = getattr(address, "ipv4_mapped", None) or address
        assert plain.is_global
        assert not plain.is_multicast
        assert not plain.is_reserved


def test_one_s_own_machine_is_that_and_the_internet() -> None:
    own = Targets(OWN_MACHINE)
    assert own.permits("localhost", 80, "127.0.0.1")
    assert own.permits("localhost", 80, "::1")
    assert own.permits("example.com", 80, "8.8.8.8")
    assert not own.permits("metadata", 80, "169.254.169.254")
    assert not own.permits("router", 80, "192.168.0.1")


class Names:
    """A system of names that counts look-ups, and answers each with the next of its answers."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        self.answers, self.asked = list(answers), 0

    def getaddrinfo(self, host: str, port: int, **_: Any) -> list[Any]:
        self.asked += 1
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in self.answers.pop(0)]


def test_only_permitted_addresses_are_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names(("127.0.0.1", "8.8.8.8", "8.8.8.8", "10.0.0.1"), ("10.0.0.1",))
    monkeypatch.setattr(socket, "getaddrinfo", names.getaddrinfo)
    targets = Targets(["*.example.com"])
    assert permitted_addresses(targets, "a.example.com", 443) == ["8.8.8.8"]
    with pytest.raises(NotATarget, match=r"^a\.example\.com:443: .*outgoing_targets") as refused:
        permitted_addresses(targets, "a.example.com", 443)
    assert "10.0.0.1" not in str(refused.value)
    with pytest.raises(NotATarget):
        permitted_addresses(targets, "a.example.net", 443)
    assert names.asked == 2


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "localhost", "[::1]"])
def test_other_spellings_of_loopback_are_loopback(host: str) -> None:
    with pytest.raises(NotATarget):
        permitted_addresses(Targets(["*"]), host, 80)


def test_a_name_that_none_can_have_is_an_error_of_the_look_up() -> None:
    with pytest.raises(OSError):
        permitted_addresses(Targets(["*"]), f"{'a' * 64}.example.com", 80)


def test_ranges_are_written_once() -> None:
    ranges = list(map(ipaddress.ip_network, NOT_PUBLIC))
    for one in ranges:
        for other in ranges:
            assert one == other or one.version != other.version or not one.overlaps(other)
