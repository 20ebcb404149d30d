"""The rules by which Chinese documents name others and say what they do to them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from monitor.document import Relation
from monitor.policies.chinese_names import ChineseNames, flatten, group_named, is_document, list_titles
from monitor.policies.chinese_numbers import CHINESE_NUMBER
from monitor.policies.document_text import DocumentText, Sentence, fold
from monitor.policies.numbers import NamedDocument
from monitor.vocabulary import PolicyStage, RelationType

__all__ = ["iter_relations", "list_titles"]

_MAX_ROW_CHARS = 200
_REPLACED_LABEL = re.compile(r"(?:代替|替代)(?:的)?(?:标准|文件)?(?:编号|号)?\s?[:]?")
_STANDARD_NUMBER = re.compile(
    r"(?<![A-Za-z])[A-Z]{2,4}\d{0,6}(?:/[A-Z]{1,6})?\s?\d{1,6}(?:\.\d{1,3})?\s?[—–-]\s?(?:19|20)\d\d"
)
_ENDED = (
    r"(?:废止|废除|失效|停止(?:执行|使用|适用|实施|施行)|终止(?:执行|实施|适用|施行)?|不再(?:执行|施行"
    r"|实施|适用(?!于)|沿用|有效|使用|生效)"
    r"|作废|予以(?:撤销|撤回|取消)|现?(?:予|已)(?:撤销|撤回|废除)|被(?:废止|撤销|取消))"
)
_FILLED = (
    r"(?:也|均|即|届时|自动|相应|一并|同时|同步|即行|予以|全部|现予?|已|已经|于|自[^，。；]{1,24}起|自即日"
    r"|自[^，。；]{1,12}日(?=停止|废止|失效)|之日起?|[，,])*"
)
_LISTED = (
    r"(?:等\s?[\d一二三四五六七八九十]{0,3}\s?[件项个部份]*)?(?:中|内)?(?:的?有?[关相]?的?(?:规定|条款|内容|要求))?"
    r"(?:行政规范性文件|规范性文件|文件|通知|办法|公告|通告|规章|细则|政策|函|批示|通函|法律|行政法规|令)?"
)
_REPEAL_BEHIND = re.compile(rf"{_LISTED}{_FILLED}{_ENDED}")
_REPEAL_AHEAD = re.compile(
    r"(?:废止|废除|宣布失效|停止(?:执行|适用|使用|实施)|撤销|撤回|终止执行)(?:下列|以下|了)?[^，。；]{0,20}$"
)
_REPLACE_AHEAD = re.compile(r"(?:代替|替代|取代|替换)(?:标准号?|文件)?(?:为|了|原|:|\s)*[^。；，]{0,40}$")
_REPLACE_BEHIND = re.compile(
    rf"{_LISTED}[^。；《]{{0,10}}(?:被|由|以)(?:本|该|上述)[^。；《]{{0,16}}(?:代替|取代|替代)"
)
_AMENDED = (
    r"(?:(?:作|做)(?:出|了)?(?:如下|以下|部分|相应)?的?(?:修改|修正|修订|调整|补充)|予以(?:修改|修正|修订|调整|补充)"
    r"|进行(?:了)?(?:修改|修订|修正|调整|补充)|(?:修改|修正|修订|调整|改)为|有?效?期?(?:延长|延续)(?:至|到"
    r"|[一二三四五六七八九十\d])"
    r"|(?:增加|新增|增补)(?:一|两|第|以下|如下|[二三四五六七八九十])|删[去除]|(?:部分|个别|有关)?(?:条款"
    r"|内容|条文)的?修改|的?行文修改"
    r"|(?:暂停|暂缓|中止|推迟|延期|恢复)(?:执行|实施|施行|适用|生效))"
)
_AMEND_BEHIND = re.compile(
    rf"{_LISTED}[^《。；，]{{0,40}}?{_AMENDED}|(?:中|内)的?[“\"]|[^《。；]{{0,60}}有效期(?:延长|延续|顺延|延至|展期)"
)
_AMEND_AHEAD = re.compile(
    r"(?:修改|修订|修正|增订|更正|延长|暂停(?:执行|实施|施行|适用)?|暂缓|中止|推迟|恢复执行)(?:了"
    r"|后的)?[^，《。；]{0,16}$"
)
_AMEND_TARGET = re.compile(r"(?:将|对|把)[^，《。；]{0,40}$")
_SUSPENDED_AHEAD = re.compile(r"(?:暂停|暂缓|推迟|延期|中止|恢复)(?:执行|实施|施行|适用)[^，《。；]{0,16}$")
_SUBJECT_AHEAD = re.compile(r"(?:^|主旨\s?:|[一二三四五六七八九十]、)\s?(?:修正|修改|修订)[^，。；《]{0,6}$")
_DRAFTED_AHEAD = re.compile(r"(?:修改|修订|修正)了?[^，。；《]{0,6}$")
_STARTS_BEHIND = re.compile(
    r"(?:[^，。；]{0,24}，)?(?:将|已)?(?:于|自)[^，。；]{0,24}(?:实施|施行|执行|印发|发布|生效)"
)
_CARRIED_BEHIND = re.compile(r"(?:文件)?(?:精神|要求|部署)?(?:落地|落实|贯彻落实|有效实施)")
_CONSULTED = re.compile(r"(?:考虑|回应|吸收|参考)[^。；，]{0,20}$")
_BASE_VERB = re.compile(
    r"根据|依据|按照|依照|遵照|基于|援引|行使|以(?=[^，。；]{0,30}为依据)|(?:^|[，。；\s])(?:按|依|据)(?=$"
    r"|《|[^，。；法]{0,12}$)"
    r"|[办法则定例准](?:按|依|据)$"
)
_CARRY_VERB = re.compile(r"贯彻|落实|(?:^|[为：:，])(?:更好)?(?:执行|实施)|转发")
_TO_DO = re.compile(r"请[^。]{0,30}(?:贯彻|落实|执行)")
_BASE_BREAK = re.compile(
    r"制定|规定[，,]|要求[，,]|制订|订立|订定|发布|印发|现[将就]|结合|决定|作出|给予|起草|[，,](?!.{0,8}(?:及|和|以及|、)$)"
)
_REMEDY = re.compile("不服|复议|诉讼|逾期(?:不|未)|加处罚款")
_GROUND_LABEL = re.compile(
    r"^(?:[一二三四五六七八九十\d]{1,3}[、.．]|\([一二三四五六七八九十\d]{1,3}\))?\s?[\u4e00-\u9fff]{0,6}依据\s?:"
)
_ARTICLE = re.compile(r"^第[一二三四五六七八九十百〇零\d]{1,5}条")
_NUMBERED = re.compile(r"^(?:[一二三四五六七八九十]{1,3}[、.．]|\([一二三四五六七八九十\d]{1,3}\)|\d{1,3}[、.．)])")
_ROW = re.compile(r"^(?:\d{1,3}\s|《|[一二三四五六七八九十]{1,3}、|\([一二三四五六七八九十\d]{1,3}\)|\d{1,3}[、.．)])")
_AIM = re.compile(r"^\S{1,4}\s?(?:编制|制定|起草)?(?:目的|依据|背景|概述|引言|总则)(?:和依据|及依据)?[。.]?$")
_LIST_HEAD = re.compile(
    r"(?:废止|失效|停止执行|修改)[^。]{0,60}(?:如下|目录|:|清单|文件|规章|法规|下列)|(?:废止"
    r"|失效)的?[^。]{0,30}(?:目录|清单)"
    r"|^附件[^。]{0,30}废止|宣布失效|(?:下列|以下)[^。]{0,40}(?:废止|失效|停止执行|修改)"
)
_LIST_KEPT = re.compile(r"继续有效|继续执行|予以保留|保留的")
_GENERIC = re.compile(
    r"(?:新|本|该|原|旧|暂行)?(?:管理|暂行|实施)?(?:办法|通知|规定|条例|意见|方案|细则|指引|决定|标准|公告"
    r"|规则|规划|法|指南|目录|规范|措施|计划|清单|令|函|解释|指导意见|批复)"
)
_NOT_REPEALED = re.compile(r"(?:不|未|尚未)(?:予)?废止|废止(?:前|之前)")
_OLDER = re.compile(
    r"(?:原|旧|此前|(?:19|20)\d\d年[^，。；]{0,40}(?:公布|发布|印发|颁布|下发|实施|施行|制定|出台"
    r"|通过)的?)[^，。；]{0,30}$"
)
_ISSUED_AHEAD = re.compile(
    r"(?:印发|发布|出台|公布|颁布|制定|修订|就|现将|关于|对|解读|了解|理解|执行|主题:)[^《。]{0,30}$"
)
_ISSUED_BEHIND = re.compile(
    r"(?:等)?(?:\([^()]{1,60}\))?(?:印发|发布|出台|公布|施行|实施|正式|已|将|自|的(?:出台|发布|解读|有关"
    r"|相关|适用|主要))"
)
_READ_BEHIND = re.compile(
    r"(?:\([^()]{1,60}\))?(?:第?[一二三四五六七八九十百〇零\dA-Z.()]{1,9}[条款项段章节]){1,3}"
    r"|规定的?[“\"]|[^。；《]{0,30}提供(?:指导|指引|说明|可接受)"
)
_EXPLAINS = re.compile(r"(?:的?(?:政策)?(?:解读|解讀|释义|釋義|问答|問答|说明|常见问题|常見問題))+$")
_CONSTRUED_AHEAD = re.compile(r"核释[^，。；]{0,4}$")
_ASKED = re.compile(r"(?:问|Q|一问)\s?[\d一二三四五六七八九十]{0,3}\s?[:：.、]")
_SELF = re.compile(r"本(?:咨询)?(?:通告|公告|通知|通函|函|批复|指引|手册|备考|解释|答复)")
_LISTED_FORM = re.compile(r"(?:通知|办法|规定|意见|公告|细则|规则|函|方案|制度|标准|条例|指南|决定)\)?$")
_MIN_TITLE_CHARS, _MAX_TITLE_CHARS = 5, 120
_READ_SENTENCES, _MIN_MENTIONS, _MAX_HEAD_CHARS = 40, 2, 24
_ROW_NAMES = 2
_LISTING = (PolicyStage.REPEAL, PolicyStage.AMENDMENT, PolicyStage.FINAL, PolicyStage.IMPLEMENTATION)
_READING = (PolicyStage.INTERPRETATION, PolicyStage.QA)
_DRAFTING = (PolicyStage.CONSULTATION, PolicyStage.DRAFT)
_ISSUING = (PolicyStage.FINAL, *_DRAFTING, PolicyStage.PILOT, PolicyStage.IMPLEMENTATION)
_CHANGES = (RelationType.REPEALS, RelationType.REPLACES, RelationType.AMENDS)
_DRAFT_NAME = re.compile(
    r"\((?:[^()]{0,8}征求意见稿|草案|送审稿|修订草案|草案征求意见稿|试行|暂行|修订稿|修订草案征求意见稿)[^()]{0,10}\)"
)
_TITLE_REPEALS = re.compile(r"(?:废止|废除|停止(?:执行|适用|实施)|宣布失效|失效|撤销|撤回)[^《]{0,20}$")
_TITLE_AMENDS = re.compile(
    r"(?:(?<![经新])(?:修改|修订|修正|增订)|调整|延长|暂停(?:执行|实施|施行)?|暂缓|推迟|中止|更正|恢复执行|(?:继续|延续)(?:执行|实施|施行)?)"
    r"(?!后?的)[^《]{0,16}$"
)
_TITLE_AMENDED = re.compile(r"》?[^《]{0,16}(?:修改单|补充(?:通知|公告|规定|意见)|更正|勘误|条款的?修改)")
_AMENDING_NAME = re.compile(r"\(修[订正]\)|修正案")
_TITLE_CARRIES = re.compile(r"(?:贯彻|落实|执行|实施|转发)[^《]{0,20}$")
_TITLE_ISSUES = re.compile(r"印发|发布|公布|出台|颁布|制定|批准|征求|订定")
_TITLE_REVISED = re.compile(r"(?:经|新)(?:修改|修订|修正)后?的?[^《]{0,8}$")
_TITLE_OF_TIME = re.compile(r"》?[^《]{0,12}(?:征求意见|咨询|反馈|申报|报名|申请)[^《]{0,8}(?:时间|期限|截止|时限|期)")
_TITLE_COMMENCES = re.compile(r"》?\s?(?:的)?\(?(?:指定)?(?:生效|实施|施行|开始实施)")
_TITLE_LOCAL = re.compile(r"》?的?(?:办法|规定|细则|条例|若干)")
_TITLE_CARRIED = re.compile(r"》?的?(?:实施|若干措施)")
_TITLE_SPREAD = re.compile(r"》?[^《]{0,12}(?:贯彻|落实|宣贯)")
_INNER = re.compile(
    r"(?P<verb>修改|修订|修正|废止|实施|贯彻|执行|印发)[^〈《<]{0,8}[〈《<](?P<name>[^〈〉《》<>]{4,80})[〉》>]"
)
_INNER_TYPES = {"修": RelationType.AMENDS, "废": RelationType.REPEALS, "印": None}


def _fold(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _fold_title(name: str) -> str:
    return _fold(_DRAFT_NAME.sub("", fold(name)))


def _clean(title: str | None) -> str | None:
    return _DRAFT_NAME.sub("", title).strip() if title else None


@dataclass(slots=True)
class _Progress:
    """Where in a document its sentences are read: at its opening, in a list of what is repealed or changed."""

    is_opening: bool = True
    listed: RelationType | None = None
    line: int = -1

    def advance(self, document: DocumentText, sentence: Sentence, stage: PolicyStage) -> None:
        if _ARTICLE.match(sentence.text) and not sentence.text.startswith(("第一条", "第1条")):
            self.is_opening = False
        if sentence.line == self.line:
            return
        self.line, line = sentence.line, document.lines[sentence.line].text
        is_numbered = _NUMBERED.match(line) and not _AIM.search(line) and stage is not PolicyStage.ENFORCEMENT
        if is_numbered:
            self.is_opening = False
        if stage not in _LISTING or len(line) >= _MAX_ROW_CHARS:
            return
        if self.listed and stage is PolicyStage.FINAL and not _ROW.match(line):
            self.listed = None
        if _LIST_KEPT.search(line) and "《" not in line:
            self.listed = None
        elif _LIST_HEAD.search(line) and not re.match("《", _NUMBERED.sub("", line)):
            is_repeal = re.search("废止|失效|停止执行", line)
            if is_repeal or stage is not PolicyStage.FINAL or line.endswith(":"):
                self.listed = RelationType.REPEALS if is_repeal else RelationType.AMENDS


def iter_relations(
    document: DocumentText, sentences: Sequence[Sentence], stage: PolicyStage, own: str | None
) -> Iterator[Relation]:
    """Yield what the title, the tables and the sentences of a document say that it does to others."""
    reader = _Reader(document, stage, ChineseNames.read(document), _fold(own or ""))
    if stage in _READING:
        yield from reader.iter_explained(sentences)
    else:
        yield from reader.iter_by_title()
        yield from _iter_table(document)
    yield from reader.iter_said(sentences)


@dataclass(slots=True)
class _Reader:
    document: DocumentText
    stage: PolicyStage
    names: ChineseNames
    own_number: str
    own: set[str] = field(init=False)
    """The names of what it issues or puts out for comment: in its title, the title itself."""

    def __post_init__(self) -> None:
        title = self.document.title
        self.own = {
            _fold_title(title[first + 1 : last - 1])
            for first, last in list_titles(title)
            if (self.stage in _ISSUING and not _TITLE_COMMENCES.match(title, last))
            or (self.stage is PolicyStage.AMENDMENT and _TITLE_ISSUES.search(title[:first]))
        }
        if self.stage in _ISSUING:
            self.own.add(_fold_title(title))

    def iter_said(self, sentences: Sequence[Sentence]) -> Iterator[Relation]:
        """Yield what each sentence says that is done to the documents that it names."""
        progress = _Progress()
        for sentence in sentences:
            progress.advance(self.document, sentence, self.stage)
            if self.stage in _READING and not _SELF.search(sentence.text):
                continue
            named = self.names.find(sentence.start, sentence.end)
            if progress.listed and len(named) == _ROW_NAMES:
                named = _join_row(*named)
            passage = self.document.quote(sentence.start, sentence.end)
            if not named and progress.listed and (title := _read_listed(sentence, self.stage)):
                yield Relation(type=progress.listed, title=title, passage=passage)
            for group in group_named(sentence.text, sentence.start, named):
                place = _Place.cut(sentence, group)
                kind = self._classify(place, progress)
                for target in group if kind else ():
                    if not self._is_out(target, place, kind):
                        yield Relation(type=kind, number=target.number, title=_clean(target.title), passage=passage)

    def _classify(self, place: "_Place", progress: _Progress) -> RelationType | None:
        """Return what a sentence says that is done to a list of documents, by the words ahead of it and behind it."""
        ground = place.find_ground()
        if self.stage is not PolicyStage.PLAN and (
            change := self._classify_change(place, progress, is_grounded=ground is not None)
        ):
            return change
        if self.stage in _READING:
            return None
        if ground is None:
            return self._classify_start(place, progress)
        if self.stage is PolicyStage.ENFORCEMENT:
            return None if ground is RelationType.IMPLEMENTS or _REMEDY.search(place.text) else ground
        return ground if progress.is_opening or _GROUND_LABEL.match(place.text) else None

    def _classify_start(self, place: "_Place", progress: _Progress) -> RelationType | None:
        """Return what is said of a document that only begins to hold, or that asked the questions now answered."""
        is_carried = _CARRIED_BEHIND.match(place.behind) or (
            self.stage is PolicyStage.IMPLEMENTATION and _STARTS_BEHIND.match(place.behind)
        )
        if progress.is_opening and is_carried and self.stage is not PolicyStage.ENFORCEMENT:
            return RelationType.IMPLEMENTS
        if _CONSTRUED_AHEAD.search(place.ahead):
            return RelationType.INTERPRETS
        is_answered = self.stage is PolicyStage.FINAL and _CONSULTED.search(place.ahead)
        return RelationType.BASED_ON if is_answered and re.search("征求意见|咨询", place.named) else None

    def _classify_change(self, place: "_Place", progress: _Progress, *, is_grounded: bool) -> RelationType | None:
        """Return whether a document ends, replaces or changes others."""
        if not _NOT_REPEALED.search(place.text) and (
            _REPEAL_AHEAD.search(place.ahead) or (not is_grounded and _REPEAL_BEHIND.match(place.behind))
        ):
            return RelationType.REPEALS
        if _REPLACE_AHEAD.search(place.ahead) or _REPLACE_BEHIND.match(place.behind):
            return RelationType.REPLACES
        if self.stage is PolicyStage.ENFORCEMENT or (is_grounded and not progress.listed):
            return None
        is_changed = bool(_AMEND_BEHIND.match(place.behind))
        if progress.listed and _ROW.match(place.text) and place.is_first:
            return RelationType.AMENDS if is_changed else progress.listed
        is_aimed = _AMEND_TARGET.search(place.ahead) or (
            is_changed and not place.ahead.strip(" 、一二三四五六七八九十.()")
        )
        is_amendment = self.stage is PolicyStage.AMENDMENT
        is_amended = (
            (is_changed and (is_aimed or is_amendment))
            or (is_amendment and (_AMEND_AHEAD.search(place.ahead) or "补充" in self.document.title))
            or _SUSPENDED_AHEAD.search(place.ahead)
            or _SUBJECT_AHEAD.search(place.ahead)
            or (progress.is_opening and place.ahead.endswith("调整") and CHINESE_NUMBER.search(place.named))
            or (self.stage in _DRAFTING and _DRAFTED_AHEAD.search(place.ahead))
        )
        return RelationType.AMENDS if is_amended else None

    def _is_out(self, target: NamedDocument, place: "_Place", kind: RelationType | None) -> bool:
        """Whether a name is only a short one, a code of which nothing is said to end, or the document's own."""
        if target.title is None:
            is_code = not CHINESE_NUMBER.search(fold(target.number or ""))
            return is_code and kind not in (RelationType.REPEALS, RelationType.REPLACES)
        if not target.number and _GENERIC.fullmatch(fold(target.title)):
            return True
        name = _fold_title(target.title)
        if name not in self.own:
            return False
        is_other = bool(target.number) and _fold(target.number or "") != self.own_number
        if kind in (RelationType.REPEALS, RelationType.REPLACES):
            return not is_other and not _OLDER.search(place.ahead) and "试行" not in target.title
        if kind is RelationType.AMENDS:
            return not (is_other or (self.stage in _DRAFTING and re.search("修订|修正|修改", self.document.title)))
        return not (
            kind is RelationType.IMPLEMENTS
            and name != _fold_title(self.document.title)
            and bool(_TITLE_CARRIES.search(self.document.title.split("《")[0]))
            and not _TITLE_ISSUES.search(self.document.title)
        )

    def iter_by_title(self) -> Iterator[Relation]:
        """Yield what the title itself says: 关于修改《…》的决定 amends it, 关于落实《…》的通知 carries it out."""
        title, written = self.document.title, self.document.original_title
        numbers = dict(self._pair_numbers())
        for first, last in list_titles(title):
            kind = self._classify_title(title[:first], title[last - 1 :])
            whole = written[first + 1 : last - 1]
            for within, of_name in [(whole, kind), *_iter_inner(whole)]:
                name = _clean(within) or ""
                if of_name is RelationType.AMENDS and _AMENDING_NAME.search(fold(name)):
                    continue
                if of_name is not None and is_document(fold(name)) and not _GENERIC.fullmatch(fold(name)):
                    yield Relation(type=of_name, number=numbers.get(_fold(name)), title=name, passage=written)

    def _classify_title(self, ahead: str, behind: str) -> RelationType | None:
        fixed = {PolicyStage.REPEAL: RelationType.REPEALS, PolicyStage.AMENDMENT: RelationType.AMENDS}.get(self.stage)
        if self.stage in (PolicyStage.ENFORCEMENT, PolicyStage.PLAN) or _TITLE_OF_TIME.match(behind):
            return None
        if _TITLE_REVISED.search(ahead) or _TITLE_COMMENCES.match(behind):
            return None
        if _TITLE_AMENDED.match(behind):
            return RelationType.AMENDS
        if _TITLE_ISSUES.search(ahead) and not _TITLE_REPEALS.search(ahead[-6:]):
            return None
        if _TITLE_REPEALS.search(ahead):
            return RelationType.REPEALS
        if _TITLE_AMENDS.search(ahead):
            return RelationType.AMENDS
        is_carried = _TITLE_CARRIES.search(ahead) and (self.stage not in _DRAFTING or _TITLE_LOCAL.match(behind))
        is_local = self.stage is PolicyStage.IMPLEMENTATION and _TITLE_CARRIED.match(behind)
        if is_carried or is_local or (self.stage not in _DRAFTING and _TITLE_SPREAD.match(behind)):
            return RelationType.IMPLEMENTS
        return fixed

    def _pair_numbers(self) -> Iterator[tuple[str, str]]:
        for named in self.names.find(0, min(len(self.document.folded), 20_000)):
            if named.title and named.number:
                yield _fold(_clean(named.title) or ""), named.number

    def iter_explained(self, sentences: Sequence[Sentence]) -> Iterator[Relation]:
        """Yield the documents that an explanation is of: in its title, else what its opening says was issued."""
        title, written = self.document.title, self.document.original_title
        numbers, is_found = dict(self._pair_numbers()), False
        for first, last in list_titles(title):
            name = _EXPLAINS.sub("", _clean(written[first + 1 : last - 1]) or "")
            number = numbers.get(_fold(name))
            if name in self.names.aliases:
                name, number = self.names.aliases[name]
            if is_document(fold(name)) and not _GENERIC.fullmatch(fold(name)):
                is_found = True
                yield Relation(type=RelationType.INTERPRETS, number=number, title=name, passage=written)
        if not is_found and (best := self._find_explained(sentences)):
            yield best

    def _find_explained(self, sentences: Sequence[Sentence]) -> Relation | None:
        """Return the document of which the opening says that it was issued, or that it names again and again."""
        title, mentions = _fold(self.document.title), dict[str, int]()
        found: dict[str, tuple[int, Relation]] = {}
        for sentence in sentences[:_READ_SENTENCES]:
            for target in self.names.find(sentence.start, sentence.end):
                if target.title and not target.number and _GENERIC.fullmatch(fold(target.title)):
                    continue
                place = _Place.cut(sentence, [target])
                key = _fold(target.title or target.number or "")
                mentions[key] = mentions.get(key, 0) + 1
                if place.find_ground():
                    continue
                is_issued = _ISSUED_AHEAD.search(place.ahead) or _ISSUED_BEHIND.match(place.behind)
                is_read = _READ_BEHIND.match(sentence.text, target.end - sentence.start) or _ASKED.match(sentence.text)
                rank = 0 if target.title and _fold(fold(target.title)) in title else 1 if is_issued or is_read else 2
                relation = Relation(
                    type=RelationType.INTERPRETS,
                    number=target.number,
                    title=_clean(target.title),
                    passage=self.document.quote(sentence.start, sentence.end),
                )
                if key not in found or rank < found[key][0]:
                    found[key] = (rank, relation)
        sure = [pair for key, pair in found.items() if pair[0] < 2 or mentions[key] >= _MIN_MENTIONS]
        return min(sure, key=lambda pair: pair[0])[1] if sure else None


def _join_row(first: NamedDocument, second: NamedDocument) -> list[NamedDocument]:
    """Return the title and the number of a row as one document."""
    if first.number or second.title:
        return [first, second]
    return [NamedDocument(first.title, second.number, first.start, second.end)]


def _iter_inner(title: str) -> Iterator[tuple[str, RelationType | None]]:
    """Yield the names within a title: 关于修改〈…〉的决定, 某省实施〈…〉办法."""
    for inner in _INNER.finditer(fold(title)):
        yield (
            title[inner.start("name") : inner.end("name")],
            _INNER_TYPES.get(inner["verb"][0], RelationType.IMPLEMENTS),
        )


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


@dataclass(frozen=True, slots=True)
class _Place:
    """The words of a sentence ahead of a list of names and behind it, without other names, numbers and articles."""

    text: str
    named: str
    ahead: str
    behind: str
    is_first: bool

    @classmethod
    def cut(cls, sentence: Sentence, group: Sequence[NamedDocument]) -> "_Place":
        first, last = group[0].start - sentence.start, group[-1].end - sentence.start
        ahead = sentence.text[max(0, first - 200) : first]
        ahead = ahead[max(ahead.rfind(mark) for mark in "。；") + 1 :]
        behind = sentence.text[last : last + 300].split("；")[0]
        head = _NUMBERED.sub("", sentence.text[:first]).strip(" 将对把原")
        is_first = len(head) < _MAX_HEAD_CHARS and "《" not in head
        return cls(sentence.text, sentence.text[first:last], flatten(ahead), flatten(behind).lstrip(" "), is_first)

    def find_ground(self) -> RelationType | None:
        """Return whether a document rests on the list or carries it out: by the nearest verb ahead of it."""
        bases, carries = list(_BASE_VERB.finditer(self.ahead)), list(_CARRY_VERB.finditer(self.ahead))
        base, carry = bases[-1] if bases else None, carries[-1] if carries else None
        if carry and (base is None or carry.start() > base.start()):
            between = self.ahead[carry.end() :]
            return (
                None if re.search(r"[，,]|情况|工作", between) or _TO_DO.search(self.ahead) else RelationType.IMPLEMENTS
            )
        return None if base is None or _BASE_BREAK.search(self.ahead, base.end()) else RelationType.BASED_ON
