"""What a title says that its document does."""

import re
from functools import lru_cache

from monitor.i18n.traditional import simplify
from monitor.ranking.action_words import ACTION_FORMS
from monitor.ranking.acts import Act
from monitor.ranking.case_words import FIRST_FORMS
from monitor.ranking.form_words import CLEAR_FORMS
from monitor.ranking.routine_words import FIRST_RULES
from monitor.ranking.rule_words import FURTHER_RULES

_MAX_CHARS = 400
_CHINESE, _LATIN = re.compile(r"[\u4e00-\u9fff]"), re.compile(r"[A-Za-z]{2}")
_RULES = (*FIRST_FORMS, *ACTION_FORMS, *CLEAR_FORMS, *FIRST_RULES, *FURTHER_RULES)

_MONEY_EN = r"(?:[£$€¥]|(?:USD|EUR|GBP|AUD|SGD|CAD|HKD|RMB)\s?)"
_LARGE_SUM = (
    r"\d[\d.,]*[多余]?亿|[千百]亿|\b[\d.,]{1,12}\s?(?:billion|bn)\b"
    rf"|{_MONEY_EN}\s?(?:[1-9]\d{{2,6}}|[3-9]\d)(?:[.,]\d{{1,6}})?\s?(?:m|mn|mln|million)\b"
)
_LARGE = re.compile(_LARGE_SUM, re.IGNORECASE)
_OF_THE_MARKET = re.compile(
    r"滥用市场支配地位|垄断(?:协议|行为)|连续.{1,3}年.{0,6}造假|强制退市|\bcartel\b|abuse of dominan", re.IGNORECASE
)
_BODIES = re.compile(
    r"发展和?改革委(?:员会)?|标准化管理委员会|(?:市场|金融)(?:监督管理|监管)(?:总局|局)?|(?:卫生健康|国有资产监督管理|规划和自然资源|住房和城乡建设)(?:委员会|委|局|厅)|数据局|统计局"
    r"|(?:Financial )?Reporting Council|Competition and Consumer Commission"
    r"|Securities and Exchange Commission|Standards Board|Competition and Markets Authority"
)
_NUMBER_AT_END = re.compile(
    r"(?<!令)[（(][^（）()令]{1,24}〔\d{4}〕\d+号[）)]$|[（(][^（）()令]{0,12}\d{4}年第?\d+号[）)]$"
)
_NUMBERED = re.compile(
    r"^[^（()）《]{0,40}(?P<form>公告|通告)[ （(]{0,2}(?:\d{4}年)?[ ]?第?\d{1,5}号[）)]?[ :：]{0,2}"
    r"[（(]?(?P<subject>[^（）()]{4,200})[）)]?$"
)
_NUMBER_AT_START = re.compile(r"^[\u4e00-\u9fff]{2,8}〔\d{4}〕\d{1,5}号[ :：]{0,2}(?=关于)")


@lru_cache(maxsize=4096)
def find_act(title: str) -> Act:
    """Return what a title says that its document does; `UNCLEAR` where it does not say."""
    plain = _leave_out_names(normalise_title(title))
    has_chinese, has_latin = bool(_CHINESE.search(plain)), bool(_LATIN.search(plain))
    found = (rule.act for rule in _RULES if rule.matches(plain, has_chinese=has_chinese, has_latin=has_latin))
    act = next(found, Act.UNCLEAR)
    if act is Act.PENALTY and (_LARGE.search(plain) or _OF_THE_MARKET.search(plain)):
        return Act.MAJOR_CASE
    return act


def normalise_title(title: str) -> str:
    """Return a title as the rules read it: simplified characters, single spaces, at most 400 characters."""
    return re.sub(r"\s+", " ", simplify(title[: 2 * _MAX_CHARS])).strip()[:_MAX_CHARS]


def _leave_out_names(title: str) -> str:
    """Names of bodies hold words of what documents do (发展改革委, 标准化管理委员会): they say nothing here."""
    plain = _NUMBER_AT_END.sub("", _BODIES.sub("某委", title))
    return _NUMBER_AT_START.sub("", _NUMBERED.sub(_put_form_last, plain))


def _put_form_last(match: re.Match[str]) -> str:
    """A notice that has its number first and its subject behind says what one does that has them in order."""
    subject = match["subject"]
    return subject if subject.endswith(match["form"]) else f"关于{subject}的{match['form']}"
