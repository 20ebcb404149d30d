"""The fields of a source in a form: what a person typed, read; what is stored, shown; what is wrong, said."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.datastructures import FormData

from monitor.app.source_form import SourceForm, WrongSource
from monitor.app.source_rows import section_line, section_of
from monitor.errors import Conflict, UsageError
from monitor.web.language import text as translated

LISTS = ("focus_areas", "keywords_include", "keywords_exclude", "tags")
NUMBERS = ("window_days", "max_items")
SWITCHES = ("allow_other_hosts", "enabled")
_LINES = ("name", "url", "schedule", "timezone", "language", "summary_language")


_OF_FIELD = re.compile(r"The source (?:'.*'|\".*\") has a wrong (?P<field>[\w.]+): (?P<sentence>.*)\.", re.DOTALL)


def _(english: str) -> str:
    """Marks a sentence for the catalogue."""
    return english


_COMPLAINTS: tuple[tuple[str, str], ...] = (
    (r"'(.*)' is no web address; .*", _("“{}” is no web address: write it in full, as https://www.example.gov/")),
    (r"there is nothing to search for.*", _("There is nothing to search for: write what to search for, or topics.")),
    (r"there is no word to search for in '(.*)'", _("There is no word to search for in “{}”.")),
    (r"a query has (\d+) characters; write at most (\d+)", _("A query has {} characters: write at most {}.")),
    (r"it has no letter that can be seen.*", _("Write a name.")),
    (r"field required", _("Write something here.")),
    (r"'(.*)' is no time zone.*", _("“{}” is no time zone: write one as Asia/Shanghai or Europe/Berlin.")),
    (r"input should be a valid integer.*", _("Write a whole number.")),
    (r"input should be (?:greater|less) than or equal to (\d+)", _("The number is out of bounds: the bound is {}.")),
    (r"string should have at most (\d+) characters.*", _("Too long: write at most {} characters.")),
    (r"(?:list|value) should have at most (\d+) items.*", _("Too many: write at most {}.")),
    (
        r"The schedule ['\"](.*)['\"] (?:has|cannot).*",
        _("“{}” is no schedule: write five fields, as 0 7 * * 1-5 (minute, hour, day, month, weekday)."),
    ),
    (
        r"There is already a source named ['\"](.*)['\"]: .*",
        _("There is a source named “{}” already: choose another name, or edit that one."),
    ),
)


def read(form: FormData) -> dict[str, Any]:
    """The source that a whole form describes, not yet checked."""
    values: dict[str, Any] = {name: _one(form, name).strip() for name in _LINES}
    values["kind"] = _one(form, "kind") or "site"
    values["rules"] = _one(form, "rules").replace("\r\n", "\n").strip()
    values["render"] = _one(form, "render") or None
    for name in LISTS:
        values[name] = _rows(_one(form, name))
    for name in NUMBERS:
        typed = _one(form, name).strip()
        values[name] = (int(typed) if typed.isdecimal() and len(typed) < 10 else typed) if typed else None
    for name in SWITCHES:
        values[name] = "true" in form.getlist(name)
    pinned = [*_rows(_one(form, "sections")), *(str(one) for one in form.getlist("pin"))]
    values["sections"] = [section_of(line) for line in dict.fromkeys(pinned)]
    return values


def shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as their controls hold them; what is not given is at its default."""
    defaults = SourceForm(name="-", url="http://a.invalid/").model_dump(mode="json") | {"name": "", "url": ""}
    whole = defaults | dict(values)
    told = {name: "" if value is None else value for name, value in whole.items()}
    for name in LISTS:
        told[name] = "\n".join(map(str, whole[name]))
    told["sections"] = "\n".join(section_line(one) for one in whole["sections"])
    return told


def complaints(error: UsageError, language: str) -> dict[str, str]:
    """What is wrong, by field, in the language of the page; under the empty name what belongs to no field."""
    if isinstance(error, WrongSource):
        told: dict[str, str] = {}
        for place, sentence in error.complaints.items():
            told.setdefault(place.partition(".")[0], said(sentence, language))
        return told
    return {"name" if isinstance(error, Conflict) else "": said(str(error), language)}


def said(sentence: str, language: str) -> str:
    """A complaint as a sentence of the page; one that nobody foresaw as it is."""
    if field := _OF_FIELD.fullmatch(sentence):
        return f"{field['field']}: {said(field['sentence'], language)}"
    for pattern, english in _COMPLAINTS:
        if found := re.fullmatch(pattern, sentence, flags=re.DOTALL):
            return translated(language, english).format(*found.groups())
    return f"{sentence[:1].upper()}{sentence[1:]}"


def _one(form: FormData, name: str) -> str:
    value = form.get(name, "")
    return value if isinstance(value, str) else ""


def _rows(text: str) -> list[str]:
    return list(_filled(text.splitlines()))


def _filled(lines: Iterable[str]) -> Iterable[str]:
    return (line.strip() for line in lines if line.strip())
