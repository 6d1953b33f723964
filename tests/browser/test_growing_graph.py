"""A graph that grows while one looks at it: what is replaced is to be deleted, and nobody knew before."""

import json

from playwright.sync_api import expect

from orchestrator.model.messages import EnvironmentSource, StackJob
from tests.browser.conftest import Visiting
from tests.browser.site import Site, nothing


def test_a_replacement_brings_a_box_and_disturbs_nobody_who_reads(site: Site, visit: Visiting) -> None:
    def swap(value: str) -> dict[str, dict[str, object]]:
        return {"a": nothing(properties={"value": value, "update_replace": True}), "b": nothing()}

    stack = site.made("swap", swap("one"))
    hooks = json.dumps({"resource_registry": {"resources": {"a": {"hooks": ["pre-update"]}}}})
    template = json.dumps({"heat_template_version": "2021-04-16", "resources": swap("two")})
    environment = EnvironmentSource(file="environment", source=hooks)
    site.service.update(StackJob(name="swap", template=template, environments=(environment,)))
    next(progress for progress in site.service.watch(stack.id) if progress.hooks)
    with visit() as seen:
        seen.open("/stack/swap/graph?view=list")
        seen.until_legend(held=1)
        seen.page.locator("#graph-list tr[data-no] .vertex-name").click()
        seen.until("() => document.querySelector('#vertex h2')?.innerText === 'a'")
        assert site.service.clear_hooks(stack.id, "a")
        site.ended(stack.id)
        seen.until_legend(done=2)
        expect(seen.page.locator("#graph-list tr[data-no]")).to_have_count(2)
        assert seen.text("#vertex h2") == "a"
        assert sum(site.service.progress(stack.id).counts.values()) == 2
        # A replacement is one thing, and not one resource made and another deleted.
        seen.open("/stack/swap/history")
        row = seen.page.locator("#history-rows tr", has_text="UPDATE").first
        expect(row.locator(".did")).to_have_text("1 replaced")
