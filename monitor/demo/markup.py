"""The pages of a sample site: records in, answers out, through the site's own templates."""

import mimetypes
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from monitor.demo.content import Document, Record, Section, SiteText
from monitor.demo.serving import Answer, plain_answer

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@dataclass(frozen=True)
class Row:
    """A record as one list shows it; `query` is what that list's link carries beyond the url."""

    record: Record
    query: str = ""


class Markup:
    """Draws the pages of one site from the templates, scripts and documents in its folder."""

    def __init__(self, folder: Path, site: SiteText) -> None:
        self._folder = folder
        self._site = site
        self._navigation = [
            {"name": section.name, "href": _entrance(section)}
            for section in site.sections
            if section.id not in site.off_navigation
        ]
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folder / "templates"), autoescape=True, undefined=jinja2.StrictUndefined
        )

    def page(self, template: str, *, status: int = 200, encoding: str = "utf-8", **values: Any) -> Answer:
        """A page without items. Only UTF-8 is named in the header: the old pages declare theirs in the markup."""
        text = self._templates.get_template(template).render(
            site=self._site, navigation=self._navigation, encoding=encoding, **values
        )
        if template.endswith(".json"):
            content_type = "application/json"
        else:
            content_type = "text/html; charset=utf-8" if encoding == "utf-8" else "text/html"
        return Answer(status, content_type, text.encode(encoding, errors="xmlcharrefreplace"))

    def list_page(self, section: Section, rows: Sequence[Row], page: int, base_url: str) -> Answer:
        """The list's page, counted from 1, of all the section's `rows`."""
        return self._list(section, section.listing.template, rows, page, base_url)

    def list_data(self, section: Section, rows: Sequence[Row], base_url: str) -> Answer:
        """The JSON that the list's script reads; `plain_answer(404)` where the section has none."""
        if section.listing.data is None:
            return plain_answer(404)
        return self._list(section, section.listing.data.template, rows, 1, base_url)

    def article(self, section: Section, records: Sequence[Record], record: Record) -> Answer:
        """The record's own page; `records` are its section's, newest first, for the links to its neighbours."""
        place = list(records).index(record)
        newer = records[place - 1] if place > 0 else None
        older = records[place + 1] if place + 1 < len(records) else None
        return self.page(
            section.article.template,
            encoding=section.article.encoding,
            section=section,
            section_href=_entrance(section),
            record=record,
            files=[_file_link(document) for document in record.attachments],
            newer=newer,
            older=older,
        )

    def document(self, document: Document) -> Answer:
        return self._file(self._folder / "files" / document.file)

    def static(self, path: str) -> Answer:
        """A script or a style sheet; 404 for whatever else."""
        name = path.removeprefix("/static/")
        if name == path or "/" in name or not (self._folder / "static" / name).is_file():
            return plain_answer(404)
        return self._file(self._folder / "static" / name)

    def _file(self, path: Path) -> Answer:
        content_type = XLSX if path.suffix == ".xlsx" else mimetypes.guess_type(path.name)[0]
        return Answer(200, content_type or "application/octet-stream", path.read_bytes())

    def _list(self, section: Section, template: str, rows: Sequence[Row], page: int, base_url: str) -> Answer:
        shape = section.listing
        count = page_count(section, rows)
        hrefs = [posixpath.basename(shape.path(n)) for n in range(1, count + 1)]
        shown = rows[(page - 1) * shape.per_page : page * shape.per_page]
        return self.page(
            template,
            encoding=shape.encoding,
            section=section,
            section_href=_entrance(section),
            rows=[self._row(section, row, base_url) for row in shown],
            total=len(rows),
            page=page,
            page_count=count,
            page_hrefs=hrefs,
            first_page=hrefs[0],
            last_page=hrefs[-1],
            previous_page=hrefs[page - 2] if page > 1 else None,
            next_page=hrefs[page] if page < count else None,
        )

    def _row(self, section: Section, row: Row, base_url: str) -> dict[str, Any]:
        record = row.record
        if record.is_repost:
            href = repost_base(self._site, base_url) + record.path
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
            "attachments": [_file_link(document) for document in record.attachments],
        }


def page_count(section: Section, rows: Sequence[Row]) -> int:
    """How many pages the section's list has; an empty list has one."""
    return max(1, -(-len(rows) // section.listing.per_page))


def repost_base(site: SiteText, base_url: str) -> str:
    """The base url of the other host: another name for the same server."""
    return f"http://{site.repost_host}:{base_url.rsplit(':', 1)[-1]}"


def folder_of(section: Section) -> str:
    """The folder of the section's lists, with its slash at the end."""
    return posixpath.dirname(section.listing.path(1)).rstrip("/") + "/"


def _entrance(section: Section) -> str:
    """What menus link to: the folder where the first page is its index, else the page."""
    path = section.listing.path(1)
    return folder_of(section) if posixpath.basename(path).startswith("index.") else path


def _file_link(document: Document) -> dict[str, str]:
    return {"title": document.title, "href": document.path, "type": document.type}
