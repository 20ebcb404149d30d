"""A summary without a model: whole sentences of the page, word for word, chosen by what they tell."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from monitor.evidence.sentences import CLOSING, WEB_ADDRESS, split_sentences

MIN_CHARS = 60
MAX_SENTENCES = 3

_BOILERPLATE = re.compile(
    r"^\W*(?:发布(?:时间|日期|机构|单位)|成文日期|生成日期|更新时间|时\s?间|日\s?期|来\s?源|信息来源|作\s?者"
    r"|编辑|责任编辑|责编|校对|审核|供稿|文\s?号|发文字号|发文机关|"
    r"索\s?引\s?号|主题(?:词|分类)|信息分类|体裁|有效性|浏览|阅读|点击|访问量|字\s?[体号]|打\s?印|保\s?存"
    r"|收\s?藏|分\s?享|关\s?闭|扫一扫|微信|上一[篇条]|下一[篇条]|"
    r"附\s?件|相关(?:链接|阅读|文章|稿件|附件)|当前位置|您(?:现在)?的?位置|首\s?页|返回|版权|主办|承办|技术支持"
    r"|网站(?:地图|标识)|联系(?:我们|人|电话|方式|地址)|电\s?话|"
    r"邮\s?编|传\s?真|地\s?址|（?此件公开|published|last updated|updated|date|by|source|author|share|print"
    r"|download|subscribe|sign up|"
    r"follow|contact|tags?|topics?|related|read more|back to|skip to|home|menu|search|cookies?|privacy"
    r"|copyright|©|all rights)\s*"
    r"(?:[:：|>»【\[]|\S{0,24}$|次数|量)",
    re.IGNORECASE,
)
_BANNER = re.compile(
    r"ICP备|公网安备|浏览次数|【字体|字体[:：]|\[\s?大\s|打印本页|javascript|cookies|本页二维码|分享到"
    r"|accept all|enable JavaScript",
    re.IGNORECASE,
)
_SALUTATION = re.compile(
    r"[:：]$|^(?:特此(?:通知|公告|通告|批复|函复)|现(?:予以?)?(?:公告|公布|通知)如下|经研究[，,]?(?:函复|批复"
    r"|现)|此复|dear\b|ladies and gentlemen|"
    r"to whom)",
    re.IGNORECASE,
)
_TELLING = re.compile(
    r"提出|明确|要求|规定|决定|印发|实施|施行|目标|重点|措施|加快|推动|支持|建立|完善|取消|调整|提高|降低|达到"
    r"|增长|下降|不得|应当|自.{2,12}起|"
    r"\b(?:announce|adopt|propos|requir|introduc|will|must|aims?|target|increase|decrease|rose|fell|effective"
    r"|approve|amend|"
    r"repeal|publish|fine[sd]?|ban)",
    re.IGNORECASE,
)
_FIGURE = re.compile(
    r"\d+(?:[.,]\d+)*\s?(?:%|％|亿|万|元|个|项|家|吨|千瓦|倍|percent|per cent|million|billion"
    r"|euros?|dollars?)|百分之|[$€£]\d"
)
_LEANING = re.compile(
    r"^(?:其中|此外|同时|另外|但是?|因此|所以|对此|例如|比如|该|这[一些是个]|他|她|它|问[:：]|答[:：]"
    r"|(?:however|but|it|this|these|that|they|he|she|also|"
    r"in addition|moreover|furthermore|therefore)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Sentence:
    index: int
    text: str
    score: float

    @property
    def weight(self) -> float:
        return _weight(self.text)


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
    for written in _sentences_of(text, max_chars):
        plain = _plain(written)
        if plain in seen or (plain_title and (plain in plain_title or plain == plain_title)):
            continue
        seen.add(plain)
        score = _score(written, len(sentences), words, language)
        sentences.append(_Sentence(len(sentences), written, score))
    return sentences


def _sentences_of(text: str, max_chars: int) -> Iterator[str]:
    """What of the text is a whole sentence, and not part of the page's furniture."""
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or _BOILERPLATE.match(stripped) or _BANNER.search(stripped):
            continue
        for sentence in split_sentences(stripped):
            is_whole = sentence.rstrip(CLOSING)[-1:] in tuple("。！？.!?")
            is_furniture = _SALUTATION.search(sentence) or WEB_ADDRESS.search(sentence)
            if not is_whole or is_furniture or _weight(sentence) < 10:
                continue
            if _weight(sentence) <= max_chars:
                yield sentence
            else:
                yield from (part for part in re.findall(r"[^；]+；", sentence) if 15 <= _weight(part) <= max_chars)


def _score(sentence: str, index: int, title_words: set[str], language: str) -> float:
    plain = _plain(sentence)
    shared = sum(word in plain for word in title_words) / len(title_words) if title_words else 0.0
    is_question = sentence.rstrip(CLOSING).endswith(("？", "?"))
    is_in_language = _is_chinese(sentence) == language.lower().startswith("zh")
    return (
        2.0 / (1 + 0.25 * index)
        + 1.5 * shared
        + 0.5 * min(len(_FIGURE.findall(sentence)), 3)
        + 0.3 * min(len(_TELLING.findall(sentence)), 3)
        + (1.0 if is_in_language else 0.0)
        - (1.5 if is_question else 0.0)
        - (0.6 if _LEANING.match(sentence) else 0.0)
        - (0.5 if _weight(sentence) < 18 else 0.0)
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


def _weight(text: str) -> float:
    return sum(0.5 if ord(char) < 0x2E80 else 1.0 for char in text)
