"""Release: check the recipe, run it, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

import tomlkit
from fastapi import APIRouter, Form
from sqlalchemy import select
from starlette.responses import Response

from shoal.errors import RecipeError, ShoalError
from shoal.recipe.edit import entry, merging, with_section
from shoal.recipe.recipe import parse_recipe
from shoal.release.check import findings, warnings
from shoal.web.pages.models import models_view
from shoal.web.pages.project_page import Base, Bench, Edit, Problem, Read, Run, texts
from shoal.web.pages.releases import release_view
from shoal.web.preview.place import Place
from shoal.web.projects.project import files_of
from shoal.web.projects.releases import is_signed
from shoal.web.request import Here
from shoal.web.store.tables import Job, RecipeVersion, Release

# ----------------------------------------
# What only people can say of a release: which warnings they accept and why, and what a dossier states.


_CODES = re.compile(r"To accept this, add (.+?) to 'acknowledge'\.")
_CODE = re.compile(r'"(W-[A-Z-]+(?::[^"]*)?)"')


@dataclass(frozen=True, kw_only=True)
class Field:
    """An entry of ``[review]``: its name, what it asks, how it is typed (``text``, ``lines`` or ``number``)."""

    name: str
    label: str
    kind: str = "text"
    value: str = ""


_FIELDS = (
    ("title", "Title", "text"), ("purpose", "What the release is for", "text"),
    ("controller", "Who answers for the data", "text"), ("contact", "Contact", "text"),
    ("legal_basis", "Legal basis", "text"), ("recipients", "Recipients, one a line", "lines"),
    ("context", "How it is released: to the public, under contract, …", "text"),
    ("safeguards", "Safeguards at the recipients, one a line", "lines"),
    ("subjects", "Whom the data are about", "text"), ("threats", "Who might look for people, one a line", "lines"),
    ("threshold", "Largest risk that is accepted, such as 0.09", "number"),
    ("threshold_reason", "Why that risk", "text"), ("use", "What analysts will do with it", "text"),
    ("re_evaluation", "Day of the next review, such as 2027-01-31", "text"),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ReviewView:
    """What was said so far, and what is still open."""

    fields: tuple[Field, ...]
    signed: tuple[str, ...]
    accepted: tuple[tuple[str, str], ...]
    open_codes: tuple[str, ...]


def codes_in(message: str | None) -> list[str]:
    """Warning codes that a refusal would be lifted by."""
    found = _CODES.search(message or "")
    return [] if found is None else _CODE.findall(found[1])


def promises_the_same(one: str, other: str) -> bool:
    """Whether two recipes differ at most in what was accepted and what a dossier states."""
    try:
        return _promised(one) == _promised(other)
    except RecipeError:  # a version that an earlier Shoal could read
        return False


def _promised(text: str) -> dict[str, Any]:
    return parse_recipe(text).model_dump(exclude={"acknowledge", "review"})


def review_view(text: str, codes: Sequence[str]) -> ReviewView:
    """What a recipe says, and what a refused run or check asks to be accepted."""
    recipe = parse_recipe(text)
    said = {} if recipe.review is None else recipe.review.stated()
    reasons = said.get("accepted", {})
    fields = [Field(name=name, label=label, kind=kind, value=_shown(said.get(name))) for name, label, kind in _FIELDS]
    return ReviewView(
        fields=tuple(fields), signed=tuple(", ".join(one.values()) for one in said.get("sign_off", [])),
        accepted=tuple((code, reasons.get(code, "")) for code in recipe.acknowledge),
        open_codes=tuple(code for code in codes if code not in recipe.acknowledge),
    )  # fmt: skip


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return "\n".join(value) if isinstance(value, list) else str(value)


def with_review(text: str, form: Mapping[str, str]) -> str:
    """The recipe with what a form says under ``[review]``; what is left empty goes."""
    given = {name: _typed(name, kind, form.get(name, "").strip()) for name, _, kind in _FIELDS if name in form}
    said = {name: None if value in (None, [], "") else value for name, value in given.items()}
    return with_section(text, ("review",), merging(said))


def _typed(name: str, kind: str, text: str) -> Any:
    if kind == "lines":
        return [line.strip() for line in text.splitlines() if line.strip()]
    if kind == "number" and text:
        try:
            return float(text.replace(",", "."))
        except ValueError:
            raise RecipeError(f"The '{name}' must be a number such as 0.09, or be left empty.") from None
    return text.replace("\r\n", "\n")


def with_sign_off(text: str, name: str, role: str) -> str:
    """The recipe signed off by somebody, today."""
    if not name.strip():
        raise RecipeError("Whoever signs off needs a name: type it.")
    said = {"name": name.strip(), "role": role.strip(), "date": date.today().isoformat()}
    signed = {key: value for key, value in said.items() if value}

    def change(review: Any) -> None:
        if isinstance(review.get("sign_off"), tomlkit.items.AoT):
            review["sign_off"].append(tomlkit.item(signed))
        else:
            review.setdefault("sign_off", tomlkit.array()).append(entry(signed))

    return with_section(text, ("review",), change)


def with_accepted(text: str, codes: Sequence[str], reason: str) -> str:
    """The recipe with warnings accepted, and the reason under ``[review]`` where one is given."""
    if not codes:
        raise RecipeError("There is nothing to accept any more: look at the page again.")

    def top(document: Any) -> None:
        listed = document.setdefault("acknowledge", tomlkit.array())
        for code in codes:
            if code not in listed:
                listed.append(code)

    def review(table: Any) -> None:
        reasons = table.setdefault("accepted", tomlkit.inline_table())
        for code in codes:
            reasons[code] = reason.strip()

    text = with_section(text, (), top)
    return with_section(text, ("review",), review) if reason.strip() else text


def without_accepted(text: str, code: str) -> str:
    """The recipe with a warning accepted no longer."""

    def top(document: Any) -> None:
        if code not in document.get("acknowledge", []):
            raise RecipeError("This warning is not accepted any more: look at the page again.")
        document["acknowledge"].remove(code)
        if not document["acknowledge"]:
            del document["acknowledge"]

    def review(table: Any) -> None:
        table.get("accepted", {}).pop(code, None)
        if not table.get("accepted", True):
            del table["accepted"]

    return with_section(with_section(text, (), top), ("review",), review)


# ----------------------------------------
# What a check of the recipe found, for its page.


HEADINGS = ("Column", "Role", "Type", "Kind", "Distinct", "Missing", "Levels", "Leaves")


@dataclass(frozen=True, kw_only=True)
class CheckView:
    """Sentences as ``shoal check`` prints them, and what the table has; counts alone, no cell.

    Warnings stand apart: promises that promise nothing, and spellings that count as different values.
    """

    free: bool
    warnings: tuple[str, ...]
    sentences: tuple[str, ...]
    table: str
    columns: tuple[tuple[str, ...], ...]


def check_view(found: Mapping[str, Any]) -> CheckView:
    """What a job of the kind ``check`` found."""
    warned = tuple(warnings(found))
    return CheckView(
        free=not found["problems"], warnings=warned, table=_table(found),
        sentences=tuple(one for one in findings(found) if one not in warned),
        columns=tuple(_column(one) for one in found.get("columns", ())),
    )  # fmt: skip


def codes_of(found: Mapping[str, Any]) -> list[str]:
    """Warning codes that would lift what a check was refused for, each once."""
    return list(dict.fromkeys(code for one in found.get("refusals", ()) for code in one["codes"]))


def _table(found: Mapping[str, Any]) -> str:
    if "rows" not in found:
        return ""
    people = f" about {found['people']:,} people" if found["people"] else ""
    dropped = f" ({found['rows_dropped']:,} more dropped for missing cells)" if found["rows_dropped"] else ""
    return f"{found['rows']:,} rows{people}{dropped}"


def _column(one: Mapping[str, Any]) -> tuple[str, ...]:
    tree = one["hierarchy"] or {}
    counts = [one["distinct"], one["missing"], tree.get("height"), tree.get("leaves")]
    told = ("–" if each is None else f"{each:,}" for each in counts)
    return one["name"], one["role"], one["type"] or "–", one["kind"] or "–", *told


router = APIRouter()


@router.get("/projects/{project}/release")
def show_release(here: Read) -> Response:
    return _page(here, None)


def _page(here: Here, problem: Problem | None) -> Response:
    bench = Bench(here)
    job, done = bench.jobs("run")
    check, _ = bench.jobs("check")
    found, stale = _found(bench)
    chosen = select(Release).where(Release.project == bench.project.id).order_by(Release.created.desc())
    with here.reading() as db:
        listed = list(db.scalars(chosen))
        signed = bool(listed) and is_signed(db, listed[0])
    view, why = None, ""
    if listed:
        try:
            view = release_view(here.workspace.folder / listed[0].folder, signed=signed)
        except (ShoalError, OSError):
            why = "The files of the newest release are not there: run the recipe again."
    return bench.page(
        "release.html", "release", problem, job=job, done=done, check=check, listed=listed, view=view, why=why,
        asked=models_view(bench.place), found=found, stale=stale, headings=HEADINGS,
        review=review_view(bench.place.text, _open_codes(bench)),
    )  # fmt: skip


def _found(bench: Bench) -> tuple[CheckView | None, str]:
    """What the newest check found; or nothing, and why that is no longer true."""
    check, checked = bench.jobs("check")
    if checked is None or checked.recipe != bench.here.workspace.version or "problems" not in (checked.result or {}):
        return None, ""  # a check of an earlier version of Shoal has no list
    if check is not None and check.state == "failed":
        return None, ""  # which the page tells
    if _changed_since(bench, checked):
        return None, "Files of this project came in since the recipe was checked: check it again."
    return check_view(checked.result or {}), ""


def _changed_since(bench: Bench, job: Job) -> bool:
    """Whether a file came in, or took the place of another, after a job had begun."""
    with bench.here.reading() as db:
        return any(one.created > (job.started or job.created) for one in files_of(db, bench.project.id))


def _open_codes(bench: Bench) -> list[str]:
    """What the newest run or check asks to be accepted, where the recipe still promises what it was asked of."""
    jobs = [one for one in (bench.jobs("run")[0], bench.jobs("check")[0]) if one is not None]
    newest = max(jobs, key=lambda one: one.created, default=None)
    if newest is None or _changed_since(bench, newest):
        return []
    with bench.here.reading() as db:
        asked = db.get(RecipeVersion, (bench.project.id, newest.recipe))
    if asked is None or not promises_the_same(asked.text, bench.place.text):
        return []
    return codes_in(newest.message) if newest.state == "failed" else codes_of(newest.result or {})


@router.post("/projects/{project}/release")
def run_recipe(here: Run) -> Response:
    return Bench(here).start("run", "release")


@router.post("/projects/{project}/release/check")
def check_recipe(here: Run) -> Response:
    return Bench(here).start("check", "release")


@router.post("/projects/{project}/release/accept")
def accept_warnings(here: Edit, base: Base, reason: Annotated[str, Form(max_length=4000)] = "") -> Response:
    """Accept what the newest run or check was refused for, or withdraw what was accepted."""
    bench = Bench(here)
    withdrawn = texts(bench.form).get("withdraw", "")

    def make(place: Place) -> tuple[str, str]:
        if withdrawn:
            return without_accepted(place.text, withdrawn), f"{withdrawn} not accepted any more"
        # Those that the page showed: another run or check may have ended since.
        shown = review_view(place.text, _open_codes(bench)).open_codes
        codes = [code for code in shown if code in bench.form.getlist("code")]
        return with_accepted(place.text, codes, reason), f"accepted {', '.join(codes)}"

    return bench.change("release", base, make, _page)


@router.post("/projects/{project}/release/review")
def change_review(here: Edit, base: Base) -> Response:
    """What the dossier states, and who signs it off."""
    bench = Bench(here)
    given = texts(bench.form)

    def make(place: Place) -> tuple[str, str]:
        if given.get("do") == "sign-off":
            text = with_sign_off(place.text, given.get("name", ""), given.get("role", ""))
            return text, "signed off"
        return with_review(place.text, given), "what the dossier states"

    return bench.change("release", base, make, _page)
