"""Reads what a document does to others: what it repeals, replaces, amends, rests on, explains and carries out."""

import re
from collections.abc import Iterator, Sequence

from monitor.document import Relation
from monitor.policies.document_text import DocumentText, Sentence
from monitor.policies.named import NamedDocument
from monitor.policies.numbers import CHINESE_NUMBER, normalize_number
from monitor.vocabulary import PolicyStage, RelationType


_MAX_RELATIONS = 60
_QUOTE_MAX = 160
_BEHIND_TITLE = re.compile(r"\s?\((?P<inside>[^()]{2,60}(?:\([^()]{1,20}\)[^()]{0,30})?)\)")
_AFFAIRS = r"(?:等\d*[件项个部份]*|及其|以及|和|及|、|，|或|与|中|有关|相关|现行|以下|下列|\s|原|的)*"
_REPEAL_BEHIND = re.compile(
    r"(?:等\d*[件项个部份]*)?(?:文件|规定|通知|办法|公告|规章|细则|规范性文件|政策|条款)?(?:也|均|即|自[^，。；]{1,24}起|自动|相应|一并|[，,])*(?:同时|同步|一并"
    r"|即行|予以|即|相应|全部)*(?:予以|即)?(?:废止|失效|停止执行|停止使用|不再执行|不再施行|作废)"
)
_REPEAL_AHEAD = re.compile(r"(?:废止|废除|宣布失效|决定废止|停止执行|撤销)(?:下列|以下|了)?[^《。；，]{0,20}$")
_REPLACE_AHEAD = re.compile(
    r"(?:代替|替代|取代|全部代替|部分代替)(?:标准号?|文件)?(?:为|:|了|原|\s)*[^《。；，]{0,12}$"
)
_REPLACE_BEHIND = re.compile(r"[^。；《]{0,10}(?:被(?:本|该)[^。；《]{0,16}(?:代替|取代|替代))")
_AMEND_AHEAD = re.compile(r"(?:修改|修订|修正|对|将|调整|完善)(?:了|后的)?[^《。；]{0,6}$")
_AMEND_BEHIND = re.compile(
    r"(?:\([^()]{1,60}\))?[^《。；]{0,30}?(?:(?:作|做)(?:出|了)?(?:如下|以下|部分)?(?:修改|修正|修订|调整)|予以修改|进行(?:了)?(?:修改|修订|修正)"
    r"|修改为|(?:部分|个别|有关)?(?:条款|内容|条文)的?修改|第[^《。；，]{1,12}(?:修改|改)为|中的?[“\"])"
)
_BASE_AHEAD = re.compile(r"(?:根据|依据|按照|依照|遵照|基于|援引|行使)(?:了)?[^。；]{0,160}$")
_BASE_BREAK = re.compile(r"(?:制定|规定[，,]|要求[，,]|制订|现(?:将|就)|结合|决定|作出|给予)")
_INTERPRET_TITLE = re.compile(
    r"解读|图解|一图|读懂|答记者问|问答|常见问题|[一二三四五六七八九十百\d]+问|说明|释疑|底线|要点|问题解答"
)
_IMPLEMENT_AHEAD = re.compile(r"(?:贯彻|落实|执行|实施|转发|做好|细化|承接)(?:执行|落实|好|实施)?[^。；]{0,100}$")
_IMPLEMENT_TITLE = re.compile(
    r"(?:《[^《》]+》)的?(?:实施细则|实施意见|实施方案|实施办法|若干措施)|(?:贯彻|落实|执行|实施|转发)"
)
_ARTICLE = re.compile(r"^第[一二三四五六七八九十百〇零\d]{1,5}条")
_NUMBERED = re.compile(r"^(?:[一二三四五六七八九十]{1,3}[、.．]|\([一二三四五六七八九十\d]{1,3}\)|\d{1,3}[、.．)])")
_OWN_NAME = re.compile(r"以下简称|下称|以下统称")
_LIST_HEAD = re.compile(
    r"(?:废止|失效|停止执行|修改)[^。]{0,60}(?:如下|目录|:|清单|文件)|(?:废止|失效)的?[^。]{0,30}(?:目录|清单)|^附件[^。]{0,30}废止|宣布失效"
)
_GENERIC = re.compile(
    r"(?:新|本|该|原|旧)?(?:管理|暂行|实施)?(?:办法|通知|规定|条例|意见|方案|细则|指引|决定|标准|公告|规则|规划|法|指南|目录|规范|措施|计划|清单|令|函)"
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
            if depth == 0 and place - start <= _QUOTE_MAX:
                yield start, place + 1
        elif depth and (char in "。\n" or place - start > _QUOTE_MAX):
            depth = 0


def find_named(document: DocumentText, start: int, end: int) -> list[NamedDocument]:
    """Return the documents that a span of the folded text names."""
    return (
        _find_chinese_named(document, start, end) if document.is_chinese else _find_english_named(document, start, end)
    )


def _find_chinese_named(document: DocumentText, start: int, end: int) -> list[NamedDocument]:
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
            written = normalize_number(original[offset + number.start() : offset + number.end()], is_chinese=True)
            stop = behind.end()
        taken.append((first, stop))
        found.append(NamedDocument(original[first + 1 : last - 1].strip(), written, start + first, start + stop))
    for number in CHINESE_NUMBER.finditer(text):
        if all(not first <= number.start() < last for first, last in taken) and (
            not re.fullmatch(r"第\S+号", number[0]) or "/" in number[0]
        ):
            written = normalize_number(original[number.start() : number.end()], is_chinese=True)
            found.append(NamedDocument(None, written, start + number.start(), start + number.end()))
    return sorted(found, key=lambda named: named.start)


def read_relations(
    document: DocumentText, sentences: Sequence[Sentence], *, stage: PolicyStage | None, number: str | None
) -> list[Relation]:
    """Return what a document does to those that it names, each once, the strongest relation first found."""
    if stage is None:
        return []
    from monitor.policies import english_relations

    read = (
        _iter_chinese(document, sentences, stage)
        if document.is_chinese
        else english_relations.iter_relations(document, sentences, stage, number)
    )
    own = {_fold(number)} if number else set()
    kept: dict[tuple[RelationType, str], Relation] = {}
    for relation in read:
        key = _fold(relation.number or "") or _fold(relation.title or "")
        if not key or key in own or (relation.type, key) in kept or len(kept) >= _MAX_RELATIONS:
            continue
        kept[relation.type, key] = relation
    return _merge(list(kept.values()))


def _fold(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _merge(relations: Sequence[Relation]) -> list[Relation]:
    """Return the relations without those that say the same of the same document with less."""
    merged: list[Relation] = []
    for relation in relations:
        same = next((known for known in merged if _is_same(known, relation)), None)
        if same is None:
            merged.append(relation)
            continue
        at = merged.index(same)
        better = _STRENGTH.index(relation.type) < _STRENGTH.index(same.type)
        winner, other = (relation, same) if better else (same, relation)
        merged[at] = winner.model_copy(
            update={"number": winner.number or other.number, "title": winner.title or other.title}
        )
    return merged


_STRENGTH = (
    RelationType.REPLACES,
    RelationType.REPEALS,
    RelationType.AMENDS,
    RelationType.INTERPRETS,
    RelationType.IMPLEMENTS,
    RelationType.BASED_ON,
)


def _is_same(one: Relation, other: Relation) -> bool:
    if one.number and other.number:
        return _fold(one.number) == _fold(other.number)
    if one.title and other.title:
        return _fold(one.title) == _fold(other.title)
    return False


def _iter_chinese(document: DocumentText, sentences: Sequence[Sentence], stage: PolicyStage) -> Iterator[Relation]:
    titles = {
        _fold(_DRAFT_NAME.sub("", document.title[first + 1 : last - 1])) for first, last in list_titles(document.title)
    }
    yield from _iter_by_title(document, stage)
    yield from _iter_table(document)
    is_opening = True
    is_list = False
    for sentence in sentences:
        line = document.lines[sentence.line].text
        if (_ARTICLE.match(line) and not line.startswith(("第一条", "第1条"))) or (
            _NUMBERED.match(line) and stage is not PolicyStage.ENFORCEMENT
        ):
            is_opening = False
        if (
            _LIST_HEAD.search(line)
            and len(line) < 200
            and stage in (PolicyStage.REPEAL, PolicyStage.AMENDMENT, PolicyStage.FINAL)
        ):
            is_list = True
        named = find_named(document, sentence.start, sentence.end)
        if stage is PolicyStage.REPEAL and is_list and not named and _NUMBERED.match(sentence.text):
            bare = _NUMBERED.sub("", sentence.text).strip(" 。；")
            if 5 < len(bare) < 120 and re.search(
                r"(?:通知|办法|规定|意见|公告|细则|规则|函|方案|制度|标准|条例|指南|决定)\)?$", bare
            ):
                yield Relation(
                    type=RelationType.REPEALS, title=bare, passage=document.quote(sentence.start, sentence.end)
                )
        for target in named:
            kind = _classify_chinese(sentence, target, named, stage, is_opening=is_opening, is_list=is_list)
            if kind is None or (target.title and _GENERIC.fullmatch(target.title)):
                continue
            if target.title and _is_own(document, target, titles, kind, stage):
                continue
            yield Relation(
                type=kind,
                number=target.number,
                title=_clean(target.title),
                passage=document.quote(sentence.start, sentence.end),
            )


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


_MAX_ROW_CHARS = 200
_REPLACED_LABEL = re.compile(r"(?:代替|替代)(?:的)?(?:标准|文件)?(?:编号|号)?\s?[:]?")
_STANDARD_NUMBER = re.compile(
    r"(?<![A-Za-z])[A-Z]{2,4}(?:/[A-Z]{1,6})?\s?\d{1,6}(?:\.\d{1,3})?\s?[—–-]\s?(?:19|20)\d\d"
)


def _clean(title: str | None) -> str | None:
    return _DRAFT_NAME.sub("", title).strip() if title else None


def _is_own(
    document: DocumentText, target: NamedDocument, titles: set[str], kind: RelationType, stage: PolicyStage
) -> bool:
    """Whether a title is the document's own: of what it issues or puts out for comment."""
    from monitor.policies.document_text import fold

    name = _fold(_DRAFT_NAME.sub("", fold(target.title or "")))
    if stage in (
        PolicyStage.FINAL,
        PolicyStage.CONSULTATION,
        PolicyStage.DRAFT,
        PolicyStage.PILOT,
        PolicyStage.IMPLEMENTATION,
    ):
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
    for named in _find_chinese_named(document, 0, min(len(document.folded), 20_000)):
        if named.title and named.number:
            yield _fold(_clean(named.title) or ""), named.number


def _classify_chinese(
    sentence: Sentence,
    target: NamedDocument,
    named: Sequence[NamedDocument],
    stage: PolicyStage,
    *,
    is_opening: bool,
    is_list: bool,
) -> RelationType | None:
    """Return what a sentence says that is done to a document, by the words ahead of its name and behind it."""
    text = sentence.text
    first, last = target.start - sentence.start, target.end - sentence.start
    ahead, behind = text[max(0, first - 200) : first], text[last : last + 400]
    ahead = ahead[max(ahead.rfind(mark) for mark in "。；") + 1 :]
    flat = _flatten(behind)
    if _REPEAL_BEHIND.match(flat) or _REPEAL_AHEAD.search(_flatten(ahead, keep_end=True)):
        if not re.search(r"(?:不|未|尚未)(?:予)?废止", text):
            return RelationType.REPEALS
    if _REPLACE_AHEAD.search(_flatten(ahead, keep_end=True)) or _REPLACE_BEHIND.match(behind):
        return RelationType.REPLACES
    if stage is PolicyStage.REPEAL and is_list and _NUMBERED.match(text):
        return RelationType.REPEALS
    if stage is PolicyStage.REPEAL and _AMEND_BEHIND.match(behind):
        return RelationType.AMENDS
    if stage is PolicyStage.AMENDMENT and (_AMEND_BEHIND.match(behind) or _AMEND_AHEAD.search(ahead[-12:])):
        return RelationType.AMENDS
    if stage in (PolicyStage.INTERPRETATION, PolicyStage.QA):
        if (
            is_opening
            and re.search(r"(?:印发|发布|出台|公布|颁布|制定|修订|就|现将|关于|对|解读)[^《。]{0,30}$", ahead)
            and not re.search("根据|依据|按照|依照", ahead)
        ):
            return RelationType.INTERPRETS
        return None
    if _IMPLEMENT_AHEAD.search(ahead) and re.search(r"(?:为|深入|认真|全面|切实)?(?:贯彻|落实)", ahead) and is_opening:
        return RelationType.IMPLEMENTS if stage is PolicyStage.IMPLEMENTATION else RelationType.BASED_ON
    if (
        stage is PolicyStage.IMPLEMENTATION
        and is_opening
        and re.match(r"(?:\([^()]{1,60}\))?(?:将|已)?(?:于|自)", behind)
    ):
        return RelationType.IMPLEMENTS
    if (
        stage is PolicyStage.FINAL
        and re.search(r"征求意见|咨询文件|咨询", target.title or "")
        and re.search("考虑|回应|吸收|结合|就|参考", ahead[-20:])
    ):
        return RelationType.BASED_ON
    base = _BASE_AHEAD.search(ahead)
    if base and (is_opening or stage is PolicyStage.ENFORCEMENT) and not _BASE_BREAK.search(_drop_titles(base[0])):
        return (
            RelationType.IMPLEMENTS if stage is PolicyStage.IMPLEMENTATION and target.number else RelationType.BASED_ON
        )
    return None


def _flatten(text: str, *, keep_end: bool = False) -> str:
    """Return a text without the further titles and numbers of the same list, so that what follows them is at hand."""
    del keep_end
    without = re.sub(r"《[^《》]{1,160}(?:《[^《》]{1,80}》[^《》]{0,80})?》", "", text)
    without = re.sub(r"\([^()]{0,80}\)", "", without)
    return re.sub(r"^(?:[、，和及与以\s]|以及)+", "", re.sub(r"(?:[、和及与\s]|以及)+$", "", without))


def _drop_titles(text: str) -> str:
    return re.sub(r"《[^《》]{1,160}》", "", text)


def _find_english_named(document: DocumentText, start: int, end: int) -> list[NamedDocument]:
    from monitor.policies.english_relations import find_english_named

    return find_english_named(document, start, end)
