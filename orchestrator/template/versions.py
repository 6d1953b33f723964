"""Versions of the template language, in one order: those of CFN's two formats before those of HOT."""

from functools import total_ordering
from typing import Final

from hooks.values.dataclass import dataclass
from hooks.values.nearest import Nearest

#: The keys of a template's version, one for each format.
HOT, AWS_CFN, HEAT_CFN = "heat_template_version", "AWSTemplateFormatVersion", "HeatTemplateFormatVersion"


@total_ordering
@dataclass(frozen=True, slots=True)
class TemplateVersion:
    """One value of a template's version key; later ones compare greater."""

    date: str
    #: The code name that templates may use instead of the date; most early versions have none.
    alias: str = ""
    #: The key under which a template names this version.
    key: str = HOT

    def __str__(self) -> str:
        return f"{self.date} ({self.alias})" if self.alias else self.date

    def __lt__(self, other: "TemplateVersion") -> bool:
        return (self.date, self.alias, self.key) < (other.date, other.alias, other.key)

    @property
    def is_hot(self) -> bool:
        """Whether it is a version of HOT, not of CFN."""
        return self.key == HOT


CFN_AWS = TemplateVersion("2010-09-09", key=AWS_CFN)
CFN_HEAT = TemplateVersion("2012-12-12", key=HEAT_CFN)
V2013_05_23 = TemplateVersion("2013-05-23")
V2014_10_16 = TemplateVersion("2014-10-16")
V2015_04_30 = TemplateVersion("2015-04-30")
V2015_10_15 = TemplateVersion("2015-10-15")
V2016_04_08 = TemplateVersion("2016-04-08")
NEWTON = TemplateVersion("2016-10-14", "newton")
OCATA = TemplateVersion("2017-02-24", "ocata")
PIKE = TemplateVersion("2017-09-01", "pike")
QUEENS = TemplateVersion("2018-03-02", "queens")
ROCKY = TemplateVersion("2018-08-31", "rocky")
WALLABY = TemplateVersion("2021-04-16", "wallaby")

#: The versions of HOT.
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
#: The versions of every format, by version key.
FORMATS: Final = {HOT: VERSIONS, AWS_CFN: (CFN_AWS,), HEAT_CFN: (CFN_HEAT,)}

_BY_NAME: Final = {
    key: {name: version for version in versions for name in (version.date, version.alias) if name}
    for key, versions in FORMATS.items()
}
_BY_DATE: Final = {version.date: version for versions in FORMATS.values() for version in versions}


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The versions that have a feature: from ``since`` on, up to but not including ``until``."""

    since: TemplateVersion
    until: TemplateVersion | None = None

    def __contains__(self, version: TemplateVersion) -> bool:
        return self.since <= version and not self.is_over(version)

    def is_over(self, version: TemplateVersion) -> bool:
        """Whether ``version`` no longer has the feature."""
        return self.until is not None and version >= self.until

    def is_removed(self, version: TemplateVersion) -> bool:
        """Whether ``version`` of HOT refuses a feature of earlier versions of HOT, rather than reading it as data."""
        return self.until is not None and V2013_05_23 < self.until <= version and version.is_hot


#: All versions of HOT.
ALWAYS: Final = Lifetime(V2013_05_23)
#: No version.
NEVER: Final = Lifetime(V2013_05_23, V2013_05_23)
#: Both formats of CFN; only AWS's; and those of CFN together with the first version of HOT.
CFN_ONLY: Final = Lifetime(CFN_AWS, V2013_05_23)
CFN_AWS_ONLY: Final = Lifetime(CFN_AWS, CFN_HEAT)
CFN_AND_FIRST_HOT: Final = Lifetime(CFN_AWS, V2014_10_16)


def find_version(name: str, key: str = HOT) -> TemplateVersion | None:
    """Return the version with this date or code name, of the format whose version key is ``key``."""
    return _BY_NAME[key].get(name)


def version_of_date(date: str) -> TemplateVersion | None:
    """Return the version of any format with this date; no two formats share one."""
    return _BY_DATE.get(date)


def nearest_version(name: str, key: str = HOT) -> str:
    """Return a hint for a version that does not exist: the nearest version, or all versions."""
    names = _BY_NAME[key]
    return Nearest().hint(name, names, f"versions: {', '.join(names)}")
