"""A change of a page, said in one sentence, in Chinese or English."""

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.domain.revisions import Change, ChangeKind, Edit, Op, Part

_MOST_NAMED = 8
_LONGEST_NAME = 60


@dataclass(frozen=True)
class _Words:
    """How one language says it; `{}` stands for what is named."""

    kinds: dict[ChangeKind, str]
    articles: dict[Op, str]
    renumbered: str
    paragraphs: dict[Op, str]
    attachments: dict[Op, str]
    title: str
    date: str
    quoted: str
    comma: str
    more: str
    and_then: str
    stop: str


_CHINESE = _Words(
    kinds={
        ChangeKind.NONE: "内容无变化",
        ChangeKind.WITHDRAWN: "网页已撤下",
        ChangeKind.MOVED: "网页已移至{}",
        ChangeKind.RESTORED: "网页撤下后重新出现",
        ChangeKind.UNREACHABLE: "网页暂时无法访问",
    },
    articles={Op.CHANGED: "{}有修改", Op.ADDED: "新增{}", Op.REMOVED: "删去{}"},
    renumbered="{}改为{}",
    paragraphs={Op.CHANGED: "{}处段落有修改", Op.ADDED: "新增{}段", Op.REMOVED: "删去{}段"},
    attachments={Op.CHANGED: "附件{}有更换", Op.ADDED: "新增附件{}", Op.REMOVED: "删去附件{}"},
    title="标题改为{}",
    date="发布日期由{}改为{}",
    quoted="“{}”",
    comma="、",
    more="等{}项",
    and_then="；",
    stop="。",
)
_ENGLISH = _Words(
    kinds={
        ChangeKind.NONE: "nothing changed",
        ChangeKind.WITHDRAWN: "the page was withdrawn",
        ChangeKind.MOVED: "the page moved to {}",
        ChangeKind.RESTORED: "the page, once withdrawn, is there again",
        ChangeKind.UNREACHABLE: "the page cannot be seen for now",
    },
    articles={Op.CHANGED: "{} changed", Op.ADDED: "{} added", Op.REMOVED: "{} removed"},
    renumbered="{} is now {}",
    paragraphs={
        Op.CHANGED: "paragraphs changed: {}",
        Op.ADDED: "paragraphs added: {}",
        Op.REMOVED: "paragraphs removed: {}",
    },
    attachments={
        Op.CHANGED: "attachment {} replaced",
        Op.ADDED: "attachment {} added",
        Op.REMOVED: "attachment {} removed",
    },
    title="title changed to {}",
    date="date of publication changed from {} to {}",
    quoted="“{}”",
    comma=", ",
    more=" and others, {} in all",
    and_then="; ",
    stop=".",
)
_LANGUAGES = {"zh": _CHINESE, "en": _ENGLISH}


def told(change: Change, language: str = "zh") -> str:
    """What changed, as one sentence: the articles by their numbers, the attachments by their titles.

    Page text in it is quoted; the language is `zh` or `en`.
    """
    words = _LANGUAGES[language]
    parts = [_of_kind(change, words), *_of_fields(change, words), *_of_articles(change, words)]
    for op, form in words.paragraphs.items():
        count = sum(edit.op is op for edit in change.of(Part.PARAGRAPH))
        parts.append(form.format(count) if count else "")
    for op, form in words.attachments.items():
        titles = [edit.after or edit.before for edit in change.of(Part.ATTACHMENT) if edit.op is op]
        parts.append(_named(form, [words.quoted.format(_short(title)) for title in titles], words))
    said = words.and_then.join(filter(None, parts))
    return f"{said[:1].upper()}{said[1:]}{words.stop}"


def _of_kind(change: Change, words: _Words) -> str:
    form = words.kinds.get(change.kind, "")
    return form.format(next((edit.after for edit in change.of(Part.ADDRESS)), ""))


def _of_fields(change: Change, words: _Words) -> list[str]:
    titles = [words.title.format(words.quoted.format(_short(edit.after))) for edit in change.of(Part.TITLE)]
    return titles + [words.date.format(edit.before, edit.after) for edit in change.of(Part.DATE)]


def _of_articles(change: Change, words: _Words) -> list[str]:
    parts = [_named(form, change.articles(op), words) for op, form in words.articles.items()]
    moved: Sequence[Edit] = [edit for edit in change.of(Part.ARTICLE) if edit.op is Op.RENUMBERED]
    if moved:
        each = [words.renumbered.format(edit.before, edit.after) for edit in moved]
        parts.append(_named("{}", each, words))
    return parts


def _named(form: str, names: Sequence[str], words: _Words) -> str:
    if not names:
        return ""
    listed = words.comma.join(names[:_MOST_NAMED])
    return form.format(listed + (words.more.format(len(names)) if len(names) > _MOST_NAMED else ""))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}…"
