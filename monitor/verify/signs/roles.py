"""Who does what to whom in a clause: its actors and their roles, by position and by the marks around them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from monitor.i18n.traditional import simplify
from monitor.verify.chinese_names import SURNAME
from monitor.verify.gazetteer import fold_characters, get_known_names, has_chinese
from monitor.verify.lexicon import stem
from monitor.verify.names import NameKind, find_names

_ROLE_ZH = (
    r"主管部门|监管部门|监管机构|有关部门|相关部门|部门|派出机构|合作机构|市场机构|机构|机关|电网企业|企业|公司|银行|平台|监护人|提供者"
    r"|经营者|运营者|运营商|用户|消费者|委员会|法院|政府|协会|被?申请人|申报人|被?上诉人|原告|被告|当事人|供应商|供货商|客户|贷款人|借款人|单位|专家"
    r"|学校|医院|家长|居民|分析师|评委|母亲|父亲|奶奶|爷爷|警方|公安|业内人士|股东|董事会|监事会|投资者|投资人|受托人|发行人|保荐人|承租人|出租人"
    r"|承包人|发包人|会员|双方|检方|律师|患者|医生|医师|老师|教师|学生|家属|工会|行业组织|缔约方|成员国|组织者|主办方|承办方|调查组|调研组|起草组"
    r"|工作组|领导小组|专家组|秘书处|管理人|代理人|纳税人|扣缴义务人|雇主|雇员|劳动者|用人单位|股份|集团|仲裁庭|仲裁委|二审法院|一审法院"
    r"|国军|共军|美方|中方|日方|欧方|韩方|印方|俄方|英方|法方|德方"
)
_HEAD_ZH = re.compile(rf"(?:{_ROLE_ZH})(?!化|性|间|业|法|税|级)")
_MAX_MODIFIER_CHARS = 10
_MODIFIER_START_ZH = re.compile(
    r"[^\u4e00-\u9fff]|[的由与及向被把对将给经为在从令使须应可并是有请按让就等了至到各其某]|(?<!和)和(?!信息化|改革)|(?<!上)报(?!告)"
    r"|会同|联合(?!会)|责令|要求|通过|应当|建议|认为|表示|委托|授权|组织(?!部)|指导(?!委)|督促|其中|目前|根据|按照|对于|关于|邀请|批准|以及|负责|报送|改判|赔偿"
    r"|收购|中标|担任|任命|批评|监控|支持|协调|协助|配合|通知|处罚|约谈|警告|提请|提交|移交|兑付|支付|代表(?!大会|团)|确认|认定|裁定|判令|判决|获得|出动|打分|匹配"
    r"|近日|日前|今[年天日]|[年月日]"
)
_PERSON_ZH = re.compile(
    rf"(?:(?<![\u4e00-\u9fff])|(?<=[由经据对向被与员长记授师任席理]))({SURNAME}[\u4e00-\u9fff]{{1,2}})"
    r"(?:研究员|教授|院士|先生|女士|主任|秘书长|同志)"
)
_LOCAL_BODY_ZH = re.compile(
    r"(?<![\u4e00-\u9fff])?[省市县区州](?:级)?[\u4e00-\u9fff]{1,6}?(?:局|委|厅|院|办)(?![部面限势托员])"
)
_NOUN_EN = (
    r"banks?|compan(?:y|ies)|firms?|regulators?|courts?|tribunals?|governments?|ministr(?:y|ies)|boards?"
    r"|providers?|consumers?|customers?"
    r"|employers?|employees|workers?|staff|authority|authorities|commission|commissioners?|agency|agencies"
    r"|suppliers?|buyers?|sellers?|lenders?"
    r"|borrowers?|insurers?|investors?|members?|applicants?|installers?|manufacturers?|producers?|operators?"
    r"|retailers?|commentators?|observers?"
    r"|experts?|analysts?|economists?|respondents?|critics?|officials?|lawyers?|attorneys?|judges?|jury|police"
    r"|prosecutors?|petitioners?"
    r"|plaintiffs?|defendants?|claimants?|appellants?|ministers?|secretary|director|directorate|department"
    r"|committee|council|users?|residents?"
    r"|students?|teachers?|parents?|patients?|doctors?|unions?|associations?|institutes?|institutions?"
    r"|organi[sz]ations?|groups?|industry"
    r"|scientists|researchers?|shareholders?|directors|executives?|managers?|lawmakers|parliament|president"
    r"|chair(?:man|woman)?|governor|mayor"
    r"|person|people|states|countries|vessel|navy|army|troops|households|landlords?|tenants?|trustees?"
    r"|auditors?|spokes(?:man|woman|person)"
)
_CHUNK_EN = re.compile(rf"\b(?:[A-Za-z][a-z-]+(?<!ed)(?<!ly)\s)?(?:{_NOUN_EN})\b", re.IGNORECASE)
_NO_MODIFIER_TEXT = """
the a an its their his her our this that these those by to for with against of on from in at under into and or
said says says told asked has have had is are was were be been will would may must can should could not no
some many most all any each every other between among than as if when where which who while but after before
about over per its two three four five also then so
"""
_NO_MODIFIER = frozenset(_NO_MODIFIER_TEXT.split())
_BEFORE_ZH = (
    ("agent", re.compile(r"(?:(?<!自)由|被|经|据|授权由)$")),
    (
        "target",
        re.compile(r"(?:对|向|给|给予|报|报送|报备|报告|送|至|抄送|交|提交|递交|移交|交还|退还|为|替|针对|面向)$"),
    ),
    ("with", re.compile(r"(?:与|和|同|跟|及|、|以及|会同|联合|协同|协调|商)$")),
    (
        "object",
        re.compile(
            r"(?:责令|要求|督促|指导|批准|邀请|任命|处罚|约谈|警告|收购|授权|委托|通知|组织|支持|鼓励|允许|起诉|赔偿|把|将|令)$"
        ),
    ),
    ("place", re.compile(r"(?:在|于|从|自|到|来自|位于|赴|根据|依据|按照|依照|除|因|就|关于|以)$")),
)
_PASSIVE_ZH = re.compile(r"[^，。；]{0,6}?(?<!由)(?:被(?!告|上诉|申请|诉|调查|检查)|遭)")
_JOINING_ZH = re.compile(r"(?:和|与|及|、|以及|会同|联合|并|或)?(?:各|其|有关|相关)?")
_BEFORE_EN = re.compile(
    r"\b(?P<word>by|to|for|with|against|of|on|from|in|at|under|into|between|among|through|via|over|about"
    r"|towards?|near|and|or|than)\s+"
    r"(?:(?:the|a|an|its|their|his|her|our|this|that|these|those|both|other|some|all|any|each|former|new|two"
    r"|three)\s+){0,2}$",
    re.IGNORECASE,
)
_PREPOSITION_ROLE = {
    **dict.fromkeys(("by",), "agent"),
    **dict.fromkeys(("to", "for", "against", "into", "towards", "toward"), "target"),
    **dict.fromkeys(("with",), "with"),
    **dict.fromkeys(("and", "or"), "and"),
}
_PASSIVE_EN = re.compile(
    r"\b(?:is|are|was|were|be|been|being)\s+(?:\w+ly\s+|also\s+|not\s+)?\w+(?:ed|en|wn|ght|ld|de|pt|nt|id|un)\b"
)
_CLAUSE_END = re.compile(
    r"[，,；;：:。！？!?“”\"「」]|\.(?=\s|$)|(?<=认为)|(?<=表示)|(?<=指出)|(?<=主张)|(?<=预计)"
    r"|\b(?:that|which|who|whose|while|whereas|although|but|because|after|before|when|if|where|said|says|told)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ClauseActor:
    """One who acts or is acted upon: generic is a common noun."""

    text: str
    role: str
    start: int
    end: int
    is_generic: bool


@dataclass(frozen=True, slots=True)
class ActorClause:
    """A clause with its place in the text, and its agents: its own or, where it has none, the clause before's."""

    text: str
    start: int
    actors: tuple[ClauseActor, ...]
    agents: tuple[ClauseActor, ...]

    @property
    def end(self) -> int:
        return self.start + len(self.text)


_MAX_UNIT_CHARS = 3000


@lru_cache(maxsize=4096)
def parse_clauses(text: str) -> tuple[ActorClause, ...]:
    """Return the clauses of a sentence; of an endless one, as of a table without line ends, those of its beginning."""
    text = simplify(text[:_MAX_UNIT_CHARS])
    chunks = sorted(_find_chunks(text))
    clauses: list[ActorClause] = []
    agents: tuple[ClauseActor, ...] = ()
    for start, end in _iter_spans(text):
        inside = _merge_neighbours(text, [chunk for chunk in chunks if start <= chunk[0] and chunk[1] <= end])
        actors = tuple(_assign_roles(text, start, end, inside))
        if _has_pronoun(text, start, actors):
            actors = tuple(actor if actor.role != "agent" else replace(actor, role="object") for actor in actors)
            agents = ()
        agents = tuple(actor for actor in actors if actor.role == "agent") or agents
        clauses.append(ActorClause(text[start:end], start, actors, agents))
    return tuple(clauses)


_PRONOUN = re.compile(
    r"\b(?:he|she|it|they|we|i|you|who|which)\b|我[们会局部委国院行司校市省]?|本[局会部委院行公所刊报]|他们?|她们?|它们?|该[\u4e00-\u9fff]"
    r"|其(?![他中余它])|两人|双方|二者|后者|前者",
    re.IGNORECASE,
)


def _has_pronoun(text: str, start: int, actors: Sequence[ClauseActor]) -> bool:
    """Whether a clause has a pronoun for subject, whoever that stands for."""
    agents = [actor for actor in actors if actor.role == "agent"]
    end = agents[0].start if agents else start + 12
    if agents and text.endswith("由", start, end):
        return False
    return bool(_PRONOUN.search(text, start, end))


def _merge_neighbours(text: str, chunks: Sequence[tuple[int, int, bool]]) -> list[tuple[int, int, bool]]:
    """Join mentions that stand side by side, as an office and the name of who holds it."""
    merged: list[tuple[int, int, bool]] = []
    for start, end, is_generic in chunks:
        if merged and _BESIDE.fullmatch(text[merged[-1][1] : start]):
            merged[-1] = (merged[-1][0], end, merged[-1][2] and is_generic)
        else:
            merged.append((start, end, is_generic))
    return merged


_BESIDE = re.compile(
    r"[\u4e00-\u9fff]{0,14}(?:主任|主席|会长|书记|[局部厅司院校行市省县区事]长|总裁|经理|发言人|负责人|委员)|\s?|(?:['’]s)?\s(?:[a-z]+\s){0,1}|\s(?:of|on|for)\s(?:the\s)?"
)


def _iter_spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _CLAUSE_END.finditer(text):
        if text[start : match.start()].strip():
            yield start, match.start()
        start = match.end()
    if text[start:].strip():
        yield start, len(text)


_TITLE_OF_WORK = re.compile(r"《[^》]*》?")


def _find_chunks(text: str) -> list[tuple[int, int, bool]]:
    """Return the spans of actors: names, and common nouns of those who act."""
    titles = [match.span() for match in _TITLE_OF_WORK.finditer(text)]
    taken = [
        (name.start, name.end, False)
        for name in find_names(text)
        if (not any(start <= name.start < end for start, end in titles) and name.kind is not NameKind.PRODUCT)
        or not has_chinese(text)
    ]
    taken += [
        (*match.span(), False)
        for match in _PERSON_ZH.finditer(text)
        if not any(span[0] < match.end() and match.start() < span[1] for span in taken)
    ]
    if not has_chinese(text):
        taken += _find_capitalised(text, taken)
        found = [(match.start(), match.end()) for match in _CHUNK_EN.finditer(text)]
    else:
        found = [(_find_modifier(text, match.start()), match.end()) for match in _HEAD_ZH.finditer(text)]
        found += [(match.start(), match.end()) for match in _LOCAL_BODY_ZH.finditer(text)]
    for first, end in found:
        start = first if has_chinese(text) else _drop_modifier(text, first, end)
        overlapping = [span for span in taken if span[0] < end and start < span[1]]
        if not overlapping:
            taken.append((start, end, True))
        elif has_chinese(text) and all(span[2] is False and start <= span[0] and span[1] < end for span in overlapping):
            taken = [span for span in taken if span not in overlapping] + [(overlapping[0][0], end, True)]
    return taken


def _find_modifier(text: str, head: int) -> int:
    """Return where the words begin that stand before a Chinese noun and belong to it."""
    first = max(head - _MAX_MODIFIER_CHARS, 0)
    return max((first + match.end() for match in _MODIFIER_START_ZH.finditer(text[first:head])), default=first)


_CAPITALISED = re.compile(r"\b[A-Z][\w&’'-]*[a-zA-Z0-9](?:\s(?:of\s|and\s|for\s)?[A-Z][\w&-]*)*")
_NO_NAME = re.compile(
    r"(?:\w+\d\w*|\d.*|[A-Z][A-Z]?\d.*|Under|Nov|Dec|Oct|Sept?|Aug|Jan|Feb|Mar|Apr|Not|Only|Some|Other|Both|All"
    r"|Each|Many|Most|More|At|After|Before|While|During|There|Here|Last|First|Second|Third"
    r"|The|A|An|In|On|At|It|He|She|They|We|You|I|This|That|These|Those|For|From|But|And|Or|If|When|As|By|To|Of"
    r"|Its|Their|Our|His|Her|Two|Three"
    r"|January|February|March|April|May|June|July|August|September|October|November|December|Monday|Tuesday"
    r"|Wednesday|Thursday|Friday|Saturday|Sunday"
    r"|Article|Section|Annex|Regulation|Directive|Act|Resolution|Order|Code|Law|Table|Figure|Chapter|Appendix"
    r"|Technical|Q[1-4])$"
)


def _find_capitalised(text: str, taken: list[tuple[int, int, bool]]) -> list[tuple[int, int, bool]]:
    """Return capitalised words in the middle of a sentence that are no name known by its form, such as a company's."""
    found = []
    for match in _CAPITALISED.finditer(text):
        words = match[0].split()
        start = match.start()
        while words and _NO_NAME.match(words[0]):
            start += len(words.pop(0)) + 1
        is_first = not text[:start].strip(' “"')
        if not words or start >= match.end() or (is_first and len(words) == 1 and not _is_known_word(words[0])):
            continue
        if not any(span[0] < match.end() and start < span[1] for span in taken):
            found.append((start, match.end(), False))
    return found


def _is_known_word(word: str) -> bool:
    return not word.islower() and (word.isupper() or len(word) > 4) and not word.endswith(("ing", "ly", "ed", "s"))


def _drop_modifier(text: str, start: int, end: int) -> int:
    first, space, _ = text[start:end].partition(" ")
    return start + len(first) + 1 if space and first.lower() in _NO_MODIFIER else start


def _assign_roles(text: str, start: int, end: int, chunks: Sequence[tuple[int, int, bool]]) -> Iterator[ClauseActor]:
    is_chinese = has_chinese(text[start:end])
    actors: list[ClauseActor] = []
    for first, last, is_generic in chunks:
        role = (
            _read_role_zh(text, start, first, last, actors)
            if is_chinese
            else _read_role_en(text, start, first, last, actors)
        )
        actors.append(ClauseActor(text[first:last], role, first, last, is_generic))
    marked = any(_is_marked_agent(text, start, actor, is_chinese) for actor in actors)
    for actor in actors:
        is_turned = (
            marked
            and actor.role == "agent"
            and not _is_marked_agent(text, start, actor, is_chinese)
            and not _follows(actors, actor, text)
        )
        yield ClauseActor(actor.text, "object", actor.start, actor.end, actor.is_generic) if is_turned else actor


def _follows(actors: Sequence[ClauseActor], actor: ClauseActor, text: str) -> bool:
    """Whether an actor is joined to the one before it, as in 由A会同B."""
    place = actors.index(actor)
    return place > 0 and _is_joined(text, actors[place - 1].end, actor.start)


def _is_joined(text: str, last: int, first: int) -> bool:
    between = text[last:first].strip().lower()
    return between in ("", "and", "or", "and the", "&") or bool(_JOINING_ZH.fullmatch(between))


def _is_marked_agent(text: str, start: int, actor: ClauseActor, is_chinese: bool) -> bool:
    before = text[max(start, actor.start - 30) : actor.start]
    if is_chinese:
        return bool(re.search(r"(?:(?<!自)由|被|经)$", before)) and actor.role == "agent"
    match = _BEFORE_EN.search(before)
    return match is not None and match["word"].lower() == "by"


def _read_role_zh(text: str, start: int, first: int, last: int, before: Sequence[ClauseActor]) -> str:
    if before and _is_joined(text, before[-1].end, first) and before[-1].role != "whose":
        return before[-1].role
    if text.startswith("的", last):
        return "whose"
    if _PASSIVE_ZH.match(text, last):
        return "object"
    if re.fullmatch(r"[（(]?[一二三四五六七八九十\d]+[）)]?、", text[start:first].strip()):
        return "agent"
    lead = text[max(start, first - 6) : first]
    for role, pattern in _BEFORE_ZH:
        if pattern.search(lead):
            return role
    has_subject = any(actor.role in ("agent", "with") for actor in before)
    return "object" if has_subject or len(text[start:first].strip()) > 14 else "agent"


def _read_role_en(text: str, start: int, first: int, last: int, before: Sequence[ClauseActor]) -> str:
    if text.startswith(("'s", "’s", "s' ", "s’ "), last):
        return "whose"
    match = _BEFORE_EN.search(text[max(start, first - 40) : first])
    word = match["word"].lower() if match else ""
    if word in ("and", "or") and before:
        return before[-1].role
    if word:
        if word == "by" and not _PASSIVE_EN.search(text[start:first]) and "ed by" not in text[start:first]:
            return "place"
        return _PREPOSITION_ROLE.get(word, "whose" if word == "of" else "place")
    return "object" if any(actor.role == "agent" for actor in before) else "agent"


_GENERIC_WORDS_TEXT = """
the a an its their his her our some many several other former new all any of and for in on
"""
_GENERIC_WORDS = frozenset(_GENERIC_WORDS_TEXT.split())


_RANK_ZH = re.compile(r"^(?:国家|中国|省级?|市级?|县级?|区|各|上诉人|原告|被告)(?=.{2})")


@lru_cache(maxsize=8192)
def are_same(first: str, second: str) -> bool:
    """Whether two mentions may be of one actor: the words of one among the other's, or two forms of a known name."""
    first, second = fold_characters(first).strip(), fold_characters(second).strip()
    if first == second:
        return True
    known = {id(name) for name in get_known_names(first)}
    if known & {id(name) for name in get_known_names(second)}:
        return True
    if has_chinese(first) and has_chinese(second):
        short, long = sorted((_RANK_ZH.sub("", first), _RANK_ZH.sub("", second)), key=len)
        return _is_subsequence(short, long)
    mine, theirs = _stem_words(first), _stem_words(second)
    if mine and theirs and (mine <= theirs or theirs <= mine):
        return True
    capitals, others = ({word for word in text.split() if word[0].isupper()} for text in (first, second))
    if len(capitals & others) > 1 and 2 * len(capitals & others) >= min(len(capitals), len(others)):
        return True
    short, long = sorted((first, second), key=len)
    return (
        short.isupper()
        and " " not in short
        and _is_subsequence(short.lower(), "".join(word[0] for word in long.lower().split()))
    )


def _is_subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(char in rest for char in short)


def _stem_words(text: str) -> frozenset[str]:
    words = (word.strip("'’.,").removesuffix("'s").removesuffix("’s").lower() for word in text.split())
    return frozenset(stem(word) for word in words if word and word not in _GENERIC_WORDS)
