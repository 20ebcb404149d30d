"""What a source remembers of how one of its sections is to be read."""

import datetime as dt
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

MIN_RECIPE_FIT = 0.6
"""A recipe that fits less is for another page than the section's has become."""

SURE_RECIPE_FIT = 0.85
"""A page whose list fits its recipe less was rebuilt, or the list is another one."""

MAX_RECIPES = 200
"""So many recipes of one source are kept, the latest."""

_MAX_URL_CHARS = 2048
_MAX_STEP_CHARS = 200
_MAX_STEPS = 60


class Teacher(StrEnum):
    """Who showed how a section is to be read."""

    PERSON = "person"
    MODEL = "model"
    DISCOVERY = "discovery"


class ListRecipe(BaseModel):
    """What marks the rows of one list among all the links of its page; each mark may change without the others.

    `steps` is the way from the page's root to a row's link: tags with their classes. `steps_share` of the rows have
    just this way; of others a class may differ, as in every second row. `link_steps` goes from the row to its link.
    `url_shape` is what the rows' urls share, `*` where they differ. `heading` is the text above the list. `columns` are
    the names of a table's columns.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["list"] = "list"
    steps: tuple[Annotated[str, Field(max_length=_MAX_STEP_CHARS)], ...] = Field(min_length=1, max_length=_MAX_STEPS)
    steps_share: float = Field(default=1.0, ge=0.0, le=1.0)
    link_steps: tuple[Annotated[str, Field(max_length=_MAX_STEP_CHARS)], ...] = Field(default=(), max_length=_MAX_STEPS)
    url_shape: str = Field(default="", max_length=_MAX_URL_CHARS)
    heading: str = Field(default="", max_length=_MAX_STEP_CHARS)
    columns: tuple[Annotated[str, Field(max_length=_MAX_STEP_CHARS)], ...] = Field(default=(), max_length=40)


class JsonRecipe(BaseModel):
    """A list that its page loads as JSON from `url`.

    `rows` is the path of keys to the array of records; the other paths start at a record. `link_template` makes the
    record's url from its values where none of them is one: `https://site.example/view/{id}`.
    """

    model_config = ConfigDict(extra="forbid")

    kind: Literal["json"] = "json"
    url: str = Field(min_length=1, max_length=_MAX_URL_CHARS)
    rows: list[str] = Field(default_factory=list, max_length=20)
    title: list[str] = Field(min_length=1, max_length=20)
    link: list[str] = Field(default_factory=list, max_length=20)
    link_template: str = Field(default="", max_length=_MAX_URL_CHARS)
    date: list[str] = Field(default_factory=list, max_length=20)


class SectionRecipe(BaseModel):
    """How the section at `url` is read, who showed it, and by which `examples`."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(min_length=1, max_length=_MAX_URL_CHARS)
    how: ListRecipe | JsonRecipe = Field(discriminator="kind")
    taught_by: Teacher
    taught_at: dt.datetime
    examples: list[Annotated[str, Field(max_length=_MAX_URL_CHARS)]] = Field(default_factory=list, max_length=5)
