"""Making projects, and giving files their place in them."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NewType

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session as Db
from sqlalchemy.orm import defer

from shoal.io.databases import without_password
from shoal.recipe.recipe import Recipe
from shoal.web.errors import conflict, invalid, missing
from shoal.web.preview.head import forget_copies
from shoal.web.projects.confinement import parse_confined
from shoal.web.projects.transaction import afterwards, put_file, settle_left
from shoal.web.projects.uploads import INCOMING, KINDS, Incoming, written
from shoal.web.settings import Offer, Settings
from shoal.web.store.tables import File, Job, Project, RecipeVersion, Release, new_id, now

if TYPE_CHECKING:
    from shoal.web.request import Here

# ----------------------------------------
# A project as pages and jobs see it: its folder, and one version of its recipe.


_CONFLICT = (
    "Somebody changed the recipe meanwhile: yours started from version {base}, and there is version {newest} now. Look "
    "at it, then make your change again."
)
Fit = NewType("Fit", str)
"""A text that was read as a recipe of the project. That takes seconds where it is long, too long for a transaction."""


@dataclass(frozen=True)
class Workspace:
    """A project's folder and one version of its recipe; version 0, without text, where there is none yet.

    Paths in the recipe start from the folder, and none leads out of it.
    """

    project: Project
    folder: Path
    version: int
    text: str
    settings: Settings

    @classmethod
    def newest(cls, db: Db, project: Project, settings: Settings) -> Workspace:
        """With the newest version of the recipe."""
        found = db.scalars(
            select(RecipeVersion).where(RecipeVersion.project == project.id).order_by(RecipeVersion.number.desc())
        ).first()
        return cls._with(project, found, settings)

    @classmethod
    def at(cls, db: Db, project: Project, number: int, settings: Settings) -> Workspace:
        """With an earlier version of the recipe."""
        found = db.get(RecipeVersion, (project.id, number))
        if found is None:
            raise missing()
        return cls._with(project, found, settings)

    @classmethod
    def _with(cls, project: Project, found: RecipeVersion | None, settings: Settings) -> Workspace:
        number, text = (0, "") if found is None else (found.number, found.text)
        return cls(project, folder_of(project.id, settings), number, text, settings)

    @property
    def recipe(self) -> Recipe:
        """The recipe, read."""
        if not self.version:
            raise conflict("This project has no recipe yet: upload a source first.")
        return parse_confined(self.text, self.folder, self.settings.offers)

    def refuse_other(self, base: int) -> None:
        """Refuse a change that was made from another version than this one."""
        if base != self.version:
            raise conflict(_CONFLICT.format(base=base, newest=self.version))

    def fit(self, text: str, base: int) -> Fit:
        """A text that can be saved, made from version ``base``; to be asked before a transaction begins."""
        self.refuse_other(base)
        parse_confined(text, self.folder, self.settings.offers)
        return Fit(text)

    def save(self, db: Db, text: Fit, *, base: int, author: str, note: str = "") -> int:
        """A new version of the recipe, made from version ``base``; refused where somebody else made one meanwhile."""
        newest = db.scalar(
            select(func.coalesce(func.max(RecipeVersion.number), 0)).where(RecipeVersion.project == self.project.id)
        )
        if base != newest:
            raise conflict(_CONFLICT.format(base=base, newest=newest))
        number = base + 1
        db.add(RecipeVersion(project=self.project.id, number=number, text=text, author=author, note=note))
        try:
            db.flush()
        except IntegrityError:  # PostgreSQL, where two may look at the same time
            raise conflict(_CONFLICT.format(base=base, newest=number)) from None
        return number


def folder_of(project: str, settings: Settings) -> Path:
    """The folder of a project."""
    return settings.projects / project


def versions(db: Db, project: str, before: int | None = None, most: int = 100) -> list[RecipeVersion]:
    """Versions of a recipe before one of them, the newest first and without their texts."""
    chosen = select(RecipeVersion).where(RecipeVersion.project == project).order_by(RecipeVersion.number.desc())
    if before is not None:
        chosen = chosen.where(RecipeVersion.number < before)
    return list(db.scalars(chosen.options(defer(RecipeVersion.text)).limit(most)))


OFFERS = "offers"
_UNMADE = ".unmade"  # in a folder whose project is being made or removed
_FOLDERS = ("source", "hierarchies", "values", "jobs", "releases", OFFERS)


def make_project(db: Db, name: str, owner: str, settings: Settings) -> Project:
    """An empty project with its folder."""
    name = name.strip()
    if not 1 <= len(name) <= 120:
        raise invalid("A project needs a name of at most 120 characters.", "name")
    project = Project(id=new_id(), name=name, owner=owner, source={})
    folder = folder_of(project.id, settings)
    afterwards(db, lambda now: _settle(now, folder))
    folder.mkdir(mode=0o700, parents=True)
    (folder / _UNMADE).touch(0o600)
    for part in _FOLDERS:
        (folder / part).mkdir(mode=0o700)
    db.add(project)
    db.flush()
    return project


def _settle(db: Db, folder: Path) -> None:
    """Let a folder go that has no project, of those that are marked: it was not made, or is removed."""
    if (folder / _UNMADE).exists():
        if db.get(Project, folder.name) is None:
            _remove(folder)
        else:
            (folder / _UNMADE).unlink(missing_ok=True)


def _remove(folder: Path) -> None:
    """Remove a folder, its mark last: whoever is killed meanwhile goes on at the next start."""
    for one in folder.glob("*"):
        if one.is_dir() and not one.is_symlink():
            shutil.rmtree(one, ignore_errors=True)
        elif one.name != _UNMADE:
            with suppress(OSError):
                one.unlink(missing_ok=True)
    if {one.name for one in folder.glob("*")} <= {_UNMADE}:
        shutil.rmtree(folder, ignore_errors=True)


def finish_begun(db: Db, settings: Settings) -> None:
    """Bring to its end what a server that was killed had begun: projects not made or removed yet, and files.

    What has no row otherwise stays: it is newer than a database that was restored. Copies that pages had made go, since
    a source may not be there or not be offered any more.
    """
    for folder in settings.projects.glob("*"):
        _settle(db, folder)
        settle_left(db, folder)
        forget_copies(folder)


def keep_file(db: Db, project: Project, incoming: Incoming, kind: str, folder: Path) -> File:
    """Give an upload that was checked its place; one of the same name is replaced. A source becomes the project's."""
    path = f"{KINDS[kind]}/{incoming.name}"
    row = db.get(File, (project.id, path))
    if row is None:
        row = File(project=project.id, name=path, kind=kind, path=path, bytes=0, sha256="")
        db.add(row)
    row.bytes, row.sha256, row.created = incoming.bytes, incoming.sha256, now()
    if kind == "source":
        db.merge(project).source = {"path": path, "name": incoming.name, "bytes": incoming.bytes}
    db.flush()
    put_file(db, folder, path, incoming)
    afterwards(db, lambda _: forget_copies(folder))  # of what is replaced, which may have been to go
    return row


def keep_made(db: Db, project: str, path: str, data: bytes, settings: Settings) -> None:
    """Keep a hierarchy that a page made, whose name tells its content."""
    incoming = written(data, settings.folder / INCOMING)
    try:
        row = db.get(File, (project, path))
        if row is None or row.sha256 != incoming.sha256:
            facts = {"bytes": incoming.bytes, "sha256": incoming.sha256, "created": now()}
            db.merge(File(project=project, name=path, kind="hierarchy", path=path, **facts))
            db.flush()
        put_file(db, folder_of(project, settings), path, incoming)
    finally:
        incoming.drop()


def use_offer(db: Db, project: Project, offer: Offer, folder: Path) -> None:
    """Let a project read a source that the server offers; a file or folder by a link, which a recipe can name."""
    if offer.in_database:
        source = {"offer": offer.name, "url": without_password(offer.place), "table": offer.table}
    else:
        place = Path(offer.place)
        link = folder / OFFERS / place.name
        link.unlink(missing_ok=True)
        link.symlink_to(place.resolve())
        source = {"offer": offer.name, "path": f"{OFFERS}/{place.name}", "name": place.name}
    db.merge(project).source = source


def offered(settings: Settings, name: str) -> Offer:
    """The offer of a name."""
    for one in settings.offers:
        if one.name == name:
            return one
    raise invalid("There is no such source on offer: choose one of the list.", "offer")


def files_of(db: Db, project: str) -> list[File]:
    """The files of a project."""
    return list(db.scalars(select(File).where(File.project == project).order_by(File.name)))


def delete_project(here: Here) -> None:
    """Remove the project of a request, which released nothing, with all its files, and log it."""
    project = here.named(Project)
    folder = folder_of(project.id, here.settings)
    with here.writing() as db:
        if db.scalars(select(Release).where(Release.project == project.id)).first() is not None:
            raise conflict("This project has releases, which are kept: it cannot be deleted.")
        # All of them: a worker may be taking up one that waits, and nobody does any more from here on.
        states = db.scalars(select(Job.state).where(Job.project == project.id).order_by(Job.id).with_for_update())
        if "running" in set(states):
            raise conflict("A job of this project is running: cancel it first.")
        db.delete(db.merge(project))
        db.flush()
        afterwards(db, lambda now: _settle(now, folder))
        if folder.is_dir():
            (folder / _UNMADE).touch(0o600)
        here.log(db, "project deleted", project=project.id)
