"""How search results are scored."""

import re
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from monitor.settings.group import Group
from monitor.settings.group import setting

_DOMAIN = re.compile(r"[^\s/:@?#.]+(\.[^\s/:@?#.]+)*")


class WeightSettings(Group):
    """How much each score of a search result counts; only their relation to each other matters."""

    relevance: float = setting(0.6, "fit with the query", ge=0, allow_inf_nan=False)
    freshness: float = setting(0.2, "age", ge=0, allow_inf_nan=False)
    authority: float = setting(0.2, "who publishes it", ge=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _weigh_something(self) -> Self:
        if not self.relevance + self.freshness + self.authority:
            raise ValueError("one weight at least must be more than 0")
        return self


class RetrievalSettings(Group):
    """What the scores are made from."""

    half_life_days: float = setting(90, "days after which a result is half as fresh", gt=0, allow_inf_nan=False)
    authority: dict[str, Annotated[float, Field(ge=0, le=1)]] = setting(
        {}, "scores of 0 to 1 by domain, as {example.org: 0.9}, before Monitor's own table"
    )

    @field_validator("authority")
    @classmethod
    def _are_domains(cls, authority: dict[str, float]) -> dict[str, float]:
        for domain in authority:
            if not _DOMAIN.fullmatch(domain.strip(".")):
                raise ValueError(f"{domain[:60]!r} is no domain; write one as example.org")
        return authority
