"""The one parser of models' answers: what was meant, out of what was written.

A model is an unreliable colleague: it thinks aloud, fences its JSON, wraps it in prose, forgets a bracket, stops in the
middle. What comes out of here has the right shape and nothing more; whether it makes sense is for the caller to check.
Nothing in this module raises for what a model wrote.
"""

import json
import math
import re
from collections.abc import Sequence
from typing import TypeGuard

from pydantic import JsonValue

from monitor.llm.scanning import Span, spans

_MAX_CHARS = 400_000
_TAGS = "think|thinking|thought|reasoning"
_THINKING = re.compile(rf"<({_TAGS})>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THINKING_ENDS = re.compile(rf"</(?:{_TAGS})>", re.IGNORECASE)
_THINKING_BEGINS = re.compile(rf"<(?:{_TAGS})>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[\w-]*[ \t]*$", re.MULTILINE)
_INLINE_FENCE = re.compile(r"^```(?:json|text|markdown)?\s*|\s*```$")
_LABEL = re.compile(
    r"^[*#\s]*(?:内容摘要|文章摘要|摘要|概要|summary)\s*(?:\*\*)?\s*[:：]\s*(?:\*\*)?\s*", re.IGNORECASE
)
_PAIRS = ('""', "''", "“”", "‘’", "「」", "『』", "``")


def parse_json(text: str) -> JsonValue | None:
    """The JSON value that the answer consists of or contains; None where there is none.

    Of several arrays or objects it is the last of the large ones: a model that corrects itself does so afterwards, and
    a bracketed number in prose is not its answer.
    """
    answer, thoughts = _without_thinking(text)
    scalar = _strict(_FENCE.sub("", answer).strip())
    if scalar is not None:
        return scalar
    values = _values(answer) or _values_at_end(thoughts)
    return _chosen(values)


def parse_array(text: str, of: type[object] | None = None) -> list[JsonValue] | None:
    """The array that the answer contains, of elements of type `of` if given (`dict`, `int`, `str`).

    An answer that wraps its array in an object, or lists objects without an array around them, is understood too.
    """
    answer, thoughts = _without_thinking(text)
    for values in (_values(answer), _values_at_end(thoughts)):
        arrays = [one for one in values if _is_array(one[1], of)]
        objects: list[JsonValue] = [value for span, value in values if span.is_closed and isinstance(value, dict)]
        if not arrays and len(objects) < 2:
            arrays = _wrapped_arrays(values, of)
        chosen = _chosen(arrays)
        if isinstance(chosen, list):
            return chosen
        if objects and of in (None, dict):
            return objects
    return None


def parse_object(text: str) -> dict[str, JsonValue] | None:
    """The object that the answer contains; an array with one object in it counts as that object."""
    answer, thoughts = _without_thinking(text)
    for values in (_values(answer), _values_at_end(thoughts)):
        objects = [(span, value) for span, value in values if isinstance(value, dict)]
        chosen = _chosen(objects or [(span, value[0]) for span, value in values if _holds_one_object(value)])
        if isinstance(chosen, dict):
            return chosen
    return None


def tool_arguments(text: str) -> dict[str, JsonValue] | None:
    """The arguments of a tool call: an object. No text at all means no arguments; anything else is None."""
    return {} if not text.strip() else parse_object(text)


def plain_text(text: str) -> str:
    """The answer as running text: without thinking, fences, a label such as 摘要：, and quotation marks around it."""
    answer, _ = _without_thinking(text)
    answer = _INLINE_FENCE.sub("", _FENCE.sub("", answer).strip()).strip()
    if answer.startswith(("{", "[")):
        answer = _only_text(parse_object(answer)) or answer
    answer = _LABEL.sub("", answer).strip()
    for pair in _PAIRS:
        opening, closing = pair[0], pair[1]
        inner = answer[1:-1]
        if len(answer) > 1 and answer[0] == opening and answer[-1] == closing and not {opening, closing} & set(inner):
            return inner.strip()
    return answer


def _without_thinking(text: str) -> tuple[str, str]:
    """The answer, and the thoughts that were never closed: where those end, an answer may have been meant.

    A closing tag alone is common too: the opening one was part of the server's template.
    """
    answer = _THINKING.sub("\n", text[:_MAX_CHARS])
    answer = _THINKING_ENDS.split(answer)[-1]
    opening = _THINKING_BEGINS.search(answer)
    return (answer, "") if opening is None else (answer[: opening.start()], answer[opening.end() :])


def _values(text: str) -> list[tuple[Span, JsonValue]]:
    """The arrays and objects of a text, the outermost; those inside an unclosed bracket only where it held nothing."""
    found = [(span, _value(span)) for span in spans(text) if not text.startswith("(", span.end)]
    good: list[tuple[Span, JsonValue]] = [(span, value) for span, value in found if value is not None]
    outer = [(span, value) for span, value in good if not span.is_inner]
    return outer or good


def _values_at_end(thoughts: str) -> list[tuple[Span, JsonValue]]:
    """The value that unclosed thoughts end with: thinking that was cut off ends in prose, an answer in its bracket."""
    bare = _FENCE.sub("", thoughts).rstrip()
    return [(span, value) for span, value in _values(bare) if span.is_closed and span.end == len(bare)]


def _value(span: Span) -> JsonValue | None:
    """The span's value, repaired if need be; None where what came back is not of the shape that was asked for."""
    value = _strict(span.source)
    if value is None:
        import json_repair

        try:
            value = _clean(json_repair.loads(span.source))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, list if span.is_array else dict) else None


def _strict(text: str) -> JsonValue | None:
    try:
        return _clean(json.loads(text, parse_constant=lambda _: None))
    except (ValueError, RecursionError):
        return None


def _clean(value: object) -> JsonValue | None:
    """The value with strings that can be stored: no half characters (lone surrogates) and no NUL."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "")
    if isinstance(value, list):
        return [_clean(one) for one in value]
    if isinstance(value, dict):
        return {str(_clean(str(name))): _clean(one) for name, one in value.items()}
    return value if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)) else None


def _chosen(values: Sequence[tuple[Span, JsonValue]]) -> JsonValue | None:
    longest = max((len(span.source) for span, _ in values), default=0)
    return next((value for span, value in reversed(values) if 2 * len(span.source) >= longest), None)


def _wrapped_arrays(values: Sequence[tuple[Span, JsonValue]], of: type[object] | None) -> list[tuple[Span, JsonValue]]:
    """The arrays that are members of an object, as in {"sections": […]}."""
    return [
        (span, member)
        for span, value in values
        if isinstance(value, dict)
        for member in value.values()
        if _is_array(member, of)
    ]


def _is_array(value: JsonValue, of: type[object] | None) -> bool:
    return isinstance(value, list) and (of is None or not value or any(isinstance(one, of) for one in value))


def _holds_one_object(value: JsonValue) -> TypeGuard[list[JsonValue]]:
    return isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict)


def _only_text(value: dict[str, JsonValue] | None) -> str | None:
    """The text of an object that wraps nothing but one, as {"summary": "…"}."""
    texts = [one for one in (value or {}).values() if isinstance(one, str)]
    return texts[0] if len(texts) == 1 else None
