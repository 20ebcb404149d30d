"""Finds sentences that repeat what the model was told instead of what the page says."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property

_FENCE = re.compile(r"<{3}|>{3}")
_PROMPT_LABEL = re.compile(
    r"^(?:[^\S\r\n]|[*#>])*(?:标题|正文|管理员的要求|title|text|the administrator asks)[\s*]*[:：]",
    re.IGNORECASE | re.MULTILINE,
)
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")
_RUN_LENGTH = 12
_MIN_RUN_LENGTH = 6
_MIN_TITLE_SHARE = 0.8


def find_prompt_mark(text: str) -> str | None:
    """Return the first fence or label of a prompt in an answer, such as `<<<PAGE` or `标题：`; None without one."""
    found = _FENCE.search(text) or _PROMPT_LABEL.search(text)
    return found[0].strip() if found else None


class EchoDetector:
    """Knows what a model was told about a page: the wording of its prompts, the administrator's wishes, the title.

    A sentence is an echo where it has twelve words (Chinese: characters) in a row with them that the page does not
    have, or is hardly more than the title, or one of the examples.
    """

    def __init__(self, wordings: Iterable[str], *, title: str, text: str, examples: Iterable[str] = ()) -> None:
        self._title = "".join(_split_tokens(title))
        self._page = (title, text)
        self._examples = {"".join(_split_tokens(example)) for example in examples}
        self._runs: dict[int, set[tuple[str, ...]]] = {}
        for tokens in map(_split_tokens, wordings):
            length = min(_RUN_LENGTH, len(tokens))
            if length >= _MIN_RUN_LENGTH:
                self._runs.setdefault(length, set()).update(_iter_runs(tokens, length))

    def find(self, sentence: str) -> str | None:
        """Return the words that a sentence repeats; None where it repeats nothing."""
        tokens = _split_tokens(sentence)
        folded = "".join(tokens)
        if folded in self._examples or self._is_title(folded):
            return sentence.strip()
        for length, runs in self._runs.items():
            for run in _iter_runs(tokens, length):
                if run in runs and _join(run) not in self._page_tokens:
                    return _join(run).strip() if run[0].isascii() else "".join(run)
        return None

    def _is_title(self, folded: str) -> bool:
        return bool(folded) and folded in self._title and len(folded) >= _MIN_TITLE_SHARE * len(self._title)

    @cached_property
    def _page_tokens(self) -> str:
        return _join([token for part in self._page for token in _split_tokens(part)])


def _split_tokens(text: str) -> list[str]:
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())


def _iter_runs(tokens: Sequence[str], length: int) -> Iterable[tuple[str, ...]]:
    return (tuple(tokens[start : start + length]) for start in range(len(tokens) - length + 1))


def _join(tokens: Sequence[str]) -> str:
    return f" {' '.join(tokens)} "
