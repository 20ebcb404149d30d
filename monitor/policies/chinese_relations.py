"""The rules by which Chinese documents name others and say what they do to them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.document import Relation
from monitor.policies.document_text import DocumentText, Sentence, fold
from monitor.policies.numbers import CHINESE_NUMBER, NamedDocument, normalize_number
from monitor.vocabulary import PolicyStage, RelationType

_MAX_ROW_CHARS = 200
_REPLACED_LABEL = re.compile(r"(?:代替|替代)(?:的)?(?:标准|文件)?(?:编号|号)?\s?[:]?")
_STANDARD_NUMBER = re.compile(
    r"(?<![A-Za-z])[A-Z]{2,4}\d{0,6}(?:/[A-Z]{1,6})?\s?\d{1,6}(?:\.\d{1,3})?\s?[—–-]\s?(?:19|20)\d\d"
)
_MAX_QUOTE_CHARS = 160
_BEHIND_TITLE = re.compile(r"\s?\((?P<inside>[^()]{2,60}(?:\([^()]{1,20}\)[^()]{0,30})?)\)")
_REPEAL_BEHIND = re.compile(
    r"(?:第[一二三四五六七八九十百〇零\d]{1,5}[条款项]){0,3}(?:等\d*[件项个部份]*)?(?:文件|规定|通知|办法|公告|规章|细则|规范性文件|政策|条款)?(?:也|均|即|自[^，。；]{1,24}起|自动|相应|一并|[，,])*(?:同时|同步|一并"
    r"|即行|予以|即|相应|全部)*(?:予以|即)?(?:废止|失效|停止执行|停止使用|终止执行|不再执行|不再施行|不再适用(?!于)|不再沿用|不再有效|作废)"
)
_REPEAL_AHEAD = re.compile(r"(?:废止|废除|宣布失效|决定废止|停止执行|撤销)(?:下列|以下|了)?[^《。；，]{0,20}$")
_REPLACE_AHEAD = re.compile(
    r"(?:代替|替代|取代|全部代替|部分代替)(?:标准号?|文件)?(?:为|:|了|原|\s)*[^《。；，]{0,30}$"
)
_REPLACE_BEHIND = re.compile(r"[^。；《]{0,10}(?:被(?:本|该)[^。；《]{0,16}(?:代替|取代|替代))")
_AMEND_AHEAD = re.compile(r"(?:修改|修订|修正|对|将|调整|完善)(?:了|后的)?[^《。；]{0,6}$")
_AMEND_BEHIND = re.compile(
    r"(?:\([^()]{1,60}\))?[^《。；]{0,30}?(?:(?:作|做)(?:出|了)?(?:如下|以下|部分)?(?:修改|修正|修订|调整)|予以修改|进行(?:了)?(?:修改|修订|修正)"
    r"|修改为|(?:部分|个别|有关)?(?:条款|内容|条文)的?修改|第[^《。；，]{1,12}(?:修改|改)为|中的?[“\"])"
)
_BASE_AHEAD = re.compile(r"(?:根据|依据|按照|依照|遵照|基于|援引|行使)(?:了)?[^。；]{0,160}$")
_BASE_BREAK = re.compile(r"(?:制定|规定[，,]|要求[，,]|制订|现(?:将|就)|结合|决定|作出|给予)")
_IMPLEMENT_AHEAD = re.compile(r"(?:贯彻|落实)[^。；]{0,100}$")
_IMPLEMENT_TITLE = re.compile(
    r"(?:《[^《》]+》)的?(?:实施细则|实施意见|实施方案|实施办法|若干措施)|(?:贯彻|落实|执行|实施|转发)"
)
_ARTICLE = re.compile(r"^第[一二三四五六七八九十百〇零\d]{1,5}条")
_NUMBERED = re.compile(r"^(?:[一二三四五六七八九十]{1,3}[、.．]|\([一二三四五六七八九十\d]{1,3}\)|\d{1,3}[、.．)])")
_AIM = re.compile(r"^\S{1,4}\s?(?:编制|制定|起草)?(?:目的|依据|背景|概述|引言|总则)(?:和依据|及依据)?$")
_LIST_HEAD = re.compile(
    r"(?:废止|失效|停止执行|修改)[^。]{0,60}(?:如下|目录|:|清单|文件)|(?:废止|失效)的?[^。]{0,30}(?:目录|清单)|^附件[^。]{0,30}废止|宣布失效"
)
_GENERIC = re.compile(
    r"(?:新|本|该|原|旧)?(?:管理|暂行|实施)?(?:办法|通知|规定|条例|意见|方案|细则|指引|决定|标准|公告|规则|规划|法|指南|目录|规范|措施|计划|清单|令|函)"
)
_TITLE = re.compile(r"《[^《》]{1,160}(?:《[^《》]{1,80}》[^《》]{0,80})?》")
_BRACKETS = re.compile(r"\([^()]{0,80}\)")
_LINKS_AHEAD, _LINKS_BEHIND = re.compile(r"^(?:[、，和及与以\s]|以及){1,8}"), re.compile(r"(?:[、和及与\s]|以及){1,8}$")
_NOT_REPEALED = re.compile(r"(?:不|未|尚未)(?:予)?废止")
_ISSUED_AHEAD = re.compile(r"(?:印发|发布|出台|公布|颁布|制定|修订|就|现将|关于|对|解读)[^《。]{0,30}$")
_ISSUED_BEHIND = re.compile(
    r"(?:等)?(?:\([^()]{1,40}\))?(?:印发|发布|出台|公布|施行|实施|正式|已|将|自|的(?:出台|发布|解读|有关|相关))"
)
_READ_BEHIND = re.compile(
    r"(?:\([^()]{1,60}\))?(?:第[一二三四五六七八九十百〇零\d]{1,5}[条款项]){1,3}[^，。；]{0,12}(?:所称|所指|规定的|中的?[“\"]|是指)|规定的?[“\"]|[^。；《]{0,30}提供(?:指导|指引|说明|可接受)"
)
_STARTS_BEHIND = re.compile(r"(?:\([^()]{1,60}\))?(?:将|已)?(?:于|自)")
_CONSIDERED = re.compile("考虑|回应|吸收|结合|就|参考")
_LISTED_FORM = re.compile(r"(?:通知|办法|规定|意见|公告|细则|规则|函|方案|制度|标准|条例|指南|决定)\)?$")
_MIN_TITLE_CHARS, _MAX_TITLE_CHARS = 5, 120
_LISTING = (PolicyStage.REPEAL, PolicyStage.AMENDMENT, PolicyStage.FINAL)
_ISSUING = (
    PolicyStage.FINAL,
    PolicyStage.CONSULTATION,
    PolicyStage.DRAFT,
    PolicyStage.PILOT,
    PolicyStage.IMPLEMENTATION,
)
_DRAFT_NAME = re.compile(
    r"\((?:征求意见稿|草案|送审稿|修订征求意见稿|公开征求意见稿|修订草案|草案征求意见稿|试行|暂行|修订草案征求意见稿|修订稿)[^()]{0,10}\)"
)


def list_titles(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the titles in a Chinese text, 《…》 with its marks; one within another belongs to it."""
    start, depth = -1, 0
    for place, char in enumerate(text):
        if char == "《":
            if depth == 0:
                start = place
            depth += 1
        elif char == "》" and depth:
            depth -= 1
            if depth == 0 and place - start <= _MAX_QUOTE_CHARS:
                yield start, place + 1
        elif depth and (char in "。\n" or place - start > _MAX_QUOTE_CHARS):
            depth = 0


def find_chinese_named(document: DocumentText, start: int, end: int) -> list[NamedDocument]:
    """Return the documents that a span of the folded text names by title 《…》 or by number."""
    text, original = document.folded[start:end], document.original[start:end]
    found: list[NamedDocument] = []
    taken: list[tuple[int, int]] = []
    for first, last in list_titles(text):
        behind = _BEHIND_TITLE.match(text, last)
        number = CHINESE_NUMBER.search(behind["inside"]) if behind else None
        written = None
        stop = last
        if number and behind:
            offset = behind.start("inside")
            written = normalize_number(original[offset + number.start() : offset + number.end()])
            stop = behind.end()
        taken.append((first, stop))
        found.append(NamedDocument(original[first + 1 : last - 1].strip(), written, start + first, start + stop))
    for number in CHINESE_NUMBER.finditer(text):
        if all(not first <= number.start() < last for first, last in taken) and (
            not re.fullmatch(r"第\S+号", number[0]) or "/" in number[0]
        ):
            written = normalize_number(original[number.start() : number.end()])
            found.append(NamedDocument(None, written, start + number.start(), start + number.end()))
    return sorted(found, key=lambda named: named.start)


def _fold(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _clean(title: str | None) -> str | None:
    return _DRAFT_NAME.sub("", title).strip() if title else None


@dataclass(slots=True)
class _Progress:
    """Where in a document its sentences are read: at its opening, in a list of what is repealed."""

    is_opening: bool = True
    is_list: bool = False

    def advance(self, line: str, stage: PolicyStage) -> None:
        is_later_article = _ARTICLE.match(line) and not line.startswith(("第一条", "第1条"))
        if is_later_article or (
            _NUMBERED.match(line) and not _AIM.search(line) and stage is not PolicyStage.ENFORCEMENT
        ):
            self.is_opening = False
        if stage in _LISTING and len(line) < _MAX_ROW_CHARS and _LIST_HEAD.search(line):
            self.is_list = True


def iter_relations(
    document: DocumentText, sentences: Sequence[Sentence], stage: PolicyStage, own: str | None
) -> Iterator[Relation]:
    """Yield what the title, the tables and the sentences of a document say that it does to others."""
    del own  # its own number is dropped by whoever asks
    titles = {
        _fold(_DRAFT_NAME.sub("", document.title[first + 1 : last - 1])) for first, last in list_titles(document.title)
    }
    yield from _iter_by_title(document, stage)
    yield from _iter_table(document)
    progress = _Progress()
    for sentence in sentences:
        progress.advance(document.lines[sentence.line].text, stage)
        passage = document.quote(sentence.start, sentence.end)
        named = find_chinese_named(document, sentence.start, sentence.end)
        if not named and progress.is_list and (title := _read_listed(sentence, stage)):
            yield Relation(type=RelationType.REPEALS, title=title, passage=passage)
        for target in named:
            kind = None if _is_generic(target) else _classify(_Place.cut(sentence, target), target, stage, progress)
            if kind is not None and not (target.title and _is_own(document, target, titles, kind, stage)):
                yield Relation(type=kind, number=target.number, title=_clean(target.title), passage=passage)


def _is_generic(target: NamedDocument) -> bool:
    """Whether a title is what a text calls a document for short: 《办法》."""
    return bool(target.title and not target.number and _GENERIC.fullmatch(target.title))


def _read_listed(sentence: Sentence, stage: PolicyStage) -> str | None:
    """Return the title of a repealed document in a list that leaves out the marks 《》."""
    if stage is not PolicyStage.REPEAL or not _NUMBERED.match(sentence.text):
        return None
    bare = _NUMBERED.sub("", sentence.text).strip(" 。；")
    return bare if _MIN_TITLE_CHARS < len(bare) < _MAX_TITLE_CHARS and _LISTED_FORM.search(bare) else None


def _iter_table(document: DocumentText) -> Iterator[Relation]:
    """Yield the standards that a list of new ones replaces: the last number of a row under 代替标准, or behind 代替."""
    is_table = False
    for line in document.lines:
        text = line.text
        if len(text) > _MAX_ROW_CHARS:
            continue
        labelled = _REPLACED_LABEL.search(text)
        numbers = list(_STANDARD_NUMBER.finditer(text))
        if labelled and not numbers:
            is_table = True
        replaced = [found for found in numbers if labelled and found.start() >= labelled.end()]
        if is_table and not labelled and len(numbers) > 1:
            replaced = numbers[1:]
        for found in replaced:
            number = document.original[line.start + found.start() : line.start + found.end()]
            yield Relation(type=RelationType.REPLACES, number=number, passage=document.quote(line.start, line.end))


def _is_own(
    document: DocumentText, target: NamedDocument, titles: set[str], kind: RelationType, stage: PolicyStage
) -> bool:
    """Whether a title is the document's own: of what it issues or puts out for comment."""
    name = _fold(_DRAFT_NAME.sub("", fold(target.title or "")))
    if stage in _ISSUING:
        own = {_fold(_DRAFT_NAME.sub("", document.title)), *titles}
        if kind in (RelationType.REPEALS, RelationType.REPLACES) and stage is PolicyStage.FINAL and name in titles:
            return not target.number
        return name in own and not (
            kind is RelationType.IMPLEMENTS
            and bool(_IMPLEMENT_TITLE.search(document.title))
            and "印发" not in document.title
        )
    return False


def _iter_by_title(document: DocumentText, stage: PolicyStage) -> Iterator[Relation]:
    """Yield what the title itself says: 《…》解读 explains it, 关于修改《…》的决定 amends it."""
    kind = {
        PolicyStage.QA: RelationType.INTERPRETS,
        PolicyStage.INTERPRETATION: RelationType.INTERPRETS,
        PolicyStage.AMENDMENT: RelationType.AMENDS,
        PolicyStage.REPEAL: RelationType.REPEALS,
    }.get(stage)
    title = document.title
    for first, last in list_titles(title):
        name = _clean(document.original_title[first + 1 : last - 1])
        ahead = title[:first]
        if kind is RelationType.AMENDS and re.search(r"印发|发布", ahead):
            continue
        of_title = kind
        if (stage is PolicyStage.IMPLEMENTATION and re.search(r"(?:贯彻|落实|执行|实施|转发)[^《]{0,20}$", ahead)) or (
            stage is PolicyStage.IMPLEMENTATION and re.match(r"》?的?(?:实施|若干措施)", title[last - 1 :])
        ):
            of_title = RelationType.IMPLEMENTS
        if of_title is not None and name:
            number = next((n for t, n in _pair_numbers(document) if t == _fold(name)), None)
            yield Relation(type=of_title, number=number, title=name, passage=document.original_title)


def _pair_numbers(document: DocumentText) -> Iterator[tuple[str, str]]:
    for named in find_chinese_named(document, 0, min(len(document.folded), 20_000)):
        if named.title and named.number:
            yield _fold(_clean(named.title) or ""), named.number


@dataclass(frozen=True, slots=True)
class _Place:
    """The words of a sentence ahead of a name and behind it, also without the other names of the same list."""

    text: str
    ahead: str
    behind: str

    @classmethod
    def cut(cls, sentence: Sentence, target: NamedDocument) -> "_Place":
        first, last = target.start - sentence.start, target.end - sentence.start
        ahead = sentence.text[max(0, first - 200) : first]
        ahead = ahead[max(ahead.rfind(mark) for mark in "。；") + 1 :]
        return cls(sentence.text, ahead, sentence.text[last : last + 400])

    @property
    def flat_ahead(self) -> str:
        return _flatten(self.ahead)

    @property
    def flat_behind(self) -> str:
        return _flatten(self.behind)


def _classify(place: _Place, target: NamedDocument, stage: PolicyStage, progress: _Progress) -> RelationType | None:
    """Return what a sentence says that is done to a document, by the words ahead of its name and behind it."""
    if (change := _classify_change(place, stage, progress)) is not None:
        return change
    if stage in (PolicyStage.INTERPRETATION, PolicyStage.QA):
        return RelationType.INTERPRETS if progress.is_opening and _is_explained(place) else None
    return _classify_ground(place, target, stage, progress)


def _classify_change(place: _Place, stage: PolicyStage, progress: _Progress) -> RelationType | None:
    """Return whether a document ends, replaces or changes another one."""
    is_ended = _REPEAL_BEHIND.match(place.flat_behind) or _REPEAL_AHEAD.search(place.flat_ahead)
    if is_ended and not _NOT_REPEALED.search(place.text):
        return RelationType.REPEALS
    if _REPLACE_AHEAD.search(place.flat_ahead) or _REPLACE_BEHIND.match(place.behind):
        return RelationType.REPLACES
    if stage is PolicyStage.REPEAL and progress.is_list and _NUMBERED.match(place.text):
        return RelationType.AMENDS if _AMEND_BEHIND.match(place.behind) else RelationType.REPEALS
    if stage not in (PolicyStage.AMENDMENT, PolicyStage.REPEAL):
        return None
    is_reworded = stage is PolicyStage.AMENDMENT and _AMEND_AHEAD.search(place.ahead[-12:])
    return RelationType.AMENDS if is_reworded or _AMEND_BEHIND.match(place.behind) else None


def _is_explained(place: _Place) -> bool:
    """Whether the opening of an explanation says that this document was issued, or is what it speaks of."""
    if re.search("根据|依据|按照|依照", place.ahead[-40:]):
        return False
    return bool(
        _ISSUED_AHEAD.search(place.ahead) or _ISSUED_BEHIND.match(place.behind) or _READ_BEHIND.match(place.behind)
    )


def _classify_ground(
    place: _Place, target: NamedDocument, stage: PolicyStage, progress: _Progress
) -> RelationType | None:
    """Return whether a document carries out another one, or rests on it."""
    is_carried_out = stage is PolicyStage.IMPLEMENTATION
    if progress.is_opening and _IMPLEMENT_AHEAD.search(place.ahead):
        return RelationType.IMPLEMENTS if is_carried_out else RelationType.BASED_ON
    if is_carried_out and progress.is_opening and _STARTS_BEHIND.match(place.behind):
        return RelationType.IMPLEMENTS
    is_consulted = re.search(r"征求意见|咨询", fold(target.title or "")) and _CONSIDERED.search(place.ahead[-20:])
    if stage is PolicyStage.FINAL and is_consulted:
        return RelationType.BASED_ON
    base = _BASE_AHEAD.search(place.ahead)
    is_ground = base and (progress.is_opening or stage is PolicyStage.ENFORCEMENT)
    if not base or not is_ground or _BASE_BREAK.search(_TITLE.sub("", base[0])):
        return None
    return (
        RelationType.IMPLEMENTS
        if is_carried_out and target.number and place.text.count("《") == 1
        else RelationType.BASED_ON
    )


def _flatten(text: str) -> str:
    """Return a text without the further titles and numbers of the same list, so that what follows them is at hand."""
    without = _BRACKETS.sub("", _TITLE.sub("", text))
    return _LINKS_AHEAD.sub("", _LINKS_BEHIND.sub("", without))
