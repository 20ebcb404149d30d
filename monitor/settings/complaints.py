"""Saying what is wrong with a configuration, with the nearest thing that would be right."""

import difflib
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from monitor.errors import SettingsError

_MOST_CHARS = 60
_MAY_HOLD_SECRETS = ("url", "database_url", "storage_url", "proxy")


def forbid_unknown_keys(values: dict[str, Any], model: type[BaseModel], where: str, prefix: str = "") -> None:
    """`SettingsError` for the first key that `model` does not know; it names the nearest one that it does."""
    for key, value in values.items():
        field = model.model_fields.get(str(key))
        if field is None:
            raise SettingsError(f"Unknown setting `{prefix}{key}` in {where}{_nearest(str(key), model, prefix)}")
        for name, inner, part in _groups_in(field.annotation, value, f"{prefix}{key}"):
            forbid_unknown_keys(part, inner, where, f"{name}.")


def explain(error: ValidationError, where: str) -> str:
    """The first complaint of a validation, as one sentence; what may hold a secret is not repeated in it."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return f"The setting `{name}` in {where} is missing."
    given, message = _given_and_message(first)
    verdict = f"cannot be {given}" if given else "is wrong"
    return f"The setting `{name}` in {where} {verdict}: {message}."


def reason_of(complaint: ErrorDetails, *, is_told: bool = True, has_place: bool = True) -> str:
    """One complaint as a sentence to stand beside the setting.

    `is_told` says whether the value may be repeated, `has_place` whether to say where within the value it is.
    """
    given, message = _given_and_message(complaint)
    entry = ".".join(str(part) for part in complaint["loc"][1:])
    where = f" ({entry})" if entry and has_place else ""
    return f"It cannot be {given}{where}: {message}." if given and is_told else f"It is wrong{where}: {message}."


def _given_and_message(complaint: ErrorDetails) -> tuple[str, str]:
    """The value, where it may be told and is short, and what is wrong with it."""
    given = complaint.get("input")
    message = complaint["msg"].removeprefix("Value error, ").rstrip(".")
    last = str(complaint["loc"][-1]) if complaint["loc"] else ""
    is_told = not isinstance(given, dict | list) and not last.endswith(_MAY_HOLD_SECRETS)
    shown = repr(given)
    return shown if is_told and len(shown) <= _MOST_CHARS else "", f"{message[:1].lower()}{message[1:]}"


def _nearest(key: str, model: type[BaseModel], prefix: str) -> str:
    near = difflib.get_close_matches(key.lower(), model.model_fields, n=1, cutoff=0.5)
    if near:
        return f": did you mean `{prefix}{near[0]}`?"
    return f": known there are {', '.join(model.model_fields)}."


def _groups_in(annotation: Any, value: Any, name: str) -> Iterator[tuple[str, type[BaseModel], dict[str, Any]]]:
    """The groups within a setting's value, with their names: itself, the entries of a list, or those of a mapping."""
    inner = next((arg for arg in (annotation, *get_args(annotation)) if _is_group(arg)), None)
    if inner is None:
        return
    entries: list[tuple[str, Any]] = [(name, value)]
    if get_origin(annotation) is list and isinstance(value, list):
        entries = [(f"{name}.{number}", one) for number, one in enumerate(value)]
    elif get_origin(annotation) is dict and isinstance(value, dict):
        entries = [(f"{name}.{key}", one) for key, one in value.items()]
    for path, one in entries:
        if isinstance(one, dict):
            yield path, inner, one


def _is_group(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
