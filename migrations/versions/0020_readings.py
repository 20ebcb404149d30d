"""Ledgers that are equal are kept once, as readings; so are the large parts of manifests.

Nothing here imports the program: the hash of a reading and the parts of a manifest are those of its version 0.2.

Revision 0020.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)
_BATCH = 200
_ROW = (
    ("position", sa.Integer),
    ("page_url", sa.Text),
    ("url", sa.Text),
    ("title", sa.Text),
    ("date", sa.Date),
    ("date_source", sa.Text),
    ("disposition", sa.Text),
    ("reason", sa.Text),
    ("item_id", sa.Integer),
)
_NAMES = [name for name, _ in _ROW]
_SETTINGS = ("limits", "render", "max_bytes", "timezone", "has_model", "can_draw", "prompts")

_run = sa.table("run", sa.column("id"), sa.column("source_id"), sa.column("planned_at", _INSTANT))
_section = sa.table("run_section", *map(sa.column, ("id", "run_id", "ordinal", "reading_id")))
_reading = sa.table(
    "reading",
    *map(sa.column, ("id", "source_id", "hash", "rows")),
    sa.column("counts", sa.JSON),
    sa.column("last_used_at", _INSTANT),
)
_old = sa.table("candidate", *map(sa.column, ("id", "run_id", "section", "url_key")), *(sa.column(*c) for c in _ROW))
_new = sa.table("candidate_new", *map(sa.column, ("id", "reading_id")), *(sa.column(*c) for c in _ROW))
_manifest = sa.table("outset", sa.column("run_id"), sa.column("facts", sa.JSON), sa.column("parts", sa.JSON))
_part = sa.table("manifest_part", *map(sa.column, ("id", "hash", "content")), sa.column("last_used_at", _INSTANT))


def create_candidate_table(name: str, *owner: sa.schema.SchemaItem) -> None:
    op.create_table(
        name,
        sa.Column("id", sa.Integer(), nullable=False),
        *owner,
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("page_url", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("date", sa.Date(), nullable=True),
        sa.Column("date_source", sa.String(length=32), nullable=False),
        sa.Column("disposition", sa.String(length=32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id"),
    )


def upgrade() -> None:
    op.create_table(
        "reading",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("source_id", sa.Integer(), nullable=True),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("last_used_at", _INSTANT, nullable=False),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("source_id", "hash", name="uq_reading_hash"),
    )
    op.create_table(
        "manifest_part",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("last_used_at", _INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("hash", name="uq_manifest_part_hash"),
    )
    op.execute("ALTER TABLE run_section ADD COLUMN reading_id INTEGER REFERENCES reading (id)")
    op.execute("ALTER TABLE outset ADD COLUMN parts JSON NOT NULL DEFAULT '[]'")
    owner = sa.Column("reading_id", sa.Integer(), nullable=False)
    create_candidate_table(
        "candidate_new", owner, sa.ForeignKeyConstraint(["reading_id"], ["reading.id"], ondelete="CASCADE")
    )
    connection = op.get_bind()
    for source_id, runs in iter_runs(connection):
        share_ledgers(connection, source_id, runs)
    share_manifests(connection)
    op.drop_table("candidate")
    op.rename_table("candidate_new", "candidate")
    op.create_index("ix_candidate_reading_id", "candidate", ["reading_id"])
    op.create_index("ix_run_section_reading_id", "run_section", ["reading_id"])
    op.create_index("ix_reading_last_used_at", "reading", ["last_used_at"])
    op.create_index("ix_manifest_part_last_used_at", "manifest_part", ["last_used_at"])
    op.create_index("ix_delivery_alarm_id", "delivery", ["alarm_id"])


def iter_runs(connection: sa.Connection) -> Iterator[tuple[int | None, list[Any]]]:
    """Yield the runs of each source, oldest first; last those whose source is gone."""
    source_ids = connection.scalars(sa.select(_run.c.source_id).distinct()).all()
    for source_id in sorted(source_ids, key=lambda number: (number is None, number)):
        mine = sa.select(_run.c.id, _run.c.planned_at).where(_run.c.source_id.is_not_distinct_from(source_id))
        yield source_id, list(connection.execute(mine.order_by(_run.c.planned_at)))


def share_ledgers(connection: sa.Connection, source_id: int | None, runs: list[Any]) -> None:
    """Move the candidates of a source's runs to readings, each distinct one once."""
    readings: dict[str, int] = {}
    for first in range(0, len(runs), _BATCH):
        planned_at = dict(map(tuple, runs[first : first + _BATCH]))
        rows = sa.select(_old).where(_old.c.run_id.in_(planned_at))
        ledgers: dict[tuple[str, int], list[Any]] = defaultdict(list)
        for row in connection.execute(rows.order_by(_old.c.run_id, _old.c.section, _old.c.position, _old.c.id)):
            ledgers[row.run_id, row.section].append({name: getattr(row, name) for name in _NAMES})
        for (run_id, ordinal), ledger in ledgers.items():
            digest = hash_rows(ledger)
            if digest not in readings:
                values = {
                    "source_id": source_id,
                    "hash": digest,
                    "rows": len(ledger),
                    "counts": Counter(row["disposition"] for row in ledger),
                    "last_used_at": planned_at[run_id],
                }
                stored = sa.insert(_reading).values(values).returning(_reading.c.id)
                readings[digest] = connection.execute(stored).scalar_one()
                connection.execute(sa.insert(_new), [row | {"reading_id": readings[digest]} for row in ledger])
            of_section = (_section.c.run_id == run_id, _section.c.ordinal == ordinal)
            connection.execute(sa.update(_section).where(*of_section).values(reading_id=readings[digest]))
            used = sa.update(_reading).where(_reading.c.id == readings[digest])
            connection.execute(used.values(last_used_at=planned_at[run_id]))


def hash_rows(rows: list[dict[str, Any]]) -> str:
    plain = [
        {
            **row,
            "date": row["date"] and row["date"].isoformat(),
            "reason": json.loads(row["reason"]) if row["reason"] else None,
        }
        for row in rows
    ]
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def share_manifests(connection: sa.Connection) -> None:
    parts: dict[str, int] = {}
    last = ""
    query = sa.select(_manifest.c.run_id, _manifest.c.facts, _run.c.planned_at)
    query = query.join(_run, _run.c.id == _manifest.c.run_id).order_by(_manifest.c.run_id).limit(_BATCH)
    while rows := connection.execute(query.where(_manifest.c.run_id > last)).all():
        last = rows[-1].run_id
        for run_id, facts, at in rows:
            if not {"source", "memory"} <= facts.keys():
                continue
            own, shared = split_manifest(facts)
            contents = [json.dumps(part, ensure_ascii=False, sort_keys=True) for part in shared]
            ids = [save_part(connection, parts, content, at) for content in contents]
            connection.execute(
                sa.update(_manifest).where(_manifest.c.run_id == run_id).values(facts=own, parts=ids)
            )


def split_manifest(facts: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    source, memory = dict(facts["source"]), facts["memory"]
    source.pop("last_run_at", None)
    sections = [{**row, "last_read_at": None} for row in memory["sections"]]
    completed_on = [row.pop("last_complete_on", None) for row in sections]
    own = {name: value for name, value in facts.items() if name not in ("source", "memory", *_SETTINGS)}
    own |= {
        "last_success_at": source.pop("last_success_at", None),
        "completed_on": completed_on if len({*completed_on}) > 1 else completed_on[:1],
        "known_urls": memory["known_urls"],
        "items": memory["items"],
    }
    settings = {name: facts[name] for name in _SETTINGS if name in facts}
    return own, [{"source": source}, {"sections": sections, "over_limit": memory["over_limit"]}, settings]


def save_part(connection: sa.Connection, parts: dict[str, int], content: str, at: Any) -> int:
    digest = hashlib.sha256(content.encode()).hexdigest()
    if digest not in parts:
        values = {"hash": digest, "content": content, "last_used_at": at}
        stored = sa.insert(_part).values(values).returning(_part.c.id)
        parts[digest] = connection.execute(stored).scalar_one()
    else:
        used = sa.update(_part).where(_part.c.id == parts[digest], _part.c.last_used_at < at)
        connection.execute(used.values(last_used_at=at))
    return parts[digest]


def downgrade() -> None:
    connection = op.get_bind()
    op.drop_index("ix_delivery_alarm_id", "delivery")
    merge_manifests(connection)
    op.rename_table("candidate", "candidate_new")
    owner = [
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("section", sa.Integer(), nullable=False),
        sa.Column("url_key", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], ondelete="CASCADE"),
    ]
    create_candidate_table("candidate", *owner)
    columns = ["run_id", "section", "url_key", *_NAMES]
    # The key was written and never read.
    rows = (
        sa.select(_section.c.run_id, _section.c.ordinal, _new.c.url, *(_new.c[name] for name in _NAMES))
        .join(_new, _new.c.reading_id == _section.c.reading_id)
        .order_by(_section.c.id, _new.c.id)
    )
    connection.execute(sa.insert(_old).from_select(columns, rows))
    op.drop_table("candidate_new")
    op.create_index("ix_candidate_run_section", "candidate", ["run_id", "section"])
    op.drop_index("ix_run_section_reading_id", "run_section")
    with op.batch_alter_table("run_section") as run_section:
        run_section.drop_column("reading_id")
    with op.batch_alter_table("outset") as outset:
        outset.drop_column("parts")
    op.drop_table("reading")
    op.drop_table("manifest_part")


def merge_manifests(connection: sa.Connection) -> None:
    contents = {part_id: json.loads(content) for part_id, content in connection.execute(sa.select(_part.c.id, _part.c.content))}
    for run_id, facts, parts in connection.execute(sa.select(_manifest)).all():
        whole = {**facts, **{name: value for part in parts for name, value in contents.get(part, {}).items()}}
        if "sections" not in whole:
            continue  # a part is gone
        days = whole.pop("completed_on")
        days = days if len(days) > 1 else days * len(whole["sections"])
        sections = [{**row, "last_complete_on": day} for row, day in zip(whole.pop("sections"), days, strict=True)]
        memory = {name: whole.pop(name) for name in ("over_limit", "known_urls", "items")} | {"sections": sections}
        source = whole["source"] | {"last_success_at": whole.pop("last_success_at"), "last_run_at": None}
        whole |= {"source": source, "memory": memory}
        connection.execute(sa.update(_manifest).where(_manifest.c.run_id == run_id).values(facts=whole))
