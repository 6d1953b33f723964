"""What is done about the drift of a resource."""

from dataclasses import replace

import pytest

from orchestrator.model.drift import Standing
from orchestrator.model.observation_policy import ObservationPolicy
from orchestrator.planning.repairing import Drifted, repairing, still_counted

NOW = 1_000_000.0
HOUR = 3600.0
REPAIR = ObservationPolicy(mode="repair")
WEB = Drifted(path="web", name="web", type="T")


@pytest.mark.parametrize(
    ("it", "policy", "standing", "why"),
    [
        (WEB, ObservationPolicy(mode="detect"), Standing.REPORTED, ""),
        (WEB, REPAIR, Standing.REPAIRING, ""),
        (WEB, replace(REPAIR, report_only=("T",)), Standing.REPORTED, ""),
        (replace(WEB, prevented="it is external"), REPAIR, Standing.REPORTED, "it is external"),
        (replace(WEB, is_gone=True), REPAIR, Standing.REPAIRING, ""),
        (replace(WEB, is_gone=True), replace(REPAIR, gone="report"), Standing.REPORTED, "nothing again"),
        (replace(WEB, in_place=False), REPAIR, Standing.REPORTED, "only a replacement"),
        (replace(WEB, in_place=False), replace(REPAIR, replace=True), Standing.REPAIRING, ""),
        # What is gone is made again, whatever could be changed in place.
        (replace(WEB, in_place=False, is_gone=True), REPAIR, Standing.REPAIRING, ""),
    ],
)
def test_the_policy_decides(it: Drifted, policy: ObservationPolicy, standing: Standing, why: str) -> None:
    decided, reason = repairing(it, policy, (), now=NOW)
    assert decided is standing
    assert why in reason
    assert bool(why) == bool(reason)


def test_an_endless_fight_is_left_alone_until_a_day_has_passed() -> None:
    repairs = [("web", NOW - hours * HOUR) for hours in (3, 2, 1)]
    assert repairing(WEB, REPAIR, repairs[:2], now=NOW) == (Standing.REPAIRING, "")
    standing, why = repairing(WEB, REPAIR, repairs, now=NOW)
    assert standing is Standing.LEFT_ALONE
    assert why == "it drifted again after 3 repairs within 24 hours: another system changes it"
    assert repairing(replace(WEB, path="db"), REPAIR, repairs, now=NOW)[0] is Standing.REPAIRING
    assert repairing(WEB, REPAIR, repairs, now=NOW + 21.5 * HOUR)[0] is Standing.REPAIRING


def test_the_limit_of_an_hour_counts_all_resources_of_the_stack_and_those_that_begin_now() -> None:
    policy = replace(REPAIR, repairs_per_hour=3)
    repairs = [("a", NOW - 100), ("b", NOW - 2 * HOUR)]
    assert repairing(WEB, policy, repairs, now=NOW, begun=1)[0] is Standing.REPAIRING
    standing, why = repairing(WEB, policy, repairs, now=NOW, begun=2)
    assert (standing, why) == (Standing.POSTPONED, "the stack has had 3 repairs within an hour")
    assert repairing(WEB, policy, repairs, now=NOW + HOUR, begun=2)[0] is Standing.REPAIRING


def test_repairs_are_forgotten_once_they_count_no_more() -> None:
    repairs = [("a", NOW - 25 * HOUR), ("b", NOW - 23 * HOUR)]
    assert still_counted(repairs, now=NOW) == [("b", NOW - 23 * HOUR)]
