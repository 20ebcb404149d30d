"""The judge of statements: whether a page says what a sentence says about it."""

from collections.abc import Sequence

from monitor.extract.sentences import split_sentences
from monitor.verify.citations import PassageIndex
from monitor.verify.prose import compute_overlap, extract_words
from monitor.verify.statements import Judgement, Reason, SourceText
from monitor.vocabulary import ReasonCode, Verdict


class StatementJudge:
    """Judges statements against pages that are read once; by code alone, without waiting for anything."""

    def __init__(self, sources: Sequence[SourceText]) -> None:
        self._text = "\n".join(f"{source.title}\n{source.publisher}\n{source.text}" for source in sources)
        self._index = PassageIndex(self._text)
        self._pieces = [piece for line in self._text.splitlines() for piece in split_sentences(line)]

    def judge(self, statement: str) -> Judgement:
        words = extract_words(statement)
        passage = max(self._pieces, key=lambda piece: compute_overlap(words, extract_words(piece)), default="")
        missing = self._index.find_missing(statement)
        if missing:
            reasons = tuple(Reason(code=ReasonCode.NUMBER, args={"said": said}) for said in sorted(missing))
            return Judgement(verdict=Verdict.UNSUPPORTED, passage=passage, reasons=reasons)
        if compute_overlap(words, extract_words(passage)) >= 0.5:
            return Judgement(verdict=Verdict.SUPPORTED, passage=passage)
        return Judgement(verdict=Verdict.UNCHECKED, passage=passage, is_open=True, context=passage)
