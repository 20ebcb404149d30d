"""Who made a research, a note and a saved view, and who may read it.

Revision 0017.
"""

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
