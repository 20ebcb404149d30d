"""The dated table of models that comes with the program: context, list prices, and what a model is suggested for."""

import datetime as dt
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import yaml
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, TypeAdapter

from monitor.llm.providers.profile import Thinking
from monitor.vocabulary import Phase

_DATED = re.compile(r"[-@:]?(?:\d{4}-?\d{2}-?\d{2}|\d{6}|\d{4}|latest|preview)$", re.IGNORECASE)


class ModelInfo(BaseModel):
    """What is published of a model: `input_price` and `output_price` are per million tokens.

    None where nothing is published, or where it depends on the server that runs it. `suggested_for` are the phases that
    a first set-up may give it, none for a model that is known but not suggested.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str
    name: str = Field(min_length=1)
    context_tokens: int | None = Field(None, ge=1024)
    max_output_tokens: int | None = Field(None, ge=256)
    input_price: float | None = Field(None, ge=0)
    output_price: float | None = Field(None, ge=0)
    currency: str | None = Field(None, pattern=r"^[A-Z]{3}$")
    thinking: Thinking
    suggested_for: tuple[Phase, ...] = ()
    as_of: dt.date
    source: HttpUrl


def find_model(provider: str, model: str) -> ModelInfo | None:
    """Return the row of a model, None for an unknown one.

    A name with a date or `latest` at its end is its model's, and so is one with a tag after a colon, as `qwen3:8b`.
    """
    rows = {info.name.lower(): info for info in list_models(provider)}
    name = model.lower()
    while name not in rows:
        shorter = _DATED.sub("", name) if _DATED.search(name) else name.rpartition(":")[0]
        if not shorter:
            return None
        name = shorter
    return rows[name]


def list_models(provider: str) -> tuple[ModelInfo, ...]:
    """Return the models of a provider, those that are suggested first."""
    return _read_table().get(provider, ())


@cache
def _read_table() -> Mapping[str, tuple[ModelInfo, ...]]:
    text = files("monitor.llm.providers").joinpath("models.yaml").read_text("utf-8")
    rows = TypeAdapter(dict[str, list[dict[str, object]]]).validate_python(yaml.safe_load(text))
    return {
        provider: tuple(ModelInfo.model_validate({"provider": provider, **row}) for row in listed)
        for provider, listed in rows.items()
    }
