"""Sentences that are known to be true or false of a page, for a second reader whose verdicts are measured by them."""

import re
from collections.abc import Sequence

from monitor.evaluation.pieces import PlantedStatement, PlantKind
from monitor.extract.sentences import split_sentences
from monitor.verify.statements import Judgement
from monitor.vocabulary import Verdict

MAX_OWN = 2
_MIN_CHARS, _MAX_CHARS = 14, 220
_MAX_CONTEXT_CHARS = 360
_CHANGES = """
增长>下降 下降>增长 提高>降低 降低>提高 增加>减少 减少>增加 扩大>缩小 不得>可以 应当>不得 必须>不必 鼓励>禁止
支持>反对 以上>以下 以下>以上 不低于>不高于 不超过>不低于 启动>终止 批准>否决 开始>结束
increased>decreased increase>decrease rose>fell must>need_not requires>forbids more_than>less_than at_least>at_most
before>after approved>rejected supports>opposes began>ended
"""
_CHANGED_WORDS = dict(pair.replace("_", " ").split(">") for pair in _CHANGES.split())
_CHANGED_PATTERN = re.compile(
    "|".join(rf"\b{word}\b" if word.isascii() else word for word in sorted(_CHANGED_WORDS, key=len, reverse=True))
)
_NUMBER = re.compile(r"\d+")


def plant_statements(text: str, other_text: str) -> list[tuple[PlantedStatement, Judgement]]:
    """Return sentences to be read against a page, each with the open judgement that shows the reader the page.

    Up to two sentences of the page; of each the same with one word or figure changed, so that it is false; and one of
    `other_text`, another page. The same texts give the same statements.
    """
    own = _choose_sentences(text, MAX_OWN)
    planted = []
    for sentence in own:
        planted.append((PlantedStatement(kind=PlantKind.OWN, text=sentence), sentence))
        if changed := change_sentence(sentence):
            planted.append((PlantedStatement(kind=PlantKind.CHANGED, text=changed), sentence))
    if own:
        planted += [
            (PlantedStatement(kind=PlantKind.FOREIGN, text=sentence), own[0])
            for sentence in _choose_sentences(other_text, 1)
            if sentence not in text
        ]
    return [(statement, _build_open_judgement(text, passage)) for statement, passage in planted]


def change_sentence(sentence: str) -> str | None:
    """Return the sentence with one word turned round, else with another figure; None where it has neither."""
    if found := _CHANGED_PATTERN.search(sentence):
        return sentence[: found.start()] + _CHANGED_WORDS[found[0]] + sentence[found.end() :]
    if found := _NUMBER.search(sentence):
        digits = found[0]
        changed = digits[:-1] + str((int(digits[-1]) + 3) % 10)
        return sentence[: found.start()] + changed + sentence[found.end() :]
    return None


def _choose_sentences(text: str, limit: int) -> list[str]:
    """Return the first sentences of fair length, those with figures before the others."""
    sentences = [
        sentence.strip()
        for line in text.splitlines()
        for sentence in split_sentences(line)
        if _MIN_CHARS <= len(sentence.strip()) <= _MAX_CHARS and sentence.strip().endswith(("。", "！", ".", "；"))
    ]
    unique = list(dict.fromkeys(sentences))
    return sorted(unique, key=lambda sentence: not _NUMBER.search(sentence))[:limit]


def _build_open_judgement(text: str, passage: str) -> Judgement:
    place = max(text.find(passage), 0)
    room = max(_MAX_CONTEXT_CHARS - len(passage), 0) // 2
    context = text[max(place - room, 0) : place + len(passage) + room]
    return Judgement(verdict=Verdict.UNCHECKED, passage=passage, context=context, is_open=True)


def read_verdicts(statements: Sequence[PlantedStatement], judgements: Sequence[Judgement]) -> list[PlantedStatement]:
    """Return the statements with what the reader said of them; a judgement that is still open says nothing."""
    return [
        statement.model_copy(update={"verdict": None if judgement.is_open else judgement.verdict})
        for statement, judgement in zip(statements, judgements, strict=True)
    ]
