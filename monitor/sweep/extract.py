"""A summary without a model: whole sentences of the page, word for word, chosen by what they tell."""

import re
import unicodedata
from dataclasses import dataclass

from monitor.evidence.prose import LEANING, TELLING, weight_of, whole_sentences
from monitor.evidence.sentences import CLOSING

MIN_CHARS = 60
MAX_SENTENCES = 3

_FIGURE = re.compile(
    r"\d+(?:[.,]\d+)*\s?(?:%|％|亿|万|元|个|项|家|吨|千瓦|倍|percent|per cent|million|billion"
    r"|euros?|dollars?)|百分之|[$€£]\d"
)


@dataclass(frozen=True, slots=True)
class _Sentence:
    index: int
    text: str
    score: float

    @property
    def weight(self) -> float:
        return weight_of(self.text)


def extract_summary(title: str, text: str, language: str, max_chars: int = 200) -> str:
    """One to three whole sentences of the page in page order, together 60 to 200 characters; '' where it has none.

    Sentences that come early, take up the title's words, state measures or carry figures are preferred, and those in
    `language` where a page has two. Two Latin letters weigh as one character, as an English sentence says as much in
    twice the length. A Chinese sentence that is longer than the whole summary gives its clauses up to each ；.
    """
    sentences = _scored(title, text, language, max_chars)
    chosen: list[_Sentence] = []
    weight = 0.0
    for sentence in sorted(sentences, key=lambda sentence: (-sentence.score, sentence.index)):
        is_enough = len(chosen) == MAX_SENTENCES or weight >= max_chars * 0.75
        if is_enough and weight >= MIN_CHARS:
            break
        if weight + sentence.weight <= max_chars:
            chosen.append(sentence)
            weight += sentence.weight
    chosen.sort(key=lambda sentence: sentence.index)
    return "" if weight <= 20 else _joined([sentence.text for sentence in chosen])


def _scored(title: str, text: str, language: str, max_chars: int) -> list[_Sentence]:
    words = _title_words(title)
    plain_title = _plain(title)
    seen: set[str] = set()
    sentences: list[_Sentence] = []
    for written in whole_sentences(text, max_chars):
        plain = _plain(written)
        if plain in seen or (plain_title and (plain in plain_title or plain == plain_title)):
            continue
        seen.add(plain)
        score = _score(written, len(sentences), words, language)
        sentences.append(_Sentence(len(sentences), written, score))
    return sentences


def _score(sentence: str, index: int, title_words: set[str], language: str) -> float:
    plain = _plain(sentence)
    shared = sum(word in plain for word in title_words) / len(title_words) if title_words else 0.0
    is_question = sentence.rstrip(CLOSING).endswith(("？", "?"))
    is_in_language = _is_chinese(sentence) == language.lower().startswith("zh")
    return (
        2.0 / (1 + 0.25 * index)
        + 1.5 * shared
        + 0.5 * min(len(_FIGURE.findall(sentence)), 3)
        + 0.3 * min(len(TELLING.findall(sentence)), 3)
        + (1.0 if is_in_language else 0.0)
        - (1.5 if is_question else 0.0)
        - (0.6 if LEANING.match(sentence) else 0.0)
        - (0.5 if weight_of(sentence) < 18 else 0.0)
    )


def _title_words(title: str) -> set[str]:
    """Pairs of Chinese characters and words of four letters or more: what a telling sentence takes up."""
    words = {word.lower() for word in re.findall(r"[^\W\d_\u4e00-\u9fff]{4,}", title)}
    for run in re.findall(r"[\u4e00-\u9fff]+", title):
        words.update(run[index : index + 2] for index in range(len(run) - 1))
    return words - {"关于", "通知", "公告", "印发"}


def _joined(sentences: list[str]) -> str:
    joined = ""
    for sentence in sentences:
        joined += f" {sentence}" if joined and joined[-1].isascii() else sentence
    return joined


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text)).lower()


def _is_chinese(text: str) -> bool:
    return sum("\u4e00" <= char <= "\u9fff" for char in text) * 4 > len(text)
