"""Captures: where in a WARC file each body lies.

Revision 0021.
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def _list_columns(*places: sa.Column[int]) -> tuple[sa.Column[object], ...]:
    return (
        sa.Column("location", sa.String(length=200), nullable=False),
        *places,
        sa.Column("sha256", sa.String(length=64), nullable=False),
    )


def upgrade() -> None:
    for table, names in (("record", ("offset", "length")), ("evidence_incident", ("offset",))):
        for name in names:
            op.add_column(table, sa.Column(name, sa.Integer(), nullable=True))
    op.drop_index("ix_evidence_file_checked_at", "evidence_file")
    op.rename_table("evidence_file", "whole_file")
    op.create_table(
        "evidence_file",
        *_list_columns(
            sa.Column("offset", sa.Integer(), autoincrement=False, nullable=False),
            sa.Column("length", sa.Integer(), nullable=False),
        ),
        sa.Column("member_sha256", sa.String(length=64), nullable=False),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("location", "offset", name="pk_evidence_file_place"),
    )
    _copy("location, 0, size, sha256, file_sha256, checked_at FROM whole_file")
    # Of files of 0.1.0 nothing was noted yet.
    _copy(
        "stored_at, 0, max(size), min(sha256), '', min(fetched_at) FROM record "
        "WHERE stored_at IS NOT NULL AND sha256 IS NOT NULL AND stored_at NOT IN (SELECT location FROM whole_file) "
        "GROUP BY stored_at"
    )
    op.drop_table("whole_file")
    op.create_index("ix_evidence_file_sha256", "evidence_file", ["sha256"])
    op.create_index("ix_evidence_file_checked_at", "evidence_file", ["checked_at"])


def _copy(rows: str) -> None:
    columns = 'location, "offset", length, sha256, member_sha256, checked_at'
    op.execute(f"INSERT INTO evidence_file ({columns}) SELECT {rows}")


def downgrade() -> None:
    """Keep what an earlier version can read: files that hold one body from their first byte on."""
    op.drop_index("ix_evidence_file_checked_at", "evidence_file")
    op.drop_index("ix_evidence_file_sha256", "evidence_file")
    op.rename_table("evidence_file", "capture")
    op.create_table(
        "evidence_file",
        *_list_columns(),
        sa.Column("file_sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("location", name="pk_evidence_file"),
    )
    op.execute(
        "INSERT INTO evidence_file (location, sha256, file_sha256, size, checked_at) "
        "SELECT location, sha256, member_sha256, length, checked_at FROM capture "
        "WHERE \"offset\" = 0 AND member_sha256 <> ''"
    )
    op.drop_table("capture")
    op.create_index("ix_evidence_file_checked_at", "evidence_file", ["checked_at"])
    for table, names in (("record", ("offset", "length")), ("evidence_incident", ("offset",))):
        with op.batch_alter_table(table) as changed:
            for name in names:
                changed.drop_column(name)
