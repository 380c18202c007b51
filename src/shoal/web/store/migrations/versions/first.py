"""Users, projects, jobs and releases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _attempts()
    _users()
    _links()
    _projects()
    _sessions()
    _tokens()
    _files()
    _jobs()
    _recipe_versions()
    _spent()
    _releases()
    _grants()


def _attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("since", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_attempts")),
    )


def _users() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("password", sa.String(), nullable=True),
        sa.Column("totp", sa.LargeBinary(), nullable=True),
        sa.Column("totp_step", sa.Integer(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("name", name=op.f("uq_users_name")),
    )


def _links() -> None:
    op.create_table(
        "links",
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("expires", sa.String(), nullable=False),
        sa.Column("used", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_links_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_links")),
    )
    op.create_index(op.f("ix_links_user"), "links", ["user"], unique=False)


def _projects() -> None:
    op.create_table(
        "projects",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("source", sa.JSON(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["owner"], ["users.id"], name=op.f("fk_projects_owner")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
    )


def _sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("csrf", sa.String(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
        sa.Column("seen", sa.String(), nullable=False),
        sa.Column("expires", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_sessions_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_user"), "sessions", ["user"], unique=False)


def _tokens() -> None:
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
        sa.Column("expires", sa.String(), nullable=False),
        sa.Column("used", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_tokens_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("hash", name=op.f("uq_tokens_hash")),
    )
    op.create_index(op.f("ix_tokens_user"), "tokens", ["user"], unique=False)


def _files() -> None:
    op.create_table(
        "files",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_files_project"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project", "name", name=op.f("pk_files")),
    )


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("recipe", sa.Integer(), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("worker", sa.String(), nullable=True),
        sa.Column("lease_until", sa.String(), nullable=True),
        sa.Column("cancel", sa.Boolean(), nullable=False),
        sa.Column("progress", sa.String(), nullable=False),
        sa.Column("share", sa.Double(), nullable=True),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
        sa.Column("started", sa.String(), nullable=True),
        sa.Column("ended", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["author"], ["users.id"], name=op.f("fk_jobs_author")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_jobs_project"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index(op.f("ix_jobs_project"), "jobs", ["project"], unique=False)
    op.create_index("ix_jobs_state_created", "jobs", ["state", "created"], unique=False)


def _recipe_versions() -> None:
    op.create_table(
        "recipe_versions",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["author"], ["users.id"], name=op.f("fk_recipe_versions_author")),
        sa.ForeignKeyConstraint(
            ["project"], ["projects.id"], name=op.f("fk_recipe_versions_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project", "number", name=op.f("pk_recipe_versions")),
    )


def _spent() -> None:
    op.create_table(
        "spent",
        sa.Column("session", sa.String(), nullable=False),
        sa.Column("nonce", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["session"], ["sessions.hash"], name=op.f("fk_spent_session"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session", "nonce", name=op.f("pk_spent")),
    )


def _releases() -> None:
    op.create_table(
        "releases",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("folder", sa.String(), nullable=False),
        sa.Column("statement", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("manifest", sa.String(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name=op.f("fk_releases_job")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_releases_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_releases")),
        sa.UniqueConstraint("job", name=op.f("uq_releases_job")),
    )
    op.create_index(op.f("ix_releases_project"), "releases", ["project"], unique=False)


def _grants() -> None:
    op.create_table(
        "grants",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("release", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
        sa.Column("revoked", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["by"], ["users.id"], name=op.f("fk_grants_by")),
        sa.ForeignKeyConstraint(["release"], ["releases.id"], name=op.f("fk_grants_release")),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_grants_user")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grants")),
    )
    op.create_index(op.f("ix_grants_release"), "grants", ["release"], unique=False)
    op.create_index(op.f("ix_grants_user"), "grants", ["user"], unique=False)
