"""Selects the informative sentences of a page, without boilerplate, and compares texts by their words."""

import re
from collections.abc import Iterator
from functools import lru_cache

from monitor.db.terms import fold_text, is_unspaced, split_runs
from monitor.extract.sentences import CLOSING_MARKS, WEB_ADDRESS, split_sentences

_BOILERPLATE = re.compile(
    r"^\W*(?:发布(?:时间|日期|机构|单位)|成文日期|生成日期|更新时间|时\s?间|日\s?期|来\s?源|信息来源|作\s?者|编辑"
    r"|责任编辑|责编|校对|审核|供稿|文\s?号|发文字号|发文机关|索\s?引\s?号|主题(?:词|分类)|信息分类|体裁|有效性|浏览"
    r"|阅读|点击|访问量|字\s?[体号]|打\s?印|保\s?存|收\s?藏|分\s?享|关\s?闭|扫一扫|微信|上一[篇条]|下一[篇条]|附\s?件"
    r"|相关(?:链接|阅读|文章|稿件|附件)|当前位置|您(?:现在)?的?位置|首\s?页|返回|版权|主办|承办|技术支持|网站(?:地图"
    r"|标识)|联系(?:我们|人|电话|方式|地址)|电\s?话|邮\s?编|传\s?真|地\s?址|（?此件公开|published|last updated|updated"
    r"|date|by|source|author|share|print|download|subscribe|sign up|follow|contact|tags?|topics?|related|read more"
    r"|back to|skip to|home|menu|search|cookies?|privacy|copyright|©|all rights)\s*(?:[:：|>»【\[]|\S{0,24}$|次数|量)",
    re.IGNORECASE,
)

_BANNER = re.compile(
    r"ICP备|公网安备|浏览次数|【字体|字体[:：]|\[\s?大\s|打印本页|javascript|cookies|本页二维码|分享到"
    r"|accept all|enable JavaScript",
    re.IGNORECASE,
)
_SALUTATION = re.compile(
    r"[:：]$|^(?:特此(?:通知|公告|通告|批复|函复)|现(?:予以?)?(?:公告|公布|通知)如下|经研究[，,]?(?:函复|批复|现)|此复"
    r"|dear\b|ladies and gentlemen|to whom)",
    re.IGNORECASE,
)


STATEMENT_WORDS = re.compile(
    r"提出|明确|要求|规定|决定|印发|实施|施行|目标|重点|措施|加快|推动|支持|建立|完善|取消|调整|提高|降低|达到|增长"
    r"|下降|不得|应当|自.{2,12}起|\b(?:announce|adopt|propos|requir|introduc|will|must|aims?|target|increase|decrease"
    r"|rose|fell|effective|approve|amend|repeal|publish|fine[sd]?|ban)",
    re.IGNORECASE,
)
"""Words of sentences that state a measure, a duty or a change."""

DEPENDENT_START = re.compile(  # of a sentence that depends on the one before it
    r"^(?:其中|此外|同时|另外|但是?|因此|所以|对此|例如|比如|该|这[一些是个]|他|她|它|问[:：]|答[:：]|(?:however|but"
    r"|it|this|these|that|they|he|she|also|in addition|moreover|furthermore|therefore)\b)",
    re.IGNORECASE,
)

STOCK_PHRASE = re.compile(
    r"加强组织领导|细化任务分工|认真贯彻(?:执行|落实)|结合实际.{0,8}(?:落实|执行|实施)|抓好落实|压实责任|高度重视|"
    r"自(?:发布|印发|公布)之日起|由.{2,16}负责解释|有效期.{1,4}年|特此|现(?:予)?(?:印发|公布)给?你们|"
    r"\b(?:for more information|please contact|will enter into force on the day following)\b",
    re.IGNORECASE,
)
"""Phrases of documents of every subject, which say nothing about any."""


def iter_whole_sentences(text: str, max_weight: float) -> Iterator[str]:
    """Yield the complete sentences of a page without boilerplate; of too heavy ones the clauses that end with ；."""
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or _BOILERPLATE.match(stripped) or _BANNER.search(stripped):
            continue
        for sentence in split_sentences(stripped):
            is_whole = sentence.rstrip(CLOSING_MARKS)[-1:] in tuple("。！？.!?")
            is_furniture = _SALUTATION.search(sentence) or WEB_ADDRESS.search(sentence)
            if not is_whole or is_furniture or compute_text_weight(sentence) < 10:
                continue
            if compute_text_weight(sentence) <= max_weight:
                yield sentence
            else:
                clauses = (f"{clause}；" for clause in sentence.split("；")[:-1] if clause)
                yield from (clause for clause in clauses if 15 <= compute_text_weight(clause) <= max_weight)


def compute_text_weight(text: str) -> float:
    """Return the length of a text in Chinese characters; a Latin letter counts as half of one."""
    return sum(0.5 if ord(char) < 0x2E80 else 1.0 for char in text)


_STOP_WORDS = re.compile(
    "about|above|after|again|against|also|among|and|any|are|because|been|before|being|between|both|but|can|could|did|does|"
    "during|each|for|from|further|had|has|have|having|her|here|his|how|into|its|itself|more|most|not|nor|now|off|once|"
    "only|other|our|out|over|own|same|shall|she|should|some|such|than|that|the|their|them|then|there|these|they|this|"
    "those|through|too|under|until|upon|very|was|were|what|when|where|which|while|who|whom|why|will|with|within|without|"
    "would|you|your|may|must|said|says|according|including|new"
)
_MIN_WORD_CHARS = 3


@lru_cache(maxsize=4096)
def extract_words(text: str) -> frozenset[str]:
    """Return the pairs of neighbouring Chinese characters, and the Latin words of three letters or more.

    Without stop words and numbers; letter case, width and an English plural are folded.
    """
    words: set[str] = set()
    for run in split_runs(fold_text(text)):
        if is_unspaced(run):
            words.update(run[i : i + 2] for i in range(len(run) - 1))
        elif len(run) >= _MIN_WORD_CHARS and not run.isdigit() and not _STOP_WORDS.fullmatch(run):
            words.add(run[:-1] if len(run) > _MIN_WORD_CHARS + 1 and run.endswith("s") and run[-2] != "s" else run)
    return frozenset(words)


def compute_overlap(words: frozenset[str], others: frozenset[str]) -> float:
    """Return the share of the words that are among the others, 0 to 1; 0 where there are none."""
    return len(words & others) / len(words) if words else 0.0


def compute_dice_similarity(words: frozenset[str], others: frozenset[str]) -> float:
    return 2 * len(words & others) / (len(words) + len(others) or 1)


def is_chinese(text: str) -> bool:
    """Whether more than a quarter of a text's letters are Chinese characters."""
    alphabetic = [char for char in text if char.isalpha()]
    return sum("\u4e00" <= char <= "\u9fff" for char in alphabetic) * 4 > len(alphabetic)
