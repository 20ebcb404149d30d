"""How much each host was asked on each day, and how much of the day's budget is left."""

import datetime as dt
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store


class HostTrafficSchema(BaseModel):
    """The requests to a host on a day; `refused` were not made because the `limit` of the day was reached."""

    day: dt.date
    host: str = Field(examples=["www.nea.gov.cn"])
    requests: int = Field(examples=[42])
    refused: int = Field(examples=[0])
    limit: int | None = Field(examples=[500], description="Of a host and day as it is set now; null: none.")


@dataclass(kw_only=True)
class HostTrafficService:
    store: Store
    clock: Clock
    settings: Settings

    async def spend(self, host: str) -> bool:
        return await self.store.host_traffic.spend(host, self._get_today(), limit=self.settings.pages.daily_requests)

    async def list_traffic(self, days: int) -> list[HostTrafficSchema]:
        """The last so many days, today included, the newest first."""
        rows = await self.store.host_traffic.list_since(self._get_today() - dt.timedelta(days=days - 1))
        limit = self.settings.pages.daily_requests
        return [HostTrafficSchema(**row.model_dump(), limit=limit) for row in rows]

    def _get_today(self) -> dt.date:
        return self.clock.now().astimezone(ZoneInfo(self.settings.timezone)).date()
