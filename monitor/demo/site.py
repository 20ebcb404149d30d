"""A sample site on loopback: for `make demo`, for tests, and to look at by hand (`python -m monitor.demo.site`).

The site is data (see `content.py`), its dates count back from `today`, and what it publishes is known exactly:
`list_expected_items` gives the truth that a sweep is measured against. A test may change the site while it is served.
"""

import argparse
import asyncio
import datetime as dt
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

from monitor.config.model import Settings
from monitor.demo.content import (
    ItemSpec,
    PublishedItem,
    SampleRow,
    SectionSpec,
    SiteRenderer,
    build_repost_base_url,
    count_pages,
    find_site_folder,
    get_list_folder,
    publish,
    read_site,
    split_paragraphs,
)
from monitor.demo.serving import HOST, LoopbackRequest, LoopbackResponse, build_status_response, serve_loopback
from monitor.errors import MonitorError, UsageError

ROBOTS = "User-agent: *\nDisallow: /search\n"
HOME = "/index.html"
TIMEZONE = "Asia/Shanghai"


@dataclass(frozen=True)
class ExpectedItem:
    """One item as a faultless sweep would save it; `sections` names every list that shows it, its own first."""

    section: str
    sections: list[str]
    title: str
    url: str
    date: dt.date
    type: str
    tier: int
    document_number: str | None
    is_repost: bool
    attachments: list[str]


class SampleSite:
    """One sample site as it stands on `today`.

    `requests` logs every request (`GET /path`), `faults` maps path prefixes to the status that they answer instead
    of their pages (412 with the script page of a guard, others with a bare one), `holds` maps them to events for which
    their answers wait, `delay_s` is the time that every answer takes. All may be changed while the site is served.
    """

    def __init__(
        self, name: str = "ministry", *, today: dt.date, folder: Path | None = None, delay_s: float = 0.0
    ) -> None:
        self.today = today
        self.delay_s = delay_s
        self.requests: list[str] = []
        folder = folder or find_site_folder(name)
        self._site, items = read_site(folder)
        self._renderer = SiteRenderer(folder, self._site)
        self._records = {
            section.id: [
                publish(item, section, number=section.article.first_number + place * 3, today=today)
                for place, item in enumerate(items[section.id])
            ]
            for section in self._site.sections
        }
        self.holds: dict[str, asyncio.Event] = {}
        self.faults = {get_list_folder(section): section.fault for section in self._site.sections if section.fault}

    @property
    def title(self) -> str:
        return self._site.title

    @property
    def focus_areas(self) -> list[dict[str, str]]:
        """What the demo's source asks for: `[{"name": …}]`."""
        return [area.model_dump() for area in self._site.focus_areas]

    def list_sections(self, base_url: str) -> list[dict[str, str]]:
        """Name and url of the first list page of every section, those that no menu names too; not the home page."""
        first_pages = [(section.name, section.listing.path(1)) for section in self._site.sections]
        return [{"name": name, "url": base_url.rstrip("/") + path} for name, path in first_pages if path != HOME]

    def list_expected_items(self, base_url: str, *, with_faults: bool = False) -> list[ExpectedItem]:
        """Every item that can be read at `base_url`, newest first in each section: what is true of the site.

        Items that stand only in sections whose list answers a fault are left out unless `with_faults`.
        """
        shown: dict[PublishedItem, list[SectionSpec]] = {}
        for section in self._site.sections:
            if with_faults or not self._find_fault(section.listing.path(1)):
                for row in self._list_rows(section):
                    shown.setdefault(row.record, []).append(section)
        return [self._build_expected_item(record, places, base_url.rstrip("/")) for record, places in shown.items()]

    def add_item(
        self, section: str, title: str, *, days_ago: int = 0, body: str = "", document_number: str | None = None
    ) -> str:
        """Publishes one more item in the section (its name or id) and gives its path."""
        place = next((entry for entry in self._site.sections if section in (entry.id, entry.name)), None)
        if place is None:
            raise UsageError("sample.no_section", section=section)
        records = self._records[place.id]
        number = max((record.number for record in records), default=place.article.first_number) + 3
        text = ItemSpec(days_ago=days_ago, title=title, body=body, document_number=document_number)
        records.insert(0, publish(text, place, number=number, today=self.today))
        return records[0].path

    def edit_item(self, title: str, *, new_title: str | None = None, body: str | None = None) -> str:
        """Changes an item's title or text under its old url, as editors do without a word; gives its path."""
        record = self._find_record(title)
        records = self._records[record.section]
        records[records.index(record)] = replace(
            record,
            title=new_title or record.title,
            paragraphs=record.paragraphs if body is None else split_paragraphs(body, record.date),
        )
        return record.path

    def remove_item(self, title: str) -> str:
        """Takes an item off the site, from its lists and its page; gives the path that now answers 404."""
        record = self._find_record(title)
        self._records[record.section].remove(record)
        return record.path

    @asynccontextmanager
    async def serve(self, port: int = 0) -> AsyncIterator[str]:
        """Serves the site on 127.0.0.1 until the block ends; gives its base url, without a slash at the end."""
        async with serve_loopback(self.respond, port=port) as listening:
            yield f"http://{HOST}:{listening}"

    def respond(self, request: LoopbackRequest) -> LoopbackResponse:
        self.requests.append(f"{request.method} {request.target}")
        path = unquote(urlsplit(request.target).path)
        fault = self._find_fault(path)
        if fault == 412:
            answer = self._renderer.render_page("fault.html", status=fault)
        elif fault:
            answer = build_status_response(fault)
        elif path == "/robots.txt":
            answer = LoopbackResponse(200, "text/plain", ROBOTS.encode())
        else:
            routes = self._build_routes(f"http://{request.host or HOST}")
            answer = routes.get(path, partial(self._renderer.serve_static, path))()
        hold = next((hold for prefix, hold in self.holds.items() if path.startswith(prefix)), None)
        return replace(answer, delay_s=self.delay_s, hold=hold)

    def _build_routes(self, base_url: str) -> dict[str, Callable[[], LoopbackResponse]]:
        """Every path that holds a page; made anew for each request, because the site may have changed."""
        routes: dict[str, Callable[[], LoopbackResponse]] = {
            path: partial(self._renderer.render_page, template) for path, template in self._site.pages.items()
        }
        render_list = self._renderer.render_list
        for section in self._site.sections:
            listing = section.listing
            rows, records = self._list_rows(section), _sort_newest_first(self._records[section.id])
            for page in range(1, count_pages(section, rows) + 1):
                routes[listing.path(page)] = partial(render_list, section, listing.template, rows, page, base_url)
            routes[get_list_folder(section)] = routes[listing.path(1)]
            if listing.data:
                routes[listing.data.url] = partial(render_list, section, listing.data.template, rows, 1, base_url)
            for record in records:
                routes[record.path] = partial(self._renderer.render_article, section, records, record)
                for document in [*record.attachments, *([record.document] if record.document else [])]:
                    routes[document.path] = partial(self._renderer.serve_document, document)
        return routes

    def _list_rows(self, section: SectionSpec) -> list[SampleRow]:
        """What the section lists, newest first: its own records, those of others that also stand here, its samples."""
        rows = [SampleRow(record) for record in self._records[section.id]]
        for record in chain.from_iterable(self._records.values()):
            rows += [SampleRow(record, place.query) for place in record.also_in if place.section == section.id]
        for other, count in section.listing.shows.items():
            rows += [SampleRow(record) for record in _sort_newest_first(self._records[other])[:count]]
        return sorted(rows, key=lambda row: row.record.date, reverse=True)

    def _find_record(self, title: str) -> PublishedItem:
        for record in chain.from_iterable(self._records.values()):
            if record.title == title:
                return record
        raise UsageError("sample.no_item", title=title)

    def _find_fault(self, path: str) -> int | None:
        return next((status for prefix, status in self.faults.items() if path.startswith(prefix)), None)

    def _build_expected_item(self, record: PublishedItem, places: list[SectionSpec], base_url: str) -> ExpectedItem:
        own = next(section for section in self._site.sections if section.id == record.section)
        return ExpectedItem(
            section=own.name,
            sections=[own.name, *(section.name for section in places if section is not own)],
            title=record.title,
            url=(build_repost_base_url(self._site, base_url) if record.is_repost else base_url) + record.path,
            date=record.date,
            type=record.type,
            tier=record.tier,
            document_number=record.document_number,
            is_repost=record.is_repost,
            attachments=[base_url + document.path for document in record.attachments],
        )


def _sort_newest_first(records: Sequence[PublishedItem]) -> list[PublishedItem]:
    return sorted(records, key=lambda record: record.date, reverse=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves a sample site until it is interrupted; exit code 2 for a site or a day that is none."""
    parser = argparse.ArgumentParser(prog="python -m monitor.demo.site", description="Serve a sample site on loopback.")
    parser.add_argument("name", nargs="?", default="ministry")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--today", type=dt.date.fromisoformat, default=dt.datetime.now(ZoneInfo(TIMEZONE)).date())
    chosen = parser.parse_args(arguments)
    try:
        asyncio.run(_serve_until_interrupted(SampleSite(chosen.name, today=chosen.today), chosen.port))
    except KeyboardInterrupt:
        return 0
    except (MonitorError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code if isinstance(error, MonitorError) else 1
    return 0


async def _serve_until_interrupted(site: SampleSite, port: int) -> None:
    async with site.serve(port) as base_url:
        sys.stdout.write(f"{site.title}: {base_url}/\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    sys.exit(main())


def build_sample_settings(settings: Settings, *base_urls: str, folder: Path) -> Settings:
    """The settings with their data in `folder`, allowed to ask the sites at these urls under both names of loopback.

    Pauses between requests are for other people's servers; these are ours.
    """
    hosts = [f"{name}:{urlsplit(url).port}" for url in base_urls for name in ("127.0.0.1", "localhost")]
    network = settings.network.model_copy(update={"allowed_private_hosts": hosts, "proxy": None})
    return settings.model_copy(
        update={
            "timezone": TIMEZONE,
            "data_dir": folder,
            "database_url": f"sqlite:///{folder / 'monitor.db'}",
            "network": network,
            "pages": settings.pages.model_copy(update={"delay_s": 0.0}),
            "sources": [],
        }
    )
