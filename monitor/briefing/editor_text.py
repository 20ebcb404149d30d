"""What an editor writes into a briefing, kept apart from what was verified.

Whatever an editor changes, the verified text stays beside it, and each sentence that the verified text does not have
carries `EDITOR_MARK` wherever it is shown.
"""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from monitor.briefing.item import UNCHECKED_MARK
from monitor.extract.sentences import split_sentences
from monitor.verify.statements import EDITOR_MARK, StatementCounts


class AnalystNote(BaseModel):
    """What somebody wrote by hand, and who it was."""

    text: str
    by: str

    @property
    def paragraphs(self) -> list[str]:
        return [line for line in self.text.splitlines() if line.strip()]


class EditedText(AnalystNote):
    """A title or summary in an editor's words; `own` are the sentences that the verified text does not have."""

    own: list[str] = Field(default_factory=list)


def edit_title(text: AnalystNote) -> EditedText:
    """Return the title; it is one claim, so all of it is the editor's."""
    return EditedText(text=text.text, by=text.by, own=[text.text])


def choose_title(verified: str, edited: EditedText | None) -> str:
    """Return the title that is shown: the editor's with its mark, where there is one."""
    return verified if edited is None else f"{edited.text}{EDITOR_MARK}"


def edit_summary(text: AnalystNote, verified: str) -> EditedText:
    known = _list_sentences(verified)
    own = [sentence for sentence in split_sentences(text.text) if _normalize(sentence) not in known]
    return EditedText(text=text.text, by=text.by, own=own)


def mark_edited_text(text: EditedText, unchecked: Sequence[str]) -> str:
    """Return the text with a mark behind each sentence that is the editor's, or that nothing could verify."""
    marks = dict.fromkeys(text.own, EDITOR_MARK)
    doubtful = {_normalize(sentence) for sentence in unchecked}
    pieces, at = [], 0
    for sentence in split_sentences(text.text):
        end = text.text.index(sentence, at) + len(sentence)
        mark = marks.get(sentence) or (UNCHECKED_MARK if _normalize(sentence) in doubtful else "")
        pieces.append(f"{text.text[at:end]}{mark}")
        at = end
    return "".join(pieces)


def recount_statements(
    counts: StatementCounts, verified: str, text: EditedText, unchecked: Sequence[str]
) -> StatementCounts:
    """Return the verdicts on those sentences of the verified text that the edited one still has.

    Which of them a model bore is not on record sentence by sentence: those that went count as borne by code.
    """
    left = _list_sentences(text.text)
    doubtful = len(left & {_normalize(sentence) for sentence in unchecked})
    supported = max(0, len(left & _list_sentences(verified)) - doubtful)
    by_model = min(counts.supported_by_model, supported)
    by_code = min(counts.supported_by_code, supported - by_model)
    return counts.model_copy(
        update={"supported_by_model": by_model, "supported_by_code": by_code, "unchecked": doubtful}
    )


def _list_sentences(text: str) -> set[str]:
    return {_normalize(sentence) for sentence in split_sentences(text)}


def _normalize(sentence: str) -> str:
    return " ".join(sentence.split())
