"""The steps by which the browser logs in to a source, and the lines that people write them as."""

import re
from enum import StrEnum
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator
from pydantic_core import PydanticCustomError

_SECRET_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")
_FILL = re.compile(r"(?P<selector>.+?)\s+with\s+(?P<what>secret|text)\s+(?P<value>.+)")
_WEB_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_FRAME_PIERCING = ">>"  # Playwright's own combinator, which leads into frames of other sites


class StepKind(StrEnum):
    OPEN = "open"
    FILL = "fill"
    CLICK = "click"
    WAIT = "wait"


class LogInStep(BaseModel):
    """A step of a log-in; a text is read as the line that `format_step` writes.

    `open` has a `url`; `fill` a `selector` and either the name of a `secret` or a plain `value`; `click` a `selector`;
    `wait` a `selector` that appears, or a `url` with which the page's address then begins. Selectors are CSS.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    kind: StepKind
    url: str = Field(default="", max_length=2000)
    selector: str = Field(default="", max_length=500)
    secret: str = Field(default="", max_length=80)
    value: str = Field(default="", max_length=500)

    @model_validator(mode="before")
    @classmethod
    def _read_line(cls, given: Any) -> Any:
        return _parse_line(given) if isinstance(given, str) else given

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        given = {name for name in ("url", "selector", "secret", "value") if getattr(self, name)}
        if given not in _PARTS[self.kind]:
            raise PydanticCustomError("source.step_parts", "", {"kind": str(self.kind)})
        if self.url and not _WEB_ADDRESS.match(self.url):
            raise PydanticCustomError("source.bad_url", "", {"url": self.url})
        if self.secret and not _SECRET_NAME.fullmatch(self.secret):
            raise PydanticCustomError("source.step_secret_name", "", {"name": self.secret})
        line = format_step(self)
        written = {name: str(getattr(self, name)) for name in ("kind", *given)}
        if _FRAME_PIERCING in self.selector or not line.isprintable() or _parse_line(line) != written:
            raise PydanticCustomError("source.step_selector", "", {"selector": self.selector})
        return self

    @model_serializer(mode="wrap")
    def _leave_out_empty(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in dump(self).items() if value}


_PARTS: dict[StepKind, tuple[set[str], ...]] = {
    StepKind.OPEN: ({"url"},),
    StepKind.FILL: ({"selector", "secret"}, {"selector", "value"}),
    StepKind.CLICK: ({"selector"},),
    StepKind.WAIT: ({"selector"}, {"url"}),
}


def format_step(step: LogInStep) -> str:
    """Return the step as a line: `fill #password with secret INTRANET_PASSWORD`."""
    match step.kind:
        case StepKind.OPEN:
            return f"open {step.url}"
        case StepKind.CLICK:
            return f"click {step.selector}"
        case StepKind.WAIT:
            return f"wait for {step.url or step.selector}"
    return f"fill {step.selector} with {f'secret {step.secret}' if step.secret else f'text {step.value}'}"


def _parse_line(line: str) -> dict[str, str]:
    kind, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    if kind == StepKind.WAIT and rest.startswith("for "):
        target = rest.removeprefix("for ").strip()
        return {"kind": kind, "url" if _WEB_ADDRESS.match(target) else "selector": target}
    if kind == StepKind.FILL and (found := _FILL.fullmatch(rest)):
        name = "secret" if found["what"] == "secret" else "value"
        return {"kind": kind, "selector": found["selector"], name: found["value"].strip()}
    if kind == StepKind.OPEN:
        return {"kind": kind, "url": rest}
    if kind == StepKind.CLICK:
        return {"kind": kind, "selector": rest}
    raise PydanticCustomError("source.step_line", "", {"line": line.strip()[:200]})
