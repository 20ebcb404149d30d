"""The desk: people and their sessions, marks on items, composed briefings, stored settings, the audit, run events.

Revision 0010.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def instant(name: str, *, nullable: bool = False) -> sa.Column:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def of_item(*, is_key: bool = False) -> list[sa.Column | sa.ForeignKeyConstraint]:
    return [
        sa.Column("item_id", sa.Integer(), nullable=False, primary_key=is_key),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], ondelete="CASCADE"),
    ]


def upgrade() -> None:
    op.create_table(
        "person",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("password_hash", sa.String(length=300), nullable=False),
        sa.Column("is_one_time", sa.Boolean(), nullable=False),
        sa.Column("role", sa.String(length=32), nullable=False),
        sa.Column("language", sa.String(length=8), nullable=True),
        sa.Column("is_shut_out", sa.Boolean(), nullable=False),
        instant("created_at"),
        instant("last_seen_at", nullable=True),
        instant("looked_at", nullable=True),
        instant("looked_before_at", nullable=True),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "web_session",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("person", sa.String(length=100), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("browser", sa.Text(), nullable=False),
        instant("created_at"),
        instant("seen_at"),
        instant("expires_at"),
        sa.ForeignKeyConstraint(["person"], ["person.name"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_web_session_person", "web_session", ["person"])
    op.create_table(
        "sign_in_try",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=120), nullable=False),
        instant("at"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_sign_in_try_key", "sign_in_try", ["key"])
    with op.batch_alter_table("token") as table:
        table.add_column(sa.Column("scopes", sa.JSON(), nullable=False, server_default="[]"))
        table.add_column(sa.Column("created_by", sa.String(length=100), nullable=False, server_default=""))
        table.add_column(instant("expires_at", nullable=True))
        table.add_column(instant("last_used_at", nullable=True))
    with op.batch_alter_table("token") as table:
        table.alter_column("scopes", server_default=None)
        table.alter_column("created_by", server_default=None)
    _create_marks()
    _create_the_rest()


def _create_marks() -> None:
    op.add_column("item", sa.Column("moved", sa.String(length=32), nullable=True))
    op.create_table(
        "item_star",
        sa.Column("person", sa.String(length=100), nullable=False),
        *of_item(),
        instant("at"),
        sa.PrimaryKeyConstraint("person", "item_id"),
    )
    op.create_index("ix_item_star_item_id", "item_star", ["item_id"])
    op.create_table(
        "item_note",
        sa.Column("id", sa.Integer(), nullable=False),
        *of_item(),
        sa.Column("person", sa.String(length=100), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        instant("at"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_item_note_item_id", "item_note", ["item_id"])
    op.create_table(
        "item_hidden",
        *of_item(is_key=True),
        sa.Column("person", sa.String(length=100), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        instant("at"),
    )
    op.create_table(
        "rank_feedback",
        sa.Column("person", sa.String(length=100), nullable=False),
        *of_item(),
        sa.Column("wish", sa.String(length=32), nullable=False),
        instant("at"),
        sa.PrimaryKeyConstraint("person", "item_id"),
    )
    op.create_index("ix_rank_feedback_item_id", "rank_feedback", ["item_id"])


def _create_the_rest() -> None:
    op.add_column("delivery", sa.Column("saved_id", sa.Integer(), nullable=True))
    op.create_table(
        "saved_briefing",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("briefing", sa.JSON(), nullable=False),
        sa.Column("edit", sa.JSON(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("language", sa.String(length=8), nullable=False),
        sa.Column("since", sa.Date(), nullable=False),
        sa.Column("until", sa.Date(), nullable=False),
        sa.Column("query", sa.JSON(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.String(length=100), nullable=False),
        instant("created_at"),
        sa.Column("edited_by", sa.String(length=100), nullable=True),
        instant("edited_at", nullable=True),
        instant("archived_at", nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "stored_setting",
        sa.Column("path", sa.String(length=200), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("is_secret", sa.Boolean(), nullable=False),
        sa.Column("by", sa.String(length=100), nullable=False),
        instant("at"),
        sa.PrimaryKeyConstraint("path"),
    )
    op.create_table(
        "stored_prompt",
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("by", sa.String(length=100), nullable=False),
        instant("at"),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "audit_entry",
        sa.Column("id", sa.Integer(), nullable=False),
        instant("at"),
        sa.Column("person", sa.String(length=100), nullable=False),
        sa.Column("action", sa.String(length=60), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_audit_entry_person", "audit_entry", ["person"])
    op.create_index("ix_audit_entry_action", "audit_entry", ["action"])
    op.create_table(
        "run_event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        instant("at"),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_run_event_run_id", "run_event", ["run_id", "id"])


def downgrade() -> None:
    for table in ("run_event", "audit_entry", "stored_prompt", "stored_setting", "saved_briefing", "rank_feedback"):
        op.drop_table(table)
    for table in ("item_hidden", "item_note", "item_star", "sign_in_try", "web_session", "person"):
        op.drop_table(table)
    op.drop_column("item", "moved")
    op.drop_column("delivery", "saved_id")
    with op.batch_alter_table("token") as table:
        for column in ("last_used_at", "expires_at", "created_by", "scopes"):
            table.drop_column(column)
