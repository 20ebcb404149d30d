"""Between settings and forms: what stands in a control, and what was typed into it."""

from collections.abc import Iterable, Mapping
from typing import Any

from annotated_types import Ge, Gt, Le

from monitor.settings.places import places
from monitor.web.settings_fields import SettingField


def typed(one: SettingField, value: Any) -> Any:
    """The value as it stands in its control; of `phases`, one text for each."""
    if one.kind == "phases":
        return {key: (value or {}).get(key, "") for key, _ in one.options}
    if one.kind == "prices":
        lines = ((name, _plain(price["input"]), _plain(price["output"])) for name, price in value.items())
        return "\n".join(f"{name} = {given} {made}" for name, given, made in lines)
    if one.kind == "pairs":
        return "\n".join(f"{name} = {_plain(number)}" for name, number in value.items())
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else _plain(value)


def read_form(fields: Iterable[SettingField], form: Mapping[str, str], known: Mapping[str, Any]) -> dict[str, Any]:
    """The values by path that differ from the known ones; a control that was not sent says nothing."""
    changed = {}
    for field in fields:
        if field.kind == "phases":
            sent = {
                key: form[f"{field.path}:{key}"].strip() for key, _ in field.options if f"{field.path}:{key}" in form
            }
            if not sent:
                continue
            value: Any = {key: model for key, model in sent.items() if model}
        elif field.path in form:
            value = _read(field, form[field.path].replace("\r\n", "\n").strip())
        else:
            continue
        if value != known.get(field.path):
            changed[field.path] = value
    return changed


def limits_of(one: SettingField) -> dict[str, str]:
    """The attributes of a control for a number: the browser then says itself, in its own language, what is too much."""
    if one.kind != "number":
        return {}
    attributes = {"step": "any", "inputmode": "decimal"}
    for limit in places()[one.path].field.metadata:
        match limit:
            case Ge(ge=least) | Gt(gt=least):
                attributes["min"] = str(least)
            case Le(le=most):
                attributes["max"] = str(most)
    return attributes


def _read(one: SettingField, text: str) -> Any:
    """What the text means; where it means nothing, the text itself, which is then refused with its reason."""
    if one.kind == "switch":
        return text == "true"
    if one.path == "llm.enabled":
        return {"true": True, "false": False}.get(text, text)
    if one.kind in ("words", "numbers"):
        parts = [part.strip() for part in text.replace("，", ",").replace("、", ",").split(",") if part.strip()]
        return parts if one.kind == "words" else [_number(part) for part in parts]
    if one.kind in ("pairs", "prices"):
        return _pairs(text, of_prices=one.kind == "prices")
    if not text:
        return None if places()[one.path].default is None else ""
    return _number(text) if one.kind == "number" else text


def _pairs(text: str, *, of_prices: bool) -> Any:
    pairs: dict[str, Any] = {}
    for line in filter(str.strip, text.split("\n")):
        name, equals, rest = line.partition("=")
        numbers = [_number(part) for part in rest.split()]
        if not equals or len(numbers) != (2 if of_prices else 1):
            return line.strip()
        pairs[name.strip()] = dict(zip(("input", "output"), numbers, strict=True)) if of_prices else numbers[0]
    return pairs


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) and value.is_integer() else str(value)
