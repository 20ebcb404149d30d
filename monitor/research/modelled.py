"""A model of the topic by rule: the documents that were found, which of them refer to which, the figures they tell."""

import re
from collections.abc import Iterator, Mapping, Sequence

from monitor.domain.prompts import as_material
from monitor.domain.urls import host_of
from monitor.evidence.citing import DOCUMENT_NUMBER, cited_sentences, letters_of_text, missing_from
from monitor.evidence.instructions import reads_as_instruction
from monitor.evidence.sentences import is_prose
from monitor.evidence.vocabulary import words_of
from monitor.formats.document import letters_of
from monitor.research.blueprint import MODEL_TYPES, mean_of, relationship
from monitor.research.findings import quotes_of
from monitor.research.shapes import Driver, Evidence, Metric, ModelBlueprint, Note, Relationship
from monitor.research.state import SearchEntry

REFERS = "refers_to"
"""The type of a relationship: the text of the one names the other."""

_MOST_DRIVERS = 8
_MOST_REFS = 5
_MOST_LETTERS = 60
_MOST_METRICS = 6
_NAME_CHARS = 40
_LEAST_CLAUSE = 4
_LEAST_NAME = 6  # a shorter name stands in many texts by accident
_HEAD_CHARS = 200
_NUMBER_LINE_CHARS = 24
_NUMERALS = re.compile(r"[\d.,〇零一二两三四五六七八九十百千万亿]+$")
_ASIDE = re.compile(r"[（(][^（）()]*[）)]")
_YEARS = re.compile(r"(?:19|20)\d\d年?(?:度|底|末|初)?(?:\d{1,2}月(?:份|\d{1,2}日)?)?")
_TITLED = re.compile(r"《([^《》]{4,})》")
_SITE = re.compile(r"\s*[-_|–—｜]\s*[^-_|–—｜]{2,20}$")
_FIGURE = re.compile(
    r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s?"
    r"(?P<unit>%|个百分点|[万亿]?(?:元|美元|欧元|千瓦时|千瓦|吨|平方公里|公里|户|家|人|台|辆|座|项)|[GMTk]Wh?\b|"
    r"(?:million|billion|trillion)(?:\s(?:euros?|dollars?|tonnes?|yuan))?|per ?cent\b|tonnes?\b|euros?\b|dollars?\b)"
)
_CLAUSE_END = re.compile(r"[，,；;。！？!?：:、（(]\s*")
_DATE = re.compile(r"(?:19|20)\d\d年?|\d{1,2}[月日]")
_MOST_DATE_CHARS = 14
_LINKING = re.compile(
    r"(?:(?:分别|已|将|约|近|超过?|突破|达到?|共计?|合计|累计|为|是|至|到|了|不低于|不少于|同比|环比|比上年)+|"
    r"\b(?:of|to|by|at|is|was|were|are|about|nearly|over|around|some|reached|rose|fell|totalled|the|a|an|than|more|up)\b"
    r"|\s)+$",
    re.IGNORECASE,
)


def blueprint_by_rule(notes: Sequence[Note], query: str, pages: Mapping[str, SearchEntry]) -> ModelBlueprint:
    """A driver for each of the surest documents, an arrow where the text of one names another.

    `pages` are the results by url. A text names another document by its title or by the number that stands at its head.
    Metrics are figures with a unit, named by the words before them in their sentence where these are about the question
    or the topic. Scenarios are not for rules.
    """
    by_url: dict[str, list[int]] = {}
    for place, note in enumerate(notes):
        by_url.setdefault(note.source_url, []).append(place)
    surest = sorted(by_url, key=lambda url: -mean_of(by_url[url], notes))[:_MOST_DRIVERS]
    drivers: dict[str, Driver] = {}
    for url in surest:
        driver = _driver(by_url[url][:_MOST_REFS], notes, pages.get(url), {one.name for one in drivers.values()})
        drivers[url] = driver
    return ModelBlueprint(
        model_type=MODEL_TYPES[0],
        core_drivers=list(drivers.values()),
        relationships=list(_relationships(drivers, notes, pages)),
        metrics=list(_metrics(notes, query))[:_MOST_METRICS],
    )


def _driver(refs: Sequence[int], notes: Sequence[Note], page: SearchEntry | None, taken: set[str]) -> Driver:
    """A document: its name, and the first sentence of its notes."""
    quotes = [quote for ref in refs for quote in quotes_of(notes[ref])]
    said = next((sentence.text for sentence in cited_sentences(notes[refs[0]].summary, 0)), notes[refs[0]].summary)
    host = host_of(notes[refs[0]].source_url)
    name = _name(page.title if page else "", quotes) or host
    name = f"{name} ({host})" if name in taken else name
    while name in taken:
        name += "′"
    return Driver(name=name, description=said, evidence_refs=list(refs))


def _name(title: str, quotes: Sequence[str]) -> str:
    """What a document is called: the name in 《》 of its title, else its title without the site's.

    What has a figure that is not in the quotes is told without its year, or up to the figure.
    """
    titled = _TITLED.search(title)
    own = _SITE.sub("", title)
    for one in (titled[1] if titled else "", own, _ASIDE.sub("", own), _YEARS.sub("", _ASIDE.sub("", own))):
        name = _shortened(re.sub(r"[《》“”]", "", as_material(one)))
        if not name or not is_prose(name) or reads_as_instruction(name):
            continue
        if not missing_from(name, quotes or [""]):
            return name
    begun = _shortened(re.sub(r"[《》“”]", "", as_material(_YEARS.sub("", own))))
    return _up_to_figure(begun, quotes) if is_prose(begun) and not reads_as_instruction(begun) else ""


def _up_to_figure(name: str, quotes: Sequence[str]) -> str:
    """The beginning of a name up to a figure that is not in the quotes; '' where it is too short."""
    for end in range(len(name) - 1, _LEAST_NAME - 1, -1):
        if not missing_from(name[:end], quotes or [""]):
            begun = _NUMERALS.sub("", name[:end]).rstrip()
            return f"{begun}…" if len(begun) >= _LEAST_NAME else ""
    return ""


def _shortened(name: str) -> str:
    """A name as wide as it may be; a Latin one ends with a whole word."""
    if letters_of(name) <= _MOST_LETTERS:
        return name
    while letters_of(name) >= _MOST_LETTERS:
        name = name[:-1]
    return f"{name[: name.rfind(' ')] if ' ' in name else name}…"


def _relationships(
    drivers: Mapping[str, Driver], notes: Sequence[Note], pages: Mapping[str, SearchEntry]
) -> Iterator[Relationship]:
    letters = {url: letters_of_text(pages[url].content) for url in drivers if url in pages}
    for url, text in letters.items():
        for other in letters:
            if other != url and any(name in text for name in _called(pages[other])):
                yield relationship(drivers[url], drivers[other], notes, REFERS)


def _called(page: SearchEntry) -> Iterator[str]:
    """What other texts may call a document, its letters alone: its title's name, the number on a line of its head."""
    titled = _TITLED.search(page.title)
    name = letters_of_text(titled[1] if titled else _SITE.sub("", page.title))
    if len(name) >= _LEAST_NAME:
        yield name
    for line in (page.title, *page.content[:_HEAD_CHARS].splitlines()):
        found = DOCUMENT_NUMBER.search(line)
        if found is not None and found[1] and (line is page.title or len(line.strip()) <= _NUMBER_LINE_CHARS):
            yield letters_of_text(found[0])


def _metrics(notes: Sequence[Note], query: str) -> Iterator[Metric]:
    seen: set[str] = set()  # figures, and names
    for note in notes:
        about = words_of(f"{query}\n{note.topic}")
        for evidence in note.evidence:
            for match in _FIGURE.finditer(evidence.quote):
                name = _named(evidence.quote[: match.start()])
                is_read = not missing_from(match[0], [evidence.quote])
                if words_of(name) & about and is_read and not {match[0], name} & seen:
                    seen |= {match[0], name}
                    yield _metric(name, match, evidence)


def _metric(name: str, match: re.Match[str], evidence: Evidence) -> Metric:
    estimate = float(match["number"].replace(",", ""))
    return Metric(name=name, estimate=estimate, unit=match["unit"], confidence=evidence.confidence)


def _named(before: str) -> str:
    """The words of the last clause before a figure, with a short one before it that says when.

    Empty where they are too few or too many, or hold another figure than a date.
    """
    *others, clause = _CLAUSE_END.split(before)
    clause = _LINKING.sub("", clause).strip()
    when = others[-1].strip() if others else ""
    is_dated = bool(_DATE.search(when)) and len(when) <= _MOST_DATE_CHARS
    name = f"{when}{', ' if when.isascii() else '，'}{clause}" if is_dated else clause
    if re.search(r"\d", _DATE.sub("", name)) or len(clause) < _LEAST_CLAUSE:
        return ""
    return name if len(name) <= _NAME_CHARS else ""
