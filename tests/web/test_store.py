"""The database: both of them, brought up to date, private, and safe from two who write at the same time."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from fastapi import FastAPI
from sqlalchemy import select

from shoal.web.store.open import open_store
from shoal.web.store.tables import Grant
from tests.web.conftest import sign_in


def test_somebody_signs_in_and_out(every_app: FastAPI) -> None:
    browser = sign_in(every_app, "custodian")
    assert "Projects" in browser.get("/").text
    assert browser.submit("/logout").headers["location"] == "/login"
    assert browser.get("/").headers["location"] == "/login"


def test_grants_from_before_are_one_a_researcher(tmp_path: Path) -> None:
    """A database of which two grants of one release to one person stand beside each other is brought up to date."""
    url = f"sqlite:///{tmp_path / 'shoal.db'}"
    store = open_store(url)
    store.close()
    with closing(sqlite3.connect(tmp_path / "shoal.db", isolation_level=None)) as db:
        db.execute("DROP INDEX uq_grants_release_user")
        db.execute("UPDATE alembic_version SET version_num = '0002'")
        for key, user in (("1", "ann"), ("2", "ann"), ("3", "bob")):
            db.execute("INSERT INTO grants VALUES (?, 'release', ?, 'boss', ?, NULL)", (key, user, key))
    store = open_store(url)
    with store.reading() as db:
        assert list(db.scalars(select(Grant.id).where(Grant.revoked.is_(None)).order_by(Grant.id))) == ["1", "3"]
    store.close()
