"""The catalogue of public bodies: what is known of each, and the file that holds it.

The facts were gathered from public repositories and never checked on the web (`provenance` in `bodies.json`).
"""

from enum import StrEnum
from functools import cache
from importlib.resources import files

from babel import Locale
from pydantic import BaseModel, Field, model_validator


class BodyLevel(StrEnum):
    CENTRAL = "central"
    REGION = "region"
    CITY = "city"
    INTERNATIONAL = "international"
    EXCHANGE = "exchange"
    INDUSTRY = "industry"
    COURT = "court"
    PARLIAMENT = "parliament"


class BodyConfidence(StrEnum):
    """How many independent repositories name the body's site: three or more, two or a curated one, one."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class BodyNeed(StrEnum):
    """What reading the site takes, where a repository said so."""

    BROWSER = "browser"
    BLOCKS_ROBOTS = "blocks-robots"
    LOGIN = "login"


class BodySectionKind(StrEnum):
    LIST = "list"
    FEED = "feed"


class BodySection(BaseModel):
    """An address at which the body publishes; `note` says in English what is doubtful about it."""

    name: str
    url: str
    kind: BodySectionKind = BodySectionKind.LIST
    note: str = ""


class CatalogueBody(BaseModel):
    """A public body. `country` is its ISO 3166 code, or `int`; `region` its province, state or union in English.

    `seen_in` names the repositories that its facts come from, as owner/repo.
    """

    id: str
    name: str
    name_en: str
    country: str
    region: str | None = None
    level: BodyLevel
    url: str
    language: str
    topics: list[str]
    sections: list[BodySection] = Field(default_factory=list)
    needs: list[BodyNeed] = Field(default_factory=list)
    seen_in: list[str]
    confidence: BodyConfidence

    @model_validator(mode="before")
    @classmethod
    def _fill_english_name(cls, values: dict[str, object]) -> dict[str, object]:
        """The file leaves out an English name that is the name itself."""
        return values if "name_en" in values else {**values, "name_en": values["name"]}


class CatalogueTopic(BaseModel):
    slug: str
    zh: str
    en: str

    def get_label(self, language: str) -> str:
        return self.zh if language == "zh" else self.en


class CatalogueFile(BaseModel):
    """The whole of `bodies.json`; `provenance` says how it was made and what was not checked."""

    provenance: str
    topics: list[CatalogueTopic]
    bodies: list[CatalogueBody]


@cache
def load_catalogue_file() -> CatalogueFile:
    """Return the catalogue that came with the program; it is read once."""
    content = files("monitor.catalogue").joinpath("bodies.json").read_bytes()
    return CatalogueFile.model_validate_json(content)


# Short names in place of the long ones of CLDR, and the one that is no country.
_NAMES = {"HK": ("香港", "Hong Kong"), "MO": ("澳门", "Macao"), "int": ("国际组织", "International")}


@cache
def get_country_name(code: str, language: str) -> str:
    """Return a country's name, in Chinese where `language` is zh, else in English; the code where it has none."""
    if code in _NAMES:
        return _NAMES[code][0 if language == "zh" else 1]
    return str(Locale("zh" if language == "zh" else "en").territories.get(code, code))
