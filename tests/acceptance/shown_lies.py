"""Which of the lies that the scripted model told stand in what people are shown."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from benchmarks.scripted_model.modes import Lie, LieKind


def squeeze(text: str) -> str:
    return re.sub(r"\s+|\[\d+\]|\*\*", "", text)


def split_shown(text: str) -> list[str]:
    """The sentences of a text, squeezed and without full stops."""
    pieces = re.split(r"[。！？!?\n]|\.(?=\s|$|\[)", re.sub(r"^[-*#>\s]+", "", text, flags=re.MULTILINE))
    return [squeezed for piece in pieces if (squeezed := squeeze(piece))]


def find_shown_lies(lies: Iterable[Lie], shown: Sequence[str]) -> list[Lie]:
    """The lies that stand in these texts, each once; a broken sentence stands only where one ends with it."""
    whole = "\n".join(squeeze(text) for text in shown)
    endings = {sentence for text in shown for sentence in split_shown(text)}
    return [
        lie
        for lie in dict.fromkeys(lies)
        if (squeeze(lie.text) in endings if lie.kind is LieKind.CUT_OFF else squeeze(lie.text) in whole)
    ]


def count_kinds(lies: Iterable[Lie]) -> Counter[LieKind]:
    return Counter(lie.kind for lie in dict.fromkeys(lies))
