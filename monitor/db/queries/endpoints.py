"""What was learned of the models at an endpoint."""

import datetime as dt
from typing import Any

from sqlalchemy import select
from sqlmodel import col

from monitor.db.sessions import Queries
from monitor.db.tables.collection import ModelEndpoint


class ModelEndpointStore(Queries):
    async def load(self, endpoint: str) -> dict[str, dict[str, Any]]:
        """Return the facts of an endpoint by the names of its models."""
        rows = await self._fetch_all(select(ModelEndpoint).where(col(ModelEndpoint.endpoint) == endpoint))
        return {row.model: row.facts for row in rows}

    async def save(self, endpoint: str, model: str, facts: dict[str, Any], *, at: dt.datetime) -> None:
        row = ModelEndpoint(endpoint=endpoint, model=model, facts=facts, updated_at=at)
        await self._upsert([row], key=["endpoint", "model"], update=["facts", "updated_at"])
