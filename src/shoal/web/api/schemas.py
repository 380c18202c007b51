"""What the API takes and answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_Name = Annotated[str, Field(min_length=1, max_length=120)]


class Row(BaseModel):
    """An answer that is made from a row of the database."""

    model_config = ConfigDict(from_attributes=True)


class Given(BaseModel):
    """Something that is given; unknown entries are refused."""

    model_config = ConfigDict(extra="forbid")


class Me(BaseModel):
    """Whose token it is."""

    name: str
    role: str
    scopes: list[str]


class ProjectOut(Row):
    id: str
    name: str
    source: dict[str, Any]
    created: str


class NewProject(Given):
    name: _Name
    offer: str | None = None


class RecipeOut(BaseModel):
    number: int
    text: str
    note: str
    created: str


class RecipeIn(Given):
    text: Annotated[str, Field(max_length=1 << 20)]
    base: Annotated[int, Field(ge=0, le=2**31 - 1)]
    note: Annotated[str, Field(max_length=200)] = ""


class VersionOut(Row):
    number: int
    note: str
    created: str


class FileOut(Row):
    name: str
    kind: str
    bytes: int
    sha256: str


class JobOut(Row):
    id: str
    project: str
    kind: str
    recipe: int
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    progress: str
    share: float | None
    message: str | None
    result: dict[str, Any] | None
    created: str
    started: str | None
    ended: str | None


class ReleaseOut(Row):
    id: str
    name: str
    statement: str
    kind: str
    rows: int
    manifest: str
    created: str


class FileListed(BaseModel):
    name: str
    bytes: int


class ReleaseFiles(BaseModel):
    files: list[FileListed]


Audience = Literal["internal", "external", "regulator"]
Format = Literal["html", "md", "json"]


class DossierIn(Given):
    audience: Audience
    format: Format = "html"


class DossierOut(BaseModel):
    audience: Audience
    format: Format
    bytes: int
    sha256: str


class Signed(BaseModel):
    key: str


class SignatureOut(BaseModel):
    """The signature and the public key as their files hold them, and the key's fingerprint; null if nobody signed."""

    signature: str | None = None
    public_key: str | None = None
    key: str | None = None


class GrantIn(Given):
    user: _Name


class GrantOut(BaseModel):
    id: str
    user: str
    created: str
    revoked: str | None


class TokenIn(Given):
    name: _Name
    scopes: Annotated[list[str], Field(min_length=1, max_length=20)]
    days: Annotated[float, Field(gt=0, le=366)] = 90


class TokenOut(Row):
    id: str
    name: str
    scopes: list[str]
    created: str
    expires: str
    used: str | None


class NewToken(TokenOut):
    token: str


class UserIn(Given):
    name: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[\w.@+-]+$")]
    role: Literal["researcher"] = "researcher"


class UserEnd(Given):
    active: Literal[False]
    base: Annotated[str, Field(max_length=64)] | None = None


class UserOut(Row):
    id: str
    name: str
    role: str
    active: bool
    base: str
    created: str


class NewUser(UserOut):
    link: str


# ----------------------------------------
# What each kind of job may be told by programs.


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
