"""Finds bodies by what people call them: a name or its abbreviation, a host, a country, a topic, in Chinese or English.

A query is words that must all fit. How well a word fits is a score: the whole name or abbreviation before a part of it,
a part before its characters in order (证监会 in 中国证券监督管理委员会), and these before country and topic.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from urllib.parse import urlsplit

from rapidfuzz import fuzz, process

from monitor.catalogue.bodies import (
    BodyConfidence,
    BodyLevel,
    CatalogueBody,
    CatalogueFile,
    get_country_name,
    load_catalogue_file,
)
from monitor.i18n.traditional import simplify

_WORD = re.compile(r"[^\W_]+")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_WHOLE_NAME = 130
_MIN_SHARE_OF_BEST = 0.4
_MIN_TYPO_CHARS = 5
_MIN_TYPO_SCORE = 80
_SMALL_WORDS = frozenset({"of", "the", "and", "for", "on", "in", "de", "des", "du", "la", "le", "et", "und", "der"})
_HOST_PARTS = frozenset({"www", "gov", "gob", "gouv", "gub", "govt", "go", "com", "org", "net", "edu", "int", "co"})
_OTHER_CODES = {"uk": "GB", "usa": "US", "us": "US", "prc": "CN", "uae": "AE", "roc": "TW"}
_CHINESE_PLACES = {"欧盟": "EU", "欧洲": "EU", "欧": "EU", "国际": "int"}

# What Chinese readers call bodies whose names are not Chinese, or do not contain the word.
_CHINESE_WORDS: dict[str, tuple[str, ...]] = {
    "央行": ("中国人民银行", "central bank", "reserve bank", "federal reserve", "bank of", "banque de", "bundesbank"),
    "中央银行": ("中国人民银行", "central bank", "reserve bank", "federal reserve", "bank of", "bundesbank"),
    "美联储": ("federal reserve",),
    "证监会": ("securities and exchange commission", "securities commission", "securities and futures"),
    "证券": ("securities",),
    "银行": ("bank",),
    "保险": ("insurance",),
    "金融": ("financial", "finance"),
    "财政": ("treasury", "finance"),
    "税务": ("tax", "revenue"),
    "海关": ("customs", "border"),
    "商务": ("commerce", "trade"),
    "贸易": ("trade",),
    "世贸": ("world trade",),
    "世界贸易": ("world trade",),
    "竞争": ("competition", "cartel", "fair trade"),
    "反垄断": ("competition", "antitrust", "cartel", "fair trade"),
    "能源": ("energy", "power"),
    "核": ("nuclear", "atomic"),
    "环境": ("environment",),
    "环保": ("environment",),
    "气象": ("meteorological", "weather"),
    "药监": ("medicines", "drug", "food and drug"),
    "卫生": ("health",),
    "世卫": ("world health",),
    "世界卫生": ("world health",),
    "农业": ("agriculture", "farming"),
    "交通": ("transport",),
    "航空": ("aviation",),
    "通信": ("communications", "telecom"),
    "数据保护": ("data protection", "privacy", "information commissioner"),
    "隐私": ("data protection", "privacy", "information commissioner"),
    "网络安全": ("cyber",),
    "专利": ("patent", "intellectual property"),
    "知识产权": ("intellectual property", "patent"),
    "标准": ("standards", "standardization"),
    "劳工": ("labor", "labour", "employment"),
    "教育": ("education",),
    "统计": ("statistics", "statistical", "census"),
    "司法": ("justice",),
    "法院": ("court",),
    "议会": ("parliament", "national assembly", "bundestag", "senate", "congress"),
    "国会": ("congress", "parliament", "national assembly", "house of representatives", "senate"),
    "外交": ("foreign", "state department", "department of state"),
    "国防": ("defense", "defence"),
    "交易所": ("exchange",),
    "欧盟": ("european",),
    "欧盟委员会": ("european commission",),
    "欧洲": ("european",),
    "货币基金": ("monetary fund",),
    "世界银行": ("world bank",),
}

_LEVEL_WORDS = {
    BodyLevel.PARLIAMENT: ("parliament", "议会", "国会"),
    BodyLevel.COURT: ("court", "法院"),
    BodyLevel.EXCHANGE: ("exchange", "交易所"),
    BodyLevel.INDUSTRY: ("association", "协会"),
}
_LEVEL_BONUS = {BodyLevel.CENTRAL: 6, BodyLevel.INTERNATIONAL: 4, BodyLevel.EXCHANGE: 3, BodyLevel.PARLIAMENT: 3}
_CONFIDENCE_BONUS = {BodyConfidence.HIGH: 5, BodyConfidence.MEDIUM: 2, BodyConfidence.LOW: 0}


def fold(text: str) -> str:
    """Return a text as it is compared: in lower case, without accents, in simplified characters."""
    if text.isascii():
        return text.casefold()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(char for char in decomposed if not unicodedata.combining(char))
    return simplify(unicodedata.normalize("NFKC", bare))


@dataclass(frozen=True, slots=True)
class _IndexedBody:
    body: CatalogueBody
    names: tuple[str, ...]
    text: str
    words: frozenset[str]
    abbreviations: dict[str, int]
    host: str
    places: frozenset[str]
    place_names: frozenset[str]
    topics: frozenset[str]
    bonus: float


@dataclass(frozen=True, slots=True)
class _QueryWord:
    """A word of a query. `phrases` are what its Chinese stands for in English, the longest word first, with scores.

    Where it begins with a country or the union, as 美国证监会, `place` is that and `rest` what follows.
    """

    text: str
    is_han: bool
    topics: frozenset[str]
    phrases: tuple[tuple[str, float], ...] = ()
    place: str | None = None
    rest: "_QueryWord | None" = None


class CatalogueIndex:
    """All bodies, ready to be searched; a search compares every one of them in some ten milliseconds."""

    def __init__(self, catalogue: CatalogueFile) -> None:
        self._labels = {topic.slug: (topic.slug, fold(topic.zh), fold(topic.en)) for topic in catalogue.topics}
        self._entries = [_index_body(body) for body in catalogue.bodies]
        codes = {body.country for body in catalogue.bodies} - {"int"}
        names = {fold(get_country_name(code, "zh")): code for code in codes} | _CHINESE_PLACES
        self._places = sorted(names.items(), key=lambda pair: -len(pair[0]))
        self._vocabulary = sorted({word for entry in self._entries for word in entry.words if len(word) >= 4})

    def search(self, query: str, *, country: str | None = None, topic: str | None = None) -> list[CatalogueBody]:
        """Return the bodies that fit, the best first; without a query all of the country and the topic."""
        entries = [
            entry
            for entry in self._entries
            if country in (None, entry.body.country) and (topic is None or topic in entry.body.topics)
        ]
        words = _split_query(query)
        phrase = " ".join(words)
        found = _rank(entries, [[self._parse_word(word)] for word in words], phrase)
        if not found:
            spellings = [[self._parse_word(near) for near in self._list_spellings(word)] for word in words]
            found = _rank(entries, spellings, phrase)
        return found

    def _parse_word(self, word: str) -> _QueryWord:
        parsed = self._parse_whole(word)
        starts = [pair for pair in self._places if word.startswith(pair[0]) and len(word) > len(pair[0]) + 1]
        if not starts:
            return parsed
        name, place = starts[0]
        rest = self._parse_whole(word[len(name) :])
        phrases = tuple(pair for pair in parsed.phrases if pair not in rest.phrases)
        return replace(parsed, phrases=phrases, place=place, rest=rest)

    def _parse_whole(self, word: str) -> _QueryWord:
        phrases = tuple(
            (phrase, 46.0 + 3 * len(chinese) - 4 * position)
            for chinese, meant in sorted(_CHINESE_WORDS.items(), key=lambda pair: -len(pair[0]))
            if chinese in word
            for position, phrase in enumerate(meant)
        )
        is_han = _HAN.fullmatch(word) is not None
        topics = {slug for slug, labels in self._labels.items() if any(_fits_topic(word, label) for label in labels)}
        return _QueryWord(text=word, is_han=is_han, topics=frozenset(topics), phrases=phrases)

    def _list_spellings(self, word: str) -> list[str]:
        """Return a word that nothing fits, with the nearest words that names are made of."""
        if len(word) < _MIN_TYPO_CHARS or not word.isascii():
            return [word]
        near = process.extract(word, self._vocabulary, scorer=fuzz.ratio, score_cutoff=_MIN_TYPO_SCORE, limit=3)
        return [word, *(match[0] for match in near)]


@cache
def load_index() -> CatalogueIndex:
    return CatalogueIndex(load_catalogue_file())


def _split_query(query: str) -> list[str]:
    text = fold(query.strip())
    if "://" in text:
        return [urlsplit(text).hostname or text]
    return [word for word in re.split(r"[\s,，、;；/]+", text.strip("()（）\"'“”")) if word]


def _rank(entries: Sequence[_IndexedBody], words: Sequence[Sequence[_QueryWord]], phrase: str) -> list[CatalogueBody]:
    """Order the bodies that every word fits in one of its spellings; where one bears the very name, only its like."""
    ranked = []
    for entry in entries:
        score = entry.bonus + (60 if phrase in entry.names else 0)
        for spellings in words:
            best = max(_score_word(word, entry) for word in spellings)
            if not best:
                break
            score += best
        else:
            ranked.append((score, entry.body))
    ranked.sort(key=lambda pair: -pair[0])
    best = ranked[0][0] if ranked else 0
    least = _MIN_SHARE_OF_BEST * best if words and best >= _WHOLE_NAME * len(words) else 0
    return [body for score, body in ranked if score >= least]


def _score_word(word: _QueryWord, entry: _IndexedBody) -> float:
    if word.rest is None:
        return _score_as_name(word, entry) or _score_as_subject(word, entry)
    whole = _score_as_name(word, entry) or _score_phrases(word, entry)
    if word.place not in entry.places:
        return whole
    rest = _score_as_name(word.rest, entry) or _score_as_subject(word.rest, entry)
    return max(whole, rest + 10 if rest else 0)


def _score_as_name(word: _QueryWord, entry: _IndexedBody) -> float:
    """How well a word is the body's name, its abbreviation or its host."""
    text = word.text
    score: float = entry.abbreviations.get(text, 0)
    if "." in text and (entry.host == text or entry.host.endswith(f".{text}") or text.endswith(f".{entry.host}")):
        score = max(score, 120 if entry.host == text.removeprefix("www.") else 90)
    for name in entry.names:
        score = max(score, _score_name(word, name))
    if text in entry.words:
        score = max(score, 80)
    elif not score and len(text) >= 3 and f" {text}" in entry.text:
        score = 60
    return score


def _score_as_subject(word: _QueryWord, entry: _IndexedBody) -> float:
    """How well a word says what the body is, where it is or what it is about."""
    if score := _score_phrases(word, entry):
        return score
    text = word.text
    if text in entry.place_names or (word.is_han and any(text in name for name in entry.place_names)):
        return 40
    if any(text == name or (word.is_han and name in text) for name in _LEVEL_WORDS.get(entry.body.level, ())):
        return 35
    return 0 if word.topics.isdisjoint(entry.topics) else 25


def _score_phrases(word: _QueryWord, entry: _IndexedBody) -> float:
    return next((score for phrase, score in word.phrases if phrase in entry.text), 0)


def _score_name(word: _QueryWord, name: str) -> float:
    text = word.text
    if text == name:
        return _WHOLE_NAME
    is_word = word.is_han and len(text) >= 2
    place = name.find(text) if is_word or len(text) >= 4 else -1
    if place >= 0:
        return (90 if place == 0 else 80) - min(len(name), 40) / 4
    span = _find_in_order(text, name) if is_word else None
    return 0 if span is None else (65 if len(text) > 2 else 45) - span


def _find_in_order(word: str, name: str) -> int | None:
    """Return over how many characters of a name those of a word are spread, in order; None if they are not there."""
    first = place = name.find(word[0])
    for char in word[1:]:
        if place < 0:
            return None
        place = name.find(char, place + 1)
    return None if place < 0 else place - first + 1


def _fits_topic(word: str, label: str) -> bool:
    """Whether a word names a topic: 能源 and 能源局 name 能源与电力."""
    if word.isascii():
        return len(word) >= 3 and any(part.startswith(word) for part in _WORD.findall(label))
    return len(word) >= 2 and (
        word in label or any(len(part) >= 2 and part in word for part in re.split("[与、和]", label))
    )


def _index_body(body: CatalogueBody) -> _IndexedBody:
    names = tuple(dict.fromkeys((fold(body.name), fold(body.name_en))))
    host = (urlsplit(body.url).hostname or "").removeprefix("www.")
    bonus = _LEVEL_BONUS.get(body.level, 0) + _CONFIDENCE_BONUS[body.confidence] + bool(body.sections)
    return _IndexedBody(
        body=body,
        names=names,
        text=f" {' '.join(names)}",
        words=frozenset(word for name in names for word in _WORD.findall(name)),
        abbreviations=dict(_list_abbreviations(body, host)),
        host=host,
        places=frozenset({body.country, body.region or ""}),
        place_names=_list_place_names(body.country, body.region or ""),
        topics=frozenset(body.topics),
        bonus=bonus,
    )


@cache
def _list_place_names(code: str, region: str) -> frozenset[str]:
    """Return what people call a country and a region of it, and the words of these names."""
    names = [code.lower(), fold(region), *(fold(get_country_name(code, language)) for language in ("zh", "en"))]
    names += [other for other, meant in _OTHER_CODES.items() if meant == code]
    names += [name for name, meant in _CHINESE_PLACES.items() if meant in (code, region)]
    return frozenset(name for name in names if name) | {word for name in names for word in _WORD.findall(name)}


def _list_abbreviations(body: CatalogueBody, host: str) -> Iterator[tuple[str, int]]:
    """Yield what a body is called for short, the surest last: initials, parts of its host and of its id."""
    words = [word for word in _WORD.findall(fold(body.name_en)) if word.isascii()]
    if len(words) > 1:
        yield "".join(word[0] for word in words), 90
        yield "".join(word[0] for word in words if word not in _SMALL_WORDS), 95
    parts = body.id.split("-")[1:] or [body.id]
    yield from ((part, 85) for part in parts)
    labels = [label for label in host.split(".")[:-1] if label not in _HOST_PARTS]
    yield from ((fold(label), 100) for label in labels[:1])
    for short in re.findall(r"\b[A-Z][A-Za-z&]*[A-Z]\b", f"{body.name} {body.name_en}"):
        yield fold(short), 100
    yield body.id, 125
    yield body.id.partition("-")[2] or body.id, 110
