"""Releases: who may see which, their files, and grants."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session as Db

from shoal.web.accounts.users import named
from shoal.web.errors import conflict, invalid, missing
from shoal.web.permissions import RESEARCHER, Principal
from shoal.web.projects.workspace import folder_of
from shoal.web.settings import Settings
from shoal.web.store.base import now
from shoal.web.store.people import User
from shoal.web.store.work import Grant, Release


def visible(db: Db, me: Principal) -> list[Release]:
    """Releases that somebody may see, the newest first."""
    chosen = select(Release).order_by(Release.created.desc())
    if me.role == RESEARCHER:
        granted = select(Grant.release).where(Grant.user == me.id, Grant.revoked.is_(None))
        chosen = chosen.where(Release.id.in_(granted))
    return list(db.scalars(chosen))


def folder_of_release(release: Release, settings: Settings) -> Path:
    """Where a release lies."""
    return folder_of(release.project, settings) / release.folder


def files_of_release(release: Release, settings: Settings) -> dict[str, Path]:
    """The files of a release by name; nothing else in its folder can be asked for."""
    folder = folder_of_release(release, settings)
    return {path.name: path for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith(".")}


def file_of_release(release: Release, name: str, settings: Settings) -> Path:
    """One file of a release."""
    found = files_of_release(release, settings).get(name)
    if found is None:
        raise missing()
    return found


def grant(db: Db, release: Release, who: str, by: Principal) -> Grant:
    """Let a researcher have a release."""
    user = named(db, who)
    if user is None or user.role != RESEARCHER or not user.active:
        raise invalid("There is no researcher of this name: check it.", "user")
    made = Grant(release=release.id, user=user.id, by=by.id)
    try:
        with db.begin_nested():
            db.add(made)
    except IntegrityError:  # also where another custodian is granting it at the same moment
        raise conflict("This researcher has the release already.") from None
    return made


def revoke(db: Db, release: Release, key: str) -> Grant:
    """Take a release back; who downloaded it has it all the same."""
    found = db.get(Grant, key)
    if found is None or found.release != release.id or found.revoked is not None:
        raise missing()
    found.revoked = now()
    return found


def grants(db: Db, release: str) -> list[tuple[Grant, User]]:
    """Who was granted a release."""
    chosen = select(Grant, User).join(User, User.id == Grant.user).where(Grant.release == release).order_by(
        Grant.created
    )
    return [(one, user) for one, user in db.execute(chosen)]


def people_without(db: Db, release: str) -> list[str]:
    """Researchers who could be granted a release, by name."""
    having = select(Grant.user).where(Grant.release == release, Grant.revoked.is_(None))
    chosen = select(User.name).where(User.role == RESEARCHER, User.active, User.id.not_in(having)).order_by(User.name)
    return list(db.scalars(chosen))
