"""What pydantic refuses, as messages: `validation.<type>` with the limits that were broken."""

import re
from typing import Any

from pydantic_core import ErrorDetails

from monitor.i18n.catalogue import has_message
from monitor.i18n.message import Message

_LIMITS = ("ge", "gt", "le", "lt", "min_length", "max_length", "multiple_of", "expected", "pattern")


def describe_validation_error(error: ErrorDetails) -> Message:
    """Return what is wrong with a value, without its place.

    A validator of ours raises `PydanticCustomError(code, "", args)` or `ValueError(code)`; what pydantic finds by
    itself is `validation.<type>`, or `validation.invalid` for a type that the catalogue lacks.
    """
    context = error.get("ctx", {})
    if has_message("en", error["type"]):
        return Message(error["type"], dict(context))
    raised = context.get("error")
    if isinstance(raised, ValueError):
        return Message(str(raised)) if has_message("en", str(raised)) else Message.other(str(raised))
    code = f"validation.{error['type']}"
    if not has_message("en", code):
        return Message("validation.invalid")
    args = {name: _to_plain(context[name]) for name in _LIMITS if name in context}
    if "expected" in args:  # pydantic joins the values to one English phrase
        args["expected"] = re.findall(r"'([^']*)'", args["expected"])
    return Message(code, args)


def _to_plain(limit: Any) -> Any:
    """Return 2 for 2.0: a limit of a float field is shown as people write it."""
    return int(limit) if isinstance(limit, float) and limit.is_integer() else limit
