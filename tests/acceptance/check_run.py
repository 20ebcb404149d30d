"""Judge a sweep's JSON against the pages as they are served. Standard library only; knows nothing of the program.

    python check_run.py BASE_URL < sweep.json

Prints a JSON list of what is wrong: an item whose url no page links to, whose title or date no page shows beside that
url or in the article, or whose summary has a figure that the article does not have; and ledgers that do not add up.
"""

import html
import json
import re
import sys
import unicodedata
import urllib.error
import urllib.request
from urllib.parse import urljoin, urlsplit

LINK = re.compile(r"""(?:href|src|data-source)\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
JSON_URL = re.compile(r'"(?:url|link|href)"\s*:\s*"([^"]+)"')
SCRIPT_PAGE = re.compile(r'createPageHTML\((\d+),\s*\d+,\s*"([\w-]+)",\s*"(\w+)"')
CHARSET = re.compile(rb"charset=[\"']?([\w-]+)", re.IGNORECASE)
TRACKING = re.compile(r"[?&](utm_\w+|spm)=[^&]*")


def get(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:  # noqa: S310 -- only pages of the site under test
            body, kind = answer.read(), answer.headers.get("content-type", "")
    except (urllib.error.HTTPError, urllib.error.URLError):
        return ""
    if "pdf" in kind or "sheet" in kind:
        return ""
    found = CHARSET.search(kind.encode()) or CHARSET.search(body[:2000])
    text = body.decode((found.group(1).decode() if found else "utf-8").replace("gb2312", "gb18030"), "replace")
    return json.dumps(json.loads(text), ensure_ascii=False) if "json" in kind else text


def plain(url: str) -> str:
    return TRACKING.sub("", url.partition("#")[0])


def links_of(page: str, base: str) -> set[str]:
    found = [*LINK.findall(page), *JSON_URL.findall(page)]
    for count, stem, ending in SCRIPT_PAGE.findall(page):
        found += [f"{stem}_{n}.{ending}" for n in range(1, int(count))]
    return {urljoin(base, html.unescape(entry)) for entry in found if not entry.startswith(("javascript", "mailto"))}


def crawl(base: str) -> dict[str, str]:
    port = urlsplit(base).port
    pages: dict[str, str] = {}
    waiting = [base]
    while waiting and len(pages) < 1500:
        url = plain(waiting.pop())
        if url in pages or urlsplit(url).port != port or re.search(r"\.(css|js|png|jpg|svg|ico)$", urlsplit(url).path):
            continue
        pages[url] = get(url)
        waiting += links_of(pages[url], url)
    return pages


def text_of(page: str) -> str:
    without = re.sub(r"(?is)<(script|style)\b.*?</\1>", " ", page)
    return unicodedata.normalize("NFKC", html.unescape(re.sub(r"<[^>]*>", "\x00", without))).replace("\x00", "")


def date_forms(date: str) -> list[str]:
    year, month, day = date.split("-")
    m, d = str(int(month)), str(int(day))
    return [
        date,
        f"{year}/{month}/{day}",
        f"{year}.{month}.{day}",
        f"{year}年{m}月{d}日",
        f"{year}年{month}月{day}日",
        f"{month}-{day}",
        f"{year}{month}{day}",
        f"/{year}/{m}/{d}/",
        f"{day}{year}-{month}",
        f"{day}{year}.{month}",
        f"{d}{year}年{m}月",
    ]


def shows_date(date: str, texts: list[str]) -> bool:
    squeezed = [re.sub(r"\s+", "", text) for text in texts]
    return any(form in text for form in date_forms(date) for text in squeezed)


def figures(text: str) -> set[str]:
    folded = unicodedata.normalize("NFKC", text).replace(",", "")
    return set(re.findall(r"\d+(?:\.\d+)?", folded))


def problems_of(run: dict, pages: dict[str, str]) -> list[str]:
    links = {address: {plain(link) for link in links_of(page, address)} for address, page in pages.items()}
    problems = []
    for item in run["items"]:
        url = plain(item["url"])
        lists = [page for address, page in pages.items() if url in links[address]]
        article = pages.get(url, "")
        if not lists:
            problems.append(f"no page links to {url}")
            continue
        folded = re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", item["title"]))
        shown = [re.sub(r"[\W_]+", "", text_of(page) + html.unescape(page)) for page in [*lists, article]]
        if folded not in " ".join(unicodedata.normalize("NFKC", text) for text in shown):
            problems.append(f"no page shows the title {item['title']!r} of {url}")
        if item["date"] and not shows_date(item["date"], [*map(text_of, lists), text_of(article), url, *lists]):
            problems.append(f"no page shows the date {item['date']} of {url}")
        if item["summary"] and article:
            missing = figures(item["summary"]) - figures(text_of(article)) - figures(item["title"])
            if missing:
                problems.append(f"the article does not have the figures {sorted(missing)} of the summary of {url}")
    counts = {name: count for name, count in run["coverage"].items() if isinstance(count, int)}
    candidates = sum(section["candidates"] for section in run["sections"])
    if sum(counts.values()) != candidates:
        problems.append(f"the ledger {counts} does not add up to {candidates} candidates")
    return problems


def main() -> None:
    run = json.load(sys.stdin)["runs"][0]
    json.dump(problems_of(run, crawl(sys.argv[1])), sys.stdout, ensure_ascii=False)


if __name__ == "__main__":
    main()
