"""A project as pages and jobs see it: its folder, and one version of its recipe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NewType

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session as Db
from sqlalchemy.orm import defer

from shoal.recipe.recipe import Recipe
from shoal.web.errors import conflict, missing
from shoal.web.projects.confined import parse_confined
from shoal.web.settings import Settings
from shoal.web.store.work import Project, RecipeVersion

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
