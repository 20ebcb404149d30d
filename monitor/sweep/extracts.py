"""Extracts: a summary that is made of whole sentences of the page, word for word."""

import re
import unicodedata
from dataclasses import dataclass

from monitor.extract.sentences import CLOSING_MARKS
from monitor.sweep.summary_check import join_sentences
from monitor.verify.prose import DEPENDENT_START, STATEMENT_WORDS, compute_text_weight, iter_whole_sentences

MAX_EXTRACTED_CHARS = 80_000
"""How far a page is read for an extract, as far as its sentences are read for a judgement."""

MIN_EXTRACT_CHARS = 60
MAX_EXTRACT_SENTENCES = 3
_FIGURE_PATTERN = re.compile(
    r"\d+(?:[.,]\d+)*\s?(?:%|％|亿|万|元|个|项|家|吨|千瓦|倍|percent|per cent|million|billion"
    r"|euros?|dollars?)|百分之|[$€£]\d"
)


@dataclass(frozen=True, slots=True)
class _ScoredSentence:
    index: int
    text: str
    score: float

    @property
    def weight(self) -> float:
        return compute_text_weight(self.text)


def extract_summary(title: str, text: str, language: str, max_chars: int = 200) -> str:
    return join_sentences(extract_sentences(title, text, language, max_chars))


def extract_sentences(title: str, text: str, language: str, max_chars: int = 200) -> list[str]:
    """One to three whole sentences of the page in page order, together 60 to 200 characters; [] where it has none.

    Preferred are early sentences, with words of the title, measures or figures, in `language` where a page has two.
    Two Latin letters count as one character. Of a Chinese sentence that is too long each clause up to ； counts alone.
    """
    sentences = _score_sentences(title, text, language, max_chars)
    chosen: list[_ScoredSentence] = []
    weight = 0.0
    for sentence in sorted(sentences, key=lambda sentence: (-sentence.score, sentence.index)):
        is_enough = len(chosen) == MAX_EXTRACT_SENTENCES or weight >= max_chars * 0.75
        if is_enough and weight >= MIN_EXTRACT_CHARS:
            break
        if weight + sentence.weight <= max_chars:
            chosen.append(sentence)
            weight += sentence.weight
    chosen.sort(key=lambda sentence: sentence.index)
    return [] if weight <= 20 else [sentence.text for sentence in chosen]


def _score_sentences(title: str, text: str, language: str, max_chars: int) -> list[_ScoredSentence]:
    words = _extract_title_words(title)
    plain_title = _normalize_text(title)
    seen: set[str] = set()
    sentences: list[_ScoredSentence] = []
    for written in iter_whole_sentences(text[:MAX_EXTRACTED_CHARS], max_chars):
        plain = _normalize_text(written)
        if plain in seen or (plain_title and (plain in plain_title or plain == plain_title)):
            continue
        seen.add(plain)
        score = _compute_score(written, len(sentences), words, language)
        sentences.append(_ScoredSentence(len(sentences), written, score))
    return sentences


def _compute_score(sentence: str, index: int, title_words: set[str], language: str) -> float:
    plain = _normalize_text(sentence)
    shared = sum(word in plain for word in title_words) / len(title_words) if title_words else 0.0
    is_question = sentence.rstrip(CLOSING_MARKS).endswith(("？", "?"))
    is_in_language = _is_chinese(sentence) == language.lower().startswith("zh")
    return (
        2.0 / (1 + 0.25 * index)
        + 1.5 * shared
        + 0.5 * min(len(_FIGURE_PATTERN.findall(sentence)), 3)
        + 0.3 * min(len(STATEMENT_WORDS.findall(sentence)), 3)
        + (1.0 if is_in_language else 0.0)
        - (1.5 if is_question else 0.0)
        - (0.6 if DEPENDENT_START.match(sentence) else 0.0)
        - (0.5 if compute_text_weight(sentence) < 18 else 0.0)
    )


def _extract_title_words(title: str) -> set[str]:
    words = {word.lower() for word in re.findall(r"[^\W\d_\u4e00-\u9fff]{4,}", title)}
    for run in re.findall(r"[\u4e00-\u9fff]+", title):
        words.update(run[index : index + 2] for index in range(len(run) - 1))
    return words - {"关于", "通知", "公告", "印发"}


def _normalize_text(text: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text)).lower()


def _is_chinese(text: str) -> bool:
    return sum("\u4e00" <= char <= "\u9fff" for char in text) * 4 > len(text)
