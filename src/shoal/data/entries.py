"""Tables of a recipe that are dataclasses of the data: one class says their entries, in recipes and in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, Strict


class Entries:
    """Base of a frozen dataclass that a recipe holds as a table.

    Pydantic checks the types of a recipe's entries by the annotations; what they mean is checked by ``__post_init__``,
    which Python callers meet too. Whole numbers and truth values are annotated as `Whole` and `Flag`: with a strict
    configuration pydantic would take nothing but instances for a table.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


def as_list(value: Any) -> Any:
    """Refuse a text, which is a sequence too, and whatever else is no list."""
    if not isinstance(value, list | tuple):
        raise ValueError("must be a list")
    return value


def _as_text(value: Any) -> Any:
    """Codes such as 99 are texts like any other cell."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Whole = Annotated[int, Strict()]
Flag = Annotated[bool, Strict()]
Text = Annotated[str, BeforeValidator(_as_text)]
Names = Annotated[Sequence[str], BeforeValidator(as_list)]
Texts = Annotated[Sequence[Text], BeforeValidator(as_list)]
