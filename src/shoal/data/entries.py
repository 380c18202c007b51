"""Tables of a recipe that are dataclasses of the data: one class says their entries, in recipes and in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, GetCoreSchemaHandler
from pydantic_core import CoreSchema


class Entries:
    """Base of a frozen dataclass that a recipe holds as a table.

    Pydantic checks the types of a recipe's entries by the annotations. What they mean is checked by ``__post_init__``,
    which a recipe leaves to those who use its table: editors save recipes that are not complete.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        found = handler(source)
        made: Any = handler.resolve_ref_schema(found)
        made |= {"strict": False, "post_init": False}  # entries are strict, but the table is a mapping and no instance
        return found


def as_list(value: Any) -> Any:
    """Refuse a text, which is a sequence too, and whatever else is no list."""
    if not isinstance(value, list | tuple):
        raise ValueError("must be a list")
    return value


def _as_text(value: Any) -> Any:
    """Codes such as 99 are texts like any other cell."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Text = Annotated[str, BeforeValidator(_as_text)]
Names = Annotated[Sequence[str], BeforeValidator(as_list)]
Texts = Annotated[Sequence[Text], BeforeValidator(as_list)]
