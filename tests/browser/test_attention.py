"""The page of what needs a person in a real browser: one finding of each kind, and an action on one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, HttpCredentials, expect

from orchestrator.config.settings import Settings
from orchestrator.dashboard.app import Dashboard
from orchestrator.model.messages import StackJob
from orchestrator.queries.attention import stored_attention, with_installation
from orchestrator.queries.findings import (
    QUIET_SECONDS,
    broker_finding,
    database_finding,
    drift_findings,
    ended_findings,
    grouped,
    held_findings,
    partial_findings,
    process_findings,
    quiet_findings,
    sink_findings,
    stale_findings,
    stuck_findings,
)
from orchestrator.service import Service
from orchestrator.store.installation.sink_cursors import LateCursor
from orchestrator.store.stacks.attention import (
    AttentionRows,
    DriftedStack,
    EndedStack,
    HeldNode,
    PartialStack,
    QuietOperation,
    StaleStack,
)
from orchestrator.store.store import Store
from orchestrator.views.attention import KINDS, AttentionView
from orchestrator.views.caches import CacheView
from orchestrator.views.nodes import NodeView
from orchestrator.views.operations import StuckView
from orchestrator.views.times import iso
from tests.unit.orchestrator.dashboard.serving import served

HEAD = "heat_template_version: 2021-04-16\n"
FAILING = f"{HEAD}resources: {{one: {{type: OS::Heat::TestResource, properties: {{fail: true}}}}}}"
#: A name that would do harm if it were taken for anything but text.
HOSTILE = "<img src=x onerror=alert(1)>"
OPERATOR = {"basic_auth": ["ann:secret"], "stack_actions": True, "stack_operators": ["ann"]}
#: What is wider than the place it has.
TOO_WIDE = """() => [document.documentElement, ...document.querySelectorAll(".finding, .finding-text")]
  .filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.className)"""


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """A dashboard on which an operator may act, with a stack that failed; what is ordered is done at once."""
    settings = Settings(state_directory=Path(tmp_path_factory.mktemp("attention")))
    with Service.open(settings) as service:
        made = service.create(StackJob(name="web", template=FAILING))
        assert list(service.watch(made.id))[-1].stack.status == "FAILED"
        url = settings.effective_database_url
        distributed = settings.with_values(broker_url="memory://", database_url=url)
        with served(distributed, Store.of(distributed), **OPERATOR) as dashboard:
            dashboard.service = service
            yield dashboard


def one_of_each(dashboard: Dashboard) -> AttentionView:
    """Return the real findings with one of each other kind."""
    stored = stored_attention(dashboard.store, dashboard.stack_settings)
    now, known = stored.as_of, {"stack_id": "i", "traversal_id": "t"}
    rows = AttentionRows(
        as_of=now,
        rolled_back=(
            EndedStack(
                id="i",
                name="billing",
                action="ROLLBACK",
                status="COMPLETE",
                reason=f"update failed: resource database: {'no room on any node, ' * 20}",
                traversal_id="t",
                since=now - 4000,
            ),
        ),
        held=(HeldNode(stack=HOSTILE, resource="server", hook="pre-create", since=now - 700, **known),),
        quiet=(
            QuietOperation(
                id="q",
                name="reports",
                action="UPDATE",
                traversal_id="t",
                begun_at=now - 9000,
                since=now - QUIET_SECONDS - 60,
            ),
        ),
        partial=(PartialStack(id="p", name="shop", traversal_id="t", partial=("page",) * 40),),
        drifted=(
            DriftedStack(id="d", name="mail", traversal_id="t", resources=2, left_alone=1, since=now - 5000),
        ),
        stale=(StaleStack(id="o", name="clients", traversal_id="t", resources=3),),
        in_progress=3,
        oldest=("reports", "q", now - 9000),
    )
    stuck = StuckView(stack="shop", stack_id="s", resource="port", action="CREATE", why="lost", seconds=95.0)
    late = LateCursor(
        name="webhook",
        type="webhook",
        stack_id=None,
        stack_name=None,
        waiting_since=now - 900,
        failing_since=now - 900,
        failures=12,
        total=70,
    )
    findings = [
        *process_findings((), rows, embedded=False),
        *(each for group in stored.groups for each in group.findings if each.kind == "failed"),
        *ended_findings(rows),
        *held_findings(rows),
        *stuck_findings([stuck], now),
        *quiet_findings(rows, (), {}),
        *partial_findings(rows),
        *drift_findings(rows),
        *stale_findings(rows),
        *sink_findings([late]),
    ]
    view = AttentionView(project="default", as_of=now, groups=grouped(findings, {"sink": 70}))
    return with_installation(
        view,
        [database_finding("the database has not answered for some seconds"), broker_finding(now - 30)],
        nodes=[NodeView(name="rack-1-host-17", state="unreachable", seen_at=now - 1200)],
        caches=[CacheView(client="nova", state="unreachable")],
    )


class Told:
    """Stands in for the data of the page."""

    def __init__(self, dashboard: Dashboard) -> None:
        self._dashboard = dashboard
        self.empty = False

    async def data(self, **_: Any) -> dict[str, Any]:
        view = one_of_each(self._dashboard)
        if self.empty:
            view = AttentionView(project="default", as_of=view.as_of)
        return {**view.to_dict(), "now": iso(view.as_of), "trouble": ""}


@pytest.fixture
def told(dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch) -> Told:
    told = Told(dashboard)
    monkeypatch.setattr(dashboard.attention, "data", told.data)
    return told


def test_each_finding_has_one_action_and_none_keeps_anybody_out(
    dashboard: Dashboard, browser: Browser, told: Told
) -> None:
    user: HttpCredentials = {"username": "ann", "password": "secret"}
    # Without transitions: in the middle of one, a button has the colours of neither theme.
    context = browser.new_context(
        http_credentials=user, bypass_csp=True, color_scheme="light", reduced_motion="reduce"
    )
    errors: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    try:
        page.goto(f"{dashboard.url}/stacks/attention")
        expect(page.locator(".attention-group h2")).to_have_text(list(KINDS.values()))
        expect(page.locator(".finding-action > *")).to_have_count(len(KINDS))
        expect(page.get_by_text("and 69 more")).to_be_visible()
        expect(page.locator('[data-kind="held"] .finding')).to_contain_text(HOSTILE)
        expect(page.get_by_role("link", name="Attention")).to_contain_text(str(len(KINDS) + 69))
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            for width in (1440, 390):
                page.set_viewport_size({"width": width, "height": 900})
                assert page.evaluate(TOO_WIDE) == []
            found = Axe().run(page, context="#stacks-page").response["violations"]
            assert [each["id"] for each in found if each["impact"] in {"serious", "critical"}] == [], theme

        page.get_by_role("button", name="Try again: web").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("Try again: web?")
        dialog.get_by_role("button", name="Try again: web").click()
        expect(page.locator("#act-said")).to_have_text("web is being tried again")
        expect(dialog).to_have_count(0)
        expect(page.locator('[data-kind="failed"] .finding-what')).to_contain_text("UPDATE_FAILED")

        told.empty = True
        expect(page.locator("#attention-empty")).to_contain_text("Nothing needs attention, as of")
        expect(page.locator(".attention-group")).to_have_count(0)
        assert errors == []
    finally:
        context.close()
