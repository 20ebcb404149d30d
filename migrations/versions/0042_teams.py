"""Teams, and what belongs to one.

Revision 0042.
"""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

_OWNED_TABLES = (
    "source",
    "item",
    "run",
    "topic",
    "saved_briefing",
    "research",
    "item_note",
    "delivery",
    "webhook_endpoint",
    "webhook_event",
)


def upgrade() -> None:
    op.create_table(
        "team",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.UniqueConstraint("name", name="uq_team_name"),
        sqlite_autoincrement=True,
    )
    for name, owner in (("person", "person.name"), ("token", "token.name")):
        table = "team_member" if name == "person" else "team_token"
        op.create_table(
            table,
            sa.Column("team_id", sa.Integer(), sa.ForeignKey("team.id", ondelete="CASCADE"), primary_key=True),
            sa.Column(name, sa.String(100), sa.ForeignKey(owner, ondelete="CASCADE"), primary_key=True),
        )
        op.create_index(f"ix_{table}_{name}", table, [name])
    for table in _OWNED_TABLES:
        # In plain SQL, which both databases understand: Alembic would copy a table of SQLite with all its rows.
        op.execute(f"ALTER TABLE {table} ADD COLUMN team_id INTEGER CONSTRAINT fk_{table}_team REFERENCES team (id)")


def downgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    for table in reversed(_OWNED_TABLES):
        if is_sqlite:  # which does not show the name of that constraint: a copy of the table goes without it
            with op.batch_alter_table(table, reflect_kwargs={"resolve_fks": False}) as altered:
                altered.drop_column("team_id")
        else:
            op.drop_column(table, "team_id")
    op.drop_table("team_token")
    op.drop_table("team_member")
    op.drop_table("team")
