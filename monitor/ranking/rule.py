"""The order of importance by rule: what a document does, how far it reaches, whom it binds, what is near."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from monitor.db.tables.collection import Item
from monitor.document import DocumentFacts, StatedDeadline
from monitor.i18n.message import Message
from monitor.ranking.acts import WEIGHTS, Act
from monitor.ranking.kinds import find_clear_type
from monitor.ranking.titles import find_act, normalise_title
from monitor.ranking.topics import TopicScore
from monitor.vocabulary import DeadlineKind, ItemType, PolicyStage, RelationType

_FIT_POINTS = 25.0
_LOCAL_LOSS, _LOCAL_LOSS_OF_DATA, _BRANCH_LOSS, _HOUSE_LOSS = 14, 6, 20, 3
_ORDER_GAIN, _HIGHEST_GAIN, _TERMS_GAIN, _JOINT_GAIN = 7, 8, 3, 2
_FIRM_CAP = 31
_SUBSTANTIVE = 41
"""From so many points on a document is about rules or work to be done: its scope changes its worth."""

_MAX_ISSUER_CHARS = 200
_NEAR_DAYS, _SOON_DAYS = 14, 45
_NEAR_GAIN, _SOON_GAIN, _CLOSED_LOSS = 4, 2, 15

_PROVINCES = (
    "北京|天津|上海|重庆|河北|山西|辽宁|吉林|黑龙江|江苏|浙江|安徽|福建|江西|山东|河南|湖北|湖南|广东|海南|四川|贵州|云南|陕西"
    "|甘肃|青海|内蒙古|广西|西藏|宁夏|新疆|深圳|大连|青岛|宁波|厦门"
)
_EXCHANGE = r"(?:证券|期货|黄金|票据|保险|环境|能源|电力|石油天然气|数据|股权|碳)\w{0,6}(?:交易所|交易中心)"

LOCAL_ISSUER = re.compile(
    rf"(?:{_PROVINCES})(?!{_EXCHANGE})|^[\u4e00-\u9fff]{{2,6}}(?:省|自治区|自治州|(?<![城上超股楼车])市|县)(?!场|域|级|区|政|属)"
    r"|^[\u4e00-\u9fff]{2,4}[区县](?:人民政府|政府|\w{2,10}局)"
    r"|(?<![跨各全分])[\u4e00-\u9fff]{2,4}(?:省|自治区|自治州|(?<![城上超股楼车])市(?!场))"
    r"(?:人民政府|政府|能源|发展|生态|住房|市场|财政|工业|.{0,8}[局委厅])|\b(?:county|municipal(?:ity)?"
    r"|city (?:council|of)|borough|parish|state of [A-Z]\w+|(?:Alabama|Arizona|California|Colorado|Florida"
    r"|Georgia|Texas|New York|Ohio"
    r"|Virginia|Illinois|Washington State|Massachusetts|Ontario|Quebec|Alberta|Queensland|Victoria"
    r"|New South Wales) \w+)\b",
    re.IGNORECASE,
)

_OF_THIS_PLACE = re.compile(r"[本我全](?:市|省|自治区)(?!场|长|面)")

NATIONAL_ISSUER = re.compile(
    r"国务院(?!国资委)|中共中央|中央(?:办公厅|军委|深改)|全国人(?:大|民代表大会)|最高人民|国办|国发|主席令"
    r"|\b(?:state council"
    r"|european (?:commission|parliament|council)|council of the eu|president|prime minister|white house|parliament"
    r"|congress|cabinet|executive order|HM treasury)\b",
    re.IGNORECASE,
)
_HIGHEST = re.compile(r"国务院(?:办公厅)?(?:关于|令|批转)|中共中央|国办发|国发〔|主席令|全国人(?:大|民代表大会)")

_BRANCH = re.compile(
    rf"(?:总局|委员会|人民银行|证监会|能源局|税务局|海关)(?:{_PROVINCES}|\w{{2,4}}市?)?(?:监管局|监管分局|分局|分行|证监局|专员办|办事处)|"
    rf"(?:华东|华北|华中|南方|西北|东北|西南|{_PROVINCES})(?:监管局|证监局|监管办|海关|税务局)"
)
_ORDER = re.compile(r"令.{0,6}第.{1,5}号|国务院令|主席令|第.{1,5}号令|\bfinal rules?\b|^order no\b", re.IGNORECASE)
_HOUSE = re.compile(r"交易所|协会|中心|学会|登记公司|办公厅|综合司|有关司局")
_JOINT = re.compile(r"等.{1,3}部门|(?:委|部|局|会|行|署|办) \w{2,14}(?:委|部|局|会|行|署|办)\w{0,6}(?: |关于)")
_FIRM = re.compile(
    r"(?:股份|集团)?有限(?:责任)?公司|(?<!上市)(?<!保险)(?<!证券)(?<!基金)(?<!信托)(?<!租赁)(?<!期货)(?<!金融)公司(?:设立|变更|开业|合并|申请|收购)"
    r"|(?-i:\b(?:LLC|L\.L\.C\.|Inc|Ltd|Limited|plc|PLC|LLP|L\.P\.|LP|GmbH|S\.A\.|N\.V\.|Pte|Pty|Corp"
    r"|Corporation(?! Finance)|Co)\b)"
)
_TERMS = re.compile(
    r"电价|价格|关税|税率|税|收费|费率|配额|额度|保证金|准备金|资本|补贴|消纳责任权重|准入|许可|排放|"
    r"\b(?:tariffs?|tax|duty|duties|capital|prices?|levy|quota|fees?|limits?|redress|compensation)\b",
    re.IGNORECASE,
)
_MAY_BE_OF_FIRM = {Act.UNCLEAR, Act.EXECUTION, Act.SUPERVISION, Act.POLICY, Act.LIST, Act.STANDARD, Act.REPORT}
_ACTS_BY_STAGE = {
    PolicyStage.PLAN: Act.POLICY,
    PolicyStage.DRAFT: Act.CONSULTATION,
    PolicyStage.CONSULTATION: Act.CONSULTATION,
    PolicyStage.FINAL: Act.POLICY,
    PolicyStage.INTERPRETATION: Act.INTERPRETATION,
    PolicyStage.QA: Act.INTERPRETATION,
    PolicyStage.PILOT: Act.APPLICATION,
    PolicyStage.IMPLEMENTATION: Act.EXECUTION,
    PolicyStage.ENFORCEMENT: Act.PENALTY,
    PolicyStage.AMENDMENT: Act.RULE,
    PolicyStage.REPEAL: Act.REPEAL,
}
_OPEN_ACTS = {Act.UNCLEAR, Act.EXECUTION, Act.SUPERVISION}
"""What a title's form alone said: the text knows better."""

_ACTS_BY_TYPE = {
    ItemType.LAW: Act.EXECUTION,
    ItemType.POLICY: Act.EXECUTION,
    ItemType.PLAN: Act.EXECUTION,
    ItemType.STANDARD: Act.STANDARD,
    ItemType.INTERPRETATION: Act.INTERPRETATION,
    ItemType.DATA: Act.DATA,
    ItemType.PERSONNEL: Act.PERSONNEL,
    ItemType.MEETING: Act.MEETING,
    ItemType.NEWS: Act.CAMPAIGN,
}

_TYPES_BY_ACT = {
    Act.LAW: ItemType.LAW,
    Act.RULE: ItemType.LAW,
    Act.DRAFT_LAW: ItemType.LAW,
    Act.NATIONAL_PLAN: ItemType.POLICY,
    Act.TERMS: ItemType.POLICY,
    Act.POLICY: ItemType.POLICY,
    Act.SUPERVISION: ItemType.POLICY,
    Act.BINDING_STANDARD: ItemType.STANDARD,
    Act.STANDARD: ItemType.STANDARD,
    Act.CONSULTATION: ItemType.NOTICE,
    Act.DRAFT_STANDARD: ItemType.NOTICE,
    Act.EXTENSION: ItemType.NOTICE,
    Act.APPLICATION: ItemType.NOTICE,
    Act.EXECUTION: ItemType.NOTICE,
    Act.GUIDANCE: ItemType.INTERPRETATION,
    Act.INTERPRETATION: ItemType.INTERPRETATION,
    Act.DATA: ItemType.DATA,
    Act.REPORT: ItemType.DATA,
    Act.MEETING: ItemType.MEETING,
    Act.PERSONNEL: ItemType.PERSONNEL,
    Act.VISIT: ItemType.NEWS,
    Act.CAMPAIGN: ItemType.NEWS,
    Act.PROCUREMENT: ItemType.OTHER,
    Act.BULLETIN: ItemType.OTHER,
    Act.UNCLEAR: ItemType.OTHER,
}


class Scope(StrEnum):
    """How far a document reaches; what is none of these concerns an industry."""

    HIGHEST = "highest"
    INDUSTRY = "industry"
    LOCAL = "local"
    BRANCH = "branch"
    FIRM = "firm"


@dataclass(frozen=True)
class Importance:
    """How important a document is: 0 to 100, its tier of the seed, its type, and why, what it does first.

    `is_open`: neither its title nor its text says clearly what it does. `fit` are those points of the score that
    the fit to a topic gave; they may lift it above 100.
    """

    score: float
    tier: int
    type: ItemType
    reasons: list[Message]
    is_open: bool = False
    fit: float = 0.0

    @property
    def reason(self) -> Message:
        """What the document does and all that counted besides, as one sentence."""
        first, *others = self.reasons
        return Message.of("rank.reason", what=first, because=others) if others else Message.of("rank.only", what=first)


def score_importance(
    item: Item, facts: DocumentFacts | None = None, fit: TopicScore | None = None, today: dt.date | None = None
) -> Importance:
    """Return how important an item is to a business, from its title and, where they are there, the facts of its text.

    What the title clearly says that the document does counts first. `fit` is that to a topic; without `today` no
    deadline is near.
    """
    title = normalise_title(item.title)
    act = _read_act(item, title, facts)
    scope = _read_scope(item, title, act)
    weight = WEIGHTS[act]
    reasons = [Message(f"rank.act.{act}")]
    score = float(weight.points)
    for points, reason in (*_judge_scope(act, scope), *_judge_words(act, title, item), *_judge_facts(facts, today)):
        score += points
        if reason is not None:
            reasons.append(reason)
    if scope is Scope.FIRM:
        score = min(score, _FIRM_CAP)
    lift = 0.0
    if fit is not None and fit.is_match:
        lift = _FIT_POINTS * min(max(fit.score, 0.0), 1.0)
        reasons.append(fit.reason)
    tier = _place_in_tier(act, scope, 1 if act is Act.RULE and _ORDER.search(title) else weight.tier)
    item_type = find_clear_type(item.title) or _TYPES_BY_ACT.get(act, ItemType.ANNOUNCEMENT)
    is_open = act in _OPEN_ACTS and scope is not Scope.FIRM
    return Importance(max(score, 0.0) + lift, tier, item_type, reasons, is_open, lift)


def rank_by_rule(
    items: Sequence[Item],
    *,
    facts: Mapping[int, DocumentFacts] | None = None,
    fits: Mapping[int, TopicScore] | None = None,
    today: dt.date | None = None,
) -> list[int]:
    """Return the order without a model: by score, then the newest first, the undated last.

    `facts` and `fits` are by place in `items`.
    """
    scores = [score_importance(item, (facts or {}).get(n), (fits or {}).get(n), today) for n, item in enumerate(items)]
    return sort_by_score(items, [importance.score for importance in scores])


def sort_by_score(items: Sequence[Item], scores: Sequence[float]) -> list[int]:
    """Return the order by these scores; equals by date, the newest first, then by id and title, however given."""
    return sorted(range(len(items)), key=lambda n: (-scores[n], *_build_tie_key(items[n]), n))


def sort_newest_first(items: Sequence[Item]) -> list[int]:
    """Return the order when nothing else is known: the newest first, the undated last."""
    return sorted(range(len(items)), key=lambda n: (*_build_date_key(items[n].date), n))


def classify_tier(item: Item) -> int:
    """Return the tier of the seed in which an item's title and issuer place it, 1 the highest.

    1 national plans, laws, major reforms; 2 policy, supervision and standards of an industry, and what explains them;
    3 statistics and reports; 4 local documents and notices of execution; 5 daily business, personnel, meetings, visits.
    Words of routine outweigh a high issuer, a local issuer outweighs a grand form.
    """
    return score_importance(item).tier


def _read_act(item: Item, title: str, facts: DocumentFacts | None) -> Act:
    """What the title says, or else the type; where a title names a form alone, or nothing, what the text says."""
    act = find_act(title)
    if act is Act.UNCLEAR:
        act = _ACTS_BY_TYPE.get(item.type, act)
    if facts is None or facts.stage is None or find_act(title) not in _OPEN_ACTS:
        return act
    if facts.stage is PolicyStage.FINAL and (facts.in_force or facts.comply_by):
        return Act.RULE
    by_text = _ACTS_BY_STAGE[facts.stage]
    return by_text if find_act(title) is Act.UNCLEAR or by_text not in (Act.POLICY, Act.EXECUTION) else act


def _read_scope(item: Item, title: str, act: Act) -> Scope:
    issuer = (item.issuer or item.source or "")[:_MAX_ISSUER_CHARS]
    if act in _MAY_BE_OF_FIRM and _FIRM.search(title):
        return Scope.FIRM
    if _HIGHEST.search(f"{title} {item.document_number or ''}"):
        return Scope.HIGHEST
    if _BRANCH.search(title) or _BRANCH.search(issuer):
        return Scope.BRANCH
    is_of_place = bool(LOCAL_ISSUER.match(title) or _OF_THIS_PLACE.search(title))
    if LOCAL_ISSUER.search(issuer) or (is_of_place and not NATIONAL_ISSUER.search(issuer)):
        return Scope.LOCAL
    return Scope.INDUSTRY


def _judge_scope(act: Act, scope: Scope) -> list[tuple[int, Message | None]]:
    is_substantive = WEIGHTS[act].points >= _SUBSTANTIVE
    if scope is Scope.FIRM:
        return [(0, Message("rank.scope.firm"))]
    if scope is Scope.LOCAL:
        loss = _LOCAL_LOSS_OF_DATA if act in (Act.DATA, Act.REPORT) else _LOCAL_LOSS
        return [(-loss if is_substantive else -1, Message("rank.scope.local"))]
    if scope is Scope.BRANCH:
        return [(-_BRANCH_LOSS if is_substantive else -1, Message("rank.scope.branch"))]
    if scope is Scope.HIGHEST and is_substantive and act not in (Act.LAW, Act.NATIONAL_PLAN):
        return [(_HIGHEST_GAIN, Message("rank.scope.highest"))]
    return []


def _judge_words(act: Act, title: str, item: Item) -> list[tuple[int, Message | None]]:
    """What the words of a title add: an order in force, prices and taxes, several issuers, an office of less rank."""
    found: list[tuple[int, Message | None]] = []
    if WEIGHTS[act].points < _SUBSTANTIVE:
        return found
    if act is Act.RULE and _ORDER.search(title):
        found.append((_ORDER_GAIN, Message("rank.word.order")))
    if act in (Act.RULE, Act.TERMS, Act.CONSULTATION, Act.SUPERVISION, Act.POLICY) and _TERMS.search(title):
        found.append((_TERMS_GAIN, None if act is Act.TERMS else Message("rank.word.terms")))
    if _JOINT.search(title):
        found.append((_JOINT_GAIN, Message("rank.word.joint")))
    if (_HOUSE.search(title[:24]) and act is not Act.INTERPRETATION) or (
        act is Act.RULE and _HOUSE.search(item.source or "")
    ):
        found.append((-_HOUSE_LOSS, None))
    return found


def _judge_facts(facts: DocumentFacts | None, today: dt.date | None) -> list[tuple[int, Message | None]]:
    """What the text adds: a day that is near, or over; figures that change; an older document that goes."""
    if facts is None:
        return []
    found: list[tuple[int, Message | None]] = []
    if today is not None:
        found += _judge_deadlines(facts.deadlines, today)
    if facts.figures:
        found.append((2, Message("rank.fact.figures")))
    if any(relation.type in (RelationType.REPLACES, RelationType.REPEALS) for relation in facts.relations):
        found.append((1, Message("rank.fact.replaces")))
    return found


def _judge_deadlines(deadlines: Sequence[StatedDeadline], today: dt.date) -> list[tuple[int, Message | None]]:
    to_act = [entry for entry in deadlines if entry.kind is not DeadlineKind.VALID_UNTIL]
    ahead = sorted((entry for entry in to_act if entry.day >= today), key=lambda entry: (entry.day, entry.kind))
    if not ahead:
        closed = [entry for entry in to_act if entry.kind in (DeadlineKind.COMMENTS_UNTIL, DeadlineKind.APPLY_BY)]
        return [(-_CLOSED_LOSS, Message("rank.fact.closed"))] if closed else []
    days = (ahead[0].day - today).days
    if days > _SOON_DAYS:
        return []
    reason = Message.of(f"rank.deadline.{ahead[0].kind}", day=ahead[0].day.isoformat())
    return [(_NEAR_GAIN if days <= _NEAR_DAYS else _SOON_GAIN, reason)]


def _place_in_tier(act: Act, scope: Scope, tier: int) -> int:
    if tier == 5 or act is Act.DATA:
        return tier
    if scope in (Scope.LOCAL, Scope.BRANCH, Scope.FIRM):
        return 4
    return 1 if scope is Scope.HIGHEST and tier == 2 and act is not Act.INTERPRETATION else tier


def _build_tie_key(item: Item) -> tuple[bool, int, int, str]:
    return *_build_date_key(item.date), item.id or 0, item.title


def _build_date_key(date: dt.date | None) -> tuple[bool, int]:
    return (date is None, -date.toordinal() if date else 0)
