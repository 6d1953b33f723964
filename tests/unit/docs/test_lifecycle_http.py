"""What docs/lifecycle-http.md says of the plugins that ask a server is what they do."""

import json
import re
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import ThreadingHTTPServer
from typing import Any

import pytest

from hooks.builtin.license import License, LicenseOptions
from hooks.builtin.webhook import Webhook, WebhookOptions
from hooks.errors import Refusal
from hooks.http.options import SenderOptions
from hooks.lifecycle import FAILED, Annotations, LifecycleContext, LifecyclePlugin, PlannedOperation
from hooks.loading.ordering import in_order
from hooks.options import HookOptions
from hooks.stack import FrozenResource, FrozenStack
from hooks.values.frozen import frozen
from hooks.values.unknown import UNKNOWN
from orchestrator.config.settings import Settings
from tests.services.receiver import Receiver, Reply
from tests.unit.docs.pages import ROOT, blocks

PAGE = ROOT / "docs" / "lifecycle-http.md"
TEXT = PAGE.read_text()
SECRET = "the secret that both know"
CONTEXT = LifecycleContext(operation_id="6b0b4c52-9df2-4a0c-8d0f-3d1c5cbb0b5e", project="prod-shop")
STACK_ID = "0f7e3b7e-0c53-4a5e-9a4f-7a2a0a3c9d11"


def block(*marks: str, language: str = "json") -> str:
    """Return the text of the first block with these marks."""
    return next(each.text for each in blocks(PAGE) if each.language == language and each.marks == marks)


def options_told(heading: str) -> list[list[str]]:
    """Return the cells of the table of options whose first cell is ``heading``."""
    _, found, rest = TEXT.partition(f"\n| {heading} |")
    assert found, heading
    lines = rest.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def options_of(model: type[HookOptions], *, but: type[HookOptions] = HookOptions) -> list[list[str]]:
    told = []
    for name, field in model.model_fields.items():
        if name in but.model_fields:
            continue
        default = field.default
        if field.is_required():
            shown = "required"
        elif default in (None, ()):
            shown = "nothing"
        else:
            shown = f"`{default if isinstance(default, str) else json.dumps(default)}`"
        told.append([f"`{name}`", shown, field.description or ""])
    return told


def stack(*resources: FrozenResource, **said: Any) -> FrozenStack:
    by_name = frozen({each.name: each for each in resources})
    return FrozenStack(name="web", id=STACK_ID, root_id=STACK_ID, resources=by_name, **said)


@contextmanager
def serving(handler: Any) -> Iterator[str]:
    """Serve with a handler class of the page; give the URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads, server.block_on_close = True, False
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_tables_of_options_are_those_of_the_plugins() -> None:
    assert options_told("option of both") == options_of(SenderOptions)
    assert options_told("option of `webhook`") == options_of(WebhookOptions, but=SenderOptions)
    own = options_of(LicenseOptions, but=SenderOptions)
    assert options_told("option of `license`") == own


@pytest.mark.parametrize("plugin", [Webhook, License], ids=["webhook", "license"])
def test_examples_of_settings_are_taken(plugin: type[LifecyclePlugin]) -> None:
    said = tomllib.loads(block(plugin.name, language="toml"))
    settings = Settings(**said)
    given = dict(settings.lifecycle[plugin.name])
    assert given.pop("enabled")
    assert plugin.Options.model_validate(given)


def test_the_webhook_sends_what_the_page_shows() -> None:
    net = FrozenResource(name="net", type="OS::Neutron::Net")
    server = FrozenResource(
        name="server",
        type="OS::Nova::Server",
        requires=("net",),
        properties=frozen({"flavor": "m1.small", "networks": [{"network": UNKNOWN}]}),
    )
    made = FrozenResource(
        name="net",
        type="OS::Neutron::Net",
        uuid="b3b8e7f0-52a8-4f0e-a0a5-0c9d0c3b7f10",
        action="CREATE",
        status="COMPLETE",
        physical_id="7d1c",
    )
    wanted = stack(net, server, tags=("team-red",), parameters=frozen({"size": 3, "password": "******"}))
    with Receiver() as receiver:
        plugin = Webhook(WebhookOptions(url=receiver.url, secrets=(SECRET,)))  # type: ignore[arg-type]  # pydantic converts it
        plan = PlannedOperation(
            id="5e6a97d0-1a89-4fab-8fb8-74a0bb98e772",
            user="alice",
            planned_at=1795528126.5,
            actions={"net": ("UNCHANGED",), "server": ("CREATE",)},
        )
        moved = {"net": "network"}
        context = replace(CONTEXT, root_action="UPDATE", user="bob", plan=plan, moved=moved)
        plugin.do_pre_op(context, wanted, stack(made, tags=("team-red",)), "UPDATE")
        plugin.do_post_op(CONTEXT, wanted, None, "UPDATE", True)
    before, after = (each.document for each in receiver.messages)
    assert before == json.loads(block())
    added = set(after) - set(before)
    assert added == {"outcome", "reason", "is_stack_failure"}
    assert all(f"`{name}`" in TEXT for name in added)


def test_the_answer_of_the_page_is_understood() -> None:
    answer = json.loads(block("answer"))
    with Receiver(lambda _: Reply(body=answer)) as receiver:
        plugin = Webhook(WebhookOptions(url=receiver.url, secrets=(SECRET,)))  # type: ignore[arg-type]  # as above
        said = plugin.do_pre_op(CONTEXT, stack(), None, "CREATE")
    assert said == Annotations(warnings=tuple(answer["warnings"]), **answer["annotations"])


def test_the_receiver_of_the_page_refuses_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBHOOK_SECRET", SECRET)
    written: dict[str, Any] = {"__name__": "receiver"}
    exec(compile(block("receiver", language="python"), str(PAGE), "exec"), written)
    handler = type("Silent", (written["Receiver"],), {"log_message": lambda *_: None})
    with serving(handler) as url:
        plugin = Webhook(WebhookOptions(url=url, secrets=(SECRET,)))  # type: ignore[arg-type]  # as above
        with pytest.raises(Refusal, match=r"^prod-shop is frozen until Monday$"):
            plugin.do_pre_op(CONTEXT, stack(), None, "CREATE")
        plugin.do_post_op(CONTEXT, stack(), None, "CREATE", True)
        free = LifecycleContext(operation_id="1", project="lab")
        assert plugin.do_pre_op(free, stack(), None, "CREATE") is None
        stranger = Webhook(WebhookOptions(url=url, secrets=("what somebody guessed",)))  # type: ignore[arg-type]  # as above
        with pytest.raises(Exception, match="401"):
            stranger.do_pre_op(free, stack(), None, "CREATE")


def test_license_sends_what_the_page_shows() -> None:
    kind = "OS::Nova::Server"
    made: dict[str, Any] = {"uuid": "1", "action": "CREATE", "status": "COMPLETE", "physical_id": "7"}
    wanted = stack(*(FrozenResource(name=name, type=kind) for name in "abc"))
    now = stack(*(FrozenResource(name=name, type=kind, **made) for name in "ab"))
    (form,) = re.findall(r'`(\{"lease_id".*?\})`', TEXT)
    with Receiver(lambda _: Reply(body=json.loads(form))) as receiver:
        plugin = License(LicenseOptions(url=receiver.url, secrets=(SECRET,), types=(kind,)))  # type: ignore[arg-type]  # as above
        assert plugin.do_pre_op(CONTEXT, wanted, now, "UPDATE")
        context = LifecycleContext(operation_id=CONTEXT.operation_id, project=CONTEXT.project, outcome=FAILED)
        plugin.do_post_op(context, wanted, now, "UPDATE", True)
        plugin.do_preview(CONTEXT, wanted, now, "UPDATE")
    acquire, settle, preview = receiver.messages
    assert acquire.document == json.loads(block("acquire"))
    assert settle.document == json.loads(block("settle"))
    assert {(each.method, each.path) for each in (acquire, settle)} == {("PUT", f"/leases/{STACK_ID}")}
    assert preview.document == {**acquire.document, "phase": "preview"}
    assert (preview.method, preview.path) == ("POST", f"/leases/{STACK_ID}/preview")


def test_license_is_asked_after_those_that_only_refuse() -> None:
    assert f"its `ordinal` is {License.ordinal}" in TEXT
    plugin = License(LicenseOptions(url="http://a", secrets=(SECRET,), types=("*",)))  # type: ignore[arg-type]  # as above
    assert in_order([plugin, LifecyclePlugin()])[-1] is plugin
