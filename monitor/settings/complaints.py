"""Saying what is wrong with a configuration, with the nearest thing that would be right."""

import difflib
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from monitor.errors import SettingsError


def forbid_unknown_keys(values: dict[str, Any], model: type[BaseModel], where: str, prefix: str = "") -> None:
    """`SettingsError` for the first key that `model` does not know; it names the nearest one that it does."""
    for key, value in values.items():
        field = model.model_fields.get(str(key))
        if field is None:
            raise SettingsError(f"Unknown setting `{prefix}{key}` in {where}{_nearest(str(key), model, prefix)}")
        inner = _group_of(field.annotation)
        if inner is not None and isinstance(value, dict):
            forbid_unknown_keys(value, inner, where, f"{prefix}{key}.")


def explain(error: ValidationError, where: str) -> str:
    """The first complaint of a validation, as one sentence."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    given = first.get("input")
    message = first["msg"].removeprefix("Value error, ").rstrip(".")
    return f"The setting `{name}` in {where} cannot be {given!r}: {message[:1].lower()}{message[1:]}."


def _nearest(key: str, model: type[BaseModel], prefix: str) -> str:
    near = difflib.get_close_matches(key.lower(), model.model_fields, n=1, cutoff=0.5)
    if near:
        return f": did you mean `{prefix}{near[0]}`?"
    return f": known there are {', '.join(model.model_fields)}."


def _group_of(annotation: Any) -> type[BaseModel] | None:
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None
