"""Options of a hypervisor or a storage in a template: validated against a model."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from hooks.values.masking import sentence_of
from hooks.values.nearest import Nearest

M = TypeVar("M", bound=BaseModel)


def read_options(model: type[M], given: Mapping[str, Any], *, fault: type[Exception]) -> M:
    """Return the validated options; the message shows no values.

    Raises:
        Exception: a ``fault`` that names the wrong options' paths and the nearest right names.
    """
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False)
        sentences = []
        for each in faults:
            path = ".".join(map(str, each["loc"]))
            if each["type"] == "extra_forbidden":
                names = sorted(model.model_fields)
                hint = Nearest().hint(
                    path, names, f"there are: {', '.join(names)}" if names else "there are none"
                )
                sentences.append(f"there is no option {path!r}; {hint}")
            else:
                sentences.append(f"option {path!r}: {sentence_of(each)}")
        raise fault("; ".join(sentences)) from None
