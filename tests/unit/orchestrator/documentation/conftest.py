"""What is installed here, described once."""

import pytest

from orchestrator.config.settings import Settings
from orchestrator.documentation.catalogue import Catalogue
from orchestrator.documentation.site import PageFormat, pages


@pytest.fixture(scope="session")
def installed() -> Catalogue:
    """Everything that is installed."""
    return Catalogue.load(Settings())


@pytest.fixture(scope="session")
def html(installed: Catalogue) -> dict[str, str]:
    """The site of it in HTML."""
    return pages(installed, PageFormat.HTML)


@pytest.fixture(scope="session")
def markdown(installed: Catalogue) -> dict[str, str]:
    """The site of it in Markdown."""
    return pages(installed, PageFormat.MARKDOWN)
