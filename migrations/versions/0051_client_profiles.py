"""Client profiles: what the briefings of a client are of, and where they go.

Revision 0051.
"""

import sqlalchemy as sa
from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "client_profile",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("team_id", sa.Integer(), sa.ForeignKey("team.id", name="fk_client_profile_team"), nullable=True),
        sa.Column("conditions", sa.JSON(), nullable=False),
        sa.Column("days", sa.Integer(), nullable=False),
        sa.Column("top", sa.Integer(), nullable=False),
        sa.Column("group", sa.String(16), nullable=False),
        sa.Column("targets", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.String(100), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("client_profile")
