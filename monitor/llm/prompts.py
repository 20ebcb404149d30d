"""Prompts of the model, each of which an administrator may replace by another wording."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from monitor.errors import UsageError

MAX_PROMPT_CHARS = 8000
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")
_FENCE_MARK = re.compile(r"<{3}|>{3}")


@dataclass(frozen=True)
class Prompt:
    """A built-in wording under its name, as `summary.user.zh`.

    `{name}` in it stands for a value: a `required` one, without which its phase cannot work, or an `optional` one; all
    other braces are text. The marks around untrusted text are no part of any wording: the code adds them.
    """

    name: str
    text: str
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()

    @property
    def language(self) -> str:
        return self.name.rpartition(".")[2]

    def check(self, text: str) -> None:
        """Raise `UsageError` for a replacement that is empty, too long or has the wrong placeholders."""
        if not text.strip():
            raise UsageError("prompt.empty")
        if len(text) > MAX_PROMPT_CHARS:
            raise UsageError("prompt.too_long", chars=len(text), max_chars=MAX_PROMPT_CHARS)
        used = set(_PLACEHOLDER.findall(text))
        if missing := sorted(self.required - used):
            raise UsageError("prompt.placeholder_missing", placeholders=_format_placeholders(missing))
        if unknown := sorted(used - self.required - self.optional):
            known = sorted(self.required | self.optional)
            code = "prompt.placeholder_unknown" if known else "prompt.without_placeholders"
            raise UsageError(code, placeholders=_format_placeholders(unknown), known=_format_placeholders(known))


@dataclass(frozen=True)
class PromptSet:
    """The prompts in force: the built-in wordings, except for the `overrides` of an administrator."""

    overrides: Mapping[str, str] = field(default_factory=dict)

    def render(self, prompt: Prompt, **values: object) -> str:
        wording = self.overrides.get(prompt.name, prompt.text)
        # One pass: the content of a value is never taken for a placeholder.
        return _PLACEHOLDER.sub(lambda found: str(values[found[1]]) if found[1] in values else found[0], wording)


DEFAULT_PROMPTS = PromptSet()


def define_prompt(name: str, *, zh: str, en: str, required: str = "", optional: str = "") -> dict[str, Prompt]:
    """Return the wordings of one prompt by language; `required` and `optional` are separated by spaces."""
    needs, may = frozenset(required.split()), frozenset(optional.split())
    return {language: Prompt(f"{name}.{language}", text, needs, may) for language, text in (("zh", zh), ("en", en))}


def get_wording(language: str) -> str:
    """Return the language of the wording that serves a language: `zh` for any Chinese, else `en`."""
    return "zh" if language.lower().startswith("zh") else "en"


def format_wishes(rules: str, language: str) -> str:
    """Return an administrator's wishes as a line of a prompt; empty without any."""
    if not rules.strip():
        return ""
    return ("管理员的要求：" if get_wording(language) == "zh" else "The administrator asks: ") + rules.strip() + "\n"


def flatten_untrusted_text(text: str) -> str:
    """Return untrusted text as one line, without control characters and the marks that fence untrusted text."""
    flat = re.sub(r"\s+", " ", _INVISIBLE.sub(" ", text))
    while (rest := _FENCE_MARK.sub("", flat)) != flat:  # removing a mark from `<<>>><` must not leave another
        flat = rest
    return flat.strip()


def _format_placeholders(names: list[str]) -> list[str]:
    return [f"{{{name}}}" for name in names]
