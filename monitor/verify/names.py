"""Recognises names in statements and decides whether a page mentions them, under whichever of their forms."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from monitor.verify.gazetteer import KnownName, NameKind, get_known_names, get_place_names, load_known_names
from monitor.verify.name_finder import Name, find_names, fold_characters, has_chinese, load_words

__all__ = ["Name", "NameIndex", "NameKind", "find_names"]

_HAN = r"[\u4e00-\u9fff]"
_LATIN_WORD_CHAR = re.compile(r"[A-Za-z0-9À-ÿ_]")
_SHORT_NAMES = re.compile(
    rf"(?P<full>{_HAN}[^，。；：“”\s（）()]{{2,40}}(?:（{_HAN}{{2,6}}）)?[^，。；：“”\s（）()]{{0,20}})\s?[（(]"
    r"(?:(?:以下|下)?统?(?:简称|称)(?:为|作)?[:：]?\s?)?[“\"'‘]?(?P<short>[^，。；“”\"（）()]{2,60}?)[”\"'’]?[）)]"
)
_ENGLISH_ACRONYM = re.compile(r"((?:[\w'&-]+ ){1,10})\((?:the )?[\"“']?([A-Z][A-Za-z&-]{1,9})[\"”']?\)")
_SMALL_WORDS = frozenset(("of", "and", "for", "the", "in", "on", "to", "a", "an", "&", "de"))
_WEAK_WORDS = frozenset(
    ("uk", "us", "eu", "european", "british", "american", "chinese", "german", "new", "national", "international")
)
_CHINESE_HEAD = re.compile(
    r"(?:集团|控股)?(?:股份)?(?:有限)?(?:责任)?公司$|集团$|股份$|控股$|委员会$|委$|管理总局$|总局$|管理局$|局$|部$|厅$|总署$|署$|办公室$|办公厅$|办$"
    r"|人民法院$|法院$|检察院$|研究院$|银行$|行$|交易所$|所$|协会$|学会$|联合会$|会$|大学$|学院$|院$|中心$"
)
_HEAD_CLASSES = {
    **dict.fromkeys(("委员会", "委"), "委"),
    **dict.fromkeys(("管理局", "局"), "局"),
    **dict.fromkeys(("管理总局", "总局"), "总局"),
    **dict.fromkeys(("总署", "署"), "署"),
    **dict.fromkeys(("人民法院", "法院"), "法院"),
    **dict.fromkeys(("办公室", "办"), "办"),
    **dict.fromkeys(("银行", "行"), "银行"),
    **dict.fromkeys(("交易所", "所"), "所"),
    **dict.fromkeys(("协会", "学会", "联合会", "会"), "会"),
}
_COUNTRY_PREFIX = re.compile(r"^(?:中华人民共和国|国家|中国|中华|全国)")
_COMPANY_FIELDS = re.compile(
    r"(?:科技|实业|投资|贸易|网络|信息|技术|新?能源|电力|电子|汽车|医药|生物|制药|控股|集团|发展|管理|股份|材料|新材料|智能|工业|建设|工程"
    r"|（[^）]*）|\([^)]*\)|电器|食品|化工|机械|设备|传媒|文化|教育|证券|基金|期货|保险|资产|资本|服务|咨询|物流|国际)+$"
)
_GENERIC_CHINESE = re.compile(r"^[该本](部|委|局|署|厅|办|院|行|所|会|公司|集团|协会|银行|机构|中心|法院)$")
_GENERIC_ENGLISH = re.compile(r"^(?:the|this|that) ([A-Za-z]+)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _ChineseForm:
    """A Chinese organisation taken apart: 浙江省 + 市场监督 + 管理局."""

    places: tuple[str, ...]
    stem: str
    head: str


class NameIndex:
    """A page parsed once, so that many statements can ask which names it mentions."""

    def __init__(self, text: str) -> None:
        self._text = fold_characters(text)
        self._lower = _fold_latin(self._text)
        self._is_chinese = has_chinese(text[:20000])
        self._is_latin = re.search(r"[A-Za-z]{2,}\s[A-Za-z]{2,}\s[A-Za-z]{2,}", text) is not None
        self._found: dict[str, list[int]] = {}

    @cached_property
    def _names(self) -> dict[str, list[Name]]:
        names: dict[str, list[Name]] = {}
        position = 0
        for line in self._text.splitlines(keepends=True):
            for name in find_names(line):
                moved = Name(name.text, name.kind, position + name.start, position + name.end)
                names.setdefault(name.text, []).append(moved)
            position += len(line)
        return names

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

        for match in _SHORT_NAMES.finditer(self._text):
            full = next(
                (name.text for name in reversed(find_names(match["full"])) if name.end == len(match["full"])), ""
            )
            for short in re.split(r"[,，;；、/]|\s或\s?|或", match["short"]):
                if full and len(short.strip()) >= 2:
                    join(full, short.strip(" “”\"'‘’"))
        for match in _ENGLISH_ACRONYM.finditer(self._text):
            full = _find_expansion(match[1].split(), match[2])
            if full:
                join(full, match[2])
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
        known = get_known_names(text)
        if known:
            return self._decide_known(known)
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
            found = self._found[text] = sorted(set(self._search(text)))
        return found

    def _search(self, text: str) -> Iterator[int]:
        general = _GENERIC_CHINESE.match(text) or _GENERIC_ENGLISH.match(text)
        forms = self._list_forms(text)
        places = [place for form in forms for place in self._find_form(form)]
        if not places and not general:
            places = [found.start for found in self._find_alike(text)]
        yield from places
        if places:
            yield from self._find_references(forms, min(places))

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
        text, form = (self._text, form) if is_exact else (self._lower, _fold_latin(form))
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
            head_match = _CHINESE_HEAD.search(form)
            if head_match is not None:
                tail = "公司" if head_match[0].endswith("公司") else head_match[0][-1:]
                yield from (first + match.start() for match in re.finditer(rf"该{tail}", self._text[first:]))

    def _find_alike(self, text: str) -> Iterator[Name]:
        """Yield the page's names of which the name is a short form, or that are short forms of it."""
        if has_chinese(text):
            yield from self._find_alike_chinese(text)
            return
        words = _get_core_words(text)
        is_acronym = text.isupper() and " " not in text
        for form, names in self._names.items():
            if has_chinese(form):
                continue
            others = _get_core_words(form)
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
            if (
                is_same
                or (is_acronym and _is_acronym_of(text, form))
                or (form.isupper() and _is_acronym_of(form, text))
            ):
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
            for position in self._find_form(_strip_place(text)):
                yield Name(text, NameKind.PLACE, position, position + 1)
            return
        tail = self._find_tail(text)
        if tail >= 0:
            yield Name(text, NameKind.ORGANISATION, tail, tail + 1)
        form = _split_chinese(text)
        for other, names in self._names.items():
            if has_chinese(other) and names[0].kind is NameKind.ORGANISATION and _are_same(form, _split_chinese(other)):
                yield from names

    def _find_tail(self, text: str) -> int:
        """Return where the page has the name without its first characters, which may be no part of it; or -1."""
        form = _split_chinese(text)
        if form.places or form.head not in ("公司", "银行", "会", "大学", "所"):
            return -1
        stem = _COMPANY_FIELDS.sub("", form.stem)
        position = self._text.find(stem) if len(stem) >= 2 else -1
        if position >= 0:
            return position
        for start in range(1, len(stem) - 2):
            position = self._text.find(text[start:])
            if position >= 0:
                return position
        return -1

    def _decide_known(self, known: tuple[KnownName, ...]) -> bool | None:
        """A place is unknown where the page names what lies in it, a body where the page names a body within."""
        for name in known:
            is_readable = any(has_chinese(form) == self._is_chinese or not has_chinese(form) for form in name.forms)
            if not is_readable:
                return None
            if name.kind is NameKind.PLACE and self._names_inside(name):
                return None
            if any(hint in self._text for hint in name.hints):
                return None
            if name.kind is NameKind.ORGANISATION and self._has_general_reference(name):
                return None
        return False

    def _names_inside(self, place: KnownName) -> bool:
        for known in load_known_names():
            is_inside = known.home and known.home in (place.code, *place.forms)
            if is_inside and id(known) in self._known:
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
        form = _split_chinese(text)
        parents = [name for name in find_names(text[: len(text) - 1]) if name.start == 0 and get_known_names(name.text)]
        for parent in parents:
            if parent.kind is NameKind.ORGANISATION:
                return None if self.find(parent.text) else False
        if form.places and len(form.stem) >= 2:
            is_place_named = all(self._find_place(place) for place in form.places)
            bare = text[sum(len(place) for place in form.places) :]
            if self._text.find(bare) >= 0 or any(
                _are_same(_ChineseForm((), form.stem, form.head), _split_chinese(other))
                for other in self._names
                if has_chinese(other)
            ):
                return True if is_place_named and self._has_bare(bare) else None
        return False

    def _has_bare(self, bare: str) -> bool:
        """Whether the page has a local body without its place, as in 市财政局."""
        return re.search(rf"(?:^|[^\u4e00-\u9fff]|[由与和及向]|[省市县区]){re.escape(bare)}", self._text) is not None

    def _find_place(self, place: str) -> bool:
        return _strip_place(place) in self._text

    def _decide_latin(self, text: str, kind: NameKind) -> bool | None:
        if not self._is_latin and kind is not NameKind.PRODUCT:
            return None
        if kind is NameKind.PRODUCT:
            return _fold_alphanumerics(text) in _fold_alphanumerics(self._text)
        if text.isupper() and " " not in text:
            return None if self._has_initials(text) else False
        halves = [half for half in re.split(r" (?:and|&) ", text) if half != text]
        if halves and all(self.find(half) for half in halves):
            return True
        words = _get_core_words(text)
        present = [word for word in words if any(True for _ in self._find_form(word))]
        if kind is NameKind.PERSON:
            return False
        return None if not words or present else False

    def _has_initials(self, acronym: str) -> bool:
        """Whether the initials of some words in a row are the acronym, in any case."""
        words = re.findall(r"[a-z]+", self._lower)
        initials = "".join(word[0] for word in words)
        significant = "".join(word[0] for word in words if word not in _SMALL_WORDS)
        return acronym.casefold() in initials or acronym.casefold() in significant


def _fold_latin(text: str) -> str:
    """Fold letter case, hyphens and white space; every character keeps its place."""
    folded = (
        "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
        if not text.isascii()
        else text.lower()
    )
    return folded.replace("-", " ").replace("\n", " ").replace("\t", " ").replace("‑", " ").replace("–", " ")


def _fold_alphanumerics(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _is_word_char(text: str, position: int, neighbour: str) -> bool:
    is_inside = 0 <= position < len(text) and _LATIN_WORD_CHAR.match(text[position]) is not None
    return is_inside and _LATIN_WORD_CHAR.match(neighbour) is not None


def _guess_kind(text: str) -> NameKind:
    known = get_known_names(text)
    if known:
        return known[0].kind
    if has_chinese(text):
        if "·" in text:
            return NameKind.PERSON
        if _CHINESE_HEAD.search(text) and len(text) > 3:
            return NameKind.ORGANISATION
        return (
            NameKind.PLACE if text[-1] in "省市县区州" else NameKind.PERSON if len(text) <= 3 else NameKind.ORGANISATION
        )
    found = find_names(f"See {text} there.")
    return found[0].kind if found else NameKind.ORGANISATION


def _find_expansion(words: list[str], acronym: str) -> str:
    """Return the last words before a bracket whose initials are the acronym, small words counted or not."""
    wanted = acronym.casefold().replace("&", "").replace("-", "")
    for count in range(len(wanted), min(len(words), len(wanted) + 4) + 1):
        taken = words[len(words) - count :]
        every = "".join(word[0] for word in taken).casefold()
        capital = "".join(word[0] for word in taken if word not in _SMALL_WORDS).casefold()
        if wanted in (every, capital) and taken[0].casefold() not in _SMALL_WORDS:
            return " ".join(taken)
    return ""


def _is_acronym_of(acronym: str, text: str) -> bool:
    words = text.split()
    return len(words) > 1 and len(acronym) > 1 and _find_expansion(words, acronym) == text


def _get_core_words(text: str) -> frozenset[str]:
    words = [word.removesuffix("'s") for word in re.findall(r"[\w']+", _fold_latin(text))]
    weak = load_words().heads | _SMALL_WORDS | _WEAK_WORDS
    return frozenset(word for word in words if word not in weak)


def _get_surname(text: str) -> str:
    words = text.split()
    if len(words) in (2, 3) and _guess_kind(text) is NameKind.PERSON:
        return words[-1]
    return ""


def _strip_place(text: str) -> str:
    return text[:-1] if len(text) > 2 and text[-1] in "省市县区州" else text


def _split_chinese(text: str) -> _ChineseForm:
    places: list[str] = []
    rest = text
    while (match := _PLACE_PREFIX.match(rest)) is not None or _get_leading_place(rest):
        place = _get_leading_place(rest) or (match[0] if match else "")
        places.append(place)
        rest = re.sub(r"^[省市](?![场民政])", "", rest[len(place) :])
    rest = _COUNTRY_PREFIX.sub("", rest)
    head = _CHINESE_HEAD.search(rest)
    if head is None:
        return _ChineseForm(tuple(places), rest, "")
    kind = "公司" if head[0].endswith(("公司", "集团", "股份", "控股")) else _HEAD_CLASSES.get(head[0], head[0])
    return _ChineseForm(tuple(places), rest[: head.start()], kind)


_PLACE_PREFIX = re.compile(rf"{_HAN}{{2,5}}?(?:自治[区州县]|[省市县区])(?![场民政值])")


def _get_leading_place(text: str) -> str:
    for length in (8, 7, 6, 5, 4, 3, 2):
        if text[:length] in get_place_names() and text[:length] not in ("中国", "全国"):
            return text[:length]
    return ""


def _are_same(first: _ChineseForm, second: _ChineseForm) -> bool:
    """Whether one may be a short form of the other: the same head and places, and the stem a selection in order."""
    if first.head != second.head and not (first.head in ("", "公司") and second.head in ("", "公司")):
        return False
    ours, theirs = ([_strip_place(place) for place in form.places] for form in (first, second))
    if ours and theirs and not (set(ours) <= set(theirs) or set(theirs) <= set(ours)):
        return False
    if bool(ours) != bool(theirs) and first.head != "公司":
        return bool(theirs) and first.stem == second.stem and len(first.stem) >= 2
    short, long = sorted((first.stem, second.stem), key=len)
    if first.head in ("", "公司"):
        short, long = (_COMPANY_FIELDS.sub("", stem) or stem for stem in (short, long))
        return len(short) >= 2 and short == long
    if len(short) < 2:
        return short == long != ""
    if short[0] != long[0]:
        return long.endswith(short)
    remaining = iter(long)
    return all(char in remaining for char in short)
