"""The tables of web.search: the ledger of requests to its services, and their answers for as long as they serve."""

import datetime as dt
from typing import Any

from sqlalchemy import JSON, Column, Index
from sqlmodel import Field, SQLModel

from monitor.domain.columns import UtcDateTime


class SearchCall(SQLModel, table=True):
    """One row of the usage ledger: a request to a search service, whatever came of it.

    `outcome` is `ok` or the error's type; `route` names the proxy and user agent that it went out with, because a
    captcha is meant for them. `cost` is None where the backend has no price.
    """

    __tablename__ = "search_call"
    __table_args__ = (Index("ix_search_call_backend_at", "backend", "at"),)

    id: int | None = Field(default=None, primary_key=True)
    backend: str = Field(max_length=20)
    route: str = Field(max_length=16)
    at: dt.datetime = Field(sa_column=Column(UtcDateTime(), nullable=False))
    outcome: str = Field(default="ok", max_length=32)
    detail_code: str | None = Field(default=None, max_length=32)
    results: int = 0
    latency_ms: int = 0
    cost: float | None = None


class SearchAnswer(SQLModel, table=True):
    """What a backend found for a query; `key` is made of all that changes the answer."""

    __tablename__ = "search_answer"

    key: str = Field(primary_key=True, max_length=64)
    at: dt.datetime = Field(sa_column=Column(UtcDateTime(), nullable=False, index=True))
    findings: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
