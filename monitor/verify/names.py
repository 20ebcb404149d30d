"""Recognises names in statements and decides whether a page mentions them, under whichever of their forms."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from monitor.extract.sentences import cut_long
from monitor.verify.chinese_names import (
    BODY_HEAD,
    COMPANY_FIELDS,
    BodyForm,
    are_same_body,
    find_organisations,
    find_persons,
    find_places,
    parse_body,
    strip_place,
)
from monitor.verify.english_names import (
    LAW_OF_THE_UNION,
    SMALL_WORDS,
    extract_core_words,
    find_capitalised_names,
    find_expansion,
    find_products,
    fold_latin,
    get_first_core_word,
    is_acronym_of,
    load_words,
)
from monitor.verify.gazetteer import (
    KnownName,
    NameKind,
    find_known_spans,
    fold_characters,
    get_known_names,
    get_place_names,
    has_chinese,
    load_known_names,
)

__all__ = ["Name", "NameIndex", "NameKind", "find_names"]

_HAN = r"[\u4e00-\u9fff]"
_LATIN_WORD_CHAR = re.compile(r"[A-Za-z0-9À-ÿ_]")
_SHORT_NAME = re.compile(
    r"[（(](?:(?:以下|下)?统?(?:简称|称)(?:为|作)?[:：]?\s?)?[“\"'‘]?(?P<short>[^，。；“”\"（）()]{2,60})[”\"'’]?[）)]"
)
_ACRONYM_IN_BRACKETS = re.compile(r"\((?:the )?[\"“']?([A-Z][A-Za-z&-]{1,9})[\"”']?\)")
_MAX_FULL_NAME_CHARS = 60
_GENERIC_CHINESE = re.compile(r"^[该本](部|委|局|署|厅|办|院|行|所|会|公司|集团|协会|银行|机构|中心|法院)$")
_TRADITIONAL = re.compile("[國會為與發學這個們來對時說將產業機關廳議實務]")
_GENERIC_ENGLISH = re.compile(r"^(?:the|this|that) ([A-Za-z]+)$", re.IGNORECASE)


_CAPITALS = frozenset(
    (
        "Brussels",
        "布鲁塞尔",
        "Washington",
        "华盛顿",
        "London",
        "伦敦",
        "Paris",
        "巴黎",
        "Berlin",
        "柏林",
        "Moscow",
        "莫斯科",
    )
) | frozenset(
    (
        "Tokyo",
        "东京",
        "Seoul",
        "首尔",
        "Beijing",
        "北京",
        "New Delhi",
        "新德里",
        "Canberra",
        "堪培拉",
        "Ottawa",
        "渥太华",
    )
)
_EUROPEAN_CODES = frozenset(
    ("DE", "FR", "IT", "ES", "PT", "NL", "BE", "LU", "AT", "SE", "DK", "FI", "IE", "PL", "CZ", "SK", "HU", "RO", "BG")
) | frozenset(("GR", "HR", "SI", "EE", "LV", "LT", "CY", "MT", "GB", "CH", "NO", "IS", "RS", "UA"))


@dataclass(frozen=True, slots=True)
class Name:
    """A name where it stands in a text; `in_chinese`: whether that text is Chinese."""

    text: str
    kind: NameKind
    start: int
    end: int
    in_chinese: bool = field(default=False, compare=False)


@lru_cache(maxsize=2048)
def find_names(text: str) -> tuple[Name, ...]:
    """Return the names of a text in the order of the text, without overlaps."""
    folded = fold_characters(text)
    known = [span for span in find_known_spans(folded) if not LAW_OF_THE_UNION.match(folded, span.start - 1)]
    in_chinese = has_chinese(folded)
    found: list[tuple[int, int, NameKind]] = []
    if in_chinese:
        found += find_organisations(folded, known)
        found += find_persons(folded)
        found += find_places(folded, known)
    found += find_products(folded)
    found += find_capitalised_names(folded, known)
    found += [(span.start, span.end, span.names[0].kind) for span in known]
    return tuple(
        Name(text[start:end], kind, start, end, in_chinese=in_chinese) for start, end, kind in _drop_overlaps(found)
    )


def _drop_overlaps(found: list[tuple[int, int, NameKind]]) -> Iterator[tuple[int, int, NameKind]]:
    """Yield what is found in the order of the text, of overlapping spans the longest."""
    taken: list[tuple[int, int, NameKind]] = []
    position = -1
    for start, end, kind in sorted(found, key=lambda span: (span[0], -span[1])):
        if start >= position:
            taken.append((start, end, kind))
            position = end
        elif end - start > taken[-1][1] - taken[-1][0]:
            taken[-1] = (start, end, kind)
            position = end
    yield from taken


class NameIndex:
    """A page parsed once, so that many statements can ask which names it mentions."""

    def __init__(self, text: str) -> None:
        self._text = fold_characters(text)
        self._lower = fold_latin(self._text)
        self._is_chinese = has_chinese(text[:20000])
        self._is_latin = re.search(r"[A-Za-z]{2,}\s[A-Za-z]{2,}\s[A-Za-z]{2,}", text) is not None
        self._is_traditional = len(_TRADITIONAL.findall(text[:20000])) > 4
        self._found: dict[str, list[int]] = {}

    @cached_property
    def _names(self) -> dict[str, list[Name]]:
        names: dict[str, list[Name]] = {}
        position = 0
        for line in self._text.splitlines(keepends=True):
            for piece in cut_long(line):
                for name in find_names(piece):
                    moved = Name(name.text, name.kind, position + name.start, position + name.end)
                    names.setdefault(name.text, []).append(moved)
                position += len(piece)
        return names

    @cached_property
    def _spans(self) -> list[tuple[int, int, str]]:
        spans = [(name.start, name.end, form) for form, names in self._names.items() for name in names]
        return sorted(spans) or [(0, 0, "")]

    @cached_property
    def _known(self) -> set[int]:
        """The known names that some form stands for on the page, by identity."""
        return {id(known) for form in self._names for known in get_known_names(form)}

    @cached_property
    def _partners(self) -> dict[str, set[str]]:
        """Forms that the page itself says are of one name: full（以下简称“short”）, Full Name (FN)."""
        partners: dict[str, set[str]] = {}

        def join(full: str, short: str) -> None:
            partners.setdefault(full, set()).add(short)
            partners.setdefault(short, set()).add(full)

        for match in _SHORT_NAME.finditer(self._text):
            before = self._text[max(0, match.start() - _MAX_FULL_NAME_CHARS) : match.start()].rstrip()
            full = next((name.text for name in find_names(before)[-1:] if name.end == len(before)), "")
            for short in re.split(r"[,，;；、/]|\s或\s?|或", match["short"]):
                if full and len(short.strip()) >= 2:
                    join(full, short.strip(" “”\"'‘’"))
        for match in _ACRONYM_IN_BRACKETS.finditer(self._text):
            words = self._text[max(0, match.start() - 2 * _MAX_FULL_NAME_CHARS) : match.start()].split()
            full = find_expansion(words[-10:], match[1])
            if full:
                join(full, match[1])
        return partners

    def mentions(self, name: Name | str) -> bool | None:
        """Whether the page names it; None where that cannot be known, such as a name in another script."""
        text = fold_characters(name.text if isinstance(name, Name) else name).strip()
        if not text or self.find(text):
            return True
        kind = name.kind if isinstance(name, Name) else _guess_kind(text)
        in_chinese = name.in_chinese if isinstance(name, Name) else False
        if _GENERIC_CHINESE.match(text) or _GENERIC_ENGLISH.match(text):
            return None
        if has_chinese(text) and self._is_traditional:
            return None
        known = get_known_names(text)
        if known:
            return self._decide_known(text, known)
        if has_chinese(text):
            return self._decide_chinese(text, kind) if self._is_chinese else None
        if self._is_chinese and not (in_chinese and kind is NameKind.PRODUCT):
            return None
        return self._decide_latin(text, kind)

    def find(self, name: Name | str) -> list[int]:
        """Return where the page mentions it in any of its forms, by position, general references included."""
        text = fold_characters(name.text if isinstance(name, Name) else name).strip()
        found = self._found.get(text)
        if found is None:
            found = self._found[text] = _drop_contained(self._search(text))
        return found

    def _search(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the start and length of each mention."""
        general = _GENERIC_CHINESE.match(text) or _GENERIC_ENGLISH.match(text)
        forms = self._list_forms(text)
        places = [(place, len(text)) for place in self._find_form(text)]
        for form in forms - {text}:
            found = (place for place in self._find_form(form) if not self._is_within_another(place, form, forms))
            places += ((place, len(form)) for place in found)
        if not places and not general:
            places = [(found.start, found.end - found.start) for found in self._find_alike(text)]
        yield from places
        if places:
            yield from ((place, 1) for place in self._find_references(forms, min(places)[0]))

    def _is_within_another(self, place: int, form: str, forms: set[str]) -> bool:
        """Whether a form stands in a longer known name that is another one, as 央行 in 欧洲央行."""
        start, end, text = self._spans[max(0, bisect_right(self._spans, (place, len(self._text))) - 1)]
        is_longer = start <= place < place + len(form) <= end and end - start > len(form)
        return is_longer and text not in forms and bool(get_known_names(text))

    def _list_forms(self, text: str) -> set[str]:
        """Return a name with all its forms, of the table and of the page."""
        forms = {text}
        for known in get_known_names(text):
            forms.update((*known.forms, *(hint for hint in known.hints if len(hint) > 1)))
        for form in tuple(forms):
            for partner in self._partners.get(form, ()):
                forms.add(partner)
                forms.update(form for known in get_known_names(partner) for form in known.forms)
        return forms

    def _find_form(self, form: str) -> Iterator[int]:
        is_chinese = has_chinese(form)
        is_exact = is_chinese or (form.isupper() and " " not in form) or len(form) < 4
        text, form = (self._text, form) if is_exact else (self._lower, fold_latin(form))
        position = text.find(form)
        while position >= 0:
            end = position + len(form)
            if is_chinese or not (_is_word_char(text, position - 1, form[0]) or _is_word_char(text, end, form[-1])):
                yield position
            position = text.find(form, position + 1)

    def _find_references(self, forms: Iterable[str], first: int) -> Iterator[int]:
        """Yield general references such as 该局 or `the Authority` after the name's first mention."""
        english = {words[-1] for form in forms if len(words := form.split()) > 1 and not has_chinese(form)}
        english |= {form.split()[0] for form in forms if " of " in form or " for " in form}
        for head in english:
            if head.casefold() in load_words().heads:
                yield from (
                    match.start()
                    for match in re.finditer(rf"\b[Tt]he {re.escape(head)}\b(?! of\b)", self._text[first:])
                )
        for form in forms:
            head_match = BODY_HEAD.search(form)
            if head_match is not None:
                tail = "公司" if head_match[0].endswith("公司") else head_match[0][-1:]
                yield from (first + match.start() for match in re.finditer(rf"该{tail}", self._text[first:]))

    def _find_alike(self, text: str) -> Iterator[Name]:
        """Yield the page's names of which the name is a short form, or that are short forms of it."""
        if has_chinese(text):
            yield from self._find_alike_chinese(text)
            return
        spread = r"[\W_]*".join(re.escape(char) for char in _fold_alphanumerics(text))
        if any(char.isdigit() for char in text) or (len(text) > 5 and " " not in text):
            for match in re.finditer(rf"(?<![a-z0-9]){spread}(?![a-z0-9])", self._lower):
                yield Name(text, NameKind.PRODUCT, match.start(), match.end())
        halves = [self.find(half) for half in re.split(r" (?:and|&) ", text) if half != text]
        if halves and all(halves):
            yield from (Name(text, NameKind.ORGANISATION, place, place + 1) for found in halves for place in found)
        words = extract_core_words(text)
        is_acronym = text.isupper() and " " not in text
        for form, names in self._names.items():
            if has_chinese(form):
                continue
            others = extract_core_words(form)
            is_same = (
                words
                and others
                and (
                    words == others
                    or (
                        names[0].kind is NameKind.ORGANISATION
                        and len(others) == 1
                        and others < words
                        and form.partition(" ")[0] == text.partition(" ")[0]
                    )
                )
            )
            if is_same or (is_acronym and is_acronym_of(text, form)) or (form.isupper() and is_acronym_of(form, text)):
                yield from names
        if names_of_person := _get_surname(text):
            for position in self._find_form(names_of_person):
                yield Name(names_of_person, NameKind.PERSON, position, position + len(names_of_person))

    def _find_alike_chinese(self, text: str) -> Iterator[Name]:
        if "·" in text:
            surname = text.rpartition("·")[2]
            for position in self._find_form(surname):
                yield Name(surname, NameKind.PERSON, position, position + len(surname))
            return
        if _guess_kind(text) is not NameKind.ORGANISATION:
            for position in self._find_form(strip_place(text)):
                yield Name(text, NameKind.PLACE, position, position + 1)
            return
        tail = self._find_tail(text)
        if tail >= 0:
            yield Name(text, NameKind.ORGANISATION, tail, tail + 1)
        form = parse_body(text)
        bare = self._find_bare(text, form)
        if bare >= 0 and all(strip_place(place) in self._text for place in form.places):
            yield Name(text, NameKind.ORGANISATION, bare, bare + 1)
        for other, names in self._names.items():
            if has_chinese(other) and names[0].kind is NameKind.ORGANISATION and are_same_body(form, parse_body(other)):
                yield from names

    def _find_tail(self, text: str) -> int:
        """Return where the page has the name without its first characters, which may be no part of it; or -1."""
        form = parse_body(text)
        if form.places or form.head not in ("公司", "银行", "会", "大学", "所"):
            return -1
        stem = COMPANY_FIELDS.sub("", form.stem)
        position = self._text.find(stem) if len(stem) >= 2 else -1
        if position >= 0:
            return position
        for start in range(1, len(stem) - 1):
            position = self._text.find(text[start:])
            if position >= 0:
                return position
        return -1

    def _decide_known(self, text: str, known: tuple[KnownName, ...]) -> bool | None:
        """A place is unknown where the page names what lies in it, a body where the page names a body within."""
        for name in known:
            if self._may_be_another(text, name):
                return None
            if name.kind is NameKind.PLACE and (self._names_inside(name) or self._is_metonym(text, name)):
                return None
            if any(hint in self._text for hint in name.hints):
                return None
            if name.kind is NameKind.ORGANISATION and self._has_general_reference(name):
                return None
        return False

    def _may_be_another(self, text: str, name: KnownName) -> bool:
        """Whether the form may stand for a body that the table does not have or that the page names otherwise.

        财政部 or 央行 in a statement about an English page may be those of any country.
        """
        if name.kind is not NameKind.ORGANISATION:
            return False
        if has_chinese(text) and not self._is_chinese:
            return not any(text.startswith(form) for form in get_place_names())
        others = (form for known in load_known_names() if id(known) in self._known for form in known.forms)
        return any(other.endswith(text) for other in others)

    def _is_metonym(self, text: str, place: KnownName) -> bool:
        """Whether the place is a capital, which may stand for a government that the page names."""
        if text not in _CAPITALS:
            return False
        country = get_known_names(place.home) or tuple(name for name in load_known_names() if name.code == place.home)
        return any(self.find(name.forms[0]) or self._names_inside(name) for name in country)

    def _names_inside(self, place: KnownName) -> bool:
        """Whether the page names a body, a city or, of Europe, a country that lies in a place."""
        for known in load_known_names():
            home = "EU" if known.code in _EUROPEAN_CODES else known.home
            if id(known) in self._known and home and home in (place.code, *place.forms):
                return True
        return False

    def _has_general_reference(self, name: KnownName) -> bool:
        """Whether the page says `the Commission` or 该局 of a body that it does not name."""
        heads = {form.split()[-1] for form in name.forms if " " in form} & {
            "Commission",
            "Authority",
            "Board",
            "Council",
            "Bank",
            "Fed",
            "Treasury",
        }
        named = {form.split()[-1] for form in self._names if " " in form and not has_chinese(form)}
        return any(re.search(rf"\b[Tt]he {head}\b(?! (?:of|for)\b)", self._text) for head in heads - named)

    def _decide_chinese(self, text: str, kind: NameKind) -> bool | None:
        if kind is not NameKind.ORGANISATION:
            return False
        form = parse_body(text)
        parents = [name for name in find_names(text[: len(text) - 1]) if name.start == 0 and get_known_names(name.text)]
        for parent in parents:
            if parent.kind is NameKind.ORGANISATION:
                return None if self.find(parent.text) else False
        if form.places and self._find_bare(text, form) >= 0:
            return None
        return False

    def _find_bare(self, text: str, form: BodyForm) -> int:
        """Return where the page has a local body without its place, as in 市财政局, or -1."""
        if len(form.stem) < 2 or not form.places:
            return -1
        bare = text[sum(len(place) for place in form.places) :]
        match = re.search(
            rf"(?:^|[^\u4e00-\u9fff省市县区]|[由与和及向]|(?<![\u4e00-\u9fff])[省市县区]){re.escape(bare)}", self._text
        )
        if match is not None:
            return match.end() - len(bare)
        for other, names in self._names.items():
            body = parse_body(other)
            if has_chinese(other) and not body.places and are_same_body(BodyForm((), form.stem, form.head), body):
                return names[0].start
        return -1

    def _decide_latin(self, text: str, kind: NameKind) -> bool | None:
        if not self._is_latin and kind is not NameKind.PRODUCT:
            return None
        if kind is NameKind.PRODUCT:
            return False
        if text.isupper() and " " not in text:
            return None if self._has_initials(text) else False
        words = extract_core_words(text)
        is_begun = any(len(word) < 3 or [*self._find_form(word)] for word in get_first_core_word(text, words))
        if kind is NameKind.PERSON:
            return False
        return None if not words or is_begun or self._has_relative(text) else False

    def _has_relative(self, text: str) -> bool:
        """Whether the page has a word of the same beginning, as Almeira for Almeiran."""
        stem = fold_latin(text)[:-2]
        return len(stem) >= 4 and " " not in stem and re.search(rf"\b{re.escape(stem)}", self._lower) is not None

    def _has_initials(self, acronym: str) -> bool:
        """Whether the initials of some words in a row are the acronym, in any case."""
        words = re.findall(r"[a-z]+", self._lower)
        initials = "".join(word[0] for word in words)
        significant = "".join(word[0] for word in words if word not in SMALL_WORDS)
        return acronym.casefold() in initials or acronym.casefold() in significant


def _fold_alphanumerics(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _is_word_char(text: str, position: int, neighbour: str) -> bool:
    is_inside = 0 <= position < len(text) and _LATIN_WORD_CHAR.match(text[position]) is not None
    return is_inside and _LATIN_WORD_CHAR.match(neighbour) is not None


def _drop_contained(spans: Iterable[tuple[int, int]]) -> list[int]:
    """Return the starts of spans, without those that stand inside another: 发改委 in 国家发改委."""
    starts: list[int] = []
    end = -1
    for start, length in sorted(set(spans), key=lambda span: (span[0], -span[1])):
        if start >= end:
            starts.append(start)
            end = start + length
    return starts


def _guess_kind(text: str) -> NameKind:
    known = get_known_names(text)
    if known:
        return known[0].kind
    if has_chinese(text):
        if "·" in text:
            return NameKind.PERSON
        if BODY_HEAD.search(text) and len(text) > 3:
            return NameKind.ORGANISATION
        return (
            NameKind.PLACE if text[-1] in "省市县区州" else NameKind.PERSON if len(text) <= 3 else NameKind.ORGANISATION
        )
    found = find_names(f"See {text} there.")
    return found[0].kind if found else NameKind.ORGANISATION


def _get_surname(text: str) -> str:
    words = text.split()
    if len(words) in (2, 3) and _guess_kind(text) is NameKind.PERSON:
        return words[-1]
    return ""
