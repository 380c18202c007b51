"""A researcher has a release once: of grants that stand beside each other all but the first are taken back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from shoal.web.store.tables import now

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    grants = sa.table("grants", *map(sa.column, ("id", "release", "user", "created", "revoked")))
    stands = sa.select(grants.c.id, grants.c.release, grants.c.user).where(grants.c.revoked.is_(None))
    bind, seen = op.get_bind(), set()
    for key, *whose in bind.execute(stands.order_by(grants.c.created, grants.c.id)).all():
        if tuple(whose) in seen:
            bind.execute(grants.update().where(grants.c.id == key).values(revoked=now()))
        seen.add(tuple(whose))
    where = sa.text("revoked IS NULL")
    op.create_index(
        op.f("uq_grants_release_user"), "grants", ["release", "user"], unique=True, sqlite_where=where,
        postgresql_where=where,
    )  # fmt: skip
