"""The tests of a client plugin."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, closing
from typing import Any, ClassVar
from unittest import SkipTest

from isotherm.testing.pages import undescribed
from orchestrator.config.settings import Settings
from orchestrator.plugins.asking import EntityNotFound
from orchestrator.plugins.client_plugin import ClientContext, ClientPlugin
from orchestrator.plugins.clients import options_of
from orchestrator.plugins.custom import NAMESPACE as CONSTRAINTS
from orchestrator.plugins.custom import ClientConstraint, CustomConstraints

#: What nothing anywhere is called.
_NOBODY = "isotherm-testing-nothing-is-called-so"
_PREDICATES = ("is_not_found", "is_conflict", "is_over_limit", "is_retryable")


class ClientConformance:
    """Derive from it, and say at least ``client``, the ``options`` it needs, and something that is ``known``."""

    #: The client plugin that is tested.
    client: ClassVar[type[ClientPlugin]]
    #: What the settings say under its name.
    options: Mapping[str, Any] = {}
    #: By entity, the name and the id of something that the system has.
    known: Mapping[str, tuple[str, str]] = {}
    #: The project for which it asks.
    project: str = "default"

    def test_everything_has_a_description(self) -> None:
        """Pages say what the client is for, and each of its options."""
        missing = list(undescribed(self.client))
        assert not missing, f"without a description: {', '.join(missing)}"

    def test_names_and_ids_are_found(self) -> None:
        """By its name and by its id, the same thing is found, each time."""
        if not self.known:
            raise SkipTest("nothing is known")
        with self._client() as client:
            for entity, (name, wanted) in self.known.items():
                for asked in (name, wanted, name):
                    found = client.find(entity, asked)
                    assert found == wanted, f"{entity} {asked!r} is {found!r}, expected {wanted!r}"

    def test_what_is_not_there_is_not_found(self) -> None:
        """What the system does not have is an ``EntityNotFound``, and ``is_not_found`` says so."""
        with self._client() as client:
            for entity in sorted(client.entities & self.known.keys()):
                try:
                    found = client.find(entity, _NOBODY)
                except EntityNotFound as error:
                    assert client.is_not_found(error), "is_not_found does not know EntityNotFound"
                else:
                    raise AssertionError(f"there is no {entity} {_NOBODY!r}, and {found!r} was found")

    def test_it_is_asked_for_nothing_else(self) -> None:
        """Its ``entities`` are all that constraints ask of it."""
        installed = CustomConstraints.load(CONSTRAINTS).values()
        asking = [
            each
            for each in installed
            if isinstance(each, ClientConstraint) and each.client == self.client.name
        ]
        wrong = [each.name for each in asking if each.entity not in self.client.entities]
        assert not wrong, f"constraints that ask for what is not among its entities: {', '.join(wrong)}"

    def test_errors_are_judged_and_none_is_taken_for_another(self) -> None:
        """Each predicate answers for any exception, and nothing is both not there and worth another try."""
        with self._client() as client:
            for error in (RuntimeError("?"), TimeoutError(), EntityNotFound("thing", "name"), KeyError("x")):
                said = {name: getattr(client, name)(error) for name in _PREDICATES}
                odd = [name for name, answer in said.items() if not isinstance(answer, bool)]
                assert not odd, f"of {error!r}, {', '.join(odd)} said neither true nor false"
                both = said["is_not_found"] and said["is_retryable"]
                assert not both, f"{error!r} says that nothing is there, and that it may be later"

    def test_answers_are_kept_apart_by_texts(self) -> None:
        """``scope`` and ``api_version`` are texts, the same each time."""
        with self._client() as client:
            for entity in sorted(client.entities):
                scope: object = client.scope(entity)
                assert isinstance(scope, tuple), f"scope of {entity} is {scope!r}, no tuple"
                assert all(isinstance(each, str) for each in scope), f"scope of {entity} is {scope!r}"
                assert client.scope(entity) == scope, f"scope of {entity} changes"

    def test_it_can_be_closed_twice(self) -> None:
        """A process that ends may close what was closed already, or never was used."""
        with self._client() as client:
            client.close()

    def _client(self) -> AbstractContextManager[ClientPlugin]:
        options = options_of(self.client, self.options, self.project)
        settings = Settings(clients={self.client.section(): dict(self.options)})
        return closing(self.client(ClientContext(self.project, settings), options))
