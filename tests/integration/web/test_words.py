"""The pages speak both languages: every sentence of a template has its Chinese, every notice both."""

import re
from pathlib import Path

from babel.messages.extract import extract_from_dir

import monitor.web
from monitor.i18n.catalogue import has_message, load_catalogue

ROOT = Path(monitor.web.__file__).parent


def sentences() -> dict[str, str]:
    """Every sentence that is translated, with the file that says it; of those with a plural, the singular."""
    methods = [("**/templates/**.html", "jinja2.ext.babel_extract"), ("**.py", "python")]
    found = {}
    for file, _, message, *_ in extract_from_dir(ROOT, methods, options_map={"**.html": {"silent": "false"}}):
        found[message[0] if isinstance(message, tuple) else message] = file
    return found


def test_every_sentence_has_its_chinese() -> None:
    said = sentences()
    assert len(said) > 300, "the templates were not found"
    assert {english: file for english, file in said.items() if english not in load_catalogue("zh")} == {}


def test_every_notice_and_every_code_has_words() -> None:
    source = "".join(path.read_text("utf-8") for path in ROOT.rglob("*.py"))
    notices = set(re.findall(r'notice="([a-z_]+)"', source))
    codes = {f"notice.{name}" for name in notices}
    codes |= set(re.findall(r'(?:Problem\(\d+, |Error\(|Conflict\(|NotFound\(|Message\()"([a-z_.]+)"', source))
    assert len(codes) > 40
    assert {code for code in codes for language in ("zh", "en") if not has_message(language, code)} == set()
