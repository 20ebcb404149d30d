"""Sign-in: known devices, one-time first passwords; where an audited act came from.

Revision 0016.
"""

import datetime as dt

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_LOOKUPS = ("person", "action", "address")


def upgrade() -> None:
    op.create_table(
        "known_device",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("person", sa.String(length=100), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["person.name"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", "person"),
    )
    with op.batch_alter_table("person") as person:
        person.add_column(sa.Column("password_expires_at", sa.DateTime(timezone=True), nullable=True))
    person = sa.table(
        "person", sa.column("is_one_time", sa.Boolean()), sa.column("password_expires_at", sa.DateTime(timezone=True))
    )
    end = dt.datetime.now(dt.UTC) + dt.timedelta(days=7)
    op.execute(person.update().where(person.c.is_one_time).values(password_expires_at=end))
    for name in ("person", "action"):
        op.drop_index(f"ix_audit_entry_{name}", "audit_entry")
    with op.batch_alter_table("audit_entry") as audit:
        audit.add_column(sa.Column("address", sa.String(length=64), nullable=False, server_default=""))
    for name in _LOOKUPS:
        op.create_index(f"ix_audit_entry_{name}", "audit_entry", [name, "id"])
    op.create_index("ix_audit_entry_at", "audit_entry", ["at"])


def downgrade() -> None:
    op.drop_index("ix_audit_entry_at", "audit_entry")
    for name in _LOOKUPS:
        op.drop_index(f"ix_audit_entry_{name}", "audit_entry")
    with op.batch_alter_table("audit_entry") as audit:
        audit.drop_column("address")
    for name in ("person", "action"):
        op.create_index(f"ix_audit_entry_{name}", "audit_entry", [name])
    with op.batch_alter_table("person") as person:
        person.drop_column("password_expires_at")
    op.drop_table("known_device")
