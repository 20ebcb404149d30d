"""Lists that a page carries as data inside itself, for its own script to draw page by page."""

import re

# <script type="text/xml"><datastore>…<record><![CDATA[<li>…</li>]]></record>…</datastore></script>
_STORE = re.compile(r"<script\b[^>]*>\s*(?P<data><datastore>.*?</datastore>)\s*</script>", re.IGNORECASE | re.DOTALL)
_RECORD = re.compile(r"<record>\s*<!\[CDATA\[(?P<markup>.*?)\]\]>\s*</record>", re.IGNORECASE | re.DOTALL)


def with_stored_records(html_text: str) -> str:
    """The page with the records of its data stores in their place, as its script would draw them.

    A content management system of many Chinese provinces writes the rows of a list so; the markup of each is whole.
    """
    if "<datastore>" not in html_text:
        return html_text
    return _STORE.sub(_drawn, html_text)


def _drawn(store: re.Match[str]) -> str:
    return "\n".join(record["markup"] for record in _RECORD.finditer(store["data"]))
