"""What the model is told, as wordings that an administrator may put others in place of."""

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
    """A wording of ours under its name, as `summary.user.zh`.

    `{name}` in it stands for a value. `required` are those without which its phase cannot do its work, `optional` the
    others that there are; all other braces are text. What keeps untrusted text apart is not part of any wording: the
    code puts it around and behind what stands here.
    """

    name: str
    text: str
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()

    @property
    def language(self) -> str:
        """The language that it is written in: zh or en."""
        return self.name.rpartition(".")[2]

    def check(self, text: str) -> None:
        """`UsageError` in one sentence for a wording that could not do this one's work."""
        if not text.strip():
            raise UsageError("The wording is empty.")
        if len(text) > MAX_PROMPT_CHARS:
            raise UsageError(f"The wording has {len(text)} characters; at most {MAX_PROMPT_CHARS} are sent.")
        used = set(_PLACEHOLDER.findall(text))
        if missing := sorted(self.required - used):
            raise UsageError(
                f"The wording lacks {_format_placeholders(missing)}, without which the model cannot do this work."
            )
        if unknown := sorted(used - self.required - self.optional):
            known = sorted(self.required | self.optional)
            there_are = f"there are {_format_placeholders(known)}" if known else "this wording has none"
            raise UsageError(f"There is no placeholder {_format_placeholders(unknown)}: {there_are}.")


@dataclass(frozen=True)
class PromptSet:
    """The wordings that hold: ours, but for those of an administrator. Empty, it is ours throughout."""

    overrides: Mapping[str, str] = field(default_factory=dict)

    def render(self, prompt: Prompt, **values: object) -> str:
        """The wording that holds, with the values in its placeholders."""
        wording = self.overrides.get(prompt.name, prompt.text)
        # One pass over the wording: what a value brings along is never taken for a placeholder.
        return _PLACEHOLDER.sub(lambda found: str(values[found[1]]) if found[1] in values else found[0], wording)


DEFAULT_PROMPTS = PromptSet()
"""Our own wordings throughout."""


def define_prompt(name: str, *, zh: str, en: str, required: str = "", optional: str = "") -> dict[str, Prompt]:
    """The wordings of one prompt by language; the placeholders parted by spaces."""
    needs, may = frozenset(required.split()), frozenset(optional.split())
    return {language: Prompt(f"{name}.{language}", text, needs, may) for language, text in (("zh", zh), ("en", en))}


def flatten_untrusted_text(text: str) -> str:
    """Other people's words for a line of a list: without line breaks, control characters and the marks of a fence."""
    flat = re.sub(r"\s+", " ", _INVISIBLE.sub(" ", text))
    while (rest := _FENCE_MARK.sub("", flat)) != flat:  # what is taken out of `<<>>><` must not leave a mark behind
        flat = rest
    return flat.strip()


def _format_placeholders(names: list[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in names)
