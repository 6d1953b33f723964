"""A visit to the dashboard: a page in the browser, and everything about it that nobody sees on the screen."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Request

from orchestrator.views.stacks import StackView
from orchestrator.views.vertex_states import STATES
from tests.browser.site import OPERATOR, Site
from tests.waiting import until

#: How long a page may take for anything, in milliseconds.
PATIENCE = 300_000
#: Remembers what the page is told, before the page sees it.
LISTENING = """
window.told = []; window.resyncs = 0;
window.EventSource = class extends window.EventSource {
  constructor(...given) {
    super(...given);
    this.addEventListener("events", (message) => window.told.push(...JSON.parse(message.data).map((each) => each.id)));
    this.addEventListener("resync", () => { window.resyncs += 1; });
  }
};
window.SharedWorker = class extends window.SharedWorker {
  constructor(...given) {
    super(...given);
    this.port.addEventListener("message", ({ data: { name, data } }) => {
      if (name === "events") window.told.push(...JSON.parse(data).map((each) => each.id));
      if (name === "resync") window.resyncs += 1;
    });
  }
};
"""
#: Keeps every sum of the numbers in the graph's legend that anybody could see.
ADDING = """() => {
  const legend = document.getElementById("legend");
  const add = () => window.sums.add([...legend.querySelectorAll("[data-state] .number")]
    .reduce((sum, each) => sum + Number(each.textContent.replace(/[^0-9]/g, "")), 0));
  window.sums = new Set();
  new MutationObserver(add).observe(legend, { childList: true, characterData: true, subtree: true });
  add();
}"""
#: Keeps every difference between the numbers in the legend and those in the head.
COMPARING = """() => {
  const parts = ["legend", "stack-counts"].map((id) => document.getElementById(id));
  const numbers = (part) => JSON.stringify([...part.querySelectorAll(".number")]
    .map((each) => [each.closest("[data-state]").dataset.state, Number(each.textContent.replace(/[^0-9]/g, ""))])
    .filter(([, number]) => number).sort());
  window.compared = 0; window.differences = [];
  const compare = () => {
    const [legend, head] = parts.map(numbers);
    window.compared += 1;
    if (legend !== head) window.differences.push([legend, head]);
  };
  const observer = new MutationObserver(compare);
  for (const part of parts) observer.observe(part, { childList: true, characterData: true, subtree: true });
}"""
#: What a page draws with, and what it is drawn on.
THEMES = ("light", "dark")


class Visit:
    """One page, with what went wrong on it."""

    def __init__(self, site: Site, page: Page) -> None:
        self.site = site
        self.page = page
        self.errors: list[str] = []
        self.foreign: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._look_at)

    def _look_at(self, request: Request) -> None:
        is_ours = request.url.startswith((f"{self.site.url}/", "data:", "blob:"))
        if not is_ours:
            self.foreign.append(request.url)

    def open(self, path: str) -> None:
        """Open a page, and return once its data are there."""
        answer = self.page.goto(self.site.page(path))
        assert answer is not None
        assert answer.ok, f"{path} is answered with {answer.status}"
        if self.page.locator("#as-of").count():
            self.until_data()

    def until_data(self, *states: str) -> None:
        """Return once the page says how old its data are, and that they are in one of these states."""
        wanted = list(states or ("live", "past"))
        self.until("(wanted) => wanted.includes(document.getElementById('as-of')?.dataset.state)", wanted)

    def until_stack(self, state: str) -> None:
        """Return once the head says that the stack is in this state."""
        self.until("(state) => document.getElementById('stack-state')?.innerText.trim() === state", state)

    def until(self, question: str, argument: Any = None) -> None:
        """Return once a question, a function in JavaScript, is answered with something true."""
        self.page.wait_for_function(question, arg=argument, timeout=PATIENCE)

    def text(self, selector: str) -> str:
        """Return what is written somewhere."""
        return self.page.locator(selector).inner_text().strip()

    def legend(self) -> dict[str, int]:
        """Return how many resources the graph's legend says are in each state, those in none left out."""
        told: dict[str, str] = self.page.evaluate(
            "() => Object.fromEntries([...document.querySelectorAll('#legend [data-state]')]"
            ".map((each) => [each.dataset.state, each.querySelector('.number').textContent]))"
        )
        assert set(told) == set(STATES)
        counts = {state: int("".join(filter(str.isdigit, number))) for state, number in told.items()}
        return {state: number for state, number in counts.items() if number}

    def until_legend(self, **counts: int) -> None:
        """Return once the graph's legend says exactly this."""
        self.until(
            """(wanted) => [...document.querySelectorAll("#legend [data-state]")].every((each) => {
              const number = Number(each.querySelector(".number").textContent.replace(/[^0-9]/g, ""));
              return number === (wanted[each.dataset.state] ?? 0);
            })""",
            counts,
        )

    def add_up(self) -> None:
        """Begin to keep the sums of the legend's numbers."""
        self.page.evaluate(ADDING)

    def compare(self) -> None:
        """Begin to keep the differences between the legend's numbers and the head's."""
        self.page.evaluate(COMPARING)

    def differences(self) -> list[Any]:
        """Return every difference that there was; the numbers must have changed."""
        assert self.page.evaluate("() => window.compared") > 0
        return list(self.page.evaluate("() => window.differences"))

    def sums(self) -> list[int]:
        """Return every sum that there was, each once."""
        return [int(each) for each in self.page.evaluate("() => [...window.sums]")]

    def told(self) -> list[int]:
        """Return the ids of the events that the page was told of, in that order."""
        return [int(each) for each in self.page.evaluate("() => window.told")]

    def told_to_the_last(self, stack: StackView) -> list[int]:
        """Return as :meth:`told`, once the page was told of the stack's last event, which may come after its end."""
        until(lambda: self.told()[-1:] == self.site.event_ids(stack)[-1:])
        return self.told()

    def names_listed(self) -> list[str]:
        """Return the names in the list beside the graph, those that are filtered out left out."""
        return self.page.locator("#graph-list tr:visible .vertex-name").all_inner_texts()

    def focused(self) -> str:
        """Return the id, or else the text, of what has the keyboard's focus."""
        said: str = self.page.evaluate(
            "() => document.activeElement.id || document.activeElement.textContent.trim()"
        )
        return said

    def findings(self, *rules: str) -> list[str]:
        """Return what Axe finds on the page that keeps people out: serious and critical findings of these rules."""
        more = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {}
        results = Axe().run(self.page, options={"resultTypes": ["violations"], **more}).response["violations"]
        return [
            f"{each['id']}: {node['target']} {node['html'][:160]}"
            for each in results
            if each["impact"] in {"serious", "critical"}
            for node in each["nodes"]
        ]


@contextmanager
def visiting(
    browser: Browser, site: Site, *, theme: str = "light", expected: Sequence[str] = (), **more: Any
) -> Iterator[Visit]:
    """Give a page of an operator's browser; what went wrong on it fails the test.

    Args:
        browser: The browser.
        site: Whose dashboard it is.
        theme: What the system of the visitor prefers.
        expected: Parts of errors that may be in the console.
        more: Options of the context.
    """
    name, password = OPERATOR
    context: BrowserContext = browser.new_context(
        color_scheme="dark" if theme == "dark" else "light",
        http_credentials={"username": name, "password": password, "origin": site.url},
        viewport={"width": 1280, "height": 800},
        reduced_motion="reduce",
        **more,
    )
    context.add_init_script(LISTENING)
    visit = Visit(site, context.new_page())
    try:
        yield visit
        unexpected = [each for each in visit.errors if not any(part in each for part in expected)]
        assert not unexpected
        assert not visit.foreign
    except BaseException:
        # Shown where a test failed.
        print(visit.page.url, *visit.errors, visit.page.locator("body").inner_text(), sep="\n")
        raise
    finally:
        context.close()
