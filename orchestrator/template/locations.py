"""Names, keys and locations of files; client and engine compute the same keys.

Every name that a template or an environment uses is relative to the file that uses it. A job has one map of files,
whose keys are names relative to the directory of the root template. Nothing here reads a disk or depends on the
working directory.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urljoin, urlsplit, urlunsplit

#: Placeholder in keys for a directory whose name a relative path does not contain, such as that of ``env.yaml`` as seen
#: from ``../web.yaml``.
UNNAMED_DIRECTORY: Final = "<cwd>"

#: The endings of template files that are used as resource types.
TEMPLATE_ENDINGS: Final = (".yaml", ".template")

_URL = r"[A-Za-z][A-Za-z0-9+.-]*://"
_WEB = r"(?i)https?://"


def is_url(name: str) -> bool:
    """Whether a name is a URL, not a path."""
    return re.match(_URL, name) is not None


def is_web(name: str) -> bool:
    """Whether a name is an http or https URL."""
    return re.match(_WEB, name) is not None


def is_template(name: str) -> bool:
    """Whether a resource type of this name is a template file."""
    return name.endswith(TEMPLATE_ENDINGS)


def shown(name: str) -> str:
    """Return a name for messages: a URL without its user and password."""
    scheme, separator, rest = name.partition("://")
    if not separator or not is_url(name):
        return name
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def key_of(name: str, base: str) -> str:
    """Return the key of the file ``name`` in a file whose names are relative to ``base``.

    If ``base`` is empty (the root template's directory), the key is the name as written. Absolute paths and URLs are
    keys unchanged, except that an absolute path in a file from a URL belongs to its server.
    """
    if not base or is_url(name):
        return name
    if is_url(base):
        return _join_url(base, name)
    if name.startswith("/"):
        return name
    return posixpath.normpath(posixpath.join(base, name))


def base_of_key(key: str) -> str:
    """Return the base of the names in the file ``key``: its directory; empty for the root template's directory."""
    if is_url(key):
        scheme, host, path, _, _ = _split_url(key)
        return urlunsplit((scheme, host, path.rpartition("/")[0] + "/", "", ""))
    return _plain(posixpath.dirname(key))


def base_between(environment_file: str, template_file: str) -> str:
    """Return the base of the names in an environment: its directory relative to the root template's.

    If only one of the two is relative, and for URLs, it is the environment's own directory.
    """
    own = base_of_key(environment_file)
    if is_url(own) or is_url(template_file) or own.startswith("/") != template_file.startswith("/"):
        return own
    return _between(own, base_of_key(template_file))


def location_of(name: str, document: str) -> str:
    """Return the path or URL of the file that the file at ``document`` refers to as ``name``."""
    if is_url(name):
        return name
    if is_url(document):
        return _join_url(document, name)
    return posixpath.join(posixpath.dirname(document), name)


class FilesFrom(Mapping[str, str]):
    """The files of a job, by the names that one of them uses; see :func:`key_of`.

    If a key does not exist, the normalized key, without ``./`` and ``x/../``, is looked up.
    """

    def __init__(self, base: str, files: Mapping[str, str]) -> None:
        """Map names that are relative to ``base`` to ``files``, which are by key."""
        self.base, self._files = base, files
        self._names: tuple[str, ...] | None = None

    def __getitem__(self, name: str) -> str:
        key = self.key(name)
        if key is None:
            raise KeyError(name)
        return self._files[key]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.key(name) is not None

    def __iter__(self) -> Iterator[str]:
        if self._names is None:
            names = (self._name_of(key) for key in self._files)
            self._names = tuple(name for name in names if name is not None)
        return iter(self._names)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def key(self, name: str) -> str | None:
        """Return the key of the file ``name``; None if the job has none."""
        key = key_of(name, self.base)
        if key in self._files:
            return key
        plain = key if is_url(key) else posixpath.normpath(key)
        return plain if plain in self._files else None

    def _name_of(self, key: str) -> str | None:
        """Return the name that refers to the file ``key``; None if there is none."""
        names = [key]
        if not is_url(key) and not is_url(self.base) and key.startswith("/") == self.base.startswith("/"):
            names.append(_between(key, self.base))
        return next((name for name in names if key_of(name, self.base) == key), None)


def _between(directory: str, start: str) -> str:
    """Return ``directory`` relative to ``start``, both relative to the same directory, or both absolute."""
    target, origin = _steps(directory), _steps(start)
    while target and origin and target[0] == origin[0]:
        target, origin = target[1:], origin[1:]
    above = origin.count("..")
    return "/".join([".."] * (len(origin) - above) + [UNNAMED_DIRECTORY] * above + target)


def _steps(path: str) -> list[str]:
    return [step for step in _plain(path).split("/") if step]


def _plain(path: str) -> str:
    plain = posixpath.normpath(path) if path else ""
    return "" if plain == "." else plain


def _join_url(base: str, name: str) -> str:
    try:
        return urljoin(base, name)
    except ValueError:
        # An invalid URL, which is reported when it is read.
        return name


def _split_url(url: str) -> tuple[str, str, str, str, str]:
    try:
        return urlsplit(url)
    except ValueError:
        return "", "", url, "", ""
