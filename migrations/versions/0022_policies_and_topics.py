"""Facts of documents, policies, deadlines, topics and alerts.

Revision 0022.
"""

import sqlalchemy as sa
from alembic import op

revision = '0022'
down_revision = '0021'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('policy',
    sa.Column('id', sa.Integer(), nullable=False),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('is_renamed', sa.Boolean(), nullable=False),
    sa.Column('stage', sa.String(length=32), nullable=True),
    sa.Column('stage_on', sa.Date(), nullable=True),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('updated_at', sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint('id')
    )
    op.create_index('ix_policy_key', 'policy', ['key'])
    op.create_index('ix_policy_updated_at', 'policy', ['updated_at'])

    op.create_table('topic',
    sa.Column('id', sa.Integer(), nullable=False),
    sa.Column('name', sa.String(length=200), nullable=False),
    sa.Column('sentence', sa.Text(), nullable=False),
    sa.Column('words', sa.JSON(), nullable=False),
    sa.Column('exclusions', sa.JSON(), nullable=False),
    sa.Column('sources', sa.JSON(), nullable=False),
    sa.Column('weights', sa.JSON(), nullable=False),
    sa.Column('alerts', sa.String(length=32), nullable=False),
    sa.Column('targets', sa.JSON(), nullable=False),
    sa.Column('created_by', sa.String(length=100), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint('id'),
    sa.UniqueConstraint('name', name='uq_topic_name')
    )
    op.create_table('policy_note',
    sa.Column('id', sa.Integer(), nullable=False),
    sa.Column('policy_id', sa.Integer(), nullable=False),
    sa.Column('text', sa.Text(), nullable=False),
    sa.Column('person', sa.String(length=100), nullable=False),
    sa.Column('at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['policy_id'], ['policy.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id')
    )
    op.create_index('ix_policy_note_policy_id', 'policy_note', ['policy_id'])

    op.create_table('topic_follower',
    sa.Column('topic_id', sa.Integer(), nullable=False),
    sa.Column('person', sa.String(length=100), nullable=False),
    sa.Column('calendar_key', sa.String(length=64), nullable=False),
    sa.Column('since', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['person'], ['person.name'], ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['topic_id'], ['topic.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('topic_id', 'person'),
    sa.UniqueConstraint('calendar_key', name='uq_topic_follower_calendar_key')
    )
    op.create_index('ix_topic_follower_person', 'topic_follower', ['person'])

    op.create_table('alert',
    sa.Column('id', sa.Integer(), nullable=False),
    sa.Column('target', sa.String(length=40), nullable=False),
    sa.Column('kind', sa.String(length=32), nullable=False),
    sa.Column('key', sa.String(length=200), nullable=False),
    sa.Column('item_id', sa.Integer(), nullable=False),
    sa.Column('topic_id', sa.Integer(), nullable=True),
    sa.Column('message', sa.Text(), nullable=False),
    sa.Column('raised_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('delivery_id', sa.String(length=100), nullable=True),
    sa.ForeignKeyConstraint(['item_id'], ['item.id'], ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['topic_id'], ['topic.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id'),
    sa.UniqueConstraint('target', 'key', name='uq_alert_key')
    )
    op.create_index('ix_alert_delivery_id', 'alert', ['delivery_id'])
    op.create_index('ix_alert_topic_id', 'alert', ['topic_id'])
    op.create_index('ix_alert_item_id', 'alert', ['item_id'])

    op.create_table('deadline',
    sa.Column('id', sa.Integer(), nullable=False),
    sa.Column('item_id', sa.Integer(), nullable=False),
    sa.Column('kind', sa.String(length=32), nullable=False),
    sa.Column('subject', sa.String(length=300), nullable=False),
    sa.Column('day', sa.Date(), nullable=False),
    sa.Column('passage', sa.Text(), nullable=False),
    sa.Column('verdict', sa.String(length=32), nullable=False),
    sa.Column('seen_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('dropped_at', sa.DateTime(timezone=True), nullable=True),
    sa.ForeignKeyConstraint(['item_id'], ['item.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id'),
    sa.UniqueConstraint('item_id', 'kind', 'subject', name='uq_deadline_subject')
    )
    op.create_index('ix_deadline_day', 'deadline', ['day', 'id'])

    op.create_table('item_facts',
    sa.Column('item_id', sa.Integer(), nullable=False),
    sa.Column('facts', sa.JSON(), nullable=False),
    sa.Column('text_sha256', sa.String(length=64), nullable=False),
    sa.Column('by', sa.String(length=32), nullable=False),
    sa.Column('read_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['item_id'], ['item.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('item_id')
    )
    op.create_table('document_key',
    sa.Column('item_id', sa.Integer(), nullable=False),
    sa.Column('key', sa.String(length=200), nullable=False),
    sa.Column('role', sa.String(length=32), nullable=False),
    sa.Column('written', sa.Text(), nullable=False),
    sa.ForeignKeyConstraint(['item_id'], ['item.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('item_id', 'key')
    )
    op.create_index('ix_document_key_key', 'document_key', ['key'])

    op.create_table('policy_document',
    sa.Column('policy_id', sa.Integer(), nullable=False),
    sa.Column('item_id', sa.Integer(), nullable=False),
    sa.Column('stage', sa.String(length=32), nullable=True),
    sa.Column('joined_by', sa.String(length=32), nullable=False),
    sa.Column('reason', sa.Text(), nullable=False),
    sa.Column('joined_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('person', sa.String(length=100), nullable=False),
    sa.Column('removed_at', sa.DateTime(timezone=True), nullable=True),
    sa.ForeignKeyConstraint(['item_id'], ['item.id'], ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['policy_id'], ['policy.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('policy_id', 'item_id')
    )
    op.create_index('ix_policy_document_item_id', 'policy_document', ['item_id'])

    op.create_table('topic_fit',
    sa.Column('topic_id', sa.Integer(), nullable=False),
    sa.Column('item_id', sa.Integer(), nullable=False),
    sa.Column('score', sa.Float(), nullable=False),
    sa.Column('is_match', sa.Boolean(), nullable=False),
    sa.Column('reason', sa.Text(), nullable=False),
    sa.Column('passage', sa.Text(), nullable=False),
    sa.Column('by', sa.String(length=32), nullable=False),
    sa.Column('wish', sa.String(length=32), nullable=True),
    sa.Column('judged_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['item_id'], ['item.id'], ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['topic_id'], ['topic.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('topic_id', 'item_id')
    )
    op.create_index('ix_topic_fit_item_id', 'topic_fit', ['item_id'])

    op.create_table('deadline_move',
    sa.Column('id', sa.Integer(), nullable=False),
    sa.Column('deadline_id', sa.Integer(), nullable=False),
    sa.Column('before', sa.Date(), nullable=False),
    sa.Column('after', sa.Date(), nullable=True),
    sa.Column('passage', sa.Text(), nullable=False),
    sa.Column('run_id', sa.String(length=64), nullable=False),
    sa.Column('seen_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['deadline_id'], ['deadline.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id')
    )
    op.create_index('ix_deadline_move_deadline_id', 'deadline_move', ['deadline_id'])
    op.create_index('ix_deadline_move_seen_at', 'deadline_move', ['seen_at'])



def downgrade() -> None:
    for table in (
        "deadline_move",
        "topic_fit",
        "policy_document",
        "item_facts",
        "document_key",
        "deadline",
        "alert",
        "topic_follower",
        "policy_note",
        "topic",
        "policy",
    ):
        op.drop_table(table)
