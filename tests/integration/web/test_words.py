"""The pages speak both languages: no sentence of a template or a notice is without its Chinese."""

from pathlib import Path

from babel.messages.extract import extract_from_dir

import monitor.web
from monitor.web.ui.language import load_chinese_messages
from monitor.web.ui.rendering import NOTICES

ROOT = Path(monitor.web.__file__).parent


def sentences() -> dict[str, str]:
    """Every sentence that is translated, with the file that says it; of those with a plural, the singular."""
    methods = [("**/templates/**.html", "jinja2.ext.babel_extract"), ("**.py", "python")]
    found = dict.fromkeys(NOTICES.values(), "notices.py")
    for file, _, message, *_ in extract_from_dir(ROOT, methods, options_map={"**.html": {"silent": "false"}}):
        found[message[0] if isinstance(message, tuple) else message] = file
    return found


def test_every_sentence_has_its_chinese() -> None:
    said = sentences()
    assert len(said) > 300, "the templates were not found"
    assert {english: file for english, file in said.items() if english not in load_chinese_messages()} == {}
