"""The versions of the language HOT, in order, and what each has that is not written yet."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final


@dataclass(frozen=True, slots=True, order=True)
class HotVersion:
    """One value of ``heat_template_version``; later ones compare greater."""

    date: str
    #: The code name that templates may say instead of the date; most early versions have none.
    alias: str = ""

    def __str__(self) -> str:
        return f"{self.date} ({self.alias})" if self.alias else self.date


V2013_05_23 = HotVersion("2013-05-23")
V2014_10_16 = HotVersion("2014-10-16")
V2015_04_30 = HotVersion("2015-04-30")
V2015_10_15 = HotVersion("2015-10-15")
V2016_04_08 = HotVersion("2016-04-08")
NEWTON = HotVersion("2016-10-14", "newton")
OCATA = HotVersion("2017-02-24", "ocata")
PIKE = HotVersion("2017-09-01", "pike")
QUEENS = HotVersion("2018-03-02", "queens")
ROCKY = HotVersion("2018-08-31", "rocky")
WALLABY = HotVersion("2021-04-16", "wallaby")

VERSIONS: Final = (
    V2013_05_23,
    V2014_10_16,
    V2015_04_30,
    V2015_10_15,
    V2016_04_08,
    NEWTON,
    OCATA,
    PIKE,
    QUEENS,
    ROCKY,
    WALLABY,
)

_BY_NAME: Final = {name: version for version in VERSIONS for name in (version.date, version.alias) if name}


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The versions that have something: from ``since`` on, and no longer from ``until`` on."""

    since: HotVersion
    until: HotVersion | None = None

    def __contains__(self, version: HotVersion) -> bool:
        return self.since <= version and not self.is_over(version)

    def is_over(self, version: HotVersion) -> bool:
        """Whether ``version`` refuses what earlier ones had."""
        return self.until is not None and version >= self.until


_CFN_ONLY = Lifetime(V2013_05_23, V2014_10_16)

#: Every function of HOT. One that no installed package provides is refused, never taken for data.
FUNCTIONS: Final[dict[str, Lifetime]] = {
    **dict.fromkeys(
        ("get_param", "get_resource", "get_attr", "get_file", "resource_facade", "str_replace", "list_join"),
        Lifetime(V2013_05_23),
    ),
    **dict.fromkeys(("repeat", "digest"), Lifetime(V2015_04_30)),
    "str_split": Lifetime(V2015_10_15),
    "map_merge": Lifetime(V2016_04_08),
    **dict.fromkeys(("map_replace", "yaql", "if"), Lifetime(NEWTON)),
    **dict.fromkeys(("filter", "str_replace_strict"), Lifetime(OCATA)),
    **dict.fromkeys(
        ("str_replace_vstrict", "make_url", "list_concat", "list_concat_unique", "contains"), Lifetime(PIKE)
    ),
    "Fn::Select": Lifetime(V2013_05_23, V2015_10_15),
    **dict.fromkeys(
        (
            "Ref",
            "Fn::GetAZs",
            "Fn::Join",
            "Fn::Split",
            "Fn::Replace",
            "Fn::Base64",
            "Fn::MemberListToMap",
            "Fn::ResourceFacade",
        ),
        _CFN_ONLY,
    ),
}


def find_version(name: str) -> HotVersion | None:
    """Return the version with this date or code name."""
    return _BY_NAME.get(name)


def nearest_version(name: str) -> str:
    """Return a hint for a version that does not exist: the nearest, or all there are."""
    near = get_close_matches(name, _BY_NAME, 1)
    return f"did you mean {near[0]!r}?" if near else f"versions: {', '.join(_BY_NAME)}"
