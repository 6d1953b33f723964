"""Constraints of times: cron expressions, time zones, times as ISO 8601 writes them."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plugins.custom import CustomConstraint
from workers.constraints.times import CronExpression, Expiration, Iso8601, Timezone

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOSTILE: list[Any] = [
    " ",
    "x" * 100_000,
    "9" * 100_000,
    "\ud800",
    None,
    7,
    True,
    [],
    "0,1," * 50_000 + "2 * * * *",
]


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        (
            CronExpression(),
            [
                "",
                "* * * * *",
                " */5 0-6,12 * * * ",
                "0 0 1 jan-jun mon,FRI",
                "0 0 * * 7",
                "0 0 L * *",
                "0 0 * * mon#2",
                "0 0 * * * 30",
                "0 0 1 1 * 0 2030",
                "@hourly",
                "@daily",
                "@yearly",
            ],
            [
                "* * * *",
                "* * * * * * * *",
                "60 * * * *",
                "* 24 * * *",
                "* * 0 * *",
                "* * * 13 *",
                "* * * * mo",
                "*/0 * * * *",
                "H * * * *",
                "@reboot",
                "@daily x",
                "five past noon",
                "9" * 900 + " * * * *",
            ],
        ),
        (
            Timezone(),
            ["", "UTC", "Europe/Berlin", "Asia/Taipei", "America/Argentina/Buenos_Aires", "Etc/GMT+1"],
            [
                "europe/berlin",
                "Berlin",
                "/etc/passwd",
                "../Europe/Berlin",
                "Europe",
                "+01:00",
                "wrong_timezone",
            ],
        ),
        (
            Iso8601(),
            [
                "2026-11-21T12:00:00Z",
                "2026-11-21 12:00",
                "2026-11-21T12:00:00.25+01:00",
                "20261121T120000-0330",
                "2026-11-21",
                "2026-11",
                "2026",
            ],
            [
                "",
                "2026-13-01",
                "2026-02-30",
                "2026-11-21T25:00:00Z",
                "2026-11-21T12:00:00Z\n",
                "21.11.2026",
                "noon",
                "2026-11-21T12:00:00+99:00",
                "\u0662\u0660\u0662\u0666-11-21",
            ],
        ),
        (
            Expiration(lambda: NOON),
            ["", "2026-11-21T12:00:01Z", "2026-11-21T12:30:00-00:30", " 2050-01-01 "],
            [
                "2026-11-21T12:00:00Z",
                "2026-11-21T12:30:00+01:00",
                "1970-01-01",
                "Fri 13th, 2050",
                "2026-11-21",
            ],
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_only_a_time_is_one(constraint: CustomConstraint, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if constraint.fault(text)] == []
    assert [text for text in [*bad, *HOSTILE] if not constraint.fault(text)] == []


@pytest.mark.parametrize(
    ("constraint", "value", "sentence"),
    [
        (
            CronExpression(),
            "* *",
            (
                "'* *' is no cron expression: "
                "it has 2 fields, not five (minute, hour, day of the month, month, day of the week)"
            ),
        ),
        (
            CronExpression(),
            "0 0 31-40 * *",
            "'0 0 31-40 * *' is no cron expression: the day of the month cannot be '31-40'",
        ),
        (
            CronExpression(),
            "@x",
            (
                "'@x' is no cron expression: "
                "such names are @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually"
            ),
        ),
        (CronExpression(), 5, "5 is no cron expression: it is no text"),
        (
            Timezone(),
            "Europe/Berln",
            "'Europe/Berln' is no time zone of the IANA database; did you mean 'Europe/Berlin'?",
        ),
        (Timezone(), "x", "'x' is no time zone of the IANA database"),
        (
            Iso8601(),
            "noon",
            "'noon' is no time in the notation of ISO 8601, such as 2026-11-21T14:00:00Z",
        ),
        (Expiration(lambda: NOON), "1970-01-01", "'1970-01-01' is over"),
    ],
    ids=lambda value: value.name if isinstance(value, CustomConstraint) else repr(value)[:20],
)
def test_the_sentence_says_what_is_wrong(constraint: CustomConstraint, value: object, sentence: str) -> None:
    assert constraint.fault(value) == sentence


def test_every_time_zone_can_be_used() -> None:
    for name in ("Europe/Berlin", "Asia/Calcutta", "EST5EDT"):
        assert Timezone().fault(name) is None
        assert ZoneInfo(name).key == name


offsets = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(min_value=datetime(1000, 1, 2), timezones=offsets))  # noqa: DTZ001  # Hypothesis wants it naive
def test_every_time_is_one_and_is_over_or_to_come(when: datetime) -> None:
    text = when.isoformat()
    assert Iso8601().fault(text) is None
    assert (Expiration(lambda: NOON).fault(text) is None) == (when > NOON)


def test_without_a_clock_of_its_own_it_goes_by_this_machine_s() -> None:
    now = datetime.now(UTC)
    assert Expiration().fault((now - timedelta(seconds=1)).isoformat()) is not None
    assert Expiration().fault((now + timedelta(hours=1)).isoformat()) is None


@given(st.text(st.sampled_from("0123456789*/-,?LR#@ monjan"), max_size=40))
def test_any_text_is_told_about_without_the_library_s_words(text: str) -> None:
    fault = CronExpression().fault(text)
    assert fault is None or " is no cron expression: " in fault
