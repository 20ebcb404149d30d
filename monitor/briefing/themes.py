"""Themes of a briefing: items of one policy, or whose titles share their subject."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_MIN_MEMBERS = 2
_MAX_TITLE_CHARS = 120
_MIN_CHINESE, _MAX_CHINESE = 2, 12
_MAX_WORDS = 3
_MAX_TERMS = 40  # of an item
_MAX_SHARE = 0.5  # of all items: what more of them share tells none apart
_MIN_SHARED_ITEMS = 6  # below which any share will do

_CHINESE_RUN = re.compile(r"[\u4e00-\u9fff]+")
_ENGLISH_WORD = re.compile(r"[A-Za-z][A-Za-z'&-]+")

# What titles are made of besides their subject: forms of documents, acts of offices, places in a series.
_CHINESE_FORM = re.compile(
    r"中华人民共和国|关于(?:印发|发布|公布|开展|做好|加强|进一步|公开|征求|废止|修改)*|国务院|办公厅|办公室|委员会|总局|公开征求|征求|意见稿?|公告|通知|通告"
    r"|决定书?|印发|发布|公布|解读|答记者问|问答|一图读懂|图解|管理|办法|规定|规范|条例|细则|指南|指引|方案|规则|标准|目录|试行|暂行|草案"
    r"|修订|修正|修改|废止|施行|实施|工作|情况|数据(?!出境|跨境|安全|中心|要素)|运行|行政处罚|处罚|有关|若干|部分|事项|问题|要求|相关|进一步|加强|做好|推进|促进|支持"
    r"|有限公司|股份|集团|[一二三四五六七八九十\d]+[年月日号]|[的和与及对在等为了将并由于]"
)
_ENGLISH_FORMS = """
a an and the of on in for to by with from at as is are be its into under about over new final proposed draft rule rules
guidance guidelines consultation paper statement notice announcement press release report update updates regulation
regulations regulatory act bill order policy policies plan code standard standards amendment amendments amending
proposal call evidence views response responses decision decisions interpretation questions answers faq fine fines fined
penalty penalises penalizes against publishes published launches issues announces sets confirms ltd limited inc plc llc
company monthly quarterly annual data statistics review reform changes change january february march april may june july
august september october november december
"""
_ENGLISH_FORM = frozenset(_ENGLISH_FORMS.split())

# What everything that such bodies publish is about: longer terms may have it, by itself it names no subject.
_TOO_WIDE_WORDS = """
企业 信息 服务 产品 产业 行业 国家 全国 全省 全市 发展 建设 名单 公示 组织 推荐 年度 项目 单位 机构 人员 通报
批复 同意 申报 报送 备案 转载 部门 地方 中心 社会 经济 市场 技术 安全 领域 体系 能力 质量 水平 重点 第一 第二
第三 一批 二批 三批 专家 负责 负责人 同志 会议 召开 讲话 发言 公司 用户 资源 应用 创新 改革 计划 行动 建立 健全
完善 提升 高质量 高质量发展 公众 拟发布 综合 综合司 办公
bank banks asset assets market markets industry sector business businesses firm firms service services product
products prudential standard practice national federal local regional court minister ministry department agency
authority director chair chief executive commission commissioner board office public private letter letters
information sheet industry-wide licence licences license application applications request requests release action plan
plans programme program project projects scheme system framework requirement requirements expectation expectations
record records major
"""
_TOO_WIDE = frozenset(_TOO_WIDE_WORDS.split())
_WIDE_ENDS = frozenset(word[::-1] for word in _TOO_WIDE)


@dataclass(frozen=True)
class ThemedTitle:
    """An item as themes see it: its id, its title, the policy that it belongs to, the names of those who issued it."""

    id: int
    title: str
    policy: str = ""
    names: Sequence[str] = ()


@dataclass(frozen=True)
class ThemeGroup:
    """Items of one subject, in the order that was given."""

    name: str
    items: list[int] = field(default_factory=list)


def group_by_theme(titles: Sequence[ThemedTitle]) -> list[ThemeGroup]:
    """Return the themes, each where its first item stands; an item without fellows is in none.

    Items of one policy are a theme under its name; what is left is grouped by the longest term that most of them share.
    """
    by_policy: defaultdict[str, list[int]] = defaultdict(list)
    for title in titles:
        if title.policy:
            by_policy[title.policy].append(title.id)
    groups = [ThemeGroup(name, ids) for name, ids in by_policy.items() if len(ids) >= _MIN_MEMBERS]
    taken = {item for group in groups for item in group.items}
    groups += _group_by_term([title for title in titles if title.id not in taken])
    place = {title.id: number for number, title in enumerate(titles)}
    return sorted(groups, key=lambda group: place[group.items[0]])


def _group_by_term(titles: Sequence[ThemedTitle]) -> list[ThemeGroup]:
    members = _find_members(titles)
    terms: defaultdict[int, list[str]] = defaultdict(list)
    for term, ids in members.items():
        for item in ids:
            terms[item].append(term)
    for item, ranked in terms.items():  # so many are enough to find the best, and keep the work in bounds
        terms[item] = sorted(ranked, key=lambda term: (-_score_term(term, len(members[term])), term))[:_MAX_TERMS]
    open_ids, groups = {title.id: None for title in titles}, []
    for title in titles:
        if title.id not in open_ids:
            continue
        counts = {term: sum(item in open_ids for item in members[term]) for term in terms[title.id]}
        best = max(
            (term for term, count in counts.items() if count >= _MIN_MEMBERS),
            key=lambda term: (_score_term(term, counts[term]), term),
            default=None,
        )
        if best is None:
            continue
        ids = [item for item in members[best] if item in open_ids]
        groups.append(ThemeGroup(best, ids))
        for item in ids:
            del open_ids[item]
    return groups


def _score_term(term: str, count: int) -> float:
    """A term weighs by its length, and by how many items it holds together, up to a point."""
    length = len(term) if _CHINESE_RUN.match(term) else 3.0 * len(term.split())
    return (length - 1) * float(min(count, 6) ** 0.5)


def _find_members(titles: Sequence[ThemedTitle]) -> dict[str, list[int]]:
    """Return the items of each term that tells some apart; of terms with the same items, the longest.

    A Chinese term that stands within longer words in every title is cut out of them, as 电机组 is out of 风电机组.
    """
    found: defaultdict[str, list[int]] = defaultdict(list)
    whole: set[str] = set()
    for title in titles:
        terms = dict(sorted(_iter_terms(title)))
        whole.update(term for term, is_whole in terms.items() if is_whole)
        for term in terms:
            found[term].append(title.id)
    most = len(titles) if len(titles) <= _MIN_SHARED_ITEMS else _MAX_SHARE * len(titles)
    longest: dict[tuple[int, ...], str] = {}
    for term, ids in found.items():
        if term in whole and _MIN_MEMBERS <= len(ids) <= most and not (_is_weak(term) and len(ids) == _MIN_MEMBERS):
            key = tuple(ids)
            longest[key] = max(term, longest.get(key, ""), key=lambda each: (len(each), each))
    return {term: list(ids) for ids, term in longest.items()}


def _is_weak(term: str) -> bool:
    """Whether a term is so short that two items may share it by chance: two characters, or one English word."""
    return len(term) == _MIN_CHINESE if _CHINESE_RUN.match(term) else " " not in term and not term.isupper()


def _iter_terms(title: ThemedTitle) -> Iterator[tuple[str, bool]]:
    """Yield the terms of a title, and whether each begins or ends where a word does, as far as that can be seen."""
    text = title.title[:_MAX_TITLE_CHARS]
    for name in title.names:
        text = text.replace(name, " ")
    for run in _CHINESE_RUN.findall(_CHINESE_FORM.sub(" ", text)):
        for size in range(_MIN_CHINESE, min(_MAX_CHINESE, len(run)) + 1):
            for start in range(len(run) - size + 1):
                if (piece := run[start : start + size]) not in _TOO_WIDE:
                    yield piece, _is_edge(run[:start][::-1], _WIDE_ENDS) or _is_edge(run[start + size :], _TOO_WIDE)
    words = [word if word.isupper() else word.lower() for word in _ENGLISH_WORD.findall(text)]
    for size in range(1, _MAX_WORDS + 1):
        for start in range(len(words) - size + 1):
            piece = words[start : start + size]
            if any(word.lower() in _ENGLISH_FORM for word in piece) or all(word in _TOO_WIDE for word in piece):
                continue
            if size > 1 or len(piece[0]) > 3:
                yield " ".join(piece), True


def _is_edge(beside: str, words: frozenset[str]) -> bool:
    """Whether a term ends where this text begins: there is none, or it begins with a word."""
    return not beside or any(beside[:size] in words for size in range(2, 7))


def name_theme(name: str) -> str:
    """Return the name as a heading: an English one begins with a capital."""
    return name[:1].upper() + name[1:]
