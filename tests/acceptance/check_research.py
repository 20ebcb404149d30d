"""Judge a research against the pages that it cites, as they are served. Knows nothing of the program: HTTP and JSON.

    python check_research.py PROXY < told.json

The JSON is `{"question": "…", "result": {taskId, status, plan, notes, blueprint, report, score, usage}}`; pages are
asked for through the proxy. Prints `{quotes, quote_fidelity, figures, figure_fidelity, sentences, cited, problems}`:
a quote that is not verbatim (white space aside) in its page, a figure, date, document number or name in 《》 of a cited
sentence that no page cited beside it has, one in a sentence without citation that the question has not, a reference to
nothing, an address that is not served.
"""

import html.parser
import json
import re
import sys
import unicodedata
import urllib.request
from fractions import Fraction
from functools import cache

NUMBER = re.compile(r"\d+(?:\.\d+)?")
QUANTITY = re.compile(
    r"(?P<sign>(?<![\w)])[-−])?(?P<money>[$€£¥])?(?<![\d.])(?P<number>\d+(?:\.\d+)?)(?!\d|\.\d)\s*"
    r"(?P<scale>(?:百(?!分)|千(?![瓦克米伏卡焦赫])|[万亿])+|(?:thousand|million|billion|trillion)\b)?\s*(?P<kind>%|个?百分点)?"
)
SCALES = {
    "百": 100,
    "千": 1000,
    "万": 10**4,
    "亿": 10**8,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
FALLING = re.compile(r"下降|减少|降低|下滑|回落|fell|down|decreas|drop|declin|lower", re.IGNORECASE)
DIGITS = "〇零一二两三四五六七八九"
PLAIN = str.maketrans(DIGITS, "001223456789")
CHINESE = re.compile(rf"(?<![\d.])[{DIGITS}十][{DIGITS}十百千万亿]*(?=[年月日个项条章次倍元吨家])")
SHARE = re.compile(rf"百分之([{DIGITS}十百]+)(?:点([{DIGITS}]+))?")
DOCUMENT = re.compile(
    r"[\u4e00-\u9fff]{0,6}[〔\[]\d{4}[〕\]]\s*第?\s*\d+\s*号|\b(?:GB|DL|NB)(?:/T)? ?\d+(?:\.\d+)?-\d{4}"
)
NAME = re.compile(r"《[^《》]{2,80}》")
CITATION = re.compile(r"\[(\d{1,3})\](?:\([^)\s]*\))?")
ADDRESS = re.compile(r"https?://[^\s\"'<>()（）\[\]，。、；]+")
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
MONTH = "|".join(MONTHS)
DATE = re.compile(
    r"(?P<y>\d{4})\s*(?:年|[-/.])\s*(?P<m>\d{1,2})(?:\s*(?:月|[-/.])\s*(?P<d>\d{1,2})(?!\d)\s*日?|月)|"
    rf"(?:(?P<d2>\d{{1,2}}) )?\b(?P<name>{MONTH})(?: (?P<d3>\d{{1,2}}),)? (?P<y2>\d{{4}})",
    re.IGNORECASE,
)
BRACKETS = str.maketrans("[]（）", "〔〕()")
SOURCES = re.compile(r"^## (?:来源|Sources)\s*$", re.MULTILINE)
RULE = re.compile(r"[\s|:\-]*-[\s|:\-]*")
MARKS = re.compile(r"^\s*(?:[-*+]\s+|\d+\.\s+|#+\s*|>\s*)?")


class Reader(html.parser.HTMLParser):
    """What people read in a page: its text and the title, without scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list) -> None:  # noqa: ARG002
        self._hidden += tag in ("script", "style", "template")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style", "template") and self._hidden > 0

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data)


def text_of(body: bytes) -> str:
    if body.startswith(b"%PDF"):
        import pypdfium2

        return "\n".join(page.get_textpage().get_text_bounded() for page in pypdfium2.PdfDocument(body))
    reader = Reader()
    reader.feed(body.decode("utf-8", "replace"))
    return " ".join(reader.pieces)


class Web:
    """The pages as they are served, each asked for once; None where nothing good came."""

    def __init__(self, proxy: str) -> None:
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy, "https": proxy}))
        self._texts: dict[str, str | None] = {}

    def text(self, url: str) -> str | None:
        if url not in self._texts:
            try:
                with self._opener.open(url, timeout=20) as answer:
                    self._texts[url] = text_of(answer.read())
            except (OSError, ValueError):
                self._texts[url] = None
        return self._texts[url]


def squeezed(text: str) -> str:
    return re.sub(r"[\s\u200b\u00ad\ufeff]+", "", text)


@cache
def folded(text: str) -> str:
    """With plain digits, without thousands separators and the spaces between a number and its unit."""
    plain = unicodedata.normalize("NFKC", text).replace("萬", "万").replace("億", "亿")
    plain = re.sub(r"[\u200b\u00ad\ufeff]", "", plain)
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", plain)
    plain = re.sub(r"(?<=\d)\s+(?=[%百千万亿\u4e00-\u9fff])|(?<=[\u4e00-\u9fff])\s+(?=\d)", "", plain)
    plain = re.sub(r"(?<=\d) ?(?:percent\b|per cent\b)", "%", plain)
    plain = re.sub(r"民[国國](\d{2,3})年", lambda found: f"{int(found[1]) + 1911}年", plain)
    plain = SHARE.sub(lambda found: f"{counted(found[1])}{'.' + found[2].translate(PLAIN) if found[2] else ''}%", plain)
    return CHINESE.sub(lambda found: str(counted(found[0])), plain)


def counted(numeral: str) -> int:
    """The value of a Chinese numeral, or of digits in a row."""
    if not re.search(r"[十百千万亿]", numeral):
        return int(numeral.translate(PLAIN))
    total = section = number = 0
    for text in numeral:
        if text in "万亿":
            total, section, number = (total + section + number) * SCALES[text], 0, 0
        elif text in "十百千":
            section, number = section + (number or 1) * {"十": 10}.get(text, SCALES.get(text, 0)), 0
        else:
            number = int(text.translate(PLAIN))
    return total + section + number


@cache
def quantities(text: str) -> list[tuple[str, str, Fraction, str, bool]]:
    """The figures of a folded text: as written, currency, value, share or points or neither, and whether it falls."""
    found = []
    for match in QUANTITY.finditer(text):
        value, scale = Fraction(match["number"]), match["scale"] or ""
        for word in [scale] if scale in SCALES else scale:
            value *= SCALES[word]
        falls = bool(match["sign"] or FALLING.search(text[max(match.start() - 14, 0) : match.start()]))
        kind = (match["kind"] or "").lstrip("个")
        found.append((match.group().strip(), match["money"] or "", value, kind, falls if not match["sign"] else True))
    return found


def days(text: str) -> set[tuple[int, int, int]]:
    """The days of a folded text; day 0 is the month itself, which every day of it stands for too."""
    found = set()
    for match in DATE.finditer(text):
        month = MONTHS.index(match["name"].lower()) + 1 if match["name"] else int(match["m"])
        year, day = int(match["y"] or match["y2"]), int(match["d"] or match["d2"] or match["d3"] or 0)
        found.add((year, month, day))
    return found


def has_figure(figure: tuple[str, str, Fraction, str, bool], page: str) -> bool:
    written, money, value, kind, _ = figure
    return any(
        (value, kind) == other[2:4] and money in ("", other[1]) and (other[4] or not written.startswith(("-", "−")))
        for other in quantities(page)
    )


def has_name(name: str, page: str) -> bool:
    """Whether a name stands in a page; words before a document number, which a sentence leads it in by, may not."""
    flat = squeezed(name).translate(BRACKETS)
    place = re.search(r"〔", flat)
    starts = range(max(place.start() - 1, 1)) if place and not flat.startswith("《") else (0,)
    return any(flat[start:] in squeezed(page).translate(BRACKETS) for start in starts)


def lost(text: str, pages: list[str]) -> list[str]:
    """What of a text none of the pages has: dates, document numbers, names of documents, figures."""
    plain, read = folded(text), [folded(page) for page in pages]
    known = {day for page in read for day in days(page)}
    known |= {(year, month, 0) for year, month, _ in known}
    missing = ["-".join(map(str, day)) for day in sorted(days(plain) - known)]
    named = [entry for pattern in (DOCUMENT, NAME) for entry in pattern.findall(text)]
    missing += [entry for entry in named if not any(has_name(entry, page) for page in pages)]
    report = quantities(DATE.sub(" ", plain))
    return missing + [pair[0] for pair in report if not any(has_figure(pair, page) for page in read)]


def measured(text: str) -> int:
    plain = folded(text)
    figures = quantities(DATE.sub(" ", plain))
    return len(days(plain)) + len(figures) + len(DOCUMENT.findall(text)) + len(NAME.findall(text))


def sentences(markdown: str) -> list[tuple[str, str]]:
    """What the report says, with the kind of line it stands in: heading, told (by the program), text."""
    found = []
    lines = SOURCES.split(markdown)[0].splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if not line.strip() or RULE.fullmatch(line):
            continue
        is_head = line.startswith("|") and RULE.fullmatch(following)
        kind = "heading" if line.startswith("#") or is_head else "told" if line.startswith(">") else "text"
        bare = MARKS.sub("", line, count=1)
        pieces = (
            [bare]
            if bare.startswith("|") or kind != "text"
            else re.split(r"(?<=[。！？])|(?<=[.!?])(?<!\bNo\.)\s+", bare)
        )
        found += [(kind, piece.strip()) for piece in pieces if piece.strip()]
    return found


class Judge:
    def __init__(self, question: str, result: dict, web: Web) -> None:
        self.question, self.web = question, web
        self.notes, self.report = result["notes"] or [], result["report"] or {}
        self.blueprint = result["blueprint"] or {}
        self.problems: list[str] = []
        self.counts = dict.fromkeys(("quotes", "bad_quotes", "figures", "bad_figures", "sentences", "cited"), 0)
        self.sources = self.report.get("sources", [])
        self.all_pages = [text for note in self.notes if (text := web.text(note["sourceUrl"])) is not None]

    def judge(self) -> dict:
        self._notes()
        self._sources()
        self._report()
        self._blueprint()
        good = {name: self.counts[name] - self.counts[f"bad_{name}"] for name in ("quotes", "figures")}
        fidelity = {
            f"{name[:-1]}_fidelity": good[name] / (self.counts[name] or 1) if self.counts[name] else None
            for name in good
        }
        return {**self.counts, **fidelity, "problems": self.problems}

    def _figures(self, text: str, pages: list[str], where: str) -> None:
        missing = lost(text, [*pages, self.question])
        self.counts["figures"] += measured(text)
        self.counts["bad_figures"] += len(missing)
        self.problems += [f"{where}: {entry} stands in no page that bears it: {text!r}" for entry in missing]

    def _served(self, url: str, where: str) -> None:
        if self.web.text(url) is None:
            self.problems.append(f"{where}: {url} is not served")

    def _notes(self) -> None:
        for place, note in enumerate(self.notes):
            where = f"note {place}"
            self._served(note["sourceUrl"], where)
            for evidence in note["evidence"]:
                self.counts["quotes"] += 1
                page = self.web.text(evidence["source"])
                quote = squeezed(evidence["quote"])
                if not quote or page is None or quote not in squeezed(page):
                    self.counts["bad_quotes"] += 1
                    self.problems.append(f"{where}: {evidence['quote']!r} does not stand in {evidence['source']}")
                if not 0 <= evidence["confidence"] <= 1:
                    self.problems.append(f"{where}: its confidence is {evidence['confidence']}")
            self._figures(note["summary"], [self.web.text(note["sourceUrl"]) or ""], where)

    def _sources(self) -> None:
        for place, source in enumerate(self.sources):
            where = f"source {place + 1}"
            self._served(source["url"], where)
            index = source["noteIndex"]
            if not 0 <= index < len(self.notes):
                self.problems.append(f"{where}: there is no note {index}")
            elif self.notes[index]["sourceUrl"] != source["url"]:
                self.problems.append(f"{where}: note {index} is from {self.notes[index]['sourceUrl']}")

    def _report(self) -> None:
        markdown = self.report.get("markdown", "")
        known = {source["url"] for source in self.sources}
        self.problems += [
            f"the report: {entry} is no source of it" for entry in ADDRESS.findall(markdown) if entry not in known
        ]
        for kind, sentence in sentences(markdown):
            numbers = [int(entry) for entry in CITATION.findall(sentence)]
            bare = CITATION.sub("", sentence)
            self.problems += [
                f"[{number}] is no source: {sentence!r}" for number in numbers if not 1 <= number <= len(self.sources)
            ]
            cited = [self.sources[number - 1]["url"] for number in numbers if 1 <= number <= len(self.sources)]
            pages = [self.web.text(url) or "" for url in cited]
            if kind == "text":
                self.counts["sentences"] += 1
                self.counts["cited"] += bool(cited)
            self._figures(bare, self.all_pages if kind == "heading" else pages, kind)
        for entry in self.report.get("outline", []):
            for text in (entry["heading"], *entry["bullets"]):
                self._figures(CITATION.sub("", text), self.all_pages, "outline")

    def _blueprint(self) -> None:
        names = {driver["name"] for driver in self.blueprint.get("coreDrivers", [])}
        for driver in self.blueprint.get("coreDrivers", []):
            refs = driver["evidenceRefs"]
            self.problems += [
                f"driver {driver['name']}: there is no note {ref}" for ref in refs if not 0 <= ref < len(self.notes)
            ]
            urls = [self.notes[value]["sourceUrl"] for value in refs if 0 <= value < len(self.notes)]
            pages = [self.web.text(url) or "" for url in urls]
            self._figures(f"{driver['name']} {driver['description']}", pages, f"driver {driver['name']}")
        for entry in self.blueprint.get("relationships", []):
            if not {entry["from"], entry["to"]} <= names:
                self.problems.append(f"relationship {entry['from']} -> {entry['to']}: no such driver")
        for entry in self.blueprint.get("scenarios", []):
            for text in (entry["name"], *entry["assumptions"], *entry["outcomes"]):
                self._figures(CITATION.sub("", text), self.all_pages, f"scenario {entry['name']}")
        values = {float(entry) for page in self.all_pages for entry in NUMBER.findall(folded(page))}
        for entry in self.blueprint.get("metrics", []):
            self.counts["figures"] += 1
            if abs(entry["estimate"]) not in values:
                self.counts["bad_figures"] += 1
                self.problems.append(f"metric {entry['name']}: no page has {entry['estimate']}")


def main() -> None:
    report = json.load(sys.stdin)
    json.dump(Judge(report["question"], report["result"], Web(sys.argv[1])).judge(), sys.stdout, ensure_ascii=False)


if __name__ == "__main__":
    main()
