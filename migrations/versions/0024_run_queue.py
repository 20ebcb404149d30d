"""The queues of the workers: workflows and the results of their steps, in place of the tables of DBOS.

What was in progress in those begins anew: the workers put every open run that has no workflow back into the queue.

Revision 0024.
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

_IS_RUNNING = sa.text("state = 'running'")
_DBOS_TABLES = (
    "application_versions",
    "dbos_migrations",
    "event_dispatch_kv",
    "notifications",
    "operation_outputs",
    "queues",
    "streams",
    "workflow_events",
    "workflow_events_history",
    "workflow_input",
    "workflow_output",
    "workflow_schedules",
    "workflow_status",
)


def upgrade() -> None:
    op.create_table(
        "workflow",
        sa.Column("id", sa.String(length=200), nullable=False),
        sa.Column("queue", sa.String(length=20), nullable=False),
        sa.Column("partition", sa.Text(), nullable=False),
        sa.Column("arguments", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("version", sa.String(length=20), nullable=False),
        sa.Column("executor", sa.String(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_workflow_queue", "workflow", ["queue", "state", "created_at"])
    op.create_index("ix_workflow_ended_at", "workflow", ["ended_at"])
    op.create_index(
        "ix_workflow_running",
        "workflow",
        ["queue", "partition"],
        unique=True,
        sqlite_where=_IS_RUNNING,
        postgresql_where=_IS_RUNNING,
    )
    op.create_table(
        "workflow_step",
        sa.Column("workflow_id", sa.String(length=200), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(["workflow_id"], ["workflow.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("workflow_id", "name"),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP SCHEMA IF EXISTS dbos CASCADE")
        return
    for table in _DBOS_TABLES:
        op.execute(f"DROP TABLE IF EXISTS {table}")


def downgrade() -> None:
    op.drop_table("workflow_step")
    op.drop_table("workflow")
