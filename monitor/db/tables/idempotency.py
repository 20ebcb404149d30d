"""Requests that came with an `Idempotency-Key`, and what was answered."""

import datetime as dt

from sqlalchemy import Column, Text
from sqlmodel import Field, SQLModel

from monitor.db.tables.columns import instant_field


class IdempotentRequest(SQLModel, table=True):
    """A request that is carried out once; `id` is the hash of who sent it and of their key.

    `fingerprint` tells another request apart. `answer` is encrypted, None while there is none: until then whoever
    carries the request out renews `seen_at`.
    """

    __tablename__ = "idempotent_request"

    id: str = Field(primary_key=True, max_length=64)
    fingerprint: str = Field(max_length=64)
    created_at: dt.datetime = instant_field(is_required=True, index=True)
    seen_at: dt.datetime = instant_field(is_required=True)
    answer: str | None = Field(default=None, sa_column=Column(Text, nullable=True))
