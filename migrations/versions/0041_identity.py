"""Accounts at a provider of OpenID Connect, passkeys, sign-ins that are under way, and when a session ends at the latest.

Revision 0041.
"""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("web_session", sa.Column("ends_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "external_account",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("person", sa.String(100), sa.ForeignKey("person.name", ondelete="CASCADE"), nullable=False),
        sa.Column("issuer", sa.String(300), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.UniqueConstraint("issuer", "subject", name="uq_external_account_subject"),
    )
    op.create_index("ix_external_account_person", "external_account", ["person"])
    op.create_table(
        "passkey",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("person", sa.String(100), sa.ForeignKey("person.name", ondelete="CASCADE"), nullable=False),
        sa.Column("credential_id", sa.String(1400), nullable=False),
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("sign_count", sa.BigInteger(), nullable=False),
        sa.Column("label", sa.String(100), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.UniqueConstraint("credential_id", name="uq_passkey_credential_id"),
    )
    op.create_index("ix_passkey_person", "passkey", ["person"])
    op.create_table(
        "sign_in_flow",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("step", sa.String(32), nullable=False),
        sa.Column("person", sa.String(100), sa.ForeignKey("person.name", ondelete="CASCADE"), nullable=True),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_sign_in_flow_person", "sign_in_flow", ["person"])
    op.create_index("ix_sign_in_flow_expires_at", "sign_in_flow", ["expires_at"])


def downgrade() -> None:
    op.drop_table("sign_in_flow")
    op.drop_table("passkey")
    op.drop_table("external_account")
    op.drop_column("web_session", "ends_at")
