"""Items as files for programs: JSON lines or Parquet with a row for each item, or a Markdown file with front matter."""

import datetime as dt
import io
from collections.abc import Sequence
from typing import Any

import yaml
from pydantic import BaseModel

from monitor.exports.data import render_json_lines
from monitor.exports.markdown import escape_markdown
from monitor.extras import needs_extra
from monitor.page import Attachment


class ExportedTopic(BaseModel):
    id: int
    name: str
    score: float


class ExportedClaim(BaseModel):
    """What an item says, and the passage of a record that bears it; a sentence of the summary has a verdict."""

    kind: str
    claim: str
    passage: str
    record: str
    verdict: str | None
    judged_by: str | None


class ExportedRecord(BaseModel):
    """A page as it was fetched; `sha256` is that of its bytes."""

    id: str
    url: str
    fetched_at: dt.datetime
    sha256: str | None


class ExportedItem(BaseModel):
    """A version of an item. `version` counts from 1; `partition` is the day of the folder that all its versions go to.

    The other names are those of items of the API.
    """

    id: int
    version: int
    partition: dt.date
    source: str
    section: str
    title: str
    url: str
    date: dt.date | None
    date_source: str
    page_date: dt.date | None
    type: str
    summary: str
    summary_by: str
    statements: dict[str, int] | None
    rank: int | None
    tier: int | None
    by: str
    late: bool
    is_repost: bool
    document_number: str | None
    issuer: str | None
    language: str | None
    first_seen: dt.datetime
    attachments: list[Attachment]
    topics: list[ExportedTopic]
    claims: list[ExportedClaim]
    records: list[ExportedRecord]


def render_item_lines(items: Sequence[ExportedItem]) -> bytes:
    return render_json_lines(item.model_dump(mode="json") for item in items)


def render_item_markdown(item: ExportedItem) -> bytes:
    """Return the item's facts as YAML, then its title, its summary and the passages that bear it.

    No text of a page can become markup, nor end the front matter.
    """
    facts = item.model_dump(mode="json", exclude={"summary", "claims"})
    front = yaml.safe_dump(facts, allow_unicode=True, sort_keys=False, width=10**6)
    passages = dict.fromkeys(claim.passage for claim in item.claims if claim.passage)
    parts = [f"# {escape_markdown(item.title)}", *(escape_markdown(line) for line in item.summary.splitlines())]
    parts += [f"> {escape_markdown(passage)}" for passage in passages]
    body = "\n\n".join(part for part in parts if part)
    return f"---\n{front}---\n\n{body}\n".encode(errors="replace")


def render_item_parquet(items: Sequence[ExportedItem]) -> bytes:
    """Return one row group, compressed with zstd; every file has the same schema, whatever is in it."""
    with needs_extra("export"):
        import pyarrow as pa
        from pyarrow import parquet
    rows = [_sanitize(item.model_dump(exclude={"statements"})) for item in items]
    for row, item in zip(rows, items, strict=True):
        row["statements"] = list((item.statements or {}).items())
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows, schema=_build_schema(pa)), sink, compression="zstd")
    return sink.getvalue()


def _sanitize(value: Any) -> Any:
    """Return the value with half surrogate pairs, which Parquet has no place for, as question marks."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {name: _sanitize(part) for name, part in value.items()}
    return [_sanitize(part) for part in value] if isinstance(value, list) else value


def _build_schema(pa: Any) -> Any:
    text, instant = pa.string(), pa.timestamp("us", tz="UTC")
    special = {
        "id": pa.int64(),
        "version": pa.int32(),
        "partition": pa.date32(),
        "date": pa.date32(),
        "page_date": pa.date32(),
        "rank": pa.int32(),
        "tier": pa.int32(),
        "late": pa.bool_(),
        "is_repost": pa.bool_(),
        "first_seen": instant,
        "statements": pa.map_(text, pa.int32()),
        "attachments": pa.list_(pa.struct([(name, text) for name in Attachment.model_fields])),
        "topics": pa.list_(pa.struct([("id", pa.int64()), ("name", text), ("score", pa.float64())])),
        "claims": pa.list_(pa.struct([(name, text) for name in ExportedClaim.model_fields])),
        "records": pa.list_(
            pa.struct([(name, instant if name == "fetched_at" else text) for name in ExportedRecord.model_fields])
        ),
    }
    return pa.schema([(name, special.get(name, text)) for name in ExportedItem.model_fields])
