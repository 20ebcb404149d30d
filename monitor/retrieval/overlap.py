"""How much of a query stands in a text, alike for languages with spaces between words and without."""

from monitor.domain.terms import folded, is_paired, runs_of

_WORD_WEIGHT = 2
"""A word with spaces around it weighs as much as two characters without, which is how long most Chinese words are."""


def overlap(query: str, text: str) -> float | None:
    """The share of the query that stands in the text, 0 to 1; None where the query has neither word nor character.

    A word counts where the text has it too, letter case, width and an English plural set aside. In a run of
    characters without spaces, a character counts where it and a neighbour stand side by side in the text: of
    光伏补贴政策, all six in “光伏发电的补贴新政策”, two in “光明与补贴”, none in “伏天补光”. A single character counts
    by itself.
    """
    runs, told = runs_of(folded(query)), folded(text)
    paired = [run for run in runs if is_paired(run)]
    words = [_singular(run) for run in runs if not is_paired(run)]
    unspaced = "".join(told.split())
    there = {_singular(run) for run in runs_of(told)} if words else set()
    held = sum(_covered(run, unspaced) for run in paired) + _WORD_WEIGHT * sum(word in there for word in words)
    whole = sum(map(len, paired)) + _WORD_WEIGHT * len(words)
    return held / whole if whole else None


def _covered(run: str, text: str) -> int:
    """How many characters of a run stand in the text beside a neighbour of theirs."""
    if len(run) == 1:
        return int(run in text)
    covered = [False] * len(run)
    for start in range(len(run) - 1):
        if run[start : start + 2] in text:
            covered[start] = covered[start + 1] = True
    return sum(covered)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("xes", "ches", "shes", "sses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word
