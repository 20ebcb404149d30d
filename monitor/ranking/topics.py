"""How well an item fits a topic: what a client or a team cares about.

The words of a topic are looked for in the title, the facts, the opening and the text of an item. Chinese words need no
borders and are found in either script; Western ones need them, in singular or plural, in any case: only an abbreviation
in capitals (EV, ETS) is meant as it is written.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from monitor.db.tables.collection import Item
from monitor.db.tables.policies import Topic
from monitor.db.terms import LETTER, fold_text, is_unspaced, split_runs
from monitor.document import DocumentFacts
from monitor.extract.sentences import MAX_SENTENCE_CHARS, split_sentences
from monitor.i18n.message import Message
from monitor.i18n.traditional import simplify

MATCH_SCORE = 0.5
"""From this score on an item is one of the topic."""

WEIGHT_STEP = 1.25
"""By so much a wish moves the weight of each word that was found in the item: higher up, lower down."""

_MIN_WEIGHT, _MAX_WEIGHT = 0.2, 2.0
_MAX_SHARE = 0.95
_IN_TITLE, _IN_FACTS, _IN_OPENING = 0.7, 0.5, 0.35
_IN_TEXT, _PER_MENTION, _MAX_MENTIONS = 0.1, 0.05, 9
_SENTENCE_SHARE = 0.7  # of what is taken from the sentence of a topic that has words of its own
_ONLY_SOURCES_SCORE = 0.6
_WISHED_SCORE, _UNWISHED_SCORE = 0.9, 0.1
_OPENING_CHARS = 400
_MAX_TEXT_CHARS = 200_000
_MAX_PASSAGE_CHARS = 240
_MAX_SPANS = 500
_MAX_WORD_CHARS = 200
_MAX_SENTENCE_WORDS = 30
_MAX_WORDS_OF_PHRASE = 4
_MAX_CHARS_OF_PHRASE = 16

_ABBREVIATION = re.compile(r"(?<![A-Za-z0-9])[A-Z][A-Z0-9]{1,4}(?![A-Za-z0-9])")
# Between two words of a list; 与 and 和 are parts of words too.
_PHRASE_BORDER = re.compile(
    r"[,，;；:：、。.!！?？()（）/|\n“”\"]|\s(?:and|or)(?=\s)|以及|(?<![参给赋共温饱涉普危])[和与及或](?![解谐平睦会])",
    re.IGNORECASE,
)
_LEADING_STOPWORDS = re.compile(
    r"^(?:(?:and|or|for|in|of|on|with|the|a|an|to|what|who|how|that|which)\s+)+", re.IGNORECASE
)
_SAME_IN_PLURAL = frozenset({"news", "series", "species", "means", "gas", "bias"})
_ADDS_ES = ("s", "sh", "ch", "x", "z")


@dataclass(frozen=True)
class TopicScore:
    """The fit of one item to one topic: a score of 0 to 1, the reason, and the passage that bears it.

    `words` are those of the topic that were found. `is_barred`: an exclusion or the source speaks against it, which
    nobody but a person overrules.
    """

    score: float
    is_match: bool
    reason: Message
    passage: str
    words: tuple[str, ...] = ()
    is_barred: bool = False


@dataclass(frozen=True)
class _Place:
    """A text in which words are looked for: with simplified characters, that in lower case too; positions stay."""

    text: str
    cased: str
    folded: str
    joined: str

    @classmethod
    def build(cls, text: str) -> "_Place":
        cased = simplify(text)
        folded = simplify(fold_text(text))
        return cls(text, cased, folded, "".join(folded.split()))


@dataclass(frozen=True)
class TopicItem:
    """An item as topics look at it: made once for all of them."""

    source: str
    title: _Place
    facts: _Place
    text: _Place


def read_topic_item(item: Item, facts: DocumentFacts | None = None, text: str = "") -> TopicItem:
    """Return the item as it is scored; without the text of its page the summary stands for it."""
    body = text if text.strip() else item.summary
    return TopicItem(
        source=item.source,
        title=_Place.build(item.title),
        facts=_Place.build("\n".join(_list_fact_texts(item, facts))),
        text=_Place.build(body[:_MAX_TEXT_CHARS]),
    )


def score_topic(topic: Topic, item: Item, facts: DocumentFacts | None = None, text: str = "") -> TopicScore:
    """Return how well an item fits a topic by its words; `text` is that of its page."""
    return score_topic_item(topic, read_topic_item(item, facts, text))


def score_topic_item(topic: Topic, item: TopicItem) -> TopicScore:
    """Return how well an item fits a topic by its words.

    Each word counts by the best and the most of its places: one in the title is enough, one in the facts too, while a
    text has to say it again and again. Words add up. An exclusion bars an item where it stands in the title, or where
    the words stand in the text alone and no more often than the exclusions; a word within one is none.
    """
    if topic.sources and item.source not in topic.sources:
        return _bar(Message.of("topic.other_source", source=item.source))
    barred = _find_in(topic.exclusions, item.title)
    if barred:
        return _bar(Message.of("topic.excluded", words=list(barred)))
    words = list_topic_words(topic)
    if not words:
        is_match = bool(topic.sources)
        reason = Message.of("topic.of_source", source=item.source) if is_match else Message("topic.no_words")
        return TopicScore(_ONLY_SOURCES_SCORE if is_match else 0.0, is_match, reason, item.title.text)
    return _score_words(topic, words, item)


def list_topic_words(topic: Topic) -> dict[str, float]:
    """Return the words of a topic, each with its weight: its own, and those that its sentence separates."""
    own = list(dict.fromkeys(word for word in topic.words if split_runs(fold_text(word))))
    shares = dict.fromkeys(own, 1.0)
    for phrase in _split_sentence(topic.sentence):
        shares.setdefault(phrase, _SENTENCE_SHARE if own else 1.0)
    return {
        word: share * min(max(topic.weights.get(word, 1.0), _MIN_WEIGHT), _MAX_WEIGHT) for word, share in shares.items()
    }


def apply_wish(score: TopicScore, is_wished: bool | None) -> TopicScore:
    """Return the score after somebody said that the item is one of the topic (True) or not (False)."""
    if is_wished is None:
        return score
    value = max(score.score, _WISHED_SCORE) if is_wished else min(score.score, _UNWISHED_SCORE)
    reason = Message("topic.wished" if is_wished else "topic.unwished")
    return TopicScore(value, is_wished, reason, score.passage, score.words, score.is_barred)


def _bar(reason: Message) -> TopicScore:
    return TopicScore(0.0, False, reason, "", is_barred=True)


def _score_words(topic: Topic, words: Mapping[str, float], item: TopicItem) -> TopicScore:
    excluded = _find_in(topic.exclusions, item.text)
    masks = _merge_spans(excluded)
    found_in = {
        "title": _find_in(words, item.title),
        "facts": _find_in(words, item.facts, _merge_spans(_find_in(topic.exclusions, item.facts))),
        "text": _find_in(words, item.text, masks),
    }
    opening = {word for word, spans in found_in["text"].items() if spans[0][0] < _OPENING_CHARS}
    mentions = sum(map(len, found_in["text"].values()))
    if not found_in["title"] and excluded and mentions <= sum(map(len, excluded.values())):
        return _bar(Message.of("topic.excluded", words=list(excluded)))
    rest = 1.0
    by_place: dict[str, list[str]] = defaultdict(list)
    for word, weight in words.items():
        for share in _list_shares(word, found_in, opening):
            rest *= 1 - min(share * weight, _MAX_SHARE)
        place = next((name for name, found in found_in.items() if word in found), None)
        if place is not None:
            by_place["opening" if place == "text" and word in opening else place].append(word)
    if not by_place:
        return TopicScore(0.0, False, Message("topic.no_word_found"), "")
    score = round(1 - rest, 4)
    parts = [_describe_place(place, by_place[place], found_in["text"]) for place in _PLACES if place in by_place]
    passage = _choose_passage(item, found_in["text"], words, topic.exclusions)
    found = tuple(word for place in _PLACES for word in by_place.get(place, ()))
    return TopicScore(score, score >= MATCH_SCORE, Message.of("topic.found", parts=parts), passage, found)


_PLACES = ("title", "facts", "opening", "text")
_Span = tuple[int, int]
_Found = dict[str, list[_Span]]


def _list_shares(word: str, found_in: Mapping[str, _Found], opening: set[str]) -> Iterator[float]:
    if word in found_in["title"]:
        yield _IN_TITLE
    if word in found_in["facts"]:
        yield _IN_FACTS
    if word in opening:
        yield _IN_OPENING
    if spans := found_in["text"].get(word):
        yield _IN_TEXT + _PER_MENTION * min(len(spans), _MAX_MENTIONS)


def _describe_place(place: str, words: Sequence[str], in_text: _Found) -> Message:
    if place != "text":
        return Message.of(f"topic.in_{place}", words=list(words))
    return Message.of("topic.in_text", words=list(words), mentions=sum(len(in_text[word]) for word in words))


def _list_fact_texts(item: Item, facts: DocumentFacts | None) -> Iterator[str]:
    """What the facts of a document say in words: who issued it, who is bound, which figures, days and documents."""
    yield from filter(None, (item.issuer, item.document_number))
    if facts is None:
        return
    yield from facts.issuers
    yield from facts.bound
    yield from (figure.subject for figure in facts.figures)
    yield from (deadline.subject for deadline in facts.deadlines)
    for relation in facts.relations:
        yield from filter(None, (relation.title, relation.number))


# Finding words.


@dataclass(frozen=True)
class _WordPattern:
    """A word as it is looked for: what a text must have at least, and the pattern; `is_cased` for abbreviations."""

    needle: str
    pattern: re.Pattern[str]
    is_cased: bool


def _find_in(words: Sequence[str] | Mapping[str, float], place: _Place, masks: Sequence[_Span] = ()) -> _Found:
    """Return where each word stands in a text, outside of the masks; words that do not are left out."""
    starts = [start for start, _ in masks]
    found: _Found = {}
    for word in words:
        spans = [span for span in _iter_spans(word, place) if not _is_within(span, masks, starts)]
        if spans:
            found[word] = spans
    return found


def _iter_spans(word: str, place: _Place) -> Iterator[_Span]:
    compiled = _compile_word(word)
    if compiled is None or compiled.needle not in place.joined:
        return
    for count, match in enumerate(compiled.pattern.finditer(place.cased if compiled.is_cased else place.folded)):
        if count == _MAX_SPANS:
            return
        yield match.span()


def _is_within(span: _Span, masks: Sequence[_Span], starts: Sequence[int]) -> bool:
    place = bisect_right(starts, span[0]) - 1
    return place >= 0 and span[1] <= masks[place][1]


def _merge_spans(found: _Found) -> list[_Span]:
    merged: list[_Span] = []
    for start, end in sorted(span for spans in found.values() for span in spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


@lru_cache(maxsize=4096)
def _compile_word(word: str) -> _WordPattern | None:
    """Return how a word or phrase is looked for; None for one without a letter or digit."""
    written = simplify(word[:_MAX_WORD_CHARS])
    folded = simplify(fold_text(word[:_MAX_WORD_CHARS]))
    runs = split_runs(folded)
    if not runs:
        return None
    kept = set() if len(runs) > 1 and written.isupper() else set(map(str.lower, _ABBREVIATION.findall(written)))
    is_cased = any(run in kept for run in runs)
    pieces = [_build_run_pattern(run, is_kept=run in kept) for run in runs]
    flags = re.IGNORECASE if is_cased else re.NOFLAG
    longest = max((_get_stem(run) for run in runs), key=len)
    return _WordPattern(longest, re.compile(r"[\W_]{0,4}".join(pieces), flags), is_cased)


def _build_run_pattern(run: str, *, is_kept: bool) -> str:
    if is_unspaced(run):
        return r"\s{0,3}".join(map(re.escape, run))
    inner = rf"(?-i:{re.escape(run.upper())})(?:s)?" if is_kept else _build_plural_pattern(run)
    return rf"(?<!{LETTER}){inner}(?!{LETTER})"


def _build_plural_pattern(word: str) -> str:
    stem, endings = _split_ending(word)
    return re.escape(stem) + endings


def _get_stem(run: str) -> str:
    return run if is_unspaced(run) else _split_ending(run)[0]


@cache
def _split_ending(word: str) -> tuple[str, str]:
    """Return what the singular and the plural of an English word have in common, and the pattern of their endings."""
    if not (word.isascii() and word.isalpha()) or len(word) < 3 or word in _SAME_IN_PLURAL:
        return word, ""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3], "(?:y|ies?)"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1], "(?:y|ies)"
    if word.endswith(("ses", "xes", "zes", "ches", "shes")) and len(word) > 4:
        return word[:-2], "(?:es?|is)?"
    if word.endswith("is"):
        return word[:-2], "[ie]s"
    if word.endswith("ics"):
        return word, ""
    if word.endswith("s") and not word.endswith(("ss", "us")) and len(word) > 3:
        return word[:-1], "s?"
    return word, "(?:es)?" if word.endswith(_ADDS_ES) else "s?"


def _split_sentence(sentence: str) -> list[str]:
    """Return the phrases that a topic's sentence lists, as “grid fees” of “storage developers: grid fees”.

    A sentence of prose has few that are short enough; it is for a model to understand.
    """
    phrases: dict[str, str] = {}
    for piece in _PHRASE_BORDER.split(sentence):
        phrase = _LEADING_STOPWORDS.sub("", piece.strip()).strip()
        runs = split_runs(fold_text(phrase))
        chars = sum(map(len, runs))
        is_short = len(runs) <= _MAX_WORDS_OF_PHRASE and all(
            not is_unspaced(run) or len(run) <= _MAX_CHARS_OF_PHRASE for run in runs
        )
        least = 2 if any(map(is_unspaced, runs)) or _ABBREVIATION.fullmatch(phrase) else 4
        if is_short and chars >= least:
            phrases.setdefault(fold_text(phrase), phrase)
    return list(phrases.values())[:_MAX_SENTENCE_WORDS]


# The passage.


def _choose_passage(item: TopicItem, in_text: _Found, words: Mapping[str, float], exclusions: Sequence[str]) -> str:
    """Return the sentence of the text with the most of the words, the first of equals; else the title."""
    text = item.text.text
    best: tuple[float, str] = (0.0, "")
    by_line: dict[int, set[str]] = defaultdict(set)
    for word, spans in in_text.items():
        for start, _ in spans[:_MAX_SPANS]:
            by_line[text.rfind("\n", 0, start) + 1].add(word)
    lines = sorted(by_line, key=lambda start: (-sum(words[word] for word in by_line[start]), start))[:3]
    for start in lines:
        end = text.find("\n", start)
        line = text[start : len(text) if end < 0 else end]
        for sentence in split_sentences(line[: 2 * MAX_SENTENCE_CHARS]):
            place = _Place.build(sentence)
            found = _find_in(list(by_line[start]), place, _merge_spans(_find_in(exclusions, place)))
            value = sum(words[word] for word in found)
            if value > best[0]:
                first = min(spans[0][0] for spans in found.values())
                best = value, _cut_around(sentence, first)
    return best[1] or item.title.text[:_MAX_PASSAGE_CHARS]


def _cut_around(sentence: str, place: int) -> str:
    start = max(min(place - _MAX_PASSAGE_CHARS // 3, len(sentence) - _MAX_PASSAGE_CHARS), 0)
    return sentence[start : start + _MAX_PASSAGE_CHARS].strip()
