"""What all pages of a project share: its tabs, its recipe, saving a new version of it, and jobs."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Form
from sqlalchemy import select
from sqlalchemy.orm import Session as Db
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from shoal.errors import ShoalError
from shoal.web.errors import Refused
from shoal.web.jobs import queue
from shoal.web.preview.cache import once
from shoal.web.preview.place import Place
from shoal.web.projects.project import keep_made
from shoal.web.request import Here, needs
from shoal.web.store.tables import Job, Project, RecipeVersion

# ----------------------------------------
# A change to the recipe that came too late, since somebody else had made one: what it would have been.


Make = Callable[[Place], tuple[str, str]]
Lines = list[tuple[str, str]]
_OURS = ("csrf", "base")


@dataclass(frozen=True)
class Lost:
    """What would have changed in the version it was made from; and how to ask for it again.

    ``again`` has the fields of the form, where it would change the same lines of the newest version and no others.
    """

    lines: Lines
    address: str
    again: tuple[tuple[str, str], ...]


def difference(older: str, newer: str) -> Lines:
    """Lines of two texts as they differ, with their kind: ``added``, ``removed``, ``where`` or none."""
    lines = difflib.unified_diff(older.splitlines(), newer.splitlines(), lineterm="", n=2)
    kinds = {"+": "added", "-": "removed", "@": "where"}
    return [(kinds.get(line[:1], ""), line) for line in lines if not line.startswith(("---", "+++"))]


def lost_change(base: Place, newest: Place, make: Make, form: FormData, address: str) -> Lost | None:
    """What a form would have made of the version that it showed; None where nobody can tell."""
    if any(isinstance(value, UploadFile) and value.filename for _, value in form.multi_items()):
        return None  # a file is read once
    mine = _made(base, make)
    if mine is None:
        return None
    theirs = _made(newest, make)
    lines = difference(base.text, mine)
    same = theirs is not None and _changes(lines) == _changes(difference(newest.text, theirs)) != []
    sent = [(name, value) for name, value in form.multi_items() if isinstance(value, str) and name not in _OURS]
    return Lost(lines, address, tuple(sent) if same else ())


def _made(place: Place, make: Make) -> str | None:
    try:
        return make(place)[0]
    except (ShoalError, Refused, OSError):  # such as one for whom there is no turn to read: the conflict is told anyway
        return None


def _changes(lines: Lines) -> Lines:
    return [one for one in lines if one[0] in ("added", "removed")]


TABS = (
    ("data", "Data"), ("hierarchies", "Hierarchies"), ("models", "Models"), ("risk", "Risk"), ("explore", "Explore"),
    ("compare", "Compare"), ("attacks", "Attacks"), ("release", "Release"), ("values", "Values"),
)  # fmt: skip
_LOOKING = ("data", "hierarchies", "values")
Show = Callable[[Here, "Problem | None"], Response]
Read = Annotated[Here, needs("project.read")]
Edit = Annotated[Here, needs("project.edit")]
Run = Annotated[Here, needs("project.run")]
Base = Annotated[int, Form(ge=0, le=2**31 - 1)]
"""The version of the recipe that a form was made from."""


@dataclass(frozen=True)
class Problem:
    """Why something was not done, for the page that it was asked on."""

    message: str
    status: int = 422
    lost: Lost | None = None


class Bench:
    """A project at work."""

    def __init__(self, here: Here) -> None:
        self.here = here
        self._kept: dict[str, bytes] = {}

    @property
    def form(self) -> FormData:
        """The fields of the form that was sent."""
        return self.here.form or FormData()

    @property
    def project(self) -> Project:
        return self.here.workspace.project

    @once
    def place(self) -> Place:
        """The project's folder and the newest version of its recipe."""
        space = self.here.workspace
        if not space.version:
            to = f"/projects/{self.project.id}"
            raise Refused(303, "no-recipe", "This project has no recipe yet.", headers={"location": to})
        return Place(space.folder, space.text)

    def address(self, tab: str) -> str:
        return f"/projects/{self.project.id}/{tab}"

    def page(self, template: str, tab: str, problem: Problem | None = None, **values: Any) -> Response:
        """A page of the project; with a problem, as the answer to a form that was not taken."""
        saved = self.here.request.query_params.get("saved", "")
        # Every page but that of the recipe needs one, and few of them look at what it reads.
        place = None if tab == "recipe" else self.place
        part = place is not None and tab in _LOOKING and not place.whole
        return self.here.page(
            template, problem.status if problem else 200, project=self.project, tab=tab, tabs=TABS, problem=problem,
            number=self.here.workspace.version, part=part, saved=saved if saved.isdigit() else "", **values,
        )  # fmt: skip

    def change(self, tab: str, base: int, make: Make, show: Show) -> Response:
        """Save what a form makes of the recipe, and go to the page; or show the page again with what was wrong.

        ``make`` gives the new text and a note of what was done.
        """
        try:
            space = self.here.workspace
            space.refuse_other(base)
            text, note = make(Place(space.folder, space.text))
            fit = space.fit(text, base)
            with self.here.writing() as db:
                number = space.save(db, fit, base=base, author=self.here.me.id, note=note[:200])
                self._write(db)
        except ShoalError as error:
            return show(self.here, Problem(str(error)))
        except Refused as error:
            if error.status != 409:
                raise
            vars(self.here).pop("workspace", None)  # somebody else was quicker: show what they made of it
            return show(self.here, Problem(error.message, error.status, self._lost(base, make)))
        to = self.address(tab)
        return self.here.see(f"{to}{'&' if '?' in to else '?'}saved={number}")

    def _lost(self, base: int, make: Make) -> Lost | None:
        """What a form would have made of the version that it showed."""
        space = self.here.workspace
        with self.here.reading() as db:
            shown = db.get(RecipeVersion, (self.project.id, base))
        if shown is None:
            return None
        older, newest = (Place(space.folder, text) for text in (shown.text, space.text))
        return lost_change(older, newest, make, self.form, self.here.request.url.path)

    def start(self, kind: str, tab: str, parameters: Mapping[str, Any] | None = None) -> Response:
        """Ask for a job on the newest version of the recipe, and go back to the page."""
        with self.here.writing() as db:
            queue.add(
                db, self.project, kind, recipe=self.here.workspace.version, author=self.here.me.id,
                parameters=dict(parameters or {}), most=self.here.settings.jobs_waiting,
            )  # fmt: skip
        return self.here.see(self.address(tab))

    def jobs(self, kind: str) -> tuple[Job | None, Job | None]:
        """The newest job of a kind, and the newest of them that is done."""
        chosen = select(Job).where(Job.project == self.project.id, Job.kind == kind).order_by(Job.created.desc())
        with self.here.reading() as db:
            found = list(db.scalars(chosen.limit(50)))
        return next(iter(found), None), next((one for one in found if one.state == "done"), None)

    def has_seed(self, job: Job | None) -> bool:
        """Whether the version of the recipe that a job is of says by what to draw."""
        with self.here.reading() as db:
            found = None if job is None else db.get(RecipeVersion, (self.project.id, job.recipe))
        return found is not None and "seed" in tomllib.loads(found.text)

    def keep(self, name: str, data: bytes) -> None:
        """Keep a file of the project with the version that names it; its name tells its content, so none is lost."""
        self._kept[name] = data

    def _write(self, db: Db) -> None:
        for name, data in self._kept.items():
            keep_made(db, self.project.id, name, data, self.here.settings)


def texts(form: FormData) -> dict[str, str]:
    """The fields of a form that are text; of several of one name, all, a line each."""
    found: dict[str, str] = {}
    for key in form:
        values = [one for one in form.getlist(key) if isinstance(one, str)]
        found[key] = "\n".join(values)
    return found


def whole(text: str) -> int:
    """A place or number that a form or an address names, -1 where it is none that there could be."""
    return int(text) if text.isdecimal() and len(text) < 10 else -1


def uploaded(form: FormData, name: str) -> UploadFile | None:
    """A file that came with a form, None where nobody chose one."""
    found = form.get(name)
    return found if isinstance(found, UploadFile) and found.filename else None
