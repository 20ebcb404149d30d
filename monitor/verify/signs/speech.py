"""Signs in who says it: another speaker than the page has, or a claim of somebody given as a fact."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from monitor.i18n.traditional import simplify
from monitor.verify.clauses import parse_segments
from monitor.verify.figures import fold_width
from monitor.verify.lexicon import stem
from monitor.verify.names import NameKind, find_names
from monitor.verify.signs.page import Bearer, Comparison, PageUnit

_CLAIM_ZH = (
    r"认为|主张|建议|预计|预测|预期|辩称|声称|宣称|指控|质疑|批评|担心|担忧|反映|爆料|指责|估计|提出(?!的"
    r"|了?[一二三四五六七八九十\d]|书面|异议|申[请辩]|复[议核]|不信任)|呼吁|抱怨|坚称|分析"
)
_SAY_ZH = (
    rf"{_CLAIM_ZH}|表示|指出|介绍|强调|透露|回应|坦言|提到|回忆|解释|告诉|号召|引用|写道|写到|感叹|点评|直批|(?<![名简人号总统职])称(?!为|号|职|重|量|赞)"
    rf"|(?<![据来般么以])说(?!明|法|服)"
)
_RULE_ZH = r"认定|(?<![初终步的])裁定|判定|承认|(?<!的)承诺|证实|宣布|(?<![的罚理出央策])决定(?!书|的)"
_CLAIM_EN = (
    r"argue[sd]?|contend(?:s|ed)|claim(?:s|ed)|alleges?|suggest(?:s|ed)|estimate[sd]?|expect(?:s|ed)"
    r"|believe[sd]?|predict(?:s|ed)?"
    r"|warn(?:s|ed)|think(?:s)?|thought|maintain(?:s|ed)|complain(?:s|ed)|urge[sd]?|fear(?:s|ed)|project(?:s"
    r"|ed)(?= that| \w+ will)|asked for|accuse[sd]"
)
_SAY_EN = (
    rf"{_CLAIM_EN}|said|says|say|told|tells|add(?:s|ed)|noted|notes|stated|explained|stress(?:es|ed)|remark(?:s"
    rf"|ed)|wrote|writes|responded|replied|called|calls"
    r"|described|quoted|asked|announced|emphasi[sz]ed"
    r"|report(?:s|ed)(?=\s(?:that|on)\b|[,.])|compare[sd]|cited|cites|pointed out|put it"
)
_RULE_EN = r"found|ruled|established|concluded|admitted|acknowledged|confirmed|promised|pledged|determined|decided"
_SPEECH = re.compile(rf"{_SAY_ZH}|{_RULE_ZH}|\b(?:{_SAY_EN}|{_RULE_EN})\b", re.IGNORECASE)
_CLAIM = re.compile(rf"{_CLAIM_ZH}|\b(?:{_CLAIM_EN})\b", re.IGNORECASE)
_ACCORDING = re.compile(
    r"据([^，。；]{2,20}?)(?:称|介绍|透露|报道|表示|分析|统计|调研|说)|\baccording to ([^,.;]{3,80})", re.IGNORECASE
)
_SELF = re.compile(r"^(?:但|同时|并且)?(?:我|本[局会部委院行报])|\b(?:we|i|our|my)\b", re.IGNORECASE)
_NO_SPEAKER = re.compile(
    r"[可应须]|需要|不服|上述|下简称|^由|^经|的$|\b(?:was|were|is|are|be|been|being)$|\b(?:what|than)\b", re.IGNORECASE
)
_PRONOUN = re.compile(
    r"^(?:但|同时|并且)?(?:[他她它]|报道|该(?![\u4e00-\u9fff]{6})|其|对此|双方|记者|文章)"
    r"|\b(?:he|she|they|it|who|which)\b|^(?:the|this|that) (?-i:[a-z])[a-z]+$",
    re.IGNORECASE,
)
_ADVERBS_ZH = re.compile(
    r"(?:近日|日前|此前|当[天日]|目前|今[年天日]|昨[天日]|曾|也|还|则|同时|随后|再次|一致|普遍|有关|对此|进一步|\d+[年月日]|[年月日]|在[^，]{1,16}[上中时里]$|[在对就向]$)"
)
_SPEAKER_STOP_TEXT = """
the a an of in on at to for and or its his her their has have had also who which that this was is are were be
been with from by as said says not yesterday today monday tuesday wednesday thursday friday saturday sunday
week month last statement earlier later recently chief executive director officer president spokesman
spokeswoman spokesperson minister chair chairman secretary analyst analysts some many most two three people
would will could
"""
_SPEAKER_STOP = frozenset(_SPEAKER_STOP_TEXT.split())
_HEDGE = re.compile(
    rf"{_SAY_ZH}|据|可能|有望|希望|想|要求|申请|或将|拟|将会|涉嫌|表态|看法|观点|意见|诉求|申辩|抗辩|答复|\b(?:{_SAY_EN}|may|might|could|likely"
    rf"|would|reported|reportedly|alleged|allegedly|according|view|views"
    r"|claims?|argument|forecasts?|expected|expectation|outlook|believed|projected|sees?|request(?:s|ed)?"
    r"|sought|plans?|planned)\b",
    re.IGNORECASE,
)
_MAX_SUBJECT_CHARS = 90
_MAX_UNIT_CHARS = 3000


@dataclass(frozen=True, slots=True)
class Saying:
    """A verb of saying at a place of a text, with the words for the speaker as they stand beside it."""

    place: int
    end: int
    speaker: str
    verb: str
    is_claim: bool

    @property
    def is_self(self) -> bool:
        return bool(_SELF.search(self.speaker))

    @property
    def is_pronoun(self) -> bool:
        return bool(_PRONOUN.search(self.speaker))


@lru_cache(maxsize=4096)
def find_sayings(text: str) -> tuple[Saying, ...]:
    return tuple(_iter_sayings(simplify(text[:_MAX_UNIT_CHARS])))


def _iter_sayings(text: str) -> Iterator[Saying]:
    for match in _SPEECH.finditer(text):
        start, end = match.span()
        if _is_quoted(text, start):
            continue
        lead = text[max(start - _MAX_SUBJECT_CHARS, 0) : start]
        if match[0].isascii():
            speaker = _read_speaker_en(lead, match[0], text[end : end + _MAX_SUBJECT_CHARS])
        else:
            speaker = _read_speaker_zh(lead)
        if _NO_SPEAKER.search(speaker):
            continue
        yield Saying(start, end, speaker, match[0], bool(_CLAIM.fullmatch(match[0])))
    for match in _ACCORDING.finditer(text):
        yield Saying(match.start(), match.end(), (match[1] or match[2]).strip(), "", is_claim=False)


def _is_quoted(text: str, place: int) -> bool:
    """Whether a place is inside quotation marks: the last mark before it opens a quotation."""
    marks = [match.start() for match in _QUOTE_MARK.finditer(text, 0, place)]
    if not marks:
        return False
    last = marks[-1]
    if text[last] != '"':
        return text[last] in "“「"
    is_closing = last > 0 and text[last - 1] in ",.?!" and text[last + 1 : last + 2] == " "
    return not is_closing and (last == 0 or text[last - 1] in " (:：，,")


_QUOTE_MARK = re.compile(r"[“”\"「」]")


def _read_speaker_zh(lead: str) -> str:
    sentence = re.split(r"[。；;！？!?\n“”「」：]", lead)[-1]
    for clause in reversed(re.split(r"[，,]", sentence)):
        words = _ADVERBS_ZH.sub("", clause).strip(" 、（）()")
        if len(words) > 1 or words in "我他她":
            return words[-24:]
    return ""


def _read_speaker_en(lead: str, verb: str, following: str) -> str:
    before = re.split(r"[.;!?:]\s|[\n“”\"]", lead)[-1]
    is_after_speech = not before.strip(" ,") or before.rstrip().endswith(",")
    if is_after_speech and _INVERTED.fullmatch(verb) and re.match(r"\s+(?:[A-Z]|the\s|an?\s)", following):
        return re.split(r"[.;!?:]\s|[\n“”\"]", following)[0].strip()
    before = re.sub(r",\s(?:who|which|whose)\s[^,]{1,60}", "", before)
    before = re.sub(r",?\s(?:which|who)\s*(?:\w+ly\s|has\s|have\s|had\s)?$", "", before)
    return re.split(r"\b(?:that|after|before|while|because|when|but|if|although|though|whether|since)\b", before)[
        -1
    ].strip(" ,")


_INVERTED = re.compile(
    r"said|says|say|adds|added|told|tells|wrote|writes|asked|noted|notes|explained|responded|replied|remarked",
    re.IGNORECASE,
)
_TITLE_ZH = re.compile(
    r"有?关?(?:部门)?(?:主要)?负责人|新闻发言人|发言人|董事长|总经理|总裁|主任|主席|会长|副?总?编辑|首席|有关|相关|部门|司局|记者|人士|专家|院士|教授|经理"
)


@lru_cache(maxsize=4096)
def _list_tokens(speaker: str) -> frozenset[str]:
    """Return what tells one speaker from another: pairs of Chinese characters, stems of Latin words."""
    words = re.findall(r"[A-Za-z][\w-]+", re.sub(r"['’]s?\b", "", speaker))
    latin = {stem(word.lower()) for word in words if word.lower() not in _SPEAKER_STOP}
    runs = re.findall(r"[\u4e00-\u9fff]+", _TITLE_ZH.sub("", speaker)) or re.findall(r"[\u4e00-\u9fff]+", speaker)
    return frozenset(latin | {run[place : place + 2] for run in runs for place in range(len(run) - 1)})


@lru_cache(maxsize=4096)
def _list_own_tokens(speaker: str) -> frozenset[str]:
    """Return the tokens of a speaker without those of a country or city in its name, which other speakers share."""
    tokens = _list_tokens(speaker)
    places = [name.text for name in find_names(speaker) if name.kind is NameKind.PLACE]
    return tokens - frozenset[str]().union(*map(_list_tokens, places)) or tokens


_JUDGING_BODY = re.compile(
    r"(?:the |an? )?(?:court|jury|tribunal|judge|regulator|authority|commission|board)", re.IGNORECASE
)
_FINDING = re.compile(_RULE_EN)


def compare_speech(found: Comparison) -> None:
    """Look whether the one whom the statement lets speak is the one who says it on the page."""
    own = next((saying for saying in find_sayings(found.statement) if _list_tokens(saying.speaker)), None)
    if own is None:
        if not _HEDGE.search(found.statement):
            _compare_claims(found)
        return
    is_finding = bool(_FINDING.fullmatch(own.verb) and _JUDGING_BODY.fullmatch(own.speaker))
    if found.is_cross_language or (own.is_pronoun and not is_finding) or own.is_self:
        return
    content = found.statement[own.end :].strip(" ,，：:")
    content = content if len(content) > 6 else found.statement[: own.place]
    rated = []
    for bearer in found.page.find_bearers(parse_segments(content, is_page=False))[:3]:
        share = found.page.compute_share(bearer.segment.words & bearer.unit.words, bearer.segment.words)
        other = _find_other_speaker(found, own, bearer) if share > 0.4 else None
        if other and is_finding and not any(saying.is_claim for saying in find_sayings(bearer.unit.text)):
            return
        if other == "":
            return
        if other is not None:
            rated.append((share, other))
    if rated:
        share, other = max(rated)
        found.raise_sign("speech of another", share, f"{own.speaker} / {other}")


def _find_other_speaker(found: Comparison, own: Saying, bearer: Bearer) -> str | None:
    """Return who speaks in a unit instead of the statement's speaker: "" if he does, None if nobody is named."""
    unit, mine = bearer.unit, _list_own_tokens(own.speaker)
    sayings, around = _find_sayings_of(found, unit)
    if not sayings:
        return None
    end = _find_end(unit.text, bearer.part.text)
    governing = [saying for saying in sayings if saying.place < end][-1:] if not around else []
    if any(not saying.verb and mine & _list_tokens(saying.speaker) for saying in sayings):
        return ""
    for saying in governing or sayings:
        if mine & _list_tokens(saying.speaker) or _is_named_in(found, own.speaker, saying.speaker, unit):
            _compare_forecast(found, saying)
            return ""
    if around and mine & _list_tokens(around):
        return ""
    if any(saying.is_self for saying in sayings):
        last = found.page.units[min(found.page.head_lines + 1, len(found.page.units) - 1)]
        is_own = 2 * len(mine & _list_tokens(found.page.text[: last.end])) >= len(mine)
        return "" if is_own or _is_named_before(found, own.speaker, last.end) else "we"
    said = [_list_tokens(other.speaker) for other in find_sayings(found.statement) if other != own]
    if any(_list_tokens(saying.speaker) & tokens for saying in sayings for tokens in said):
        return ""
    if not governing and any(mine & _list_tokens(saying.speaker) for saying in sayings):
        return ""
    return (governing or sayings)[-1].speaker


@lru_cache(maxsize=4096)
def _find_end(text: str, part: str) -> int:
    """Return where a folded part of a text ends in it."""
    part = part.strip(" ,、;:。.")
    first = fold_width(simplify(text)).find(part)
    return first + len(part) if first >= 0 else len(text)


_FORECAST = re.compile(r"预计|预期|预测|有望|估计|expect|forecast|predict|estimat|project", re.IGNORECASE)
_OPEN = re.compile(
    r"预|有望|估|将|可能|拟|力争|目标|expect|forecast|predict|estimat|project|will|would|may|might|could|likely|plan"
    r"|outlook|sees?\b",
    re.IGNORECASE,
)


def _compare_forecast(found: Comparison, saying: Saying) -> None:
    """Look whether a forecast has become a fact."""
    if _FORECAST.search(saying.verb) and not _OPEN.search(found.statement):
        found.raise_sign("claim named", 1.0, saying.verb)


def _is_named_in(found: Comparison, name: str, speaker: str, unit: PageUnit) -> bool:
    """Whether the page has some form of a name among the words for a speaker."""
    first = found.page.text.find(speaker, max(unit.start - 300, 0))
    return first >= 0 and any(
        first <= place < first + len(speaker)
        for other in find_names(name)
        if other.kind is not NameKind.PLACE or other.text == name
        for place in found.page.names.find(other)
    )


def _is_named_before(found: Comparison, name: str, end: int) -> bool:
    return any(place < end for other in find_names(name) for place in found.page.names.find(other))


def _find_sayings_of(found: Comparison, unit: PageUnit) -> tuple[list[Saying], str]:
    """Return the sayings with a speaker of a unit, or of those before that it goes on from, with the text up to it."""
    page = found.page
    if _OPENED.fullmatch(unit.text.strip()) and unit.number + 1 < len(page.units):
        following = page.units[unit.number + 1].text
        named = [saying for saying in find_sayings(following) if _list_tokens(saying.speaker) and not saying.is_pronoun]
        if named and _CLOSED.match(following):
            return named, following
    around = ""
    for number in range(unit.number, max(unit.number - 4, -1), -1):
        other = page.units[number]
        sayings = [saying for saying in find_sayings(other.text) if _list_tokens(saying.speaker) or saying.is_self]
        named = [saying for saying in sayings if not saying.is_pronoun]
        if named:
            return named, around and other.text + around
        if not (sayings or _SPEECH_GOES_ON.match(other.text.strip())):
            return [], ""
        if number and page.units[number - 1].line < other.line - 1:
            return [], ""
        around = other.text + around
    return [], ""


_OPENED = re.compile(r"[“\"][^“”\"]*")
_CLOSED = re.compile(r"[^“\"”]*[\"”]")
_SPEECH_GOES_ON = re.compile(r"[“\"「他她]|(?:He|She|They)\b")


def states_a_claim(statement: str) -> bool:
    """Whether a statement itself says that somebody says, expects or wants it, or that it may be."""
    return bool(_HEDGE.search(statement))


def _compare_claims(found: Comparison) -> None:
    """Look whether what the statement gives as a fact is a claim of somebody on the page."""
    for bearer in found.bearers:
        unit, segment = bearer.unit, bearer.segment
        share = found.page.compute_share(segment.words & unit.words, segment.words)
        for saying in find_sayings(unit.text):
            if saying.is_claim and share > 0.4 and saying.verb != "提出":
                found.raise_sign(
                    "claim self" if saying.is_self else "claim named", share, unit.text[saying.place : saying.end]
                )
