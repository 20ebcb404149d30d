"""Signs in who a statement speaks of: names that the page lacks or has elsewhere, roles turned, other speakers."""

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

from monitor.verify.names import Name, NameKind, find_names
from monitor.verify.signs.issuer import compare_capitals, compare_chinese_names, compare_issuers
from monitor.verify.signs.page import Bearer, Comparison, PageUnit, is_axis_word
from monitor.verify.signs.roles import ActorClause, ClauseActor, are_same, parse_clauses
from monitor.verify.signs.speech import compare_speech, find_sayings, states_a_claim

_MIN_SHARE = 0.35
_MAX_UNIT_CHARS = 3000
_PASSIVE = re.compile(r"被|由(?!于)|受到|\bby\b")
_ENUMERATION = re.compile(r".{0,12}?(?:和|与|及|、|\band\b|,).{0,2}")
_GENERIC_ACTOR = re.compile(
    r"市场监管部门|主管部门|监管机构|监管部门|税务机关|科技部门|财政部门|监护人|提供者|经营者|平台|银行|企业|公司|机构|用户|消费者"
    r"|委员|法院|政府|协会|申请人|当事人|供应商|客户|贷款人|借款人|项目单位"
    r"|\b(?:banks?|compan(?:y|ies)|firms?|regulators?|court|government|ministry|board|providers?|consumers?|customers?"
    r"|employers?|workers?|authority|authorities|commission|agency|suppliers?|buyers?|lenders?|insurers?|investors?"
    r"|members?|states?|applicants?)\b",
    re.IGNORECASE,
)
_SAY = re.compile(
    r"(?:表示|认为|称|说|指出|介绍|强调|透露|回应|坦言|提到|主张|提出|建议|预计|预测|批评|质疑|宣布|承认"
    r"|\b(?:said|says|say|told|argued|argues|claimed|claims|estimated|estimates|believes|believed|noted|stated|warned"
    r"|suggested|suggests|criticised|criticized|called|expects|expected|emphasised|stressed)\b)"
)


def compare_actors(found: Comparison) -> None:
    names = find_names(found.statement)
    for name in names:
        _compare_name(found, name)
    _compare_speech_of_names(found, names)
    compare_speech(found)
    compare_issuers(found)
    compare_capitals(found)
    compare_chinese_names(found)
    _compare_agents(found)
    for bearer in found.bearers:
        _compare_roles(found, bearer)
        _compare_speakers(found, bearer)
        _compare_sides(found, bearer)


def _compare_name(found: Comparison, name: Name) -> None:
    """Look where the page names somebody: nowhere, in the bearing sentences, near them, in its head, or elsewhere."""
    page = found.page
    is_mentioned = page.names.mentions(name)
    if is_mentioned is None:
        return
    if not is_mentioned:
        found.raise_sign("name missing", 1.0, name.text)
        return
    numbers = {unit.number for unit in found.units}
    units = {page.find_unit(place).number for place in page.names.find(name)}
    if name.kind == "person":
        units |= {unit.number for unit in page.units if name.text.split()[-1] in unit.text}
    if units & numbers:
        return
    lines = {unit.line for unit in found.units}
    is_in_head = any(page.units[number].line < page.head_lines for number in units)
    is_near = any(page.units[number].line in lines or {number - 1, number + 1} & numbers for number in units)
    rivals = [
        other.text
        for unit in found.units
        for other in find_names(unit.text)
        if other.kind == name.kind and not _is_said(other.text, found.statement)
    ]
    place = "head" if is_in_head else "near" if is_near else "apart"
    found.raise_sign(f"name {place}{' rival' if rivals else ''}", 1.0, f"{name.text} / {', '.join(rivals[:1])}")


def _is_said(name: str, statement: str) -> bool:
    return name in statement or any(part in statement for part in name.split() if len(part) > 3)


def _compare_roles(found: Comparison, bearer: Bearer) -> None:
    """Look whether two actors that both name come in the same order."""
    text = bearer.segment.text
    mine, theirs = _list_actors(text), _list_actors(bearer.unit.text)
    both = [actor for actor in mine if actor in theirs]
    is_passive = bool(_PASSIVE.search(text)) != bool(_PASSIVE.search(bearer.unit.text))
    for first, second in pairwise(both):
        between = text[mine[first] + len(first) : mine[second]]
        speakers = " ".join(saying.speaker for saying in find_sayings(text))
        if first in speakers or second in speakers or first.lower() in speakers.lower():
            continue
        if theirs[first] > theirs[second] and not _ENUMERATION.fullmatch(between):
            found.raise_sign("roles passive" if is_passive else "roles turned", 1.0, f"{first} / {second}")


_MIN_TURNED = 0.45
_RELATIVE = re.compile(r"\b(?:that|whom|which|according)\b|将?由[^，]{0,20}[改变转]")


def _compare_sides(found: Comparison, bearer: Bearer) -> None:
    """Look whether what stands before and after a word both have has changed sides, neither being a passive."""
    mine, theirs = bearer.segment, bearer.part
    if (
        found.is_cross_language
        or len(mine.text) > 200
        or _RELATIVE.search(mine.text)
        or bool(_PASSIVE.search(mine.text)) != bool(_PASSIVE.search(theirs.text))
    ):
        return
    places = {word: place for place, word in enumerate(theirs.order)}
    common = [word for word in mine.order if word in places and word[0] != "@"]
    for number, pivot in enumerate(common[1:-1], 1):
        before = {word for word in common[:number] if places[word] > places[pivot]}
        after = {word for word in common[number + 1 :] if places[word] < places[pivot]}
        if before and after:
            share = min(found.page.compute_weight(before), found.page.compute_weight(after)) / max(
                found.page.compute_weight(mine.words), 0.1
            )
            if 4 * share >= _MIN_TURNED:
                found.raise_sign("sides turned", min(4 * share, 1.0), f"{' '.join(before)} / {' '.join(after)}")


@lru_cache(maxsize=4096)
def _list_actors(text: str) -> Mapping[str, int]:
    """Return the actors of a text in order, each with its first place; of a Latin name the last word."""
    text = text[:_MAX_UNIT_CHARS]
    names = find_names(text)
    actors = [(name.start, name.text.split()[-1] if name.text.isascii() else name.text) for name in names]
    actors += [
        (match.start(), match[0].lower().rstrip("s"))
        for match in _GENERIC_ACTOR.finditer(text)
        if not any(name.start <= match.start() < name.end for name in names)
    ]
    places: dict[str, int] = {}
    for place, actor in sorted(actors):
        places.setdefault(actor, place)
    return places


def _compare_speech_of_names(found: Comparison, names: tuple[Name, ...]) -> None:
    """Look whether the one who is quoted is the one who speaks where the page says it."""
    verb = _SAY.search(found.statement)
    before = [name for name in names if verb is not None and name.end <= verb.start()]
    if not before:
        return
    name = before[-1]
    speaker = name.text.split()[-1] if name.text.isascii() else name.text
    content = [
        bearer.unit
        for bearer in found.bearers
        if speaker not in bearer.segment.text and not _SAY.search(bearer.segment.text)
    ]
    for unit in content or found.units:
        speakers = _list_speakers(found, unit)
        is_named_there = any(unit.start <= place < unit.end for place in found.page.names.find(name))
        if speakers and not is_named_there and not any(speaker in other or other in name.text for other in speakers):
            found.raise_sign("speech other", 1.0, f"{speaker} / {', '.join(speakers[:2])}")


def _list_speakers(found: Comparison, unit: PageUnit) -> list[str]:
    """Return who is named beside the verbs of saying in a unit's paragraph."""
    line = "\n".join(other.text for other in found.page.list_line(unit.line))
    speakers: list[str] = []
    for verb in _SAY.finditer(line):
        start, end = (60, verb.end() + 60) if verb[0].isascii() else (40, verb.start())
        names = find_names(line[max(verb.start() - start, 0) : end])
        speakers += [name.text for name in names if name.kind in (NameKind.PERSON, NameKind.ORGANISATION)]
    return speakers


def _compare_speakers(found: Comparison, bearer: Bearer) -> None:
    """Look at the words before a verb of saying, and whether the page has such a verb that the statement leaves out."""
    page, segment, unit = found.page, bearer.segment, bearer.unit
    own = next((place for place, word in enumerate(segment.order) if word.startswith("~report.")), None)
    theirs = [
        (place, piece.order)
        for piece in unit.segments
        for place, word in enumerate(piece.order)
        if word.startswith("~report.")
    ]
    if own is None:
        if _is_claim_near(bearer) and not states_a_claim(found.statement):
            found.raise_sign("attribution left", page.compute_share(segment.words & unit.words, segment.words))
        return
    speaker = {word for word in segment.order[:own] if not is_axis_word(word)}
    others = {word for place, order in theirs for word in order[:place] if not is_axis_word(word)}
    if speaker and others:
        share = page.compute_share(speaker & (unit.words | unit.context), speaker)
        known = page.compute_share([word for word in speaker if page.places.get(word)], speaker)
        found.raise_sign("speaker other", (1 - share) * (0.3 + known), " ".join(sorted(others)))


_MAX_TAIL_WORDS = 5


def _is_claim_near(bearer: Bearer) -> bool:
    """Whether somebody thinks or alleges it: in the bearing part, before it, or in a short tail as ", he argued"."""
    is_behind = False
    for piece in bearer.unit.segments:
        if "~report.think" in piece.order and (not is_behind or len(piece.order) < _MAX_TAIL_WORDS):
            return True
        is_behind = is_behind or piece is bearer.part
    return False


def _compare_agents(found: Comparison) -> None:
    """Look whether each actor has the role in the bearing unit that the statement gives it."""
    for bearer in found.bearers:
        theirs = parse_clauses(bearer.unit.text)
        for clause in parse_clauses(bearer.segment.text):
            aligned = _align_clause(clause, theirs)
            if aligned is not None:
                for actor in clause.actors:
                    _compare_actor(found, actor, clause, aligned, theirs)


def _align_clause(clause: ActorClause, others: tuple[ActorClause, ...]) -> ActorClause | None:
    """Return the clause of a unit that has the most in common with one of a statement, apart from its actors."""
    mine = _list_grams(clause)
    rated = [
        (len(mine & _list_grams(other)) / (6 + len(_list_grams(other))) ** 0.5, -number)
        for number, other in enumerate(others)
    ]
    return others[-max(rated)[1]] if rated and max(rated)[0] > 0 else None


@lru_cache(maxsize=4096)
def _list_grams(clause: ActorClause) -> frozenset[str]:
    text = clause.text
    for actor in clause.actors:
        text = text.replace(actor.text, " ")
    words = [word.lower()[:6] for word in re.findall(r"[A-Za-z]{3,}|\d+", text)]
    return frozenset(
        [
            *words,
            *(
                text[place : place + 2]
                for place in range(len(text) - 1)
                if "\u4e00" <= text[place] <= "\u9fff" and "\u4e00" <= text[place + 1] <= "\u9fff"
            ),
        ]
    )


def _compare_actor(
    found: Comparison, actor: ClauseActor, clause: ActorClause, aligned: ActorClause, unit: tuple[ActorClause, ...]
) -> None:
    """Raise a sign where an actor has another role in the unit, or where another has its role."""
    if actor.role not in ("agent", "target"):
        return
    there = {other.role for piece in unit for other in piece.actors if are_same(actor.text, other.text)}
    rivals = [other for other in aligned.actors if other.role == actor.role]
    if actor.role == "agent":
        rivals = rivals or list(aligned.agents)
    if actor.role in there or any(are_same(actor.text, rival.text) for rival in rivals):
        return
    rivals = [rival for rival in rivals if _is_name_or_noun(found, rival)]
    if not rivals or not _is_name_or_noun(found, actor):
        return
    said = f"{actor.text} / {rivals[0].text}"
    own = [other for other in clause.actors if other.role in ("target", "object", "agent") and other.role != actor.role]
    if there and any(are_same(other.text, rival.text) for other in own for rival in rivals):
        found.raise_sign("roles swapped", 1.0, said)
    elif not there and any(rival.is_generic == actor.is_generic for rival in rivals):
        mine = _list_grams(clause)
        share = len(mine & _list_grams(aligned)) / len(mine)
        if share >= _MIN_SHARE:
            found.raise_sign("roles other", share, said)


def _is_name_or_noun(found: Comparison, actor: ClauseActor) -> bool:
    """Whether a capitalised word is so in the middle of a sentence too, and not by its place only."""
    if actor.is_generic or not actor.text.isascii() or actor.text.isupper():
        return True
    if " " in actor.text:
        return len(re.findall("[A-Z]", actor.text)) > 1
    return re.search(rf"[a-z,] {re.escape(actor.text)}\b", found.page.text) is not None
