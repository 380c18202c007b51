"""The same for programs, under /api/v1; every module in here that has a router is found by itself."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(min_length=1, max_length=120)]


class Row(BaseModel):
    """An answer that is made from a row of the database."""

    model_config = ConfigDict(from_attributes=True)


class Given(BaseModel):
    """Something that is given; unknown entries are refused."""

    model_config = ConfigDict(extra="forbid")
