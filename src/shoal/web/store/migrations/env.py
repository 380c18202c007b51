"""Called by Alembic: runs the steps on the connection that we gave it."""

from __future__ import annotations

from alembic import context

from shoal.web.store import tables  # noqa: F401
from shoal.web.store.tables import Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
