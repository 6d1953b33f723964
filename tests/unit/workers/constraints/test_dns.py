"""Constraints of DNS names: which texts are one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plugins.custom import CustomConstraint
from workers.constraints.dns import DnsDomain, DnsName, RelativeDnsName

LONG = ".".join(["a" * 63] * 4)
HOSTILE = [
    " ",
    "www.example.org ",
    "www\n",
    "x" * 100_000,
    "." * 100_000,
    "\ud800",
    "bücher.example",
    None,
    7,
    True,
]

labels = st.from_regex(r"[a-z]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        (
            DnsName(),
            ["", "www", "www.example.org", "www.example.org.", "1.2", "7.", "x-1--y.z", LONG, f"{LONG}."],
            [
                ".",
                ".example.org",
                "www..org",
                "www.org..",
                "-www.org",
                "www-.org",
                "WWW.org",
                "a_b",
                "a" * 64,
                f"a.{LONG}",
                "example.7.",
            ],
        ),
        (
            DnsDomain(),
            ["", "example.org.", "org.", f"{LONG}."],
            ["example.org", ".", "example..org.", "Example.org.", "example.7."],
        ),
        (
            RelativeDnsName(),
            ["", "www", "www.example", LONG[:252]],
            ["www.", "www.example.org.", LONG[:253], LONG, "-www", ".", "a..b"],
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_only_a_name_is_one(constraint: CustomConstraint, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if constraint.fault(text)] == []
    assert [text for text in [*bad, *HOSTILE] if not constraint.fault(text)] == []


@pytest.mark.parametrize(
    ("constraint", "value", "sentence"),
    [
        (DnsName(), "a..b", "'a..b' is no DNS name: there is nothing before a dot"),
        (DnsName(), ".", "'.' is no DNS name: it is a dot alone"),
        (DnsName(), "a.-b", "'a.-b' is no DNS name: '-b' begins or ends with a hyphen"),
        (
            DnsName(),
            "a.B",
            "'a.B' is no DNS name: 'B' is not 1 to 63 lower case letters, digits and hyphens",
        ),
        (DnsName(), "a.7.", "'a.7.' is no DNS name: its last part, '7', is a number"),
        (DnsName(), 7, "7 is no DNS name: it is no text"),
        (DnsDomain(), "a.b", "'a.b' is no DNS domain: it must end with a dot"),
        (RelativeDnsName(), "a.", "'a.' is no relative DNS name: it ends with a dot"),
    ],
    ids=lambda value: value.name if isinstance(value, CustomConstraint) else repr(value)[:20],
)
def test_the_sentence_says_what_is_wrong(constraint: CustomConstraint, value: object, sentence: str) -> None:
    assert constraint.fault(value) == sentence


def test_a_name_that_is_too_long_is_told_how_long_it_is() -> None:
    assert str(DnsName().fault("a." * 200)).endswith("it has 399 characters, 255 are allowed")
    assert str(RelativeDnsName().fault(LONG)).endswith(
        "with 255 characters it leaves no room for a domain (252 at most)"
    )


@given(st.lists(labels, min_size=1, max_size=5))
def test_what_is_relative_becomes_a_domain_by_a_dot(parts: list[str]) -> None:
    name = ".".join(parts)
    assert DnsName().fault(name) is None
    assert RelativeDnsName().fault(name) is None
    assert DnsDomain().fault(name) is not None
    assert DnsName().fault(f"{name}.") is None
    assert RelativeDnsName().fault(f"{name}.") is not None
    assert DnsDomain().fault(f"{name}.") is None


@given(st.text())
def test_any_text_is_told_about(text: str) -> None:
    for constraint in (DnsName(), DnsDomain(), RelativeDnsName()):
        fault = constraint.fault(text)
        assert fault is None or " is no " in fault
