"""Readings of policies: 解读, 答记者问, 一图读懂, fact sheets. What kind, and what they are about."""

import re
from dataclasses import dataclass

_FORMS = {
    "picture": r"一[图文](?:读|看|解)懂?|读懂|看懂|图解|图说|图文解读|一张图|漫画|要点速览|infographic",
    "film": r"视频解读|动漫解读|微视频",
    "expert": r"专家(?:解读|解析|谈)",
    "answers": r"记者提?问|快问快答|问答|百问|[\d十]问[\d十]|问题的?解答|解答$"
    r"|\bq ?& ?as?\b|questions? and answers?|\bfaqs?\b|よくある质问|질의응답",
    "note": r"(?:(?:起草|编制|修订|制定|修改|立法)的?(?:情况)?|》的)说明|explanatory (?:note|memorandum|statement)",
    "conference": r"》.{0,12}(?:新闻发布会|通气会|吹风会)|(?:发布会|吹风会)[^《》]{0,4}介绍《",
    "sheet": r"\bfact ?sheet\b|\bat a glance\b|faktenblatt",
    "reading": r"解读|(?:政策|深度|案例)解析|解析$|^解析|详解|释义|解説|해설|설명자료|\bexplain(?:er|ed)\b|erläuterung",
}
_PATTERNS = tuple((form, re.compile(pattern)) for form, pattern in _FORMS.items())
_ANY = "|".join(f"(?:{pattern})" for pattern in _FORMS.values())
_BEFORE = re.compile(
    rf"^\[?(?:政策|文件|文字|权威|部门|官方|最新)?(?:{_ANY})s?(?:之?\d+)?\]?"
    r"(?: (?:on|about|to|for|regarding|zum|zur|zu))?[\s|:\-]*(?:the )?"
)
_BEHIND = re.compile(rf"[\s|:,(\-]*(?:的|之)?(?:政策|文件|文字|图文|权威|热点|相关)*(?:{_ANY})(?:之?\d+|\(\d+\))?\)?$")
_ANSWERED = re.compile(
    r"^.{0,40}?(?:就|关于)(?P<subject>.+?)(?:的?(?:有关|相关)(?:问题|事宜|情况))?(?:答\S{0,8}?记者(?:提)?问|接受.{0,10}采访)"
)
_HEADLINE = re.compile(r"(?<=[^\W\da-z]{4}):.{4,}$")
_NAMED = re.compile(r"《(.+)》")


@dataclass(frozen=True, slots=True)
class Reading:
    """The form of a reading, and its subject as the title names it, folded."""

    form: str
    subject: str


def reading_of(title: str) -> Reading | None:
    """What a folded title says that it explains; None for a title that announces no reading."""
    form = next((form for form, pattern in _PATTERNS if pattern.search(title)), None)
    if form is None:
        return None
    named = _NAMED.search(title)
    if named:
        name = named[1]
        if "》" in name and "《" not in name.partition("》")[0]:
            name = name.partition("》")[0]
        return Reading(form, f"《{name}》" if "《" not in name else name)
    answered = _ANSWERED.match(title)
    subject = answered["subject"] if answered else _BEHIND.sub("", _BEFORE.sub("", title))
    subject = _HEADLINE.sub("", subject)
    return Reading(form, re.sub(r"^关于(.+)的$", r"\1", subject.strip()))
