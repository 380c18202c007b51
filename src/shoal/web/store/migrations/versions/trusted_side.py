"""What the trusted side keeps."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _keyring()
    _log()
    _questions()
    _secrets()
    _leaks()


def _keyring() -> None:
    op.create_table(
        "keyring",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("wrapped", sa.LargeBinary(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keyring")),
    )


def _log() -> None:
    op.create_table(
        "log",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("time", sa.String(), nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("previous", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_log")),
    )


def _questions() -> None:
    op.create_table(
        "questions",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("release", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("form", sa.String(), nullable=False),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.Column("checked", sa.LargeBinary(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=True),
        sa.Column("decided_by", sa.String(), nullable=True),
        sa.Column("created", sa.String(), nullable=False),
        sa.Column("decided", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["decided_by"], ["users.id"], name=op.f("fk_questions_decided_by")),
        sa.ForeignKeyConstraint(["release"], ["releases.id"], name=op.f("fk_questions_release")),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_questions_user")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_questions")),
    )
    op.create_index(op.f("ix_questions_release"), "questions", ["release"], unique=False)
    op.create_index(op.f("ix_questions_user"), "questions", ["user"], unique=False)


def _secrets() -> None:
    op.create_table(
        "secrets",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("release", sa.String(), nullable=True),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["release"], ["releases.id"], name=op.f("fk_secrets_release")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_secrets")),
    )
    op.create_index(op.f("ix_secrets_release"), "secrets", ["release"], unique=False)


def _leaks() -> None:
    op.create_table(
        "leaks",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("question", sa.String(), nullable=False),
        sa.Column("release", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("column", sa.String(), nullable=False),
        sa.Column("what", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["question"], ["questions.id"], name=op.f("fk_leaks_question")),
        sa.ForeignKeyConstraint(["release"], ["releases.id"], name=op.f("fk_leaks_release")),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_leaks_user")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_leaks")),
    )
    op.create_index(op.f("ix_leaks_question"), "leaks", ["question"], unique=False)
    op.create_index(op.f("ix_leaks_release"), "leaks", ["release"], unique=False)
    op.create_index(op.f("ix_leaks_user"), "leaks", ["user"], unique=False)
