"""``OS::Heat::RandomString``: a secret that is generated once and stays for the life of the resource."""

import secrets
import string
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from orchestrator.definition import is_unknown
from orchestrator.plugins.constraints import AllowedValues, Length, Range
from orchestrator.plugins.properties import Attribute, PropertyError, PropertyType
from orchestrator.plugins.steps import ResourceFailure
from workers.resources.core.row import RowResource
from workers.resources.schemas import integer, listing, mapping, text

CLASSES: Final[Mapping[str, str]] = {
    "lettersdigits": string.ascii_letters + string.digits,
    "letters": string.ascii_letters,
    "lowercase": string.ascii_lowercase,
    "uppercase": string.ascii_uppercase,
    "digits": string.digits,
    "hexdigits": string.digits + "ABCDEF",
    "octdigits": string.octdigits,
}
_ONE_CLASS: Final = AllowedValues(tuple(CLASSES))
_AT_LEAST: Final = integer("At least so many of these characters.", default=1, constraints=(Range(1, 512),))


class Demand(NamedTuple):
    """At least ``minimum`` of these characters."""

    characters: str
    minimum: int


def demands(properties: Mapping[str, Any]) -> list[Demand]:
    """Return the demands of the properties; letters and digits by default."""
    demanded = [
        Demand(CLASSES[item["class"]], item["min"]) for item in properties.get("character_classes") or ()
    ]
    demanded += [
        Demand(item["sequence"], item["min"]) for item in properties.get("character_sequences") or ()
    ]
    if properties.get("sequence"):
        demanded.append(Demand(CLASSES[properties["sequence"]], 1))
    return demanded or [Demand(CLASSES["lettersdigits"], 1)]


def generate(length: int, demanded: Iterable[Demand]) -> str:
    """Return ``length`` characters from the system's source of randomness that meet every demand.

    The demands together must not need more than ``length`` characters.
    """
    demanded = tuple(demanded)
    drawn = [secrets.choice(demand.characters) for demand in demanded for _ in range(demand.minimum)]
    # A character in two demands is no likelier than another.
    everything = sorted({character for demand in demanded for character in demand.characters})
    drawn += [secrets.choice(everything) for _ in range(length - len(drawn))]
    # Otherwise the positions of the demanded characters would be known.
    secrets.SystemRandom().shuffle(drawn)
    return "".join(drawn)


class RandomString(RowResource):
    """Generates a random text once; any change of a property makes a replacement.

    The text is also the reference id: ``get_resource`` yields the secret, not an id.
    """

    description = "Makes a random text, such as a password."
    example = """\
heat_template_version: 2021-04-16
resources:
  password:
    type: OS::Heat::RandomString
    properties:
      length: 24
      character_classes:
        - class: lettersdigits
      character_sequences:
        - sequence: "-_.!"
          min: 2
outputs:
  password:
    value: {get_attr: [password, value]}
"""
    pure = True
    properties_schema = {
        "length": integer("The length of the text.", default=32, constraints=(Range(1, 512),)),
        "character_classes": listing(
            "Classes of characters to draw from.",
            schema=mapping(
                schema={
                    "class": text("The class.", default="lettersdigits", constraints=(_ONE_CLASS,)),
                    "min": _AT_LEAST,
                }
            ),
        ),
        "character_sequences": listing(
            "Characters to draw from.",
            schema=mapping(
                schema={
                    "sequence": text("The characters.", required=True, constraints=(Length(min=1),)),
                    "min": _AT_LEAST,
                }
            ),
        ),
        "sequence": text("Old spelling of character_classes, for a single class.", constraints=(_ONE_CLASS,)),
        "salt": text("Has no effect of its own: a change of it makes a new text."),
    }
    attributes_schema = {"value": Attribute("The text.", PropertyType.STRING, sensitive=True)}

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check that the text is long enough for its demands.

        Raises:
            PropertyError: it is not.
        """
        if is_unknown(properties):
            return
        needed = sum(demand.minimum for demand in demands(properties))
        length = properties["length"]
        if needed > length:
            message = f"the minimums add up to {needed} characters, which is more than the length {length}"
            veiled = "the minimums add up to more characters than the length"
            raise PropertyError(("length",), message, veiled=veiled)

    def handle_create(self) -> object:
        """Generate the text, unless an earlier attempt already did."""
        if "value" not in self.state.data:
            self.state.data["value"] = generate(self.properties["length"], demands(self.properties))
        return super().handle_create()

    def handle_adopt(self) -> None:
        """Take over the text from the adopt file.

        Raises:
            ResourceFailure: it has none.
        """
        if not isinstance(self.state.data.get("value"), str):
            raise ResourceFailure("the adopt file must tell the text, as the resource_data 'value'")

    def handle_delete(self) -> Any:
        """Delete the text."""
        self.state.data.pop("value", None)

    def reference_id(self) -> str | None:
        """Return the text itself."""
        return self.state.data.get("value")

    def attribute(self, name: str) -> Any:
        """Return the text."""
        return self.state.data.get("value") if name == "value" else None
