"""Loader of templates: ours before Flower's, and Flower's navigation with our entry, name and icon."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from tornado.template import Loader, Template

from orchestrator.config.logger import get_logger

log = get_logger()

TEMPLATES: Final = Path(__file__).parent / "templates"
#: Flower's navigation, which has no extension point for entries.
_NAVIGATION: Final = "navbar.html"
#: Flower's page, and what is replaced in it and in the navigation by our name and icon.
_BASE: Final = "base.html"
#: What our pages extend: Flower's page without the scripts and the style of its tables.
_FRAME: Final = "frame.html"
_OF_TABLES: Final = re.compile(r".*'(?:js/(?:jquery|datatables|moment|flower)|css/datatables).*\n")
_ICON: Final = "static_url('favicon.ico')"
_OUR_ICON: Final = "reverse_url('stacks_static', 'icon.svg')"
#: Ours for all pages: after Flower's styles, and after its scripts.
_END_OF_HEAD: Final = "</head>"
_OUR_STYLE: Final = (
    """<link rel="stylesheet" href="{{ reverse_url('stacks_static', 'css/legible.css') }}">\n  """
)
_END_OF_SCRIPTS: Final = "{% block extra_scripts %}"
_OUR_SCRIPT: Final = """<script type="module"
      src="{{ reverse_url('stacks_static', 'js/flower_tables.js') }}"></script>
    """
_BRAND: Final = "<span>Flower</span>"
_OUR_BRAND: Final = "<span>Isotherm</span>"
_END_OF_ENTRIES: Final = "</ul>"
_ENTRY: Final = """  <li class="nav-item">
          <a class="nav-link{% if active_tab == 'stacks' %} active{% end %}"
            href="{{ reverse_url('stacks') }}"
            {% if active_tab == 'stacks' %}aria-current="page"{% end %}>Stacks</a>
        </li>
      """


class StackLoader(Loader):
    """Loads a template from ours, or else from Flower's."""

    def __init__(self, flowers: str, **options: Any) -> None:
        super().__init__(flowers, **options)

    def resolve_path(self, name: str, parent_path: str | None = None) -> str:  # noqa: ARG002  # as in Tornado
        """Return the name unchanged: templates extend and include by full names."""
        return name

    def _create_template(self, name: str) -> Template:
        ours = TEMPLATES / name
        if ours.is_file():
            return Template(ours.read_bytes(), name=name, loader=self)
        if name in _CHANGED:
            flowers = Path(self.root) / (_BASE if name == _FRAME else name)
            page = flowers.read_text().replace(_ICON, _OUR_ICON).replace(_BRAND, _OUR_BRAND)
            return Template(_CHANGED[name](page), name=name, loader=self)
        return super()._create_template(name)


def with_entry(navigation: str) -> str:
    """Return Flower's navigation with an entry for stacks; unchanged if it has no list of entries."""
    before, anchor, after = navigation.partition(_END_OF_ENTRIES)
    if not anchor:
        log.warning("Flower's navigation has no list: the pages about stacks have no entry in it")
        return navigation
    return f"{before}{_ENTRY}{anchor}{after}"


def without_tables(page: str) -> str:
    """Return Flower's page for ours: without the scripts and the style of its tables, which they do not use."""
    return _styled(_OF_TABLES.sub("", page))


def _mended(page: str) -> str:
    """Return Flower's page with our style and script, without which people who see or hear little cannot use it."""
    return _styled(page).replace(_END_OF_SCRIPTS, f"{_OUR_SCRIPT}{_END_OF_SCRIPTS}")


def _styled(page: str) -> str:
    return page.replace(_END_OF_HEAD, f"{_OUR_STYLE}{_END_OF_HEAD}")


#: What becomes of Flower's templates, beside the name and the icon.
_CHANGED: Final[Mapping[str, Callable[[str], str]]] = {
    _NAVIGATION: with_entry,
    _BASE: _mended,
    _FRAME: without_tables,
}
