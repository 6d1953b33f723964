"""Environments of texts, or what is wrong with them."""

from orchestrator.config.limits import Limits
from orchestrator.errors import InvalidInput
from orchestrator.template.document import read_document
from orchestrator.template.environment import Environment
from orchestrator.template.environment_reader import EnvironmentReader


def parsed(source: str, file: str = "env.yaml", base: str = "") -> Environment:
    """Return the environment; raise ``InvalidInput`` with all that is wrong with the text."""
    document, problems = read_document(source, file=file, limits=Limits())
    environment = EnvironmentReader(document, problems, base).read()
    if problems:
        raise InvalidInput(problems)
    return environment
