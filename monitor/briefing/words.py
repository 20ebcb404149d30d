"""The words that a briefing says by itself, in its readers' language, from the message catalogue."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from monitor.i18n.catalogue import get_word, render
from monitor.i18n.message import Message


@dataclass(frozen=True)
class BriefingMessages:
    """The words of one language, `zh` or `en`."""

    language: str

    @property
    def locale(self) -> str:
        return "zh-CN" if self.language == "zh" else "en"

    def __call__(self, name: str, **args: Any) -> str:
        """Return the sentence `briefing.<name>`, or that of another subject where the name has a dot."""
        return render(Message(name if "." in name else f"briefing.{name}", args), self.language)

    def get_word(self, kind: str, value: object) -> str:
        """Return the word for a value of a vocabulary, such as `type`, `status` or `gap`."""
        return get_word(self.language, kind, value)

    def translate(self, reason: Message | None) -> str:
        """Return a reason of the record as a sentence; the empty string for none."""
        return "" if reason is None else render(reason, self.language)


@cache
def get_briefing_messages(language: str) -> BriefingMessages:
    """Return the words of a language: Chinese for any kind of it, English for all others."""
    return BriefingMessages("zh" if language.lower().startswith("zh") else "en")
