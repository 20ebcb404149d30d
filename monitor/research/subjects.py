"""What a question is about, subject by subject: what is searched for where no model chooses the words."""

import re

from monitor.domain.prompts import as_material

MOST_SUBJECTS = 4
_LEAST_CHARS, _MOST_CHARS = 2, 30
_URL = re.compile(r"(?:https?:|www\.)\S*", re.IGNORECASE)
_NAMED = re.compile(r"《([^《》]{2,60})》|“([^“”]{2,60})”|\"([^\"]{2,60})\"")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_BETWEEN = re.compile(
    r"[\s，。；：、,.;:!?！？（）()/·—-]+|以及|对于|关于|对|在|的|了|"
    r"请问|如何|怎么样|怎样|怎么|有哪些|是什么|什么|哪些|多少|为何|为什么|是否|以来|实施|衔接"
)
_AND = re.compile(r"(?<=[\u4e00-\u9fffA-Za-z0-9]{2})[和与及或](?=[\u4e00-\u9fffA-Za-z0-9]{2})")
_ASIDE = (
    r"分析|研究|介绍|梳理|总结|说明|了解|我国|中国|国内外|全球|近年来|近年|近期|目前|当前|现在|今年|去年|明年|未来|最新|最近|主要|相关|有关|"
    r"重大|整体|总体|具体|政策|规定|法规|情况|进展|动态|现状|趋势|走向|前景|展望|发展|变化|影响|问题|挑战|机遇|特点|原因|措施|动向|方向|"
    r"配套|进一步|(?:20|19)\d\d年?(?:上半年|下半年|度)?|[一二三四]季度"
)
_BEFORE = re.compile(rf"^(?:{_ASIDE})+")
_BEHIND = re.compile(rf"(?:{_ASIDE})+$")
_COMMON = re.compile(
    r"(?:"
    r"a|about|an|analyse|analyze|and|are|as|at|be|been|by|can|could|current|describe|"
    r"developing|development|developments|did|do|does|effect|effects|explain|for|from|give|"
    r"going|had|has|have|heading|how|impact|in|into|is|it|its|latest|me|most|new|now|of|"
    r"on|or|outlook|overview|please|policies|policy|recent|report|research|rules|say|says|"
    r"should|situation|so|state|status|summarise|summarize|tell|than|that|the|their|there|"
    r"these|they|this|to|today|trend|trends|update|updates|was|what|when|where|whether|"
    r"which|who|why|will|with|would|year|years"
    r")",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9'&-]*|\d+|[^\sA-Za-z0-9]")


def subjects_of(question: str) -> list[str]:
    """The subjects of a question, at most four, names in quotation marks first; the question where there are none.

    Words that only ask, that say when, or that nearly every page has (政策, 现状, latest) are no subjects.
    """
    flat = _URL.sub(" ", as_material(question))
    named = ["".join(groups) for groups in _NAMED.findall(flat)]
    rest = _NAMED.sub(" ", flat)
    found = [*named, *(_chinese(rest) if _HAN.search(rest) else _english(rest))]
    unlike: list[str] = []
    for one in found:
        if _LEAST_CHARS <= len(one) <= _MOST_CHARS and not any(one in other or other in one for other in unlike):
            unlike.append(one)
    return unlike[:MOST_SUBJECTS] or [flat.strip(" ？?。.！!")]


def subject_queries(question: str, order: int, aspect: str) -> list[str]:
    """What is searched for in turn for the paragraph of that place: all subjects, one alone, one with its aspect.

    Paragraphs begin with different subjects, so that together they search for each.
    """
    subjects = subjects_of(question)
    turned = [*subjects[order % len(subjects) :], *subjects[: order % len(subjects)]]
    queries = [" ".join(subjects), *turned, *(f"{one} {aspect}" for one in turned)]
    return list(dict.fromkeys(queries))


def _chinese(text: str) -> list[str]:
    pieces = [piece for part in _BETWEEN.split(text) for piece in _AND.split(part)]
    return [bare for piece in pieces if (bare := _BEHIND.sub("", _BEFORE.sub("", piece)))]


def _english(text: str) -> list[str]:
    """The longest stretches of words that say something."""
    stretches: list[list[str]] = [[]]
    for word in _WORD.findall(text):
        if _COMMON.fullmatch(word) or not word[0].isalnum() or word.isdigit():
            stretches.append([])
        else:
            stretches[-1].append(word)
    return [" ".join(stretch) for stretch in stretches if stretch]
