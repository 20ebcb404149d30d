"""Who may read a research and a note; what of an audit entry can be erased, and what stands for it then.

Researches and notes that were made before stay open to everybody. Revision 0017.
"""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("research", "item_note"):
        with op.batch_alter_table(table) as changed:
            changed.add_column(sa.Column("visibility", sa.String(length=32), nullable=False, server_default="open"))


    with op.batch_alter_table("audit_entry") as audit:
        audit.add_column(sa.Column("salts", sa.JSON(), nullable=False, server_default="{}"))
        audit.add_column(sa.Column("erased", sa.JSON(), nullable=False, server_default="{}"))
    audit = sa.table("audit_entry", sa.column("id", sa.Integer()), sa.column("salts", sa.JSON()))
    connection = op.get_bind()
    fill = audit.update().where(audit.c.id == sa.bindparam("row")).values(salts=sa.bindparam("made"))
    rows = [{"row": row, "made": _make_salts()} for row in connection.execute(sa.select(audit.c.id)).scalars()]
    if rows:
        connection.execute(fill, rows)


def _make_salts() -> dict[str, str]:
    return {name: secrets.token_hex(16) for name in ("person", "address", "subject", "detail")}


def downgrade() -> None:
    with op.batch_alter_table("audit_entry") as audit:
        audit.drop_column("erased")
        audit.drop_column("salts")
    for table in ("item_note", "research"):
        with op.batch_alter_table(table) as changed:
            changed.drop_column("visibility")
