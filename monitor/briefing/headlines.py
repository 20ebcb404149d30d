"""Why an item matters, in one line: by its facts and deadlines, else as an assessment; by a model where one is set."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from monitor.briefing.item import BriefingMessages, ItemSchema
from monitor.briefing.overview import (
    ASSESSMENT_LABEL,
    build_item_source,
    build_material_messages,
    check_assessments,
    is_safe_sentence,
)
from monitor.document import DocumentFacts, Relation
from monitor.errors import ModelFailed
from monitor.i18n.message import Message
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool
from monitor.llm.answer_schemas import TEXT_LIST
from monitor.llm.answers import parse_array
from monitor.llm.chat import ChatModel, CompletionRequest
from monitor.llm.prompts import DEFAULT_PROMPTS, Prompt, PromptSet, define_prompt
from monitor.verify.judge import MAX_SOURCE_CHARS, judge_statements
from monitor.verify.statements import Judgement
from monitor.vocabulary import DeadlineKind, Phase, RelationType, Verdict

_MAX_PARTS = 3
_MAX_NAME_CHARS = 60
_PLACE = "headlines"
_NAMED_RELATIONS = (RelationType.REPLACES, RelationType.REPEALS, RelationType.AMENDS)

_USER = define_prompt(
    "headlines.user",
    zh="""请为下面每一条各写一句话，说明它为何对企业重要：谁受影响、须在何时之前做什么、改变了什么。

要求：
1. 只写该条目自己的内容；数字、日期和名称照抄原文，条目里没有的一概不写。
2. 每句不超过60字，不重复标题。
3. 若只能作判断，以“评估：”开头，且不得带入新的数字、日期和名称。
4. 只输出一个 JSON 数组，按条目顺序每条一个字符串；写不出的写成空字符串。

{lines}""",
    en="""Write one sentence for each item below that says why it matters to a business: who is affected, what must be \
done by when, what changes.

Rules:
1. Only what the item itself says; figures, dates and names exactly as it writes them.
2. At most 30 words each, and not the title again.
3. Where you can only judge, begin with "Assessment:" and bring no new figure, date or name.
4. Answer with one JSON array, a string for each item in their order; an empty string where there is nothing to say.

{lines}""",
    required="lines",
)

HEADLINE_PROMPTS: tuple[Prompt, ...] = tuple(_USER.values())


class Why(BaseModel):
    """One line on why an item matters. `verdict` says whether the item's page bears it; an assessment has none."""

    text: str
    verdict: Verdict | None = None

    @property
    def is_assessment(self) -> bool:
        return self.verdict is None

    @property
    def is_unchecked(self) -> bool:
        return self.verdict is Verdict.UNCHECKED


@dataclass(frozen=True)
class HeadlineDeadline:
    """A deadline of an item as a line tells it; `moved_from` is the day that it had before."""

    kind: DeadlineKind
    day: dt.date
    moved_from: dt.date | None = None
    verdict: Verdict = Verdict.SUPPORTED


def explain_importance(
    facts: DocumentFacts | None,
    deadlines: Sequence[HeadlineDeadline],
    reason: Message | None,
    words: BriefingMessages,
    *,
    today: dt.date,
) -> Why | None:
    """Return what the facts say of an item's weight, at most three things; without any, the reason of its rank.

    Days that are over are left out, but for the day from which something is in force.
    """
    lines = [
        *_list_days(deadlines, words, today),
        *_list_relations(facts.relations if facts else (), words),
        *_list_figures(facts, words),
    ]
    if lines:
        shown = lines[:_MAX_PARTS]
        verdicts = {verdict for _, verdict in shown}
        text = words("why_separator").join(text for text, _ in shown)
        text = f"{text[:1].upper()}{text[1:]}"
        is_checked = verdicts == {Verdict.SUPPORTED}
        return Why(text=text, verdict=Verdict.SUPPORTED if is_checked else Verdict.UNCHECKED)
    return Why(text=words.translate(reason)) if reason is not None else None


def _list_days(
    deadlines: Sequence[HeadlineDeadline], words: BriefingMessages, today: dt.date
) -> list[tuple[str, Verdict]]:
    """Return those that moved first, then the nearest of each kind."""
    lines, kinds = [], set[DeadlineKind]()
    for fact in sorted(deadlines, key=lambda each: (each.moved_from is None, each.day)):
        if fact.kind in kinds or (fact.day < today and fact.kind is not DeadlineKind.IN_FORCE):
            continue
        kinds.add(fact.kind)
        day = fact.day.isoformat()
        if fact.moved_from is not None:
            kind = words.get_word("deadline", fact.kind)
            text = words("why_moved", kind=kind, before=fact.moved_from.isoformat(), day=day)
        elif fact.day < today:
            text = words("why_already_in_force", day=day)
        else:
            text = words(f"why_{fact.kind}", day=day)
        lines.append((text, fact.verdict))
    return lines


def _list_relations(relations: Sequence[Relation], words: BriefingMessages) -> list[tuple[str, Verdict]]:
    lines = []
    for relation in relations:
        name = relation.title or relation.number
        if relation.type in _NAMED_RELATIONS and name:
            lines.append((words(f"why_{relation.type}", title=_shorten(name)), Verdict.SUPPORTED))
    return lines[:1]


def _list_figures(facts: DocumentFacts | None, words: BriefingMessages) -> list[tuple[str, Verdict]]:
    if facts is None:
        return []
    verdict = facts.verdicts.get("figures", Verdict.SUPPORTED)
    lines = [
        (words("why_figure", subject=_shorten(figure.subject), old=figure.old, new=figure.new), verdict)
        for figure in facts.figures[:1]
        if figure.old
    ]
    if facts.bound:
        names = [_shorten(name) for name in facts.bound[:3]]
        lines.append((words("why_bound", names=names), facts.verdicts.get("bound", Verdict.SUPPORTED)))
    return lines


def _shorten(name: str) -> str:
    plain = re.sub(r"\s+", " ", name).strip("《》 ")
    return plain if len(plain) <= _MAX_NAME_CHARS else f"{plain[: _MAX_NAME_CHARS - 1]}…"


@dataclass
class WrittenReasons:
    """The lines that a model wrote and that were kept, by the ids of their items; `fault` says why there are none."""

    lines: dict[int, Why] = field(default_factory=dict)
    fault: Message | None = None


async def write_reasons(
    items: Sequence[ItemSchema],
    texts: Mapping[int, str],
    *,
    model: ChatModel | None,
    workers: WorkerPool,
    language: str,
    prompts: PromptSet = DEFAULT_PROMPTS,
) -> WrittenReasons:
    """Ask a model for a line on each item, in one call; what the item does not bear is dropped.

    A sentence is judged against the item's own page, an assessment may bring no fact that it lacks.
    """
    if model is None or not items:
        return WrittenReasons()
    messages = build_material_messages(items, _USER, language, prompts=prompts)
    try:
        request = CompletionRequest(messages, phase=Phase.SUMMARISE, place=_PLACE, schema=TEXT_LIST)
        completion = await model.complete(request)
        lines = [] if completion.is_cut else parse_array(completion.text, str) or []
        if len(lines) != len(items):
            return WrittenReasons(fault=Message("cause.no_sentence"))
        written = WrittenReasons()
        for item, line in zip(items, lines, strict=True):
            why = await _judge_line(item, str(line).strip(), texts, workers)
            if why is not None and item.id is not None:
                written.lines[item.id] = why
    except ModelFailed as error:
        return WrittenReasons(fault=error.reason)
    except IsolatedWorkFailed as error:
        return WrittenReasons(fault=error.message)
    return written


async def _judge_line(item: ItemSchema, line: str, texts: Mapping[int, str], workers: WorkerPool) -> Why | None:
    text = ASSESSMENT_LABEL.sub("", line)
    if not is_safe_sentence(text):
        return None
    cut = {item_id: page[: MAX_SOURCE_CHARS + 1] for item_id, page in texts.items() if item_id == item.id}
    source = build_item_source(item, cut)
    if text != line:
        (is_grounded,) = await workers.run(check_assessments, [text], [[source]])
        return Why(text=text) if is_grounded else None
    judgement: Judgement
    (judgement,) = await workers.run(judge_statements, [source], [text])
    return Why(text=text, verdict=judgement.verdict) if judgement.verdict.is_kept else None
