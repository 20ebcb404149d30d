"""Reads pages with labels of what a person would see in them: the corpus, sets in its layout, and the fixtures."""

import csv
import datetime as dt
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from zipfile import ZipFile

import yaml

from monitor.urls import get_registrable_domain

LIST, ARTICLE = "list", "article"
TODAY = dt.date(2026, 11, 22)
_TRACKING = re.compile(r"^(utm_\w+|spm|from|fbclid|gclid|_t|timestamp)$")


@dataclass(frozen=True)
class LabelledPage:
    """A page and its labels; `others` are urls that are neither right nor wrong.

    `is_scored`: its items are all that its list has, so that choosing can be learned from it.
    """

    id: str
    kind: str
    url: str
    body: bytes
    items: list[dict[str, Any]] = field(default_factory=list)
    others: frozenset[str] = frozenset()
    is_scored: bool = True
    today: dt.date = TODAY

    @property
    def site(self) -> str:
        return get_registrable_domain(self.url) or self.id


def fold_url(url: str) -> str:
    """Return what two spellings of one address share."""
    parts = urlsplit(url.strip())
    host = (parts.hostname or "").removeprefix("www.")
    query = "&".join(
        sorted(pair for pair in parts.query.split("&") if pair and not _TRACKING.match(pair.split("=")[0]))
    )
    path = re.sub(r"/+", "/", unquote(parts.path)).rstrip("/")
    return f"{host}{path}?{unquote(query)}".rstrip("?").lower()


_FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"


def read_open_sets(corpus: Path | None) -> dict[str, list[LabelledPage]]:
    """Return the sets that may be read and trained on, by name; the corpus is one of them where it is there."""
    sets = {file.stem: list(read_corpus(file)) for file in sorted((_FIXTURES / "labelled" / "open").glob("*.zip"))}
    sets["fixtures"] = list(read_fixtures(_FIXTURES / "pages"))
    if corpus is not None and (corpus / "manifest.csv").is_file():
        sets["corpus"] = list(read_corpus(corpus))
    return sets


def read_held_sets() -> dict[str, list[LabelledPage]]:
    """Return the sets that nothing is trained on and that nobody who writes rules has read, by name."""
    return {file.stem: list(read_corpus(file)) for file in sorted((_FIXTURES / "labelled" / "held").glob("*.zip"))}


def read_corpus(root: Path) -> Iterator[LabelledPage]:
    """Yield the lists and articles of a folder or a zip file in the layout of the corpus."""
    if root.suffix == ".zip":
        with ZipFile(root) as archive:
            yield from _read_rows(archive.read)
    else:
        yield from _read_rows(lambda name: (root / name).read_bytes())


def _read_rows(read: Any) -> Iterator[LabelledPage]:
    for row in csv.DictReader(read("manifest.csv").decode().splitlines()):
        if row["kind"] not in (LIST, ARTICLE) or not row["gold"]:
            continue
        gold = json.loads(read(row["gold"]))
        url = gold.get("base_url") or gold.get("url") or row["url"]
        items = [item for item in gold.get("items") or [] if item.get("url")] if row["kind"] == LIST else []
        blocks = [item["url"] for block in (gold.get("other_blocks") or {}).values() for item in block or []]
        related = [link if isinstance(link, str) else link["url"] for link in gold.get("related_links_not_items") or []]
        is_whole = bool(items) and not gold.get("partial") and not gold.get("list_unfair")
        yield LabelledPage(
            id=row["id"],
            kind=row["kind"],
            url=url,
            body=read(row["page"]),
            items=items,
            others=frozenset(map(fold_url, [*blocks, *related])),
            is_scored=row["kind"] == ARTICLE or is_whole,
        )


def read_fixtures(root: Path) -> Iterator[LabelledPage]:
    """Yield the pages of `fixtures/pages`; one without candidates is no list."""
    for file in sorted(root.glob("*/case.yaml")):
        about = yaml.safe_load(file.read_text("utf-8"))
        expected = json.loads((file.parent / "expected.json").read_text("utf-8"))
        items = expected["candidates"]
        yield LabelledPage(
            id=f"fixture-{file.parent.name}",
            kind=LIST if items else ARTICLE,
            url=about["url"],
            body=(file.parent / "input.html").read_bytes(),
            items=items,
            today=dt.datetime.fromisoformat(about["fetched_at"]).date(),
        )
