"""Finds English names in running text, by capitals, by their words and by what stands around them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from monitor.verify.gazetteer import KnownSpan, NameKind, get_demonyms, get_known_names, has_chinese

_WORDS_FILE = "name_words.txt"


@dataclass(frozen=True, slots=True)
class NameWords:
    """Words that decide about capitalised sequences: last words of bodies and of documents, titles, given names."""

    heads: frozenset[str]
    works: frozenset[str]
    general: frozenset[str]
    starters: frozenset[str]
    titles: frozenset[str]
    given: frozenset[str]
    small: frozenset[str]


@cache
def load_words() -> NameWords:
    text = files("monitor.verify").joinpath(_WORDS_FILE).read_text(encoding="utf-8")
    sections = re.findall(r"^\[(\w+)\]\n([^\[]*)", text, flags=re.MULTILINE)
    return NameWords(**{name: frozenset(words.split()) for name, words in sections})


_CONNECTORS = "of|and|for|the|on|in|to|de|du|des|la|von|van|der|&"
_CAPITALISED = r"(?:[A-ZÀ-Þ][A-Za-z0-9_À-ÿ'&-]*(?:\.(?=[A-Z]))?)+"
_ABBREVIATED = r"(?:(?:(?<=\b[A-Z])|(?<=\bSt)|(?<=\bMr)|(?<=\bDr)|(?<=\bMs))\.)?"
_ENGLISH_RUN = re.compile(  # at most 16 words, so that a page of capitals takes linear time
    rf"(?<![A-Za-z0-9_À-ÿ&@/.-]){_CAPITALISED}"
    rf"(?:{_ABBREVIATED}[ \t](?:(?:{_CONNECTORS})[ \t]){{0,3}}{_CAPITALISED}){{0,15}}(?![A-Za-z0-9_])"
)
_TITLE_BEFORE = re.compile(
    r"(?i:executive|chair(?:man|woman|person)?|director|governor|minister|president|secretary|"
    r"commissioner|spokes(?:man|woman|person)"
    r"|economist|analyst|head|officer|professor|judge|appointed|appoints|appoint|named|names|"
    r"nominated|by|founder|lawyer),?\s$"
)
_SPEECH_AFTER = re.compile(
    r"\s(?:said|says|told|added|argued|warned|wrote|stressed|noted|joins|joined|stepped|resigned|"
    r"has been appointed|was appointed"
    r"|is appointed|will succeed|succeeds|will join|as (?:its |the )?(?:new )?(?:chair|chief|"
    r"director|governor|head|president|commissioner))\b"
    r"|,\s(?:the |its |our |their )?(?:\w+ )?(?:chief|chair|executive|director|head|governor|"
    r"minister|secretary|commissioner|president"
    r"|economist|analyst|partner|founder|spokes|professor|deputy|joint|co-)"
)
_PRODUCT = re.compile(
    r"(?a:(?<![\w-])(?:Model [A-Z0-9]\w?\b|(?:iPhone|Galaxy|Windows|Mate|Pura) ?\d+\w*|"
    r"[A-Z][A-Za-z]{2,}-[A-Z]?\d[\w.]*|[A-Z]{2,}-[4-9]\w*"
    r"|[A-Z][a-z]+[A-Z][A-Za-z]*|i[A-Z][a-z]+\w*|[A-Z]\d{3}[a-z]+)(?![\w-]))"
)
_NOT_PRODUCT = re.compile(
    r"(?i:^(?:k|m|g|t)?wh?$|^(?:covid|sars|iso|cp|ps|dp|gc|fg|fy|com|swd|h5n|h1n|mc|mac|phd|pm))|"
    r"^(?:Mc|Mac|De|La|Le|Di|Van|Fitz|O')[A-Z][a-z]+$|^(?:No|Vol|Art|Rev|Annex|Table|Figure|Part|Article|"
    r"Section|Form|Phase|Tier|Level|Class|Scope|Group|Grade|Euro|Basel|Stage|Step|Option|Chapter|"
    r"Appendix)-"
)
_MEASURE = re.compile(r"[kMGTP]?(?:Wh?|Hz|bps|VA|Wp|J|B|b|t)|t?CO2e?|pH|m[23]|USD?m|EURm|GBPm")
LAW_OF_THE_UNION = re.compile(r"\((?:EU|EC)[,)]\s?(?:No\.?\s?)?\d|[( ](?:EU|EC)\) ")
_ACRONYM = re.compile(r"[A-Z][A-Z&]{1,6}[A-Z]")


def find_products(text: str) -> Iterator[tuple[int, int, NameKind]]:
    for match in _PRODUCT.finditer(text):
        if not _NOT_PRODUCT.search(match[0]) and not get_known_names(match[0]):
            yield match.start(), match.end(), NameKind.PRODUCT


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int

    @property
    def folded(self) -> str:
        return self.text.casefold().removesuffix("'s").rstrip("'.")


def find_capitalised_names(text: str, known: list[KnownSpan]) -> Iterator[tuple[int, int, NameKind]]:
    """Yield capitalised sequences that are names by their words or by what stands around them."""
    if _is_title_case(text):
        return
    for run in _ENGLISH_RUN.finditer(text):
        if LAW_OF_THE_UNION.match(text, run.start() - 1):
            continue
        words = [
            _Word(match[0], run.start() + match.start(), run.start() + match.end())
            for match in re.finditer(r"[^\s]+", run[0])
        ]
        covered = [span for span in known if span.start < run.end() and span.end > run.start()]
        if _MEASURE.fullmatch(run[0]):
            continue
        for segment in _split_run(words, covered):
            name = _classify(text, _trim(text, segment))
            if name is not None:
                yield name


def _is_title_case(text: str) -> bool:
    words = [word for word in re.findall(r"[A-Za-z]{4,}", text) if word not in load_words().small]
    return len(words) >= 3 and all(word[0].isupper() for word in words)


def _split_run(words: list[_Word], covered: list[KnownSpan]) -> Iterator[list[_Word]]:
    """Yield the sequences of a run that may be one name each: cut at known names and at `and` between two names."""
    segment: list[_Word] = []
    for place, word in enumerate(words):
        is_known = any(span.start <= word.start < span.end for span in covered)
        joins = word.folded in ("and", "&", "the", "in", "on", "to", "for")
        is_compound = word.folded in ("and", "&", "for", "on", "the") and _joins_one_name(segment, words[place + 1 :])
        is_role = word.folded == "of" and bool(segment) and segment[0].folded in load_words().given
        if is_known or is_role or (joins and not is_compound):
            yield segment
            segment = []
        else:
            segment.append(word)
    yield segment


def _joins_one_name(before: list[_Word], after: list[_Word]) -> bool:
    """Whether `and` or `for` stands inside a name: Office for Health and Care, Health and Safety Authority."""
    if before and before[0].folded in load_words().heads:
        return True
    heads = [word for word in after[:4] if word.folded in load_words().heads]
    return bool(heads) and not any(word.folded in load_words().heads for word in before)


def _trim(text: str, words: list[_Word]) -> list[_Word]:
    """Drop small and general words from both ends, and a first word of a sentence that is an ordinary word."""
    small = frozenset(_CONNECTORS.split("|"))
    words = list(words)
    while words and (
        words[0].folded in small or words[0].folded in load_words().starters or _is_ordinary_start(text, words)
    ):
        words.pop(0)
    while words and (words[-1].folded in small or words[-1].folded in load_words().starters):
        words.pop()
    return words


def _is_ordinary_start(text: str, words: list[_Word]) -> bool:
    """Whether the word begins a sentence and may be capitalised for that alone."""
    word = words[0]
    before = text[max(0, word.start - _MAX_MARKS_CHARS) : word.start].rstrip(" \t\"'“‘(*-–—·")
    if before and before[-1] not in ".!?:;\n。！？：；":
        return False
    if word.folded.endswith(("ing", "ed", "ly")):
        return True
    if len(words) == 1 and not _ACRONYM.fullmatch(word.text):
        return not _stands_within_sentence(text, word.text)
    return False


def _stands_within_sentence(text: str, word: str) -> bool:
    """Whether a word stands behind a small letter or a comma somewhere in a text."""
    place = text.find(f" {word}")
    while place >= 0:
        end = place + 1 + len(word)
        before, after = text[place - 1 : place], text[end : end + 1]
        if (before == "," or "a" <= before <= "z") and not (after.isalnum() or after == "_"):
            return True
        place = text.find(f" {word}", end)
    return False


def _classify(text: str, words: list[_Word]) -> tuple[int, int, NameKind] | None:
    """Return the name that the words are, None where they are a title of a document or general words."""
    titles = [place for place, word in enumerate(words[:-1]) if word.folded in load_words().titles]
    owners = [place for place, word in enumerate(words[:-2]) if word.text.endswith("'s")]
    if (
        owners
        and words[owners[-1] + 1].folded in load_words().given | {words[-2].folded}
        and len(words) - owners[-1] == 3
    ):
        words, titles = words[owners[-1] + 1 :], []
    titled = bool(titles) and len(words) - titles[-1] <= 4
    if titled:
        words = words[titles[-1] + 1 :]
    is_body_of = len(words) > 2 and words[0].folded in load_words().heads and words[1].folded in ("of", "for")
    if not words or (words[-1].folded in load_words().works and not is_body_of):
        return None
    folded = [word.folded for word in words]
    start, end = words[0].start, words[-1].end - (2 if words[-1].text.endswith("'s") else 0)
    ordinary = load_words().general | load_words().starters | get_demonyms()
    if all(word in ordinary or not word.isalpha() for word in folded if word not in _CONNECTORS):
        return None
    has_head = any(word in load_words().heads for word in folded)
    is_personal = len(words) in (2, 3) and not any(
        word in load_words().general or word in load_words().works or word in load_words().heads for word in folded
    )
    if is_personal and all(word.text[1:2].islower() or len(word.text) <= 2 for word in words):
        cued = titled or _TITLE_BEFORE.search(text[max(0, start - 24) : start]) or _SPEECH_AFTER.match(text, end)
        if folded[0] in load_words().given or (cued and not has_head):
            return start, end, NameKind.PERSON
    if len(words) == 1 and re.match(r"\s\(?\d", text[end : end + 3]):
        return None
    if titled and len(words) == 1:
        return start, end, NameKind.PERSON
    if has_head or (len(words) == 1 and _ACRONYM.fullmatch(words[0].text)):
        return start, end, NameKind.ORGANISATION
    if any(word in load_words().works for word in folded) or has_chinese(text):
        return None
    return start, end, NameKind.ORGANISATION


_MAX_MARKS_CHARS = 40
SMALL_WORDS = frozenset(("of", "and", "for", "the", "in", "on", "to", "a", "an", "&", "de"))
_WEAK_WORDS = frozenset(
    ("uk", "us", "eu", "european", "british", "american", "chinese", "german", "new", "national", "international")
)


def fold_latin(text: str) -> str:
    """Fold letter case, hyphens and white space; every character keeps its place."""
    folded = (
        "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
        if not text.isascii()
        else text.lower()
    )
    return folded.replace("-", " ").replace("\n", " ").replace("\t", " ").replace("‑", " ").replace("–", " ")


def find_expansion(words: list[str], acronym: str) -> str:
    """Return the last words before a bracket whose initials are the acronym, small words counted or not."""
    wanted = acronym.casefold().replace("&", "").replace("-", "")
    for count in range(len(wanted), min(len(words), len(wanted) + 4) + 1):
        taken = words[len(words) - count :]
        every = "".join(word[0] for word in taken).casefold()
        capital = "".join(word[0] for word in taken if word not in SMALL_WORDS).casefold()
        if wanted in (every, capital) and taken[0].casefold() not in SMALL_WORDS:
            return " ".join(taken)
    return ""


def is_acronym_of(acronym: str, text: str) -> bool:
    words = text.split()
    return len(words) > 1 and len(acronym) > 1 and find_expansion(words, acronym) == text


def extract_core_words(text: str) -> frozenset[str]:
    words = [word.removesuffix("'s") for word in re.findall(r"[\w']+", fold_latin(text))]
    weak = load_words().heads | SMALL_WORDS | _WEAK_WORDS
    return frozenset(word for word in words if word not in weak)


def get_first_core_word(text: str, words: frozenset[str]) -> list[str]:
    """Return the first of a name's words that tells it from others, in a list of its own."""
    return [word for word in re.findall(r"[\w']+", fold_latin(text)) if word.removesuffix("'s") in words][:1]
