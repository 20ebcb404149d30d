"""Finds the list in JSON that a page loads, learns how its records are read, and reads them."""

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from monitor.dates import publication_day
from monitor.extract.feeds import parse_date_text, strip_markup
from monitor.extract.html import collapse_whitespace
from monitor.page import Candidate, Link
from monitor.recipe import JsonRecipe
from monitor.urls import clean_url, is_same_site, url_key
from monitor.vocabulary import DateSource

KeyPath = tuple[str, ...]
Record = Mapping[str, Any]

_MAX_DEPTH = 8
_MAX_RECORD_DEPTH = 4
_MAX_ARRAYS = 200
_MAX_COMPARED = 50
_MIN_SHARE = 0.5
_MIN_TITLE_CHARS = 4
_EPOCH_MS = 100_000_000_000
_EPOCHS_S = range(631_152_000, 4_102_444_800)  # 1990 to 2100
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
# The fields by which records are told apart, and the days that are not of the publication.
_ID_NAME = re.compile(r"id|slug|code|number|no$|key|path", re.IGNORECASE)
_PUBLISHED_NAME = re.compile(r"publi|pub|release|issue|fabu|fbsj|post", re.IGNORECASE)
_DATE_NAME = re.compile(r"date|time|day|creat|sj$|rq$", re.IGNORECASE)
_OTHER_DAY_NAME = re.compile(r"updat|modif|expir|end|dead|valid|close|effect", re.IGNORECASE)
_PAGE_PARAMETERS = re.compile(r"^(?:p|pn|page|current|cur)(?:_?(?:no|num|number|index|current))?$", re.IGNORECASE)
_OFFSET_PARAMETERS = re.compile(r"^(?:offset|start|skip|from|startindex|first)$", re.IGNORECASE)
_SIZE_PARAMETERS = re.compile(r"^(?:size|limit|rows|count|ps|(?:per_?)?page_?size|per_?page|take)$", re.IGNORECASE)


def learn_json_recipe(
    text: str, url: str, *, page_url: str, candidates: Sequence[Candidate], links: Sequence[Link], today: dt.date
) -> JsonRecipe | None:
    """Return how to read the list in JSON from `url` that the page at `page_url` shows; None where it shows none.

    The page is the proof: the titles of the records are those of its `links`, or of its `candidates`, and so are their
    addresses. `ValueError` for what is no JSON.
    """
    shown = {_fold(link.text): link.url for link in links} | {_fold(row.title): row.url for row in candidates}
    shown = {title: address for title, address in shown.items() if len(title) >= _MIN_TITLE_CHARS}
    days = {url_key(row.url): row.date for row in candidates if row.date is not None}
    best: tuple[int, JsonRecipe] | None = None
    for rows, records in _iter_arrays(json.loads(text, strict=False)):
        compared = records[:_MAX_COMPARED]
        leaves = _list_leaves(compared)
        title, pairs = _find_title(compared, leaves, shown)
        if not title or (best is not None and len(pairs) <= best[0]):
            continue
        link = _find_link(pairs, leaves, page_url)
        template = "" if link else _build_template(pairs, leaves)
        if link or template:
            date = _find_date(compared, leaves, pairs, days, today)
            facts = {"rows": rows, "title": title, "link": link, "date": date}
            paths = {name: list(path) for name, path in facts.items()}
            best = len(pairs), JsonRecipe(url=url, link_template=template, **paths)
    return best[1] if best else None


def read_json_list(text: str, recipe: JsonRecipe, *, page_url: str, today: dt.date, zone: dt.tzinfo) -> list[Candidate]:
    """Return the records of the list in their order, each url once; `ValueError` where the list is not there.

    `zone` is where a point in time becomes a day. Records without a title or an address are left out.
    """
    records = _get(json.loads(text, strict=False), recipe.rows)
    if not isinstance(records, list):
        raise ValueError("no list at " + ".".join(recipe.rows))  # noqa: TRY004 -- of the site's data, not of ours
    found: dict[str, Candidate] = {}
    for record in records:
        title = _read_title(record, recipe.title)
        url = _read_url(record, recipe, page_url)
        if title and url:
            day = parse_day(_get(record, recipe.date), today, zone) if recipe.date else None
            source = DateSource.LISTED if day else DateSource.UNKNOWN
            is_repost = not is_same_site(url, page_url)
            found.setdefault(url, Candidate(title=title, url=url, date=day, date_source=source, is_repost=is_repost))
    return list(found.values())


def find_next_json_page(url: str, rows: int) -> str | None:
    """Return the address of the next page of a list with `rows` records, if the query of `url` numbers its pages.

    A page that is not full is the last one.
    """
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    size = next((int(value) for name, value in query if _SIZE_PARAMETERS.match(name) and _is_number(value)), 0)
    if not rows or rows < size:
        return None
    for place, (name, value) in enumerate(query):
        step = 1 if _PAGE_PARAMETERS.match(name) else (size or rows) if _OFFSET_PARAMETERS.match(name) else 0
        if step and _is_number(value):
            query[place] = (name, str(int(value) + step))
            return urlunsplit(parts._replace(query=urlencode(query)))
    return None


def parse_day(value: object, today: dt.date, zone: dt.tzinfo) -> dt.date | None:
    """Return the day that a value of a record states: as text, or as seconds or milliseconds since 1970.

    A round hour may be midnight where the record was written, so its day is the one that is nearest to it.
    """
    if isinstance(value, str) and not _is_number(value.strip()):
        return parse_date_text(value, today)
    text = str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    if re.fullmatch(r"(?:19|20)\d{6}", text):
        return publication_day(int(text[:4]), int(text[4:6]), int(text[6:]), today)
    seconds = float(text) if re.fullmatch(r"\d{9,13}(?:\.\d+)?", text) else 0.0
    seconds = seconds / 1000 if seconds >= _EPOCH_MS else seconds
    if int(seconds) not in _EPOCHS_S:
        return None
    moment = dt.datetime.fromtimestamp(seconds, zone)
    if moment.utcoffset() == dt.timedelta(0) and seconds % 3600 == 0 and moment.hour >= 12:
        moment += dt.timedelta(hours=12)
    return publication_day(moment.year, moment.month, moment.day, today)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,13}", text) is not None


def _iter_arrays(root: object) -> Iterator[tuple[KeyPath, list[Record]]]:
    """Yield the arrays of records with their paths of keys, outer ones first."""
    queue: list[tuple[KeyPath, object]] = [((), root)]
    for path, value in queue:
        if isinstance(value, list):
            yield path, [record for record in value if isinstance(record, dict)]
        elif isinstance(value, dict) and len(path) <= _MAX_DEPTH and len(queue) < _MAX_ARRAYS:
            queue.extend(((*path, key), child) for key, child in value.items() if isinstance(child, list | dict))


def _list_leaves(records: Sequence[Record]) -> list[KeyPath]:
    """Return the paths to texts and numbers, those that most records have first."""
    counts: Counter[KeyPath] = Counter()
    for record in records:
        counts.update(_iter_leaves(record, ()))
    return [path for path, _ in counts.most_common()]


def _iter_leaves(record: Record, above: KeyPath) -> Iterator[KeyPath]:
    for key, value in record.items():
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            yield (*above, key)
        elif isinstance(value, dict) and len(above) < _MAX_RECORD_DEPTH:
            yield from _iter_leaves(value, (*above, key))


def _get(record: object, path: Sequence[str]) -> object:
    for key in path:
        record = record.get(key) if isinstance(record, dict) else None
    return record


def _read_title(record: object, path: Sequence[str]) -> str:
    value = _get(record, path)
    return collapse_whitespace(strip_markup(value)) if isinstance(value, str) else ""


def _fold(text: str) -> str:
    return collapse_whitespace(text).casefold()


def _find_title(
    records: Sequence[Record], leaves: Sequence[KeyPath], shown: Mapping[str, str]
) -> tuple[KeyPath, list[tuple[Record, str]]]:
    """Return the path of the titles, and the records that the page shows, each with the address of its link."""
    best: tuple[KeyPath, list[tuple[Record, str]]] = ((), [])
    enough = _MIN_SHARE * min(len(records), len(shown))
    for path in leaves:
        pairs = []
        for record in records:
            title = _fold(_read_title(record, path))
            address = shown.get(title)
            if address is None and len(title) > 2 * _MIN_TITLE_CHARS:  # a link may hold the date besides
                address = next((url for text, url in shown.items() if title in text), None)
            if address is not None and title:
                pairs.append((record, address))
        is_enough = len(pairs) >= min(3, len(records)) or (pairs and len(pairs) >= enough)
        if is_enough and len(pairs) > len(best[1]):
            best = path, pairs
    return best


def _find_link(pairs: Sequence[tuple[Record, str]], leaves: Sequence[KeyPath], page_url: str) -> KeyPath:
    hits = {
        path: sum(url_key(_read_link(record, path, page_url) or "") == url_key(url) for record, url in pairs)
        for path in leaves
    }
    best = max(leaves, key=lambda path: hits[path])
    return best if hits[best] > _MIN_SHARE * len(pairs) else ()


def _read_link(record: object, path: Sequence[str], page_url: str) -> str | None:
    value = _get(record, path)
    return clean_url(value, page_url) if isinstance(value, str) and value.strip() else None


def _build_template(pairs: Sequence[tuple[Record, str]], leaves: Sequence[KeyPath]) -> str:
    """Return the address of a record with the paths of its values in braces, if it holds for most of the pairs."""
    first, address = pairs[0]
    template = address
    fields = sorted(leaves, key=lambda path: (not _ID_NAME.search(path[-1]), -len(str(_get(first, path)))))
    for path in fields:
        written = [str(_get(record, path) or "") for record, _ in pairs]
        is_distinct = len({*written}) > 1 or (len(pairs) == 1 and "{" not in template)
        found = zip(written, pairs, strict=True)
        in_all = all(value and re.search(_as_token(value), unquote(url)) for value, (_, url) in found)
        if is_distinct and in_all and "{" not in "".join(path):
            host = template.find("/", 8)
            put = "{" + ".".join(path) + "}"
            template = template[:host] + re.sub(_as_token(quote(written[0], safe="")), put, template[host:], count=1)
    if "{" not in template:
        return ""
    fits = sum(url_key(fill_template(template, record) or "") == url_key(url) for record, url in pairs)
    return template if fits > _MIN_SHARE * len(pairs) else ""


def _as_token(value: str) -> str:
    return rf"(?<![0-9A-Za-z{{.]){re.escape(value)}(?![0-9A-Za-z}}])"


def fill_template(template: str, record: object) -> str | None:
    """Return the address of a record; None where it lacks one of the values."""
    values = [_get(record, name.split(".")) for name in _PLACEHOLDER.findall(template)]
    if any(value in (None, "") or not isinstance(value, str | int) for value in values):
        return None
    written = iter(values)
    return _PLACEHOLDER.sub(lambda _: quote(str(next(written)), safe=""), template)


def _read_url(record: object, recipe: JsonRecipe, page_url: str) -> str | None:
    if recipe.link:
        return _read_link(record, recipe.link, page_url)
    address = fill_template(recipe.link_template, record)
    return clean_url(address, page_url) if address else None


def _find_date(
    records: Sequence[Record],
    leaves: Sequence[KeyPath],
    pairs: Sequence[tuple[Record, str]],
    days: Mapping[str, dt.date],
    today: dt.date,
) -> KeyPath:
    """Return the path of the dates: those that the page shows, else by their name; none of a deadline or a change."""

    def rate(path: KeyPath) -> tuple[int, int, int]:
        name = path[-1]
        agreeing = sum(
            url_key(url) in days and parse_day(_get(record, path), today, dt.UTC) == days[url_key(url)]
            for record, url in pairs
        )
        order = 2 * bool(_PUBLISHED_NAME.search(name)) + bool(_DATE_NAME.search(name))
        dated = sum(parse_day(_get(record, path), today, dt.UTC) is not None for record in records)
        return agreeing, -1 if _OTHER_DAY_NAME.search(name) else order, dated

    rates = {path: rate(path) for path in leaves}
    enough = _MIN_SHARE * len(records)
    fit = [path for path, (agreeing, order, dated) in rates.items() if dated >= enough and max(agreeing, order) > 0]
    return max(fit, key=lambda path: (rates[path], path), default=())
