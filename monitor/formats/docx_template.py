"""The Word file that a document is written into: the firm's own, or the blank one of this program."""

import io
import zipfile
from collections.abc import Iterator
from copy import deepcopy
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

from lxml import etree

from monitor.errors import UsageError
from monitor.formats.docx_marks import w

if TYPE_CHECKING:
    from docx.document import Document as WordFile

PLACE = "{{briefing}}"
_TEMPLATE_TYPE = b"wordprocessingml.template.main+xml"
_DOCUMENT_TYPE = b"wordprocessingml.document.main+xml"
_TYPES = "[Content_Types].xml"


def open_template(template: bytes | None) -> "WordFile":
    """The firm's file, docx or dotx, or else the blank one; `UsageError` for what is neither."""
    import docx  # takes a while

    try:
        return docx.Document(io.BytesIO(_as_docx(template) if template is not None else _blank()))
    except (ValueError, KeyError, zipfile.BadZipFile, etree.XMLSyntaxError):
        raise UsageError("The template is no Word file: name a .docx or .dotx that Word opens.") from None


def adopt_styles(file: "WordFile") -> dict[str, str]:
    """Gives the file those of our styles that it lacks; answers the ids by our ids.

    A style that the file has of the same name is the firm's, and stays as it is.
    """
    theirs = {_name_of(style): style.get(w("styleId")) for style in file.styles.element.iter(w("style"))}
    ids: dict[str, str] = {}
    ours = etree.fromstring(files(__package__).joinpath("blank_docx/word/styles.xml").read_bytes())
    for style in ours.iter(w("style")):
        own_id = style.get(w("styleId"), "")
        ids[own_id] = theirs.get(_name_of(style)) or own_id
        if _name_of(style) not in theirs:
            added = deepcopy(style)
            for kin in added.iter(w("basedOn"), w("next")):
                name = kin.get(w("val"), "")
                kin.set(w("val"), ids.get(name, name))
            file.styles.element.append(added)
    return ids


def find_place(file: "WordFile") -> Any:
    """The paragraph that says `{{briefing}}`, in whose place the content belongs; None: it goes to the end."""
    for child in file.element.body:
        if child.tag == w("p") and "".join(text.text or "" for text in child.iter(w("t"))).strip() == PLACE:
            return child
    return None


def _name_of(style: Any) -> str:
    name = style.find(w("name"))
    return str(name.get(w("val"))).lower() if name is not None else ""


def _as_docx(template: bytes) -> bytes:
    """A template differs from a document by a word in its list of contents."""
    with zipfile.ZipFile(io.BytesIO(template)) as given:
        if _TEMPLATE_TYPE not in given.read(_TYPES):
            return template
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
            for name in given.namelist():
                content = given.read(name)
                file.writestr(name, content.replace(_TEMPLATE_TYPE, _DOCUMENT_TYPE) if name == _TYPES else content)
    return made.getvalue()


def _blank() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, part in _parts(files(__package__).joinpath("blank_docx"), ""):
            file.writestr(name, part.read_bytes())
    return made.getvalue()


def _parts(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    for part in sorted(folder.iterdir(), key=lambda one: one.name):
        if part.is_dir():
            yield from _parts(part, f"{path}{part.name}/")
        else:
            yield path + part.name, part
