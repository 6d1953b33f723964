"""Custom constraints on parameters: which values another system is asked about."""

from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.plugins import custom
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.custom import CustomConstraint, CustomConstraints
from orchestrator.template.environment import Environment
from tests.unit.orchestrator.template.test_parameters import CUSTOM, PSEUDO, Parse, environment_of


class Outside(CustomConstraint):
    name = "outside"
    asks_outside = True

    def fault(self, value: Any) -> str | None:
        return None

    def fault_by(self, value: Any, clients: NamedClients) -> str | None:
        return f"{value!r} is not there"


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    found = CustomConstraints({**CustomConstraints.load(), "outside": Outside()})
    monkeypatch.setattr(custom, "_on_demand", lambda _: found)


@pytest.mark.usefixtures("outside")
def test_custom_constraints_are_asked_about_the_value_that_counts(parse: Parse) -> None:
    template = parse(CUSTOM)
    environment = environment_of("parameters: {c: 192.0.2.1}")
    clients = Clients(Settings()).of("p")
    problems = template.draft.settle(environment, pseudo=PSEUDO, clients=clients).problems
    assert [(problem.path, problem.message) for problem in problems] == [
        ("parameters.a.default", "'bad' is not there; it must satisfy the custom constraint 'outside'"),
        ("parameters.b.default", "there is no custom constraint 'outsid' here; did you mean 'outside'?"),
    ]


@pytest.mark.usefixtures("outside")
def test_offline_only_those_are_asked_that_need_nothing(parse: Parse) -> None:
    found = parse(CUSTOM).draft.settle(Environment(), pseudo=PSEUDO, offline=True)
    assert [(problem.path, problem.message) for problem in found.problems] == [
        ("parameters.c.default", "'bad' is no IP address; it must satisfy the custom constraint 'ip_addr'")
    ]
    assert found.parameters.values["a"] == found.parameters.values["b"] == "bad"
