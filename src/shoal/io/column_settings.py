"""What a recipe says of single columns: ``[columns.NAME]`` and ``[policies.NAME]``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from shoal.io import entries
from shoal.io.section import Section

Text = Annotated[str, BeforeValidator(entries.as_text)]


class ColumnSettings(Section):
    """What a column needs said about it, under ``[columns.NAME]``."""

    type: Literal["numeric", "date", "ordinal", "categorical"] | None = None
    format: str | None = None
    order: list[Text] | None = None
    domain: Annotated[list[Any], BeforeValidator(entries.check_domain)] | None = None
    style: Literal["auto", "bounds", "representative"] = "auto"
    snap: Annotated[Any, BeforeValidator(entries.check_snap)] = "auto"
    use: Literal["interval"] | None = None
    non_answers: list[Text] = []
    missing_markers: list[Text] = []
    decimal: Literal[".", ","] | None = None
    thousands: str | None = None
    shift: Annotated[dict[str, Any], BeforeValidator(entries.check_shift)] | None = None
    code: Annotated[Any, BeforeValidator(entries.check_code)] = None
    derive: Annotated[dict[str, Any], BeforeValidator(entries.check_derive)] | None = None
    recode: dict[str, Text] | None = None
    recode_else: Literal["error", "keep"] = "error"
    top: Annotated[Any, BeforeValidator(entries.check_end)] = None
    bottom: Annotated[Any, BeforeValidator(entries.check_end)] = None
    round: Annotated[float | None, Field(gt=0, allow_inf_nan=False, strict=False)] = None
    items: str | None = None


class PolicySettings(Section):
    """The sensitive ranges of a column, under ``[policies.NAME]``."""

    ranges: Annotated[Any, BeforeValidator(entries.check_ranges)]
    otherwise: Annotated[Literal["value", "error"], Field(alias="else")] = "error"
