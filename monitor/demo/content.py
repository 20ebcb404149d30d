"""What a sample site says: its sections and items as they stand in the site's folder, and their wording on a day.

A folder holds `site.yaml` (sections), `items/<section>.yaml` (items, dated in days before today), `templates/`,
`static/` (scripts and styles) and `files/` (documents). Nothing here knows HTML or sockets.
"""

import datetime as dt
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from monitor.errors import UsageError

WHOLE_ARTICLE_PARAGRAPHS = 3


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FocusArea(_Strict):
    """A subject that the watcher of this site asks for."""

    name: str


class DataFile(_Strict):
    """The JSON that a list drawn by a script reads: its template and its path."""

    template: str
    url: str


class ListShape(_Strict):
    """How a section's list pages look and where they stand; `page` is what the second and later paths carry."""

    template: str
    url: str
    page: str
    second_page: int
    per_page: int
    href: str = Field(pattern="^(relative|rooted|absolute)$")
    encoding: str = "utf-8"
    shows: dict[str, int] = Field(default_factory=dict)
    data: DataFile | None = None

    def path(self, page: int) -> str:
        """The path of the list's page, counted from 1."""
        return self.url.format(page="" if page == 1 else self.page.format(n=page - 2 + self.second_page))


class ArticleShape(_Strict):
    """How a section's articles look, where they stand, and what they are unless an item says otherwise."""

    template: str
    url: str
    first_number: int
    type: str
    tier: int
    encoding: str = "utf-8"


class Section(_Strict):
    """One section of the site; `closing` ends the articles whose own text is short, `fault` is what it answers."""

    id: str
    name: str
    listing: ListShape
    article: ArticleShape
    closing: list[str]
    fault: int | None = None


class AttachedFile(_Strict):
    """A document that hangs on an item: `file` is its name in the folder `files`."""

    title: str
    file: str


class SecondPlace(_Strict):
    """Another section that lists an item too, its link perhaps with a tracking `query`."""

    section: str
    query: str = ""


class ItemText(_Strict):
    """An item as it was written; texts may hold the placeholders that `site.yaml` explains."""

    days_ago: int
    title: str
    body: str = ""
    document_number: str | None = None
    issuer: str | None = None
    source: str | None = None
    type: str | None = None
    tier: int | None = None
    decided_days_before: int = 0
    repost: bool = False
    document: str | None = None
    attachments: list[AttachedFile] = Field(default_factory=list)
    also_in: list[SecondPlace] = Field(default_factory=list)


class SiteText(_Strict):
    """A site as it was written: `pages` are the ones without items, `off_navigation` the sections no menu names."""

    title: str
    focus_areas: list[FocusArea]
    repost_host: str
    pages: dict[str, str]
    off_navigation: list[str]
    sections: list[Section]


@dataclass(frozen=True)
class Document:
    """A document's place on the site; `type` is its extension without the dot."""

    title: str
    path: str
    file: str

    @property
    def type(self) -> str:
        return self.file.rsplit(".", 1)[-1].lower()


@dataclass(frozen=True, eq=False)
class Record:
    """An item as it is published on a certain day; `path` is the article's, or the document's where there is none."""

    section: str
    number: int
    title: str
    date: dt.date
    decided: dt.date
    path: str
    paragraphs: list[str]
    type: str
    tier: int
    document_number: str | None = None
    issuer: str | None = None
    source: str | None = None
    is_repost: bool = False
    document: Document | None = None
    attachments: list[Document] = field(default_factory=list)
    also_in: list[SecondPlace] = field(default_factory=list)

    @property
    def opening(self) -> str:
        """The first words of the text, for lists that show some."""
        return self.paragraphs[0][:46] if self.paragraphs else ""

    @property
    def time(self) -> str:
        """The hour and minute that the page prints: invented, but always the same for an item."""
        return f"{8 + self.number % 9:02d}:{self.number * 7 % 60:02d}"

    @property
    def views(self) -> int:
        return 37 + self.number * 13 % 2900


class _Day:
    """A day that a text can print and shift: `{date:-3}` is three days earlier."""

    def __init__(self, date: dt.date, *, with_year: bool) -> None:
        self._date = date
        self._with_year = with_year

    def __format__(self, spec: str) -> str:
        day = self._date + dt.timedelta(days=int(spec or 0))
        return f"{day.year}年{day.month}月{day.day}日" if self._with_year else f"{day.month}月{day.day}日"


def worded(text: str, date: dt.date) -> str:
    """The text as an item of that date prints it, placeholders filled in."""
    last_month = date.replace(day=1) - dt.timedelta(days=1)
    return text.format(
        date=_Day(date, with_year=True),
        day=_Day(date, with_year=False),
        year=date.year,
        month=date.month,
        last_year=date.year - 1,
        next_year=date.year + 1,
        data_year=last_month.year,
        data_month=last_month.month,
    )


def paragraphs_of(body: str, date: dt.date) -> list[str]:
    """The paragraphs of a text, one a line, as an item of that date prints them."""
    return [worded(line, date) for line in body.splitlines() if line.strip()]


def publish(text: ItemText, section: Section, *, number: int, today: dt.date) -> Record:
    """The item as the site shows it on `today`: dated, worded, numbered and placed."""
    date = today - dt.timedelta(days=text.days_ago)
    shape = section.article
    article_path = shape.url.format(
        number=number,
        year=date.year,
        month=date.month,
        day=date.day,
        mm=f"{date:%m}",
        dd=f"{date:%d}",
        yyyymm=f"{date:%Y%m}",
        yyyymmdd=f"{date:%Y%m%d}",
    )
    folder = article_path.rsplit("/", 1)[0]
    hung = [
        Document(attached.title, f"{folder}/P{number}{place:02d}.{attached.file.rsplit('.', 1)[-1]}", attached.file)
        for place, attached in enumerate(text.attachments, start=1)
    ]
    title = worded(text.title, date)
    own = (
        Document(title, f"{folder}/W{number}.{text.document.rsplit('.', 1)[-1]}", text.document)
        if text.document
        else None
    )
    paragraphs = paragraphs_of(text.body, date)
    if len(paragraphs) < WHOLE_ARTICLE_PARAGRAPHS:
        paragraphs += section.closing
    return Record(
        section=section.id,
        number=number,
        title=title,
        date=date,
        decided=date - dt.timedelta(days=text.decided_days_before),
        path=own.path if own else article_path,
        paragraphs=paragraphs,
        type=text.type or shape.type,
        tier=text.tier or shape.tier,
        document_number=worded(text.document_number, date) if text.document_number else None,
        issuer=text.issuer,
        source=text.source,
        is_repost=text.repost,
        document=own,
        attachments=hung,
        also_in=text.also_in,
    )


def site_folder(name: str) -> Path:
    """Where the site's data lies: packaged beside this module, or in the repository's fixtures.

    `UsageError` where there is no such site; it names the ones that there are.
    """
    places = [Path(__file__).parent / "sites", Path(__file__).parents[2] / "fixtures" / "sites"]
    known = {entry.parent.name: entry.parent for place in places for entry in sorted(place.glob("*/site.yaml"))}
    if name not in known:
        raise UsageError(f"There is no sample site named {name!r}; there are: {', '.join(known) or 'none'}.")
    return known[name]


def read_site(folder: Path) -> tuple[SiteText, dict[str, list[ItemText]]]:
    """The site and the items of each of its sections, as written in the folder."""
    site = SiteText.model_validate(yaml.safe_load((folder / "site.yaml").read_text(encoding="utf-8")))
    items = TypeAdapter(list[ItemText])
    return site, {
        section.id: items.validate_python(
            yaml.safe_load((folder / "items" / f"{section.id}.yaml").read_text(encoding="utf-8"))
        )
        for section in site.sections
    }
