"""How long English documents say that they hold."""

import re
from collections.abc import Iterator, Sequence

from monitor.policies.day_mentions import read_count
from monitor.policies.day_rules import Term
from monitor.policies.document_text import Sentence

_N = r"(?P<n>\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|twelve|eighteen|twenty-four)(?:\s\(\d{1,3}\))?"
_TERM = re.compile(
    rf"\b(?:remains?|continues?|(?:stays?|is|are|be)|valid|ha(?:s|ve)\seffect|expires?|runs?|appl(?:y|ies)"
    rf"|in\s(?:force|effect)|pilot|effective|lasts?|ceases?)\b[^.;]{{0,40}}?\b(?:for|after|of)\s(?:a\s(?:period"
    rf"|term)\sof\s|an\sinitial\s(?:period|term)\sof\s|an\sinitial\s)?{_N}[\s-](?P<unit>years?|months?)\b",
    re.IGNORECASE,
)
_TERM_AFTER_START = re.compile(
    rf"\b(?:expires?|ceases?\sto\s(?:have\seffect|apply)|lapses?)\s(?:at\sthe\send\sof\s)?{_N}[\s-](?P<unit>years?"
    rf"|months?)\s(?:after|from)"
    r"\s(?:it|they|its|their|the\s(?:day|date|commencement|coming))\b",
    re.IGNORECASE,
)


def find_terms(sentences: Sequence[Sentence]) -> Iterator[Term]:
    """Yield how long the document holds, where it says so in years or months."""
    for sentence in sentences:
        found = _TERM.search(sentence.masked) or _TERM_AFTER_START.search(sentence.masked)
        if not found:
            continue
        head = sentence.masked[: found.start()][-60:]
        if re.search(
            r"\b(?:licen[cs]es?|permits?|certificates?|records?|approvals?|authori[sz]ations?|passports?"
            r"|registrations?|imprison|document(?:s|ation)|retain(?:ed)?)\b",
            head + found[0],
            re.IGNORECASE,
        ):
            continue
        if re.search(
            r"\b(?:rules?|regulations?|order|guidance|guidelines?|notice|pilot|scheme|instrument|measures?"
            r"|directive|circular|determination|waiver|relief|sandbox|policy|programme|program|trial|it|standard|code|decision|moratorium|act"
            r"|exemption)\b",
            head + found[0],
            re.IGNORECASE,
        ) and re.search(r"remain|continu|effect|force|expire|valid|pilot|last|trial|run", found[0], re.IGNORECASE):
            yield Term(read_count(found["n"]), found["unit"], sentence.start, sentence.end)
            return
