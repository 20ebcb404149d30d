"""Judge items against the bytes that were kept as evidence. Knows nothing of the program: WARC files and JSON only.

    python check_evidence.py EVIDENCE_FOLDER < proofs.json

The JSON is `{"items": [...], "overview": [...]}`: items as `monitor items show ID --evidence --json` prints them,
sentences of the overview as `{"text", "items": [ids]}`. Every WARC file of the folder is read, and a record counts only
by the hash of its bytes. Prints `{"checked": n, "of_overview": m, "problems": [...]}`: an item whose url, title or date
no record that it names shows, a figure or date of its summary or of a sentence of the overview that the records do not
have, a passage that does not stand in its record. The numbers count the figures of the summaries and of the overview.
"""

import datetime as dt
import hashlib
import html
import io
import json
import re
import sys
import unicodedata
from pathlib import Path
from urllib.parse import urljoin

from warcio.archiveiterator import ArchiveIterator

LINK = re.compile(r"""(?:href|src|data-source)\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
JSON_URL = re.compile(r'"(?:url|link|href)"\s*:\s*"([^"]+)"')
CHARSET = re.compile(rb"charset=[\"']?([\w-]+)", re.IGNORECASE)
FIGURE = re.compile(r"\d+(?:\.\d+)?")
CHINESE = re.compile(
    r"(?<![\d.])[〇零一二两三四五六七八九十][〇零一二两三四五六七八九十百千万亿]*(?=[年月日个项条章次倍元吨家])"
)
WHOLE_DATE = re.compile(r"(\d{4})(?:年|[-/.])(\d{1,2})(?:月|[-/.])(\d{1,2})(?!\d)")
DATE_SHOWN = (
    "{y}-{m:02}-{d:02}",
    "{y}/{m:02}/{d:02}",
    "{y}.{m:02}.{d:02}",
    "{y}{m:02}{d:02}",
    "{y}年{m}月{d}日",
    "{y}年{m:02}月{d:02}日",
    "{y}/{m}/{d}",
    "{m:02}-{d:02}",
    "{m}月{d}日",
    "{m:02}/{d:02}",
    "{d:02}{y}-{m:02}",
    "{d:02}{y}.{m:02}",
    "{d}{y}年{m}月",
)


class Record:
    """The bytes of one record, and what people read in them."""

    def __init__(self, url: str, content_type: str, body: bytes) -> None:
        self.url = url
        if body.startswith(b"%PDF"):
            self.source = pdf_text(body)
            self.text = self.source
            return
        found = CHARSET.search(content_type.encode()) or CHARSET.search(body[:2000])
        charset = (found.group(1).decode() if found else "utf-8").lower().replace("gb2312", "gb18030")
        self.source = body.decode(charset, "replace")
        visible = re.sub(
            r"(?is)<(script|style|noscript|template)\b.*?</\1>|<!--.*?-->|<!\[CDATA\[|\]\]>", " ", self.source
        )
        self.text = html.unescape(re.sub(r"<[^>]*>", " ", visible))

    @property
    def shown(self) -> str:
        """All that the record says, tags and white space aside, with what stands in its attributes at the end."""
        return squeezed(self.text) + squeezed(html.unescape(self.source))

    def links(self) -> set[str]:
        found = [*LINK.findall(self.source), *JSON_URL.findall(self.source)]
        return {urljoin(self.url, html.unescape(entry)).partition("#")[0] for entry in found} | {self.url}


def pdf_text(body: bytes) -> str:
    import pypdfium2

    return "\n".join(page.get_textpage().get_text_bounded() for page in pypdfium2.PdfDocument(body))


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))


def letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text))


def read_folder(folder: Path) -> tuple[dict[str, Record], list[str]]:
    """The records of all WARC files under the SHA-256 of their bodies, and what is wrong with the files."""
    records, problems = {}, []
    for path in sorted(folder.rglob("*.warc.gz")):
        for record in ArchiveIterator(io.BytesIO(path.read_bytes()), check_digests=True):
            if record.rec_type not in ("response", "conversion"):
                continue
            body = record.content_stream().read()
            kind = (record.http_headers or record.rec_headers).get_header("Content-Type") or ""
            sha256 = hashlib.sha256(body).hexdigest()
            is_said = record.rec_headers.get_header("WARC-Payload-Digest") == f"sha256:{sha256}"
            if not is_said or (record.digest_checker and not record.digest_checker.passed):
                problems.append(f"{path.name} does not hold what it says")
            records[sha256] = Record(record.rec_headers.get_header("WARC-Target-URI"), kind, body)
    return records, problems


def figures(text: str) -> set[str]:
    folded = unicodedata.normalize("NFKC", text).replace(",", "")
    return set(FIGURE.findall(folded)) | set(CHINESE.findall(folded))


def stands(figure: str, text: str) -> bool:
    """Whether a figure stands in a text as a whole number of its own."""
    folded = unicodedata.normalize("NFKC", text).replace(",", "")
    return re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d]|\.\d)", folded) is not None


def shows_date(date: str, texts: list[str]) -> bool:
    try:
        day = dt.date.fromisoformat(date)
    except ValueError:
        return False
    forms = [form.format(y=day.year, m=day.month, d=day.day) for form in DATE_SHOWN]
    return any(form in text for form in forms for text in texts)


def dates_of(text: str) -> list[str]:
    """The dates that a text writes with their year, as ISO writes them; calendar days or not."""
    found = WHOLE_DATE.findall(unicodedata.normalize("NFKC", text))
    return [f"{year}-{int(month):02}-{int(day):02}" for year, month, day in found]


def problems_of(item: dict, records: dict[str, Record]) -> list[str]:
    named, problems = {}, []
    for entry in item["records"]:
        if entry["sha256"] not in records:
            problems.append(f"item {item['id']}: the record {entry['id']} is in no file")
        else:
            named[entry["id"]] = records[entry["sha256"]]
    if not named or set(item["evidence"]) - set(named):
        return [*problems, f"item {item['id']} names records that are not there: {item['evidence']}"]
    seen = list(named.values())
    if not any(item["url"] in record.links() for record in seen):
        problems.append(f"item {item['id']}: no record links to {item['url']}")
    if not any(letters(item["title"]) in letters(record.shown) for record in seen):
        problems.append(f"item {item['id']}: no record shows the title {item['title']!r}")
    if item["date"] and not shows_date(item["date"], [item["url"], *(value.shown for value in seen)]):
        problems.append(f"item {item['id']}: no record shows the date {item['date']}")
    for claim in item["claims"]:
        where = named.get(claim["record"])
        if where is None or squeezed(claim["passage"]) not in where.shown:
            problems.append(f"item {item['id']}: {claim['passage']!r} does not stand in {claim['record']}")
    passages = " ".join(claim["passage"] for claim in item["claims"] if claim["kind"] in ("figure", "date"))
    for figure in sorted(figures(item["summary"])):
        if not any(stands(figure, record.text) for record in seen):
            problems.append(f"item {item['id']}: no record has the figure {figure} of the summary")
        elif figure[0].isdigit() and not stands(figure, passages):
            problems.append(f"item {item['id']}: no passage bears the figure {figure} of the summary")
    problems += [
        f"item {item['id']}: no record has the date {date} of the summary"
        for date in dates_of(item["summary"])
        if not shows_date(date, [record.shown for record in seen])
    ]
    return problems


def overview_problems(sentence: dict, items: dict[int, dict], records: dict[str, Record]) -> list[str]:
    cited = [items[number] for number in sentence["items"] if number in items]
    if not cited:
        return [f"the overview cites nothing that is there: {sentence['text']!r}"]
    seen = [records[entry["sha256"]] for item in cited for entry in item["records"] if entry["sha256"] in records]
    missing = [
        figure
        for figure in sorted(figures(sentence["text"]))
        if not any(stands(figure, record.text) for record in seen)
    ]
    missing += [text for text in dates_of(sentence["text"]) if not shows_date(text, [record.shown for record in seen])]
    return [f"no record of the items cited has the {text} of the overview: {sentence['text']!r}" for text in missing]


def main() -> None:
    report = json.load(sys.stdin)
    records, problems = read_folder(Path(sys.argv[1]))
    items = {item["id"]: item for item in report["items"]}
    for item in report["items"]:
        problems += problems_of(item, records)
    overview = report.get("overview", [])
    for sentence in overview:
        problems += overview_problems(sentence, items, records)
    counts = {
        "checked": sum(len(figures(item["summary"])) for item in report["items"]),
        "of_overview": sum(len(figures(sentence["text"])) for sentence in overview),
    }
    json.dump({**counts, "problems": problems}, sys.stdout, ensure_ascii=False)


if __name__ == "__main__":
    main()
