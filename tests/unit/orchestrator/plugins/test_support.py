"""How far something can be relied on, in words."""

import pytest

from orchestrator.plugins.support import SUPPORTED, Support, SupportStatus

DEPRECATED = SupportStatus(status=Support.DEPRECATED, version="5.0", message="use network")


@pytest.mark.parametrize(
    ("status", "words", "outdated", "refused", "hidden"),
    [
        (SUPPORTED, "", False, False, False),
        (DEPRECATED, "deprecated since 5.0: use network", True, False, False),
        (
            SupportStatus(status=Support.DEPRECATED, substitute="A::B"),
            "deprecated: use A::B",
            True,
            False,
            False,
        ),
        (SupportStatus(status=Support.HIDDEN), "hidden", False, False, True),
        (
            SupportStatus(status=Support.HIDDEN, version="6.0", previous=DEPRECATED),
            "deprecated since 5.0: use network",
            True,
            False,
            True,
        ),
        (
            SupportStatus(status=Support.HIDDEN, message="use port", previous=DEPRECATED),
            "deprecated since 5.0: use port",
            True,
            False,
            True,
        ),
        (
            SupportStatus(status=Support.UNSUPPORTED, version="7", previous=DEPRECATED),
            "unsupported since 7",
            False,
            True,
            False,
        ),
    ],
    ids=[
        "supported",
        "deprecated",
        "substitute",
        "hidden",
        "hidden-deprecated",
        "hidden-message",
        "unsupported",
    ],
)
def test_a_status_says_what_becomes_of_whoever_uses_it(
    status: SupportStatus, words: str, *, outdated: bool, refused: bool, hidden: bool
) -> None:
    assert status.describe() == words
    assert (status.is_outdated, status.is_refused, status.is_hidden) == (outdated, refused, hidden)
