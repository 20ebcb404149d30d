"""What a sample site says: its sections and items as they stand in the site's folder, and their wording on a day.

A folder holds `site.yaml` (sections), `items/<section>.yaml` (items, dated in days before today), `templates/`,
`static/` (scripts and styles) and `files/` (documents). Nothing here knows HTML or sockets.
"""

import datetime as dt
import mimetypes
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from monitor.demo.serving import LoopbackResponse, build_status_response
from monitor.errors import UsageError

MIN_ARTICLE_PARAGRAPHS = 3


class _StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FocusAreaSpec(_StrictModel):
    name: str


class DataFileSpec(_StrictModel):
    template: str
    url: str


class ListSpec(_StrictModel):
    """How a section's list pages look and where they stand; `page` is what the second and later paths carry."""

    template: str
    url: str
    page: str
    second_page: int
    per_page: int
    href: str = Field(pattern="^(relative|rooted|absolute)$")
    encoding: str = "utf-8"
    shows: dict[str, int] = Field(default_factory=dict)
    data: DataFileSpec | None = None

    def path(self, page: int) -> str:
        """Return the path of a page of the list, counted from 1."""
        return self.url.format(page="" if page == 1 else self.page.format(n=page - 2 + self.second_page))


class ArticleSpec(_StrictModel):
    template: str
    url: str
    first_number: int
    type: str
    tier: int
    encoding: str = "utf-8"


class SectionSpec(_StrictModel):
    """One section of the site; `closing` ends the articles whose own text is short, `fault` is what it answers."""

    id: str
    name: str
    listing: ListSpec
    article: ArticleSpec
    closing: list[str]
    fault: int | None = None


class AttachmentSpec(_StrictModel):
    title: str
    file: str


class SecondListingSpec(_StrictModel):
    """Another section that lists an item too, its link perhaps with a tracking `query`."""

    section: str
    query: str = ""


class ItemSpec(_StrictModel):
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
    attachments: list[AttachmentSpec] = Field(default_factory=list)
    also_in: list[SecondListingSpec] = Field(default_factory=list)


class SiteSpec(_StrictModel):
    """A site as it was written: `pages` are the ones without items, `off_navigation` the sections no menu names."""

    title: str
    focus_areas: list[FocusAreaSpec]
    repost_host: str
    pages: dict[str, str]
    off_navigation: list[str]
    sections: list[SectionSpec]


@dataclass(frozen=True)
class PublishedDocument:
    title: str
    path: str
    file: str

    @property
    def type(self) -> str:
        return self.file.rsplit(".", 1)[-1].lower()


@dataclass(frozen=True, eq=False)
class PublishedItem:
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
    document: PublishedDocument | None = None
    attachments: list[PublishedDocument] = field(default_factory=list)
    also_in: list[SecondListingSpec] = field(default_factory=list)

    @property
    def opening(self) -> str:
        return self.paragraphs[0][:46] if self.paragraphs else ""

    @property
    def time(self) -> str:
        """The hour and minute that the page prints: invented, but always the same for an item."""
        return f"{8 + self.number % 9:02d}:{self.number * 7 % 60:02d}"

    @property
    def views(self) -> int:
        return 37 + self.number * 13 % 2900


class _PlaceholderDate:
    """A day that a text can print and shift: `{date:-3}` is three days earlier."""

    def __init__(self, date: dt.date, *, with_year: bool) -> None:
        self._date = date
        self._with_year = with_year

    def __format__(self, spec: str) -> str:
        day = self._date + dt.timedelta(days=int(spec or 0))
        return f"{day.year}年{day.month}月{day.day}日" if self._with_year else f"{day.month}月{day.day}日"


def fill_placeholders(text: str, date: dt.date) -> str:
    last_month = date.replace(day=1) - dt.timedelta(days=1)
    return text.format(
        date=_PlaceholderDate(date, with_year=True),
        day=_PlaceholderDate(date, with_year=False),
        year=date.year,
        month=date.month,
        last_year=date.year - 1,
        next_year=date.year + 1,
        data_year=last_month.year,
        data_month=last_month.month,
    )


def split_paragraphs(body: str, date: dt.date) -> list[str]:
    """Return the paragraphs of a text, which has one a line, as an item of that date prints them."""
    return [fill_placeholders(line, date) for line in body.splitlines() if line.strip()]


def publish(text: ItemSpec, section: SectionSpec, *, number: int, today: dt.date) -> PublishedItem:
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
        PublishedDocument(
            attached.title, f"{folder}/P{number}{place:02d}.{attached.file.rsplit('.', 1)[-1]}", attached.file
        )
        for place, attached in enumerate(text.attachments, start=1)
    ]
    title = fill_placeholders(text.title, date)
    own = (
        PublishedDocument(title, f"{folder}/W{number}.{text.document.rsplit('.', 1)[-1]}", text.document)
        if text.document
        else None
    )
    paragraphs = split_paragraphs(text.body, date)
    if len(paragraphs) < MIN_ARTICLE_PARAGRAPHS:
        paragraphs += section.closing
    return PublishedItem(
        section=section.id,
        number=number,
        title=title,
        date=date,
        decided=date - dt.timedelta(days=text.decided_days_before),
        path=own.path if own else article_path,
        paragraphs=paragraphs,
        type=text.type or shape.type,
        tier=text.tier or shape.tier,
        document_number=fill_placeholders(text.document_number, date) if text.document_number else None,
        issuer=text.issuer,
        source=text.source,
        is_repost=text.repost,
        document=own,
        attachments=hung,
        also_in=text.also_in,
    )


def find_site_folder(name: str) -> Path:
    """Where the site's data lies: packaged beside this module, or in the repository's fixtures.

    `UsageError` where there is no such site; it names the ones that there are.
    """
    places = [Path(__file__).parent / "sites", Path(__file__).parents[2] / "fixtures" / "sites"]
    known = {entry.parent.name: entry.parent for place in places for entry in sorted(place.glob("*/site.yaml"))}
    if name not in known:
        raise UsageError("sample.no_site", site=name, known=list(known))
    return known[name]


def read_site(folder: Path) -> tuple[SiteSpec, dict[str, list[ItemSpec]]]:
    site = SiteSpec.model_validate(yaml.safe_load((folder / "site.yaml").read_text(encoding="utf-8")))
    items = TypeAdapter(list[ItemSpec])
    return site, {
        section.id: items.validate_python(
            yaml.safe_load((folder / "items" / f"{section.id}.yaml").read_text(encoding="utf-8"))
        )
        for section in site.sections
    }


XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@dataclass(frozen=True)
class SampleRow:
    """A record as one list shows it; `query` is what that list's link carries beyond the url."""

    record: PublishedItem
    query: str = ""


class SiteRenderer:
    def __init__(self, folder: Path, site: SiteSpec) -> None:
        self._folder = folder
        self._site = site
        self._navigation = [
            {"name": section.name, "href": _get_entry_path(section)}
            for section in site.sections
            if section.id not in site.off_navigation
        ]
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folder / "templates"), autoescape=True, undefined=jinja2.StrictUndefined
        )

    def render_page(
        self, template: str, *, status: int = 200, encoding: str = "utf-8", **values: Any
    ) -> LoopbackResponse:
        """A page without items. Only UTF-8 is named in the header: the old pages declare theirs in the markup."""
        text = self._templates.get_template(template).render(
            site=self._site, navigation=self._navigation, encoding=encoding, **values
        )
        if template.endswith(".json"):
            content_type = "application/json"
        else:
            content_type = "text/html; charset=utf-8" if encoding == "utf-8" else "text/html"
        return LoopbackResponse(status, content_type, text.encode(encoding, errors="xmlcharrefreplace"))

    def render_article(
        self, section: SectionSpec, records: Sequence[PublishedItem], record: PublishedItem
    ) -> LoopbackResponse:
        """The record's own page; `records` are its section's, newest first, for the links to its neighbours."""
        place = list(records).index(record)
        newer = records[place - 1] if place > 0 else None
        older = records[place + 1] if place + 1 < len(records) else None
        return self.render_page(
            section.article.template,
            encoding=section.article.encoding,
            section=section,
            section_href=_get_entry_path(section),
            record=record,
            files=[_build_file_link(document) for document in record.attachments],
            newer=newer,
            older=older,
        )

    def serve_document(self, document: PublishedDocument) -> LoopbackResponse:
        return self._serve_file(self._folder / "files" / document.file)

    def serve_static(self, path: str) -> LoopbackResponse:
        """Return a script or a style sheet, else 404."""
        name = path.removeprefix("/static/")
        if name == path or "/" in name or not (self._folder / "static" / name).is_file():
            return build_status_response(404)
        return self._serve_file(self._folder / "static" / name)

    def _serve_file(self, path: Path) -> LoopbackResponse:
        content_type = XLSX if path.suffix == ".xlsx" else mimetypes.guess_type(path.name)[0]
        return LoopbackResponse(200, content_type or "application/octet-stream", path.read_bytes())

    def render_list(
        self, section: SectionSpec, template: str, rows: Sequence[SampleRow], page: int, base_url: str
    ) -> LoopbackResponse:
        """Return a page of the list, counted from 1, or the JSON for its script; `rows` are all that it lists."""
        shape = section.listing
        count = count_pages(section, rows)
        hrefs = [posixpath.basename(shape.path(n)) for n in range(1, count + 1)]
        shown = rows[(page - 1) * shape.per_page : page * shape.per_page]
        return self.render_page(
            template,
            encoding=shape.encoding,
            section=section,
            section_href=_get_entry_path(section),
            rows=[self._build_row_values(section, row, base_url) for row in shown],
            total=len(rows),
            page=page,
            page_count=count,
            page_hrefs=hrefs,
            first_page=hrefs[0],
            last_page=hrefs[-1],
            previous_page=hrefs[page - 2] if page > 1 else None,
            next_page=hrefs[page] if page < count else None,
        )

    def _build_row_values(self, section: SectionSpec, row: SampleRow, base_url: str) -> dict[str, Any]:
        record = row.record
        if record.is_repost:
            href = build_repost_base_url(self._site, base_url) + record.path
        elif section.listing.href == "absolute":
            href = base_url + record.path
        elif section.listing.href == "rooted":
            href = record.path
        else:
            near = posixpath.relpath(record.path, posixpath.dirname(section.listing.path(1)))
            href = near if near.startswith("..") else f"./{near}"
        return {
            "href": f"{href}?{row.query}" if row.query else href,
            "title": record.title,
            "date": record.date,
            "time": record.time,
            "opening": record.opening,
            "source": record.source,
            "document_number": record.document_number,
            "attachments": [_build_file_link(document) for document in record.attachments],
        }


def count_pages(section: SectionSpec, rows: Sequence[SampleRow]) -> int:
    """Count the pages of the section's list; an empty list has one."""
    return max(1, -(-len(rows) // section.listing.per_page))


def build_repost_base_url(site: SiteSpec, base_url: str) -> str:
    """The base url of the other host: another name for the same server."""
    return f"http://{site.repost_host}:{base_url.rsplit(':', 1)[-1]}"


def get_list_folder(section: SectionSpec) -> str:
    """The folder of the section's lists, with its slash at the end."""
    return posixpath.dirname(section.listing.path(1)).rstrip("/") + "/"


def _get_entry_path(section: SectionSpec) -> str:
    """What menus link to: the folder where the first page is its index, else the page."""
    path = section.listing.path(1)
    return get_list_folder(section) if posixpath.basename(path).startswith("index.") else path


def _build_file_link(document: PublishedDocument) -> dict[str, str]:
    return {"title": document.title, "href": document.path, "type": document.type}
