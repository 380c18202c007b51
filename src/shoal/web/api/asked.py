"""What each kind of job may be told by programs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from shoal.web.api.models import Given

_Text = Annotated[str, Field(max_length=1000)]
_Texts = Annotated[list[_Text], Field(max_length=20_000)]
_Named = Annotated[dict[_Text, _Text], Field(max_length=20_000)]
_Size = Annotated[int, Field(strict=True, ge=2, le=2**53 - 1)]


class Nothing(Given):
    """Nothing but the recipe."""


class SourceGiven(Given):
    """What somebody knows of a source; the rest is found out."""

    columns: _Texts | None = None
    separator: _Text | None = None
    encoding: _Text | None = None
    sheet: _Text | None = None
    decimal: _Text | None = None
    thousands: _Text | None = None
    markers: _Texts | None = None
    formats: _Named | None = None
    roles: _Named | None = None
    k: _Size | None = None


class StartGiven(Given):
    given: SourceGiven = SourceGiven()
    answers: _Named = {}


class RiskGiven(Given):
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.2


class ExploreGiven(Given):
    algorithms: Annotated[list[_Text], Field(max_length=40)] = []
    k: Annotated[list[_Size], Field(max_length=40)] = []


class AttackGiven(Given):
    hold_out: Annotated[float, Field(gt=0, lt=1)] = 0.2


class StartJob(Given):
    kind: Literal["start"]
    parameters: StartGiven = StartGiven()


class RiskJob(Given):
    kind: Literal["risk"]
    parameters: RiskGiven = RiskGiven()


class ExploreJob(Given):
    kind: Literal["explore"]
    parameters: ExploreGiven = ExploreGiven()


class AttackJob(Given):
    kind: Literal["attack"]
    parameters: AttackGiven = AttackGiven()


class PlainJob(Given):
    kind: Literal["check", "compare", "run"]
    parameters: Nothing = Nothing()


JobIn = Annotated[StartJob | RiskJob | ExploreJob | AttackJob | PlainJob, Field(discriminator="kind")]


class AnswersIn(Given):
    answers: Annotated[_Named, Field(min_length=1)]
